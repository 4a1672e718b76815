//! Ignore files (`.gitignore`, `.ignore`) from the workspace root down to a directory.
//!
//! Only files inside the workspace count: the host's global gitignore and `.git/info/exclude` are not read, so
//! that one workspace searches alike on every host. `.git` itself is always left out.

use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Names of ignore files; a later one overrules an earlier one.
pub(crate) const FILE_NAMES: [&str; 2] = [".gitignore", ".ignore"];
/// A larger ignore file is not read: it would cost more to compile than the search it saves.
pub(crate) const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// The rules that hold in one directory. Cheap to clone; extended on the way down.
#[derive(Debug, Clone, Default)]
pub(crate) struct IgnoreChain(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    outer: IgnoreChain,
    rules: Gitignore,
}

impl IgnoreChain {
    /// Takes in what `read` finds for the ignore files of `directory`, a path relative to the workspace root.
    #[must_use]
    pub(crate) fn descend(&self, directory: &Path, mut read: impl FnMut(&str) -> Option<Vec<u8>>) -> Self {
        let mut chain = self.clone();
        for name in FILE_NAMES {
            let Some(contents) = read(name) else { continue };
            let mut builder = GitignoreBuilder::new(directory);
            for line in String::from_utf8_lossy(&contents).lines() {
                // A line that is no pattern is skipped, as git does.
                let _ = builder.add_line(None, line);
            }
            if let Ok(rules) = builder.build()
                && !rules.is_empty()
            {
                chain = Self(Some(Arc::new(Link { outer: chain, rules })));
            }
        }
        chain
    }

    /// `path` is relative to the workspace root and inside the directory of this chain.
    pub(crate) fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        if is_directory && path.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        let mut chain = self;
        while let Some(link) = &chain.0 {
            let verdict = link.rules.matched(path, is_directory);
            if !verdict.is_none() {
                return verdict.is_ignore();
            }
            chain = &link.outer;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &'static str) -> impl FnMut(&str) -> Option<Vec<u8>> {
        move |name| (name == ".gitignore").then(|| text.as_bytes().to_vec())
    }

    // W23
    #[test]
    fn inner_rules_overrule_outer_ones() {
        let root = IgnoreChain::default().descend(Path::new(""), rules("*.log\n/build\n# note\n"));
        let inner = root.descend(Path::new("src"), rules("!keep.log\n"));
        assert!(root.ignores(Path::new("a.log"), false) && root.ignores(Path::new("build"), true));
        assert!(!root.ignores(Path::new("src/build"), true), "anchored to the root");
        assert!(!inner.ignores(Path::new("src/keep.log"), false));
        assert!(inner.ignores(Path::new("src/other.log"), false));
        assert!(root.ignores(Path::new("x/.git"), true) && !root.ignores(Path::new("x/.github"), true));
    }
}
