//! A crate has a name that says what it holds, and begins with a paragraph that says what it is for.

use crate::finding::Finding;
use crate::tree::{CrateFolder, Tree};

/// Names that say nothing: everything could go in, so everything would.
const EMPTY_NAMES: &[&str] =
    &["common", "utils", "util", "helpers", "helper", "core", "shared", "types", "manager"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.crates().flat_map(|one| check_paragraphs(tree, one)).collect();
    findings.extend(tree.crates().filter_map(|one| empty_name(one.manifest, one.name)));
    findings
        .extend(tree.with_extension(&["rs"]).filter_map(|(path, _)| empty_name(path, module_name(path)?)));
    findings
}

fn empty_name(path: &str, name: &str) -> Option<Finding> {
    EMPTY_NAMES.contains(&name).then(|| {
        let what = format!("`{name}` says nothing about what is inside");
        Finding::in_file(path, what, "name it after the noun it holds")
    })
}

/// `a/b.rs` and `a/b/mod.rs` are both the module `b`.
fn module_name(path: &str) -> Option<&str> {
    let stem = path.strip_suffix(".rs")?;
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    stem.rsplit('/').next()
}

fn check_paragraphs(tree: &Tree, one: CrateFolder<'_>) -> Vec<Finding> {
    ["lib.rs", "main.rs"]
        .into_iter()
        .map(|file| format!("{}/src/{file}", one.folder))
        .filter(|path| !tree.text(path).is_none_or(begins_with_a_sentence))
        .map(|path| {
            let remedy = "begin the file with `//! ` and a sentence that says what the crate is for";
            Finding::at(&path, 1, "the crate has no first paragraph", remedy)
        })
        .collect()
}

fn begins_with_a_sentence(text: &str) -> bool {
    let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    paragraph.split_whitespace().count() >= 4 && paragraph.trim_end().ends_with(['.', ':', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of([("crates/model/Cargo.toml", ""), (path, text)])).len()
    }

    #[test]
    fn a_crate_that_says_what_it_is_for_passes() {
        assert_eq!(count("crates/model/src/lib.rs", "//! The nouns of Warren:\n//! ids and statuses.\n"), 0);
    }

    #[test]
    fn a_crate_without_a_first_sentence_is_found() {
        for text in
            ["", "fn main() {}", "//! placeholder", "// The nouns of Warren, all of them.", "//! Short."]
        {
            assert_eq!(count("crates/model/src/lib.rs", text), 1, "{text:?}");
        }
    }

    #[test]
    fn a_name_that_says_nothing_is_found_for_crates_files_and_folders() {
        assert_eq!(check(&Tree::of([("crates/utils/Cargo.toml", "")])).len(), 1);
        for path in
            ["crates/model/src/helpers.rs", "crates/model/src/shared/mod.rs", "crates/model/tests/it/util.rs"]
        {
            assert_eq!(count(path, ""), 1, "{path}");
        }
    }
}
