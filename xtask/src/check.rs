//! The house rules that a machine can hold up. Each is a function from the repository's text to findings.

mod crates;
mod edges;
pub(crate) mod features;
mod fresh;
mod length;
mod links;
mod machine_paths;
mod re_exports;
pub(crate) mod security;
pub(crate) mod services;
mod shell_blocks;
mod source;
pub(crate) mod specification;

use crate::finding::Finding;
use crate::tree::Tree;

/// One rule.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Tree) -> Vec<Finding>,
}

pub(crate) const ALL: &[Check] = &[
    Check { name: "edges between crates", run: edges::check },
    Check { name: "no edge is walked around by a re-export", run: re_exports::check },
    Check { name: "no service has too many methods", run: services::check },
    Check { name: "crate names and first paragraphs", run: crates::check },
    Check { name: "file lengths", run: length::check },
    Check { name: "no skipped tests, no #[allow]", run: source::check },
    Check { name: "generated files are fresh", run: fresh::check },
    Check { name: "docs/features.md is true", run: features::check },
    Check { name: "docs/security.md is true", run: security::check },
    Check { name: "links in documents resolve", run: links::check },
    Check { name: "commands in documents are run by a test", run: shell_blocks::check },
    Check { name: "no machine paths, no registry hosts", run: machine_paths::check },
];

#[cfg(test)]
mod tests {
    use super::*;

    // The same as `cargo xtask check`, so that `cargo test` alone shows a breach.
    #[test]
    fn the_repository_keeps_its_own_rules() {
        let root = crate::tree::find_root(&std::env::current_dir().unwrap()).unwrap();
        let tree = Tree::load(&root).unwrap();
        let findings: Vec<String> =
            ALL.iter().flat_map(|check| (check.run)(&tree)).map(|finding| finding.to_string()).collect();
        assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    }
}
