//! What is committed speaks of the project alone: no path of one person's machine, no host that packages came from.
//!
//! Lock files may name the public registries, as every clone needs them; a mirror would break other people's builds.

use crate::finding::Finding;
use crate::tree::Tree;

/// Folders below which every machine has something else. Matched as the start of an absolute path.
const MACHINE_FOLDERS: &[&str] = &["/root/", "/home/", "/tmp/", "/work/", "/Users/"];

/// Files and folders that speak of such paths because that is their subject: this rule, and a box's own `/tmp`.
const SUBJECT: &[&str] = &[
    "xtask/src/check/machine_paths.rs",
    "crates/probe/src/primitives.rs",
    "crates/providers/tests/it/security/",
    "crates/fleet/src/residents.rs",
    "crates/server/tests/it/residents.rs",
];

/// Keys that say where packages come from, and the hosts that are everybody's.
const SOURCES: &[&str] =
    &["\"resolved\":", "source = \"registry+", "registry=", "registry =", "index-url", "replace-with"];
const PUBLIC_HOSTS: &[&str] =
    &["https://registry.npmjs.org/", "https://github.com/rust-lang/crates.io-index"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .filter(|(path, _)| !SUBJECT.iter().any(|subject| path.starts_with(subject)))
        .flat_map(|(path, text)| check_text(path, text))
        .collect()
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| has_path(line, folder)) {
            let what = format!("a path below {folder} exists on one machine only");
            let remedy = "use a path relative to the repository, a temporary folder made at run time, or another example";
            findings.push(Finding::at(path, index + 1, what, remedy));
        }
        if names_private_source(path, line) {
            let what = "packages are taken from a host that is not public";
            findings.push(Finding::at(path, index + 1, what, "keep mirrors in your own configuration"));
        }
    }
    findings
}

/// Whether a path below `folder` stands in the line, and not merely a longer one that has it in its middle.
fn has_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + folder.len()..].chars().next();
        before.is_none_or(|c| c.is_whitespace() || "\"'`(=:<>[,|".contains(c))
            && after.is_some_and(|c| c.is_alphanumeric() || "._-$%{*".contains(c))
    })
}

fn names_private_source(path: &str, line: &str) -> bool {
    let configures = ["lock", "json", "toml", "npmrc", "conf", "cfg"].iter().any(|end| path.ends_with(end));
    configures
        && SOURCES.iter().any(|key| line.contains(key))
        && line.contains("://")
        && !PUBLIC_HOSTS.iter().any(|host| line.contains(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of([(path, text)])).len()
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for text in [
            "cd /work/main",
            "\"/home/ann/x\"",
            "see /root/x",
            "a\nlet d = \"/tmp/data\";",
            "x=/tmp/$$",
            "(/Users/ann)",
        ] {
            assert_eq!(count("docs/a.md", text), 1, "{text:?}");
        }
    }

    #[test]
    fn names_that_only_look_like_one_pass() {
        for text in [
            "crates/work/x",
            "https://example.org/home/x",
            "/workspaces/{id}",
            "/rooted",
            "the /homes/x",
            "home: \"/home\"",
            "${TMPDIR:-/tmp}/x",
            "$D/tmp/x",
        ] {
            assert_eq!(count("docs/a.md", text), 0, "{text:?}");
        }
    }

    #[test]
    fn a_private_registry_is_found_and_the_public_one_is_not() {
        let private = "\"resolved\": \"https://mirror.example/npm/a.tgz\"";
        assert_eq!(count("web/package-lock.json", private), 1);
        assert_eq!(count("web/package-lock.json", "\"resolved\": \"https://registry.npmjs.org/a.tgz\""), 0);
        assert_eq!(count("web/.npmrc", "registry=https://mirror.example/"), 1);
        assert_eq!(
            count("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            0
        );
    }
}
