//! Every relative link in a document leads to a file of the repository, and its anchor to a heading.

use crate::finding::Finding;
use crate::markdown::Document;
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension(&["md"]).flat_map(|(path, text)| check_document(tree, path, text)).collect()
}

fn check_document(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let document = Document::parse(text);
    let links = document.links();
    let broken = links.iter().filter_map(|(line, target)| {
        let what = breach(tree, path, &document, target)?;
        Some(Finding::at(path, *line, what, "correct the link, or add what it names"))
    });
    broken.collect()
}

fn breach(tree: &Tree, path: &str, document: &Document<'_>, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    if file.is_empty() {
        let anchors = document.anchors();
        return anchor.filter(|name| !anchors.iter().any(|one| one == name)).map(no_heading);
    }
    let Some(resolved) = resolve(path, file) else {
        return Some(format!("the link `{target}` leads out of the repository"));
    };
    if !tree.has_file(&resolved) && !tree.has_folder(&resolved) {
        return Some(format!("the link `{target}` leads to nothing ({resolved} does not exist)"));
    }
    let anchors = Document::parse(tree.text(&resolved)?).anchors();
    anchor.filter(|name| resolved.ends_with(".md") && !anchors.iter().any(|one| one == name)).map(no_heading)
}

fn no_heading(anchor: &str) -> String {
    format!("no heading makes the anchor `#{anchor}`")
}

/// A path relative to a document's folder, from the root.
fn resolve(document: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> =
        if target.starts_with('/') { Vec::new() } else { document.split('/').collect() };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tree = Tree::of([
            ("docs/operate/page.md", text),
            ("docs/start.md", "# First steps"),
            ("README.md", "# Warren"),
            ("crates/model/src/lib.rs", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_files_folders_headings_and_other_sites_pass() {
        let text = "# Here\n[a](../start.md#first-steps) [b](../../README.md) [c](#here) [d](https://example.org/x) \
                    [e](../../crates/model) [f](/README.md)";
        assert_eq!(findings(text), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        for (target, expected) in [
            ("gone.md", "leads to nothing"),
            ("../start.md#second-steps", "no heading"),
            ("#nowhere", "no heading"),
            ("../../../outside.md", "leads out of the repository"),
        ] {
            let found = findings(&format!("\n[x]({target})"));
            assert!(
                found.len() == 1 && found[0].contains(expected) && found[0].contains("page.md:2"),
                "{found:?}"
            );
        }
    }
}
