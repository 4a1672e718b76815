//! Glob patterns: bounded in number and length, compiled to linear-time matchers.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use warren_model::ErrorCode;
use warren_workspace::Error;

const MAX_PATTERN_BYTES: usize = 1_024;
const MAX_PATTERNS: usize = 64;
/// Alternatives multiply when they are compiled: `{a,b}{a,b}…` doubles with each pair.
const MAX_ALTERNATIVES: usize = 64;

#[derive(Debug)]
pub(crate) struct Globs {
    /// Absent: everything is wanted.
    set: Option<GlobSet>,
}

impl Globs {
    /// The pattern of `glob`: the whole path must match.
    pub(crate) fn whole_path(pattern: &str) -> Result<Self, Error> {
        Self::compile(&[pattern.trim_start_matches('/').to_owned()])
    }

    /// The filters of `grep`: none means all, and a pattern without `/` matches in any directory.
    pub(crate) fn filters(patterns: &[String]) -> Result<Self, Error> {
        if patterns.is_empty() {
            return Ok(Self { set: None });
        }
        patterns.iter().try_for_each(|pattern| check(pattern))?;
        let anywhere = |pattern: &String| match pattern.strip_prefix('/') {
            Some(from_root) => from_root.to_owned(),
            None if pattern.contains('/') => pattern.clone(),
            None => format!("**/{pattern}"),
        };
        Self::compile(&patterns.iter().map(anywhere).collect::<Vec<_>>())
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(path))
    }

    fn compile(patterns: &[String]) -> Result<Self, Error> {
        if patterns.len() > MAX_PATTERNS {
            return Err(invalid(format!(
                "there are {} glob patterns; at most {MAX_PATTERNS} are taken",
                patterns.len()
            )));
        }
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            check(pattern)?;
            let glob = GlobBuilder::new(&collapse_stars(pattern))
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| invalid(format!("the glob `{pattern}` is not valid: {}", error.kind())))?;
            builder.add(glob);
        }
        let set = builder.build().map_err(|_| invalid("the glob patterns are too complex".into()))?;
        Ok(Self { set: Some(set) })
    }
}

fn check(pattern: &str) -> Result<(), Error> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
        return Err(invalid(format!("a glob has between 1 and {MAX_PATTERN_BYTES} bytes")));
    }
    if pattern.starts_with('!') || pattern.starts_with("**/!") {
        return Err(invalid(format!("`{pattern}`: globs only say what to take; `!` is not understood")));
    }
    if pattern.contains('\0') {
        return Err(invalid("a glob cannot contain a NUL byte".into()));
    }
    if pattern.bytes().filter(|byte| *byte == b',').count() > MAX_ALTERNATIVES
        || pattern.bytes().filter(|byte| *byte == b'{').count() > 8
    {
        return Err(invalid(format!(
            "a glob has at most 8 groups of at most {MAX_ALTERNATIVES} alternatives in all"
        )));
    }
    Ok(())
}

/// `**/**/` says no more than `**/` and costs a state for each.
fn collapse_stars(pattern: &str) -> String {
    let mut collapsed = pattern.to_owned();
    while collapsed.contains("**/**/") {
        collapsed = collapsed.replace("**/**/", "**/");
    }
    collapsed
}

fn invalid(detail: String) -> Error {
    Error::operation(ErrorCode::InvalidPattern, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    // W20
    #[test]
    fn one_star_stays_in_a_directory_and_two_cross_it() {
        let whole = |pattern, path| Globs::whole_path(pattern).unwrap().matches(Path::new(path));
        assert!(whole("*.rs", "a.rs") && !whole("*.rs", "src/a.rs"));
        assert!(whole("**/*.rs", "a.rs") && whole("**/*.rs", "src/deep/a.rs"));
        assert!(whole("src/{a,b}.rs", "src/b.rs") && whole("/src/*", "src/x"));
        assert!(whole("**/**/**/**/*", "a/b/c"));
    }

    // W23
    #[test]
    fn a_filter_without_a_slash_matches_in_any_directory() {
        let filters = Globs::filters(&["*.rs".into(), "docs/*.md".into()]).unwrap();
        for wanted in ["a.rs", "x/y/a.rs", "docs/a.md"] {
            assert!(filters.matches(Path::new(wanted)), "{wanted}");
        }
        for unwanted in ["a.md", "x/docs/a.md"] {
            assert!(!filters.matches(Path::new(unwanted)), "{unwanted}");
        }
        assert!(Globs::filters(&[]).unwrap().matches(Path::new("anything")));
    }

    // F10 (security)
    #[test]
    fn bad_and_explosive_globs_are_refused() {
        let bomb = "{a,b}".repeat(40);
        for pattern in ["[", "{a", "", "!x", &"a".repeat(2_000), &bomb] {
            let error = Globs::whole_path(pattern).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidPattern, "{pattern}");
        }
        let many = vec!["a".to_owned(); 65];
        assert_eq!(Globs::filters(&many).unwrap_err().code(), ErrorCode::InvalidPattern);
    }
}
