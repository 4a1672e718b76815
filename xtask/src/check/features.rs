//! `docs/features.md` is true: every id of the specification stands there once, what is called done names tests,
//! and every named test exists.
//!
//! ```text
//!   | id | state | what | tests | missing |
//!   state    done · partly · not yet
//!   tests    code spans, separated by commas:
//!              `crate::module::test_name`   a Rust test; the crate by its folder, `tests/it/files.rs` as `it::files`
//!              `web: title of a test`       a test in web/
//!              `bench: words`               words in a benchmark's source
//!   missing  for `partly`: what is not there yet
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::specification;
use crate::finding::Finding;
use crate::tree::Tree;

const PAGE: &str = "docs/features.md";

/// One row of the page.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    line: usize,
    id: &'a str,
    state: &'a str,
    what: &'a str,
    tests: Vec<&'a str>,
    missing: &'a str,
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = specification::check(tree);
    let Some(page) = tree.text(PAGE) else {
        findings.push(Finding::in_file(PAGE, "missing", "write a row for every id of the specification"));
        return findings;
    };
    let rows = rows(page);
    let known: Vec<&str> = specification::FILES.iter().flat_map(|file| file.ids).copied().collect();
    findings.extend(check_ids(&rows, &known));
    findings.extend(rows.iter().flat_map(|row| check_row(tree, row)));
    findings
}

/// How many ids are in each state.
pub(crate) fn summary(tree: &Tree) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows(tree.text(PAGE).unwrap_or_default()) {
        *counts.entry(row.state).or_default() += 1;
    }
    let count = |state| counts.get(state).copied().unwrap_or_default();
    format!("features: {} done, {} partly, {} not yet", count("done"), count("partly"), count("not yet"))
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let lines = page.lines().enumerate();
    lines.filter_map(|(index, line)| row(index + 1, line)).collect()
}

/// A line of a table that is neither its head nor its ruler.
fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> =
        text.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|').map(str::trim).collect();
    let cell = |index: usize| cells.get(index).copied().unwrap_or_default();
    let id = cell(0);
    if id == "id" || id.starts_with("---") {
        return None;
    }
    let tests = cell(3).split('`').skip(1).step_by(2).collect();
    Some(Row { line, id, state: cell(1), what: cell(2), tests, missing: cell(4) })
}

fn check_ids(rows: &[Row<'_>], known: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        if !known.contains(&row.id) {
            let what = format!("the specification has no id `{}`", row.id);
            findings.push(Finding::at(PAGE, row.line, what, "remove the row, or correct its id"));
        } else if !seen.insert(row.id) {
            let what = format!("`{}` stands here twice", row.id);
            findings.push(Finding::at(PAGE, row.line, what, "keep one row"));
        }
    }
    findings.extend(known.iter().filter(|id| !seen.contains(*id)).map(|id| {
        Finding::in_file(
            PAGE,
            format!("the id `{id}` is missing"),
            "add its row; a new one begins as `not yet`",
        )
    }));
    findings
}

fn check_row(tree: &Tree, row: &Row<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |what: String, remedy: &str| findings.push(Finding::at(PAGE, row.line, what, remedy));
    let id = row.id;
    match (row.state, row.tests.as_slice()) {
        ("done" | "partly", []) => {
            add(format!("`{id}` is called {} and names no test", row.state), "name the test that shows it");
        }
        ("not yet", [_, ..]) => {
            add(format!("`{id}` has tests and is called not yet"), "call it done or partly");
        }
        ("done" | "partly" | "not yet", _) => {}
        (other, _) => add(format!("`{id}` has the state `{other}`"), "use done, partly or not yet"),
    }
    if row.what.is_empty() {
        add(format!("`{id}` says nothing about what it is"), "say it in a few words");
    }
    if (row.state == "partly") == row.missing.is_empty() {
        add(
            format!("`{id}` is {} and its last cell is {}", row.state, filled(row.missing)),
            "the last cell says what a `partly` lacks, and nothing else",
        );
    }
    for test in &row.tests {
        if let Err(what) = find_test(tree, test) {
            add(format!("`{id}` names `{test}`: {what}"), "name a test that exists, or write it");
        }
    }
    findings
}

