//! `docs/security.md` is true: every case of boxes, files, commands and calls stands there once, what holds names a test and a
//! control, and what does not hold gives its reason.
//!
//! ```text
//!   | case | state | attack and expectation | note |
//!   state    holds · partly · not yet · does not apply
//! ```
//!
//! The evidence is in the sources: `// sec/S01` stands above a test, `// control: sec/S01` above the same attack with the
//! defence off, which must succeed. A control within a test says so in a comment there. A test that is named in
//! `in_each_box!` runs once per provider.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::tree::Tree;

const PAGE: &str = "docs/security.md";
/// Boxes, their side doors, the shell tool, the file operations, calls to others, and uploads.
const FAMILIES: [(char, u32); 6] = [('S', 29), ('B', 14), ('T', 10), ('F', 13), ('A', 10), ('P', 6)];

/// What shows one case.
#[derive(Debug, Default, PartialEq, Eq)]
struct Evidence {
    tests: usize,
    runs: usize,
    controls: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Finding::in_file(PAGE, "missing", "state the threat model and a row for every case")];
    };
    let evidence = evidence(tree);
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, row) in rows(page) {
        let found = evidence.get(row.case).unwrap_or(&NONE);
        findings.extend(row.problem(found).map(|(what, remedy)| Finding::at(PAGE, line, what, remedy)));
        if !seen.insert(row.case) {
            findings.push(Finding::at(
                PAGE,
                line,
                format!("`{}` stands here twice", row.case),
                "keep one row",
            ));
        }
    }
    let missing = all_cases().filter(|case| !seen.contains(case.as_str()));
    findings.extend(missing.map(|case| {
        Finding::in_file(PAGE, format!("the case `{case}` is missing"), "add its row, with its state")
    }));
    findings
}

const NONE: Evidence = Evidence { tests: 0, runs: 0, controls: 0 };

/// How much there is, counted from the sources.
pub(crate) fn summary(tree: &Tree) -> String {
    let evidence = evidence(tree);
    let states = rows(tree.text(PAGE).unwrap_or_default()).into_iter().map(|(_, row)| row.state);
    let count = |wanted: &str, states: &[&str]| states.iter().filter(|state| **state == wanted).count();
    let states: Vec<&str> = states.collect();
    let cases = all_cases().filter(|case| evidence.get(case).is_some_and(|found| found.tests > 0)).count();
    let runs: usize = evidence.values().map(|found| found.runs).sum();
    let controls: usize = evidence.values().map(|found| found.controls).sum();
    format!(
        "security cases: {cases} with tests, {runs} runs, {controls} controls; {} hold, {} partly, {} not yet, {} do not apply",
        count("holds", &states),
        count("partly", &states),
        count("not yet", &states),
        count("does not apply", &states),
    )
}

/// One line per case, for people.
pub(crate) fn table(tree: &Tree) -> String {
    let evidence = evidence(tree);
    let lines = all_cases().map(|case| {
        let found = evidence.get(&case).unwrap_or(&NONE);
        format!("sec/{case}  {:2} tests  {:2} runs  {:2} controls\n", found.tests, found.runs, found.controls)
    });
    lines.collect()
}

/// One row of the page.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    case: &'a str,
    state: &'a str,
    note: &'a str,
}

impl Row<'_> {
    /// What is not true about it, and the remedy.
    fn problem(&self, found: &Evidence) -> Option<(String, &'static str)> {
        let Self { case, state, note } = self;
        let says = |what: String, remedy| Some((what, remedy));
        match *state {
            "holds" | "partly" if found.tests == 0 => says(
                format!("`{case}` is said to hold and has no test"),
                "write `// sec/…` above the test that shows it",
            ),
            "holds" | "partly" if found.controls == 0 && !note.contains("control") => says(
                format!("`{case}` has no control"),
                "write the attack with the defence off as `// control: sec/…`, or say in the note why there is none",
            ),
            "partly" | "not yet" | "does not apply" if note.is_empty() => {
                says(format!("`{case}` does not hold and gives no reason"), "say why in the note")
            }
            "not yet" | "does not apply" if found.tests > 0 => {
                says(format!("`{case}` has tests and is called {state}"), "call it holds or partly")
            }
            "holds" | "partly" | "not yet" | "does not apply" => None,
            other => says(
                format!("`{case}` has the state `{other}`"),
                "use holds, partly, not yet or does not apply",
            ),
        }
    }
}

fn rows(page: &str) -> Vec<(usize, Row<'_>)> {
    let lines = page.lines().enumerate().filter_map(|(index, line)| {
        let cells: Vec<&str> =
            line.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|').map(str::trim).collect();
        let &[case, state, _, note] = cells.as_slice() else {
            return None;
        };
        is_case(case).then_some((index + 1, Row { case, state, note }))
    });
    lines.collect()
}

