//! `docs/features.md` is true: every id of the specification stands there once with its whole sentence, what is called
//! done names tests, and every named test exists.
//!
//! ```text
//!   ### W1
//!
//!   > the sentence of the specification
//!
//!   **partly**: what is missing            state: done · partly · not yet; only `partly` says what is missing
//!
//!   - `crate::module::test_name`           a Rust test; the crate by its folder, `tests/it/files.rs` as `it::files`
//!   - `web: title of a test`               a test in web/
//!   - `bench: words`                       words in a benchmark's source
//! ```
//!
//! Other paragraphs (where to read how it is used) are free.

use std::collections::{BTreeMap, BTreeSet};

use super::specification::{self, Promise};
use crate::finding::Finding;
use crate::tree::Tree;

const PAGE: &str = "docs/features.md";

/// One section of the page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Section<'a> {
    line: usize,
    id: &'a str,
    sentence: String,
    state: &'a str,
    missing: String,
    tests: Vec<&'a str>,
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = specification::check(tree);
    let Some(page) = tree.text(PAGE) else {
        findings.push(Finding::in_file(PAGE, "missing", "write a section for every id of the specification"));
        return findings;
    };
    let sections = sections(page);
    let known: Vec<&str> = specification::FILES.iter().flat_map(|file| file.ids).copied().collect();
    findings.extend(check_ids(&sections, &known));
    findings.extend(check_sentences(&sections, &specification::all_promises(tree)));
    findings.extend(sections.iter().flat_map(|section| check_section(tree, section)));
    findings
}

/// How many ids are in each state.
pub(crate) fn summary(tree: &Tree) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for section in sections(tree.text(PAGE).unwrap_or_default()) {
        *counts.entry(section.state).or_default() += 1;
    }
    let count = |state| counts.get(state).copied().unwrap_or_default();
    format!("features: {} done, {} partly, {} not yet", count("done"), count("partly"), count("not yet"))
}

fn sections(page: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut is_missing = false;
    for (index, line) in page.lines().enumerate() {
        if let Some(id) = line.strip_prefix("### ") {
            sections.push(Section { line: index + 1, id: id.trim(), ..Section::default() });
            continue;
        }
        let Some(section) = sections.last_mut() else { continue };
        // A table in a quote belongs to what is promised and is not part of the sentence.
        if let Some(quoted) = line.strip_prefix("> ").filter(|quoted| !quoted.starts_with('|')) {
            append(&mut section.sentence, quoted);
        } else if let Some(test) = line.strip_prefix("- `").and_then(|rest| rest.strip_suffix('`')) {
            section.tests.push(test);
        } else if let Some((state, rest)) = line.strip_prefix("**").and_then(|rest| rest.split_once("**")) {
            section.state = state;
            is_missing = true;
            append(&mut section.missing, rest.trim_start_matches(':'));
            continue;
        } else if is_missing && !line.is_empty() {
            append(&mut section.missing, line);
            continue;
        }
        is_missing = false;
    }
    sections
}

/// Joins wrapped lines with one space.
fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.trim().is_empty() {
        text.push(' ');
    }
    text.push_str(more.trim());
}

fn check_ids(sections: &[Section<'_>], known: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for section in sections {
        if !known.contains(&section.id) {
            let what = format!("the specification has no id `{}`", section.id);
            findings.push(Finding::at(PAGE, section.line, what, "remove the section, or correct its id"));
        } else if !seen.insert(section.id) {
            let what = format!("`{}` stands here twice", section.id);
            findings.push(Finding::at(PAGE, section.line, what, "keep one section"));
        }
    }
    findings.extend(known.iter().filter(|id| !seen.contains(*id)).map(|id| {
        Finding::in_file(
            PAGE,
            format!("the id `{id}` is missing"),
            "add its section; a new one begins as `not yet`",
        )
    }));
    findings
}