fn filled(cell: &str) -> &'static str {
    if cell.is_empty() { "empty" } else { "filled" }
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

    const HEAD: &str = "| id | state | what | tests | missing |\n|---|---|---|---|---|\n";

    fn tree(page: &str) -> Tree {
        Tree::of([
            (PAGE, page),
            ("crates/rules/Cargo.toml", ""),
            ("crates/rules/src/lifecycle.rs", "mod tests {\n    fn removed_is_terminal() {}\n}"),
            ("crates/store-sql/benches/commits.rs", "//! P8: grouped commits"),
            ("web/src/app.test.tsx", "test('shows the status', () => {})"),
        ])
    }

    fn row_findings(line: &str) -> Vec<String> {
        let page = format!("{HEAD}{line}\n");
        let found: Vec<_> = rows(&page).iter().flat_map(|row| check_row(&tree(&page), row)).collect();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_with_tests_that_exist_pass() {
        for line in [
            "| F2 | done | the table | `rules::lifecycle::tests::removed_is_terminal` | |",
            "| S40 | partly | the map | `web: shows the status` | zoom |",
            "| P8 | done | heartbeats | `bench: grouped commits` | |",
            "| A1 | not yet | agents as data | | |",
        ] {
            assert_eq!(row_findings(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_row_that_is_not_true_is_found() {
        for (line, expected) in [
            ("| F2 | done | the table | | |", "names no test"),
            ("| F2 | partly | the table | | half |", "names no test"),
            ("| F2 | not yet | the table | `rules::lifecycle::removed_is_terminal` | |", "called not yet"),
            ("| F2 | soon | the table | | |", "the state `soon`"),
            ("| F2 | not yet | | | |", "says nothing"),
            ("| F2 | partly | the table | `rules::removed_is_terminal` | |", "last cell is empty"),
            ("| F2 | done | the table | `rules::removed_is_terminal` | a bit |", "last cell is filled"),
            ("| F2 | done | the table | `rules::lifecycle::removed_is` | |", "no `fn removed_is`"),
            ("| F2 | done | the table | `rules::sweep::removed_is_terminal` | |", "no module `sweep`"),
            ("| F2 | done | the table | `attic::removed_is_terminal` | |", "no crate `attic`"),
            ("| F2 | done | the table | `web: shows the stat` | |", "no such title"),
            ("| F2 | done | the table | `bench: lone commits` | |", "no benchmark"),
            ("| F2 | done | the table | `removed_is_terminal` | |", "not of the form"),
        ] {
            let found = row_findings(line);
            assert!(found.len() == 1 && found[0].contains(expected), "{line}: {found:?}");
            assert!(found[0].contains("docs/features.md:3"), "{found:?}");
        }
    }

    #[test]
    fn an_id_that_is_missing_unknown_or_there_twice_is_found() {
        let page =
            format!("{HEAD}| W1 | not yet | a | | |\n| W1 | not yet | a | | |\n| Z9 | not yet | a | | |\n");
        let found = check_ids(&rows(&page), &["W1", "W2"]);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(shown[0].contains("features.md:4: `W1` stands here twice"), "{shown:?}");
        assert!(shown[1].contains("features.md:5: the specification has no id `Z9`"), "{shown:?}");
        assert!(shown[2].contains("the id `W2` is missing"), "{shown:?}");
    }

    #[test]
    fn a_missing_page_is_found() {
        assert!(check(&Tree::default())[0].to_string().contains("docs/features.md: missing"));
    }

    #[test]
    fn the_summary_counts_the_states() {
        let page =
            format!("{HEAD}| W1 | done | a | `x` | |\n| W2 | not yet | a | | |\n| W3 | not yet | a | | |\n");
        assert_eq!(summary(&tree(&page)), "features: 1 done, 0 partly, 2 not yet");
    }
}
