//! The one path type: relative to the workspace root, cleaned of `.` and `..`, unable to name anything above it.
//!
//! This is the lexical half of W21. Links and races are the provider's half: it resolves the path in the kernel,
//! beneath a handle of the root.

use std::fmt;

use warren_model::ErrorCode;

use crate::Error;

/// A checked path inside a workspace. The root is the empty path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    pub const MAX_BYTES: usize = 4_096;
    pub const MAX_NAME_BYTES: usize = 255;

    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Takes what a client sent. A leading `/` means the workspace root.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: &str| Error::operation(ErrorCode::InvalidPath, why.to_owned());
        if text.len() > Self::MAX_BYTES {
            return Err(invalid("the path is longer than 4096 bytes"));
        }
        if text.contains('\0') {
            return Err(invalid("the path contains a NUL byte"));
        }
        let mut names: Vec<&str> = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    if names.pop().is_none() {
                        let detail = "the path leads above the workspace root";
                        return Err(Error::operation(ErrorCode::PathEscapes, detail));
                    }
                }
                name if name.len() > Self::MAX_NAME_BYTES => {
                    return Err(invalid("a name in the path is longer than 255 bytes"));
                }
                name => names.push(name),
            }
        }
        Ok(Self(names.join("/")))
    }

    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Without a leading slash; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The last name; `None` for the root.
    pub fn file_name(&self) -> Option<&str> {
        self.names().next_back()
    }

    /// The directory it is in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned())))
    }

    /// A name inside this directory, as listed by the provider.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        debug_assert!(!name.is_empty() && !name.contains('/') && name != "." && name != "..");
        if self.is_root() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// Whether `self` is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        other.is_root()
            || self
                .0
                .strip_prefix(other.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// With the leading slash, as people see it.
impl AsRef<[u8]> for WorkspacePath {
    /// As `as_str`, for those who hand it to the kernel.
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // W21
    #[test]
    fn spellings_of_one_place_become_one_path() {
        for text in ["a/b", "/a/b", "a//b", "./a/./b", "a/x/../b", "/a/b/", "//a/b"] {
            assert_eq!(WorkspacePath::parse(text).unwrap().as_str(), "a/b", "{text}");
        }
        for text in ["", "/", ".", "./", "a/.."] {
            assert!(WorkspacePath::parse(text).unwrap().is_root(), "{text}");
        }
    }

    // W21
    #[test]
    fn paths_above_the_root_are_refused() {
        for text in ["..", "/..", "a/../..", "../ws", "a/../../b", "./.."] {
            assert_eq!(WorkspacePath::parse(text).unwrap_err().code(), ErrorCode::PathEscapes, "{text}");
        }
        assert_eq!(WorkspacePath::parse("a\0b").unwrap_err().code(), ErrorCode::InvalidPath);
        assert_eq!(WorkspacePath::parse(&"a/".repeat(3_000)).unwrap_err().code(), ErrorCode::InvalidPath);
        assert_eq!(WorkspacePath::parse(&"a".repeat(256)).unwrap_err().code(), ErrorCode::InvalidPath);
    }

    #[test]
    fn a_sibling_with_the_same_prefix_is_not_within() {
        let path = |text| WorkspacePath::parse(text).unwrap();
        assert!(path("ab/c").is_within(&path("ab")) && path("ab").is_within(&path("ab")));
        assert!(!path("abc").is_within(&path("ab")));
    }

    proptest! {
        // W21
        #[test]
        fn no_text_yields_a_name_that_could_escape(text in "(\\.|/|\\.\\.|[a-c]|\\\\|%2e|~| ){0,24}") {
            if let Ok(path) = WorkspacePath::parse(&text) {
                prop_assert!(path.names().all(|name| !name.is_empty() && name != "." && name != ".."));
                prop_assert!(!path.as_str().starts_with('/') && !path.as_str().ends_with('/'));
                prop_assert_eq!(WorkspacePath::parse(path.as_str()).unwrap(), path);
            }
        }
    }
}