fn all_cases() -> impl Iterator<Item = String> {
    FAMILIES
        .into_iter()
        .flat_map(|(family, last)| (1..=last).map(move |number| format!("{family}{number:02}")))
}

fn is_case(word: &str) -> bool {
    all_cases().any(|case| case == word)
}

fn evidence(tree: &Tree) -> BTreeMap<String, Evidence> {
    let mut all: BTreeMap<String, Evidence> = BTreeMap::new();
    for (path, text) in tree.with_extension(&["rs"]).filter(|(path, _)| path.starts_with("crates/")) {
        let doubled = doubled(text);
        for claim in claims(text) {
            let in_test = claim.has_inner_control && !path.ends_with("main.rs");
            for case in claim.cases {
                let found = all.entry(case.to_owned()).or_default();
                if claim.is_control {
                    found.controls += 1;
                    continue;
                }
                found.tests += 1;
                found.runs += if doubled.contains(claim.test) { 2 } else { 1 };
                found.controls += usize::from(in_test);
            }
        }
    }
    all
}

/// Tests that run once per provider.
fn doubled(text: &str) -> BTreeSet<&str> {
    let Some((_, list)) = text.split_once("in_each_box!(") else {
        return BTreeSet::new();
    };
    let list = list.split(')').next().unwrap_or_default();
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// A test, and the cases that it shows or is the control of.
#[derive(Debug, PartialEq, Eq)]
struct Claim<'a> {
    cases: Vec<&'a str>,
    is_control: bool,
    test: &'a str,
    has_inner_control: bool,
}

fn claims(text: &str) -> Vec<Claim<'_>> {
    let mut claims: Vec<Claim<'_>> = Vec::new();
    let mut above: Option<(Vec<&str>, bool, bool)> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix("// ") {
            let cases = cases_in(comment);
            let speaks_of_control = comment.to_lowercase().contains("control");
            if !cases.is_empty() {
                above = Some((cases, comment.starts_with("control:"), speaks_of_control));
            } else if let (None, Some(last)) = (&above, claims.last_mut()) {
                last.has_inner_control |= speaks_of_control;
            }
        } else if let Some(test) = function_name(trimmed) {
            if let Some((cases, is_control, has_inner_control)) = above.take() {
                claims.push(Claim { cases, is_control, test, has_inner_control });
            }
        } else if !trimmed.starts_with("#[") {
            above = None;
        }
    }
    claims
}

/// `sec/S14, S15`: the first says what the others are.
fn cases_in(comment: &str) -> Vec<&str> {
    let Some(start) = comment.find("sec/") else {
        return Vec::new();
    };
    let words = comment[start..].split([',', ' ', ':', ';', '.']);
    words.map(|word| word.strip_prefix("sec/").unwrap_or(word)).filter(|word| is_case(word)).collect()
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
    rest.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "in_each_box!(\n    stays_inside,\n);\n\n// sec/S14, S15: limits\nasync fn stays_inside(case: Case) {}\n\n\
        // control: sec/S14\n#[test]\nfn gets_out() {}\n\n// W61, sec/T01\n#[test]\nfn refused() {\n    // The control: allowed.\n}\n";

    #[test]
    fn tests_runs_and_controls_are_counted_from_the_sources() {
        let tree = Tree::of([("crates/providers/tests/it/security/limits.rs", SOURCE)]);
        let evidence = evidence(&tree);
        assert_eq!(evidence["S14"], Evidence { tests: 1, runs: 2, controls: 1 });
        assert_eq!(evidence["S15"], Evidence { tests: 1, runs: 2, controls: 0 });
        assert_eq!(evidence["T01"], Evidence { tests: 1, runs: 1, controls: 1 });
        assert!(
            summary(&tree).starts_with("security cases: 3 with tests, 5 runs, 2 controls"),
            "{}",
            summary(&tree)
        );
    }

    #[test]
    fn a_row_that_claims_too_much_is_found() {
        let shown = Evidence { tests: 1, runs: 2, controls: 1 };
        let uncontrolled = Evidence { tests: 1, runs: 1, controls: 0 };
        for (state, note, found, is_true) in [
            ("holds", "", &shown, true),
            ("holds", "", &NONE, false),
            ("holds", "", &uncontrolled, false),
            ("holds", "no control: it reads its own answer", &uncontrolled, true),
            ("partly", "", &shown, false),
            ("not yet", "there are no secrets", &NONE, true),
            ("does not apply", "", &NONE, false),
            ("done", "", &shown, false),
        ] {
            let row = Row { case: "S01", state, note };
            assert_eq!(row.problem(found).is_none(), is_true, "{state} {note}");
        }
    }

    #[test]
    fn every_case_has_one_row() {
        let twice = "| S01 | not yet | x | why |\n| S01 | not yet | x | why |\n";
        let findings = check(&Tree::of([(PAGE, twice)]));
        assert_eq!(findings.len(), 1 + 29 + 10 + 13 + 10 + 6 + 14 - 1);
    }
}
