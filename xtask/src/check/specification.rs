//! The ids of the specification, as data: the specification itself lies beside the repository and not in it.

use crate::finding::Finding;
use crate::tree::Tree;

/// One file of the specification and the ids in it, in its order.
pub(crate) struct SpecFile {
    pub(crate) name: &'static str,
    pub(crate) ids: &'static [&'static str],
}

#[rustfmt::skip]
pub(crate) const FILES: &[SpecFile] = &[
    SpecFile { name: "workspace", ids: &[
        "W1", "W2", "W3", "W4", "W5", "W6", "W7", "W10", "W11", "W12", "W13", "W14", "W15", "W16", "W17",
        "W20", "W21", "W22", "W23", "W24", "W30", "W31", "W32", "W33", "W40", "W41", "W42", "W50", "W51",
        "W52", "W53", "W54", "W60", "W61", "W62", "W63", "W64", "W70", "W71", "W72", "W73", "W74", "W75",
        "W76", "W77", "W78", "W79", "W80", "W81", "W82", "W83",
    ] },
    SpecFile { name: "fleet", ids: &[
        "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15",
        "F16", "F17", "F18", "F20", "F21", "F22", "F30", "F31", "F32", "F33", "F34", "F35", "F36", "F40",
        "F41", "F42", "F50", "F51", "F52", "F53",
    ] },
    SpecFile { name: "exchange", ids: &[
        "X1", "X2", "X3", "X4", "X5", "X6", "X10", "X11", "X12", "X13", "X14", "X15", "X16", "X20", "X21",
        "X22", "X23", "X30", "X31", "X32", "X33", "X34", "X35", "X40", "X41", "X42", "X50", "X51", "X52",
    ] },
    SpecFile { name: "agent", ids: &[
        "A1", "A2", "A3", "A4", "A5", "A10", "A11", "A20", "A21", "A22", "A23", "A30", "A31", "A32", "A33",
        "A40", "A41", "A50", "A51", "A60", "A61", "A70", "A71", "A72", "A80",
    ] },
    SpecFile { name: "surface", ids: &[
        "S1", "S2", "S3", "S4", "S10", "S11", "S12", "S20", "S21", "S22", "S23", "S24", "S30", "S31",
        "S32", "S40", "S41", "S42", "S43", "S44", "S45", "S46", "S50", "S52", "S51",
    ] },
    SpecFile { name: "operations", ids: &[
        "O1", "O2", "O3", "O4", "O5", "O6", "O7", "O10", "O11", "O12", "O13", "O14",
    ] },
    SpecFile { name: "quality", ids: &[
        "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "P1", "P2", "P3", "P4", "P5", "P6", "P7",
        "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P15", "Q20", "Q21", "Q22",
    ] },
];

/// Where the specification lies, seen from the root, if it is there at all.
const FOLDER: &str = "../shared/spec";

/// Compares the list above with the specification, where that can be read.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(folder) = tree.root().map(|root| root.join(FOLDER)) else {
        return Vec::new();
    };
    let files = FILES.iter().filter_map(|file| {
        let text = std::fs::read_to_string(folder.join(format!("{}.md", file.name))).ok()?;
        difference(file, &text)
    });
    files.collect()
}

fn difference(file: &SpecFile, text: &str) -> Option<Finding> {
    let ids = ids_in(text);
    (ids != file.ids).then(|| {
        let missing: Vec<&str> = ids.iter().filter(|id| !file.ids.contains(id)).copied().collect();
        let gone: Vec<&str> = file.ids.iter().filter(|id| !ids.contains(id)).copied().collect();
        let what = format!(
            "{}.md of the specification has other ids: new {missing:?}, gone {gone:?}, or another order",
            file.name
        );
        Finding::in_file(
            "xtask/src/check/specification.rs",
            what,
            "bring FILES and docs/features.md up to date",
        )
    })
}

/// An id begins a list item (`- W1 …`) or a row of a table (`| P1 | …`).
fn ids_in(text: &str) -> Vec<&str> {
    let starts = text.lines().filter_map(|line| line.strip_prefix("- ").or_else(|| line.strip_prefix("| ")));
    starts.filter_map(|rest| rest.split(' ').next()).filter(|word| is_id(word)).collect()
}

pub(crate) fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix(['W', 'F', 'X', 'A', 'S', 'O', 'Q', 'P']);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: SpecFile = SpecFile { name: "quality", ids: &["Q1", "P1"] };

    #[test]
    fn ids_are_read_from_lists_and_tables() {
        let text =
            "- Q1 one command\n| id | work |\n|---|---|\n| P1 | `true` |\n| 7 | eviction storm |\n- SQLite\n";
        assert_eq!(ids_in(text), ["Q1", "P1"]);
        assert!(difference(&FILE, text).is_none());
    }

    #[test]
    fn a_new_and_a_vanished_id_are_found() {
        let found = difference(&FILE, "- Q1 one\n- Q2 two\n").unwrap().to_string();
        assert!(found.contains("new [\"Q2\"], gone [\"P1\"]"), "{found}");
    }
}