/// Compares the quoted sentences with the specification, as far as that could be read.
fn check_sentences(sections: &[Section<'_>], promises: &[Promise]) -> Vec<Finding> {
    let promises: BTreeMap<&str, &str> =
        promises.iter().map(|promise| (promise.id.as_str(), promise.sentence.as_str())).collect();
    let differing = sections.iter().filter_map(|section| {
        let sentence = promises.get(section.id)?;
        (section.sentence != *sentence).then(|| {
            let what = format!("`{}` is not quoted as the specification has it", section.id);
            let remedy = format!("write: {sentence} (and look whether its state still holds)");
            Finding::at(PAGE, section.line, what, remedy)
        })
    });
    differing.collect()
}

fn check_section(tree: &Tree, section: &Section<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |what: String, remedy: &str| findings.push(Finding::at(PAGE, section.line, what, remedy));
    let id = section.id;
    match (section.state, section.tests.as_slice()) {
        ("done" | "partly", []) => {
            add(
                format!("`{id}` is called {} and names no test", section.state),
                "name the test that shows it",
            );
        }
        ("not yet", [_, ..]) => {
            add(format!("`{id}` has tests and is called not yet"), "call it done or partly");
        }
        ("done" | "partly" | "not yet", _) => {}
        (other, _) => add(format!("`{id}` has the state `{other}`"), "use done, partly or not yet"),
    }
    if section.sentence.is_empty() {
        add(format!("`{id}` does not say what it promises"), "quote the sentence of the specification");
    }
    if (section.state == "partly") == section.missing.is_empty() {
        let filled = if section.missing.is_empty() { "nothing" } else { "something" };
        add(
            format!("`{id}` is {} and says that {filled} is missing", section.state),
            "a `partly` says what is missing, and nothing else does",
        );
    }
    for test in &section.tests {
        if let Err(what) = find_test(tree, test) {
            add(format!("`{id}` names `{test}`: {what}"), "name a test that exists, or write it");
        }
    }
    findings
}

fn find_test(tree: &Tree, name: &str) -> Result<(), String> {
    if let Some(title) = name.strip_prefix("web: ") {
        let mut files = tree.with_extension(&["ts", "tsx"]).filter(|(path, _)| is_web_test(path));
        return files
            .any(|(_, text)| has_title(text, title))
            .then_some(())
            .ok_or("no such title in web/".to_owned());
    }
    if let Some(words) = name.strip_prefix("bench: ") {
        let mut files = tree.with_extension(&["rs"]).filter(|(path, _)| path.contains("/benches/"));
        return files
            .any(|(_, text)| text.contains(words))
            .then_some(())
            .ok_or("no benchmark says this".to_owned());
    }
    find_rust_test(tree, name)
}

fn is_web_test(path: &str) -> bool {
    path.starts_with("web/")
        && [".test.", ".spec.", "/e2e/", "/tests/", "/browser/"].iter().any(|mark| path.contains(mark))
}

/// The title as a whole string, whichever quotes stand around it.
fn has_title(text: &str, title: &str) -> bool {
    ['"', '\'', '`'].iter().any(|quote| text.contains(&format!("{quote}{title}{quote}")))
}

fn find_rust_test(tree: &Tree, name: &str) -> Result<(), String> {
    let parts: Vec<&str> = name.split("::").collect();
    let [krate, modules @ .., test] = parts.as_slice() else {
        return Err("not of the form `crate::module::test_name`, `web: title` or `bench: words`".to_owned());
    };
    let Some(folder) = tree.crates().find(|one| one.name == *krate).map(|one| format!("{}/", one.folder))
    else {
        return Err(format!("there is no crate `{krate}`"));
    };
    let sources: Vec<(&str, &str)> =
        tree.with_extension(&["rs"]).filter(|(path, _)| path.starts_with(&folder)).collect();
    if let Some(module) = modules.iter().find(|module| !has_module(&sources, module)) {
        return Err(format!("the crate has no module `{module}`"));
    }
    let defined = sources.iter().any(|(_, text)| defines_function(text, test));
    defined.then_some(()).ok_or_else(|| format!("the crate has no `fn {test}`"))
}

fn has_module(sources: &[(&str, &str)], module: &str) -> bool {
    let (file, folder, declared) = (format!("/{module}.rs"), format!("/{module}/"), format!("mod {module}"));
    sources.iter().any(|(path, text)| {
        path.ends_with(&file)
            || path.contains(&folder)
            || text.match_indices(&declared).any(|(start, _)| ends_word(text, start + declared.len()))
    })
}

fn defines_function(text: &str, name: &str) -> bool {
    let head = format!("fn {name}");
    text.match_indices(&head).any(|(start, _)| ends_word(text, start + head.len()))
}

fn ends_word(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(page: &str) -> Tree {
        Tree::of([
            (PAGE, page),
            ("crates/rules/Cargo.toml", ""),
            ("crates/rules/src/lifecycle.rs", "mod tests {\n    fn removed_is_terminal() {}\n}"),
            ("crates/store-sql/benches/commits.rs", "//! P8: grouped commits"),
            ("web/src/app.test.tsx", "test('shows the status', () => {})"),
        ])
    }

    /// A section in which the id promises "the table".
    fn section(id: &str, state: &str, tests: &[&str]) -> String {
        let tests: String = tests.iter().map(|test| format!("- `{test}`\n")).collect();
        format!("### {id}\n\n> the table\n\n{state}\n\n{tests}")
    }

    fn section_findings(page: &str) -> Vec<String> {
        let found: Vec<_> = sections(page).iter().flat_map(|one| check_section(&tree(page), one)).collect();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sections_with_tests_that_exist_pass() {
        for (state, tests) in [
            ("**done**", &["rules::lifecycle::tests::removed_is_terminal"][..]),
            ("**partly**: zoom", &["web: shows the status"]),
            ("**done**", &["bench: grouped commits"]),
            ("**not yet**", &[]),
        ] {
            assert_eq!(section_findings(&section("F2", state, tests)), Vec::<String>::new(), "{state}");
        }
    }

    #[test]
    fn a_section_that_is_not_true_is_found() {
        const EXISTS: &str = "rules::removed_is_terminal";
        for (state, tests, expected) in [
            ("**done**", &[][..], "names no test"),
            ("**partly**: half", &[], "names no test"),
            ("**not yet**", &["rules::lifecycle::removed_is_terminal"], "called not yet"),
            ("**soon**", &[], "the state `soon`"),
            ("**partly**", &[EXISTS], "says that nothing is missing"),
            ("**done**: a bit", &[EXISTS], "says that something is missing"),
            ("**done**", &["rules::lifecycle::removed_is"], "no `fn removed_is`"),
            ("**done**", &["rules::sweep::removed_is_terminal"], "no module `sweep`"),
            ("**done**", &["attic::removed_is_terminal"], "no crate `attic`"),
            ("**done**", &["web: shows the stat"], "no such title"),
            ("**done**", &["bench: lone commits"], "no benchmark"),
            ("**done**", &["removed_is_terminal"], "not of the form"),
        ] {
            let found = section_findings(&section("F2", state, tests));
            assert!(found.len() == 1 && found[0].contains(expected), "{state} {tests:?}: {found:?}");
            assert!(found[0].contains("docs/features.md:1"), "{found:?}");
        }
        let found = section_findings("### F2\n\n**not yet**\n");
        assert!(found[0].contains("does not say what it promises"), "{found:?}");
    }

    #[test]
    fn a_section_is_read_with_wrapped_lines_joined_and_other_paragraphs_left_out() {
        let page = "# Features\n\n- `not a test`\n\n### O2\n\n> Each has\n> a page.\n>\n> | # | what |\n\n\
                    **partly**: pages\nand tests\n\n- `web: a`\n- `web: b`\n\nHow to use it: see above.\n";
        let expected = Section {
            line: 5,
            id: "O2",
            sentence: "Each has a page.".to_owned(),
            state: "partly",
            missing: "pages and tests".to_owned(),
            tests: vec!["web: a", "web: b"],
        };
        assert_eq!(sections(page), [expected]);
    }

    #[test]
    fn a_sentence_that_differs_from_the_specification_is_found_and_shown() {
        let page = section("F2", "**not yet**", &[]) + &section("F3", "**not yet**", &[]);
        let promise = |id: &str, sentence: &str| Promise { id: id.to_owned(), sentence: sentence.to_owned() };
        let found =
            check_sentences(&sections(&page), &[promise("F2", "the table"), promise("F3", "a drawing")]);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(
            shown[0].contains("`F3` is not quoted") && shown[0].contains("write: a drawing"),
            "{shown:?}"
        );
        assert!(check_sentences(&sections(&page), &[]).is_empty(), "without a specification nothing differs");
    }

    #[test]
    fn an_id_that_is_missing_unknown_or_there_twice_is_found() {
        let page: String = ["W1", "W1", "Z9"].iter().map(|id| section(id, "**not yet**", &[])).collect();
        let found = check_ids(&sections(&page), &["W1", "W2"]);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(shown[0].contains("features.md:7: `W1` stands here twice"), "{shown:?}");
        assert!(shown[1].contains("features.md:13: the specification has no id `Z9`"), "{shown:?}");
        assert!(shown[2].contains("the id `W2` is missing"), "{shown:?}");
    }

    #[test]
    fn a_missing_page_is_found() {
        assert!(check(&Tree::default())[0].to_string().contains("docs/features.md: missing"));
    }

    #[test]
    fn the_summary_counts_the_states() {
        let page = section("W1", "**done**", &["x"])
            + &section("W2", "**not yet**", &[])
            + &section("W3", "**not yet**", &[]);
        assert_eq!(summary(&tree(&page)), "features: 1 done, 0 partly, 2 not yet");
    }
}
