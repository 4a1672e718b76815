//! A command that a document shows is either run by `cargo xtask docs-test`, or says openly that it is not.
//!
//! Blocks tagged `sh run` or `console` are run. Blocks tagged `sh no-run` are for what a test cannot do (building
//! the project that runs the test); their `make` targets must exist. Any other shell block is a finding.

use crate::docs_test::page::{self, Tag};
use crate::finding::Finding;
use crate::markdown::{Document, Fence};
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = tree.with_extension(&["md"]).filter(|(path, _)| page::is_page(path));
    let findings = pages.flat_map(|(path, text)| {
        let fences = Document::parse(text).fences;
        fences.iter().flat_map(|fence| check_block(tree, path, fence)).collect::<Vec<_>>()
    });
    findings.collect()
}

fn check_block(tree: &Tree, path: &str, fence: &Fence<'_>) -> Vec<Finding> {
    match page::tag_of(fence.info) {
        Tag::NotShell | Tag::Script | Tag::Console => Vec::new(),
        Tag::Untested => unknown_targets(tree, path, fence),
        Tag::Untagged => {
            let remedy = "tag it `sh run` or `console`; where a test cannot run it, `sh no-run`";
            vec![Finding::at(path, fence.line, "a shell block that no test runs", remedy)]
        }
    }
}

fn unknown_targets(tree: &Tree, path: &str, fence: &Fence<'_>) -> Vec<Finding> {
    let targets: Vec<&str> = makefile_targets(tree.text("Makefile").unwrap_or_default()).collect();
    let mut findings = Vec::new();
    for (index, line) in fence.body.iter().enumerate() {
        let command = line.split('#').next().unwrap_or_default();
        let Some(rest) = command.trim().strip_prefix("make ") else {
            continue;
        };
        let named = rest.split_whitespace().filter(|word| !word.contains('='));
        for target in named.filter(|target| !targets.contains(target)) {
            let what = format!("the Makefile has no target `{target}`");
            findings.push(Finding::at(
                path,
                fence.line + 1 + index,
                what,
                "name a target that `make help` lists",
            ));
        }
    }
    findings
}

fn makefile_targets(makefile: &str) -> impl Iterator<Item = &str> {
    makefile.lines().filter_map(|line| line.split_once(':')).map(|(target, _)| target.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let tree =
            Tree::of([("README.md", page), ("Makefile", "up:\n\tcargo build\ntest: up\n\tcargo test\n")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn blocks_that_are_run_or_say_that_they_are_not_pass() {
        let page =
            "```sh run\nwarren version\n```\n```sh no-run\nmake up   # builds\n```\n```json\n{}\n```\n";
        assert_eq!(findings(page), Vec::<String>::new());
    }

    #[test]
    fn a_shell_block_that_no_test_runs_is_found() {
        for tag in ["sh", "bash", "shell", "sh ran"] {
            let found = findings(&format!("a\n```{tag}\nwarren version\n```\n"));
            assert!(found.len() == 1 && found[0].contains("README.md:2: a shell block"), "{tag}: {found:?}");
        }
    }

    #[test]
    fn a_make_target_that_does_not_exist_is_found() {
        let found = findings("```sh no-run\nmake up\nmake party LOUD=1\n```\n");
        assert!(
            found.len() == 1 && found[0].contains("README.md:3: the Makefile has no target `party`"),
            "{found:?}"
        );
    }
}
