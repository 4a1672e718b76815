//! The ids of the specification, as data, and its sentences, read from it: the specification itself lies beside the
//! repository and not in it. The sentences are copied into `docs/features.md`, and compared where both are there.

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
        "W76", "W77", "W78", "W79", "W80", "W81", "W82", "W83", "W84",
    ] },
    SpecFile { name: "fleet", ids: &[
        "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15",
        "F16", "F17", "F18", "F20", "F21", "F22", "F30", "F31", "F32", "F33", "F34", "F35", "F36", "F37",
        "F38", "F39", "F40", "F41", "F42", "F50", "F51", "F52", "F53",
    ] },
    SpecFile { name: "exchange", ids: &[
        "X1", "X2", "X3", "X4", "X5", "X6", "X10", "X11", "X12", "X13", "X14", "X15", "X16", "X20", "X21",
        "X22", "X23", "X30", "X31", "X32", "X33", "X34", "X35", "X40", "X41", "X42", "X50", "X51", "X52",
    ] },
    SpecFile { name: "agent", ids: &[
        "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A10", "A11", "A12", "A13", "A14", "A15", "A16",
        "A17", "A18", "A19", "A20", "A21", "A22", "A24", "A23", "A25", "A26", "A27", "A28", "A30", "A31",
        "A32", "A33", "A34", "A35", "A36", "A37", "A40", "A41", "A42", "A43", "A50", "A51", "A60", "A61",
        "A62", "A63", "A70", "A71", "A72", "A73", "A74", "A75", "A76", "A90", "A80", "A81", "A82",
    ] },
    SpecFile { name: "surface", ids: &[
        "S1", "S2", "S3", "S4", "S10", "S11", "S12", "S20", "S21", "S22", "S23", "S24", "S30", "S31", "S33",
        "S34", "S32", "S40", "S41", "S42", "S43", "S44", "S45", "S46", "S50", "S52", "S51",
    ] },
    SpecFile { name: "operations", ids: &[
        "O1", "O2", "O3", "O4", "O5", "O6", "O7", "O10", "O11", "O12", "O13", "O14",
    ] },
    SpecFile { name: "quality", ids: &[
        "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "P1", "P2", "P3", "P4", "P5", "P6", "P7",
        "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P16", "P17", "P18", "P19", "P20", "P15", "Q20",
        "Q21", "Q22",
    ] },
];

/// An id with what it promises, in one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    pub(crate) id: String,
    pub(crate) sentence: String,
}

/// Where the specification lies, seen from the root, if it is there at all.
const FOLDER: &str = "../shared/spec";

/// Compares the list above with the specification, where that can be read.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = FILES.iter().filter_map(|file| difference(file, &promises(&read(tree, file)?)));
    files.collect()
}

/// Every id of the specification with its sentence; nothing where the specification cannot be read.
pub(crate) fn all_promises(tree: &Tree) -> Vec<Promise> {
    FILES.iter().filter_map(|file| read(tree, file)).flat_map(|text| promises(&text)).collect()
}

fn read(tree: &Tree, file: &SpecFile) -> Option<String> {
    std::fs::read_to_string(tree.root()?.join(FOLDER).join(format!("{}.md", file.name))).ok()
}

fn difference(file: &SpecFile, promises: &[Promise]) -> Option<Finding> {
    let ids: Vec<&str> = promises.iter().map(|promise| promise.id.as_str()).collect();
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

/// An id begins a list item (`- W1 …`, indented lines continue it), a row of a table (`| P1 | work | baseline | goal |`)
/// or a sentence within an item (`- A16 … A17 …`).
fn promises(text: &str) -> Vec<Promise> {
    let mut items: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        if let Some(item) = line.strip_prefix("- ") {
            items.push(item.to_owned());
        } else if let (true, Some(more), Some(item)) = (is_open, line.strip_prefix("  "), items.last_mut()) {
            *item = format!("{item} {}", more.trim());
        } else {
            items.extend(sentence_of_row(line));
            is_open = false;
            continue;
        }
        is_open = true;
    }
    items.iter().flat_map(|item| sentences(item)).collect()
}

/// A row of the table of benchmarks, in words; `–` stands for no baseline.
fn sentence_of_row(line: &str) -> Option<String> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::trim).collect();
    match cells.as_slice() {
        [id, work, "–", goal] => Some(format!("{id} {work}. Goal: {goal}.")),
        [id, work, baseline, goal] => {
            Some(format!("{id} {work}. Baseline in the same run: {baseline}. Goal: {goal}."))
        }
        _ => None,
    }
}

/// Takes an item apart where a sentence in it begins with another id of the same letter.
fn sentences(item: &str) -> Vec<Promise> {
    let mut found: Vec<Promise> = Vec::new();
    for word in item.split(' ') {
        let ends_sentence = |promise: &Promise| promise.sentence.ends_with(['.', ';']);
        let is_same_letter = |promise: &Promise| promise.id.as_bytes().first() == word.as_bytes().first();
        match found.last_mut() {
            None if is_id(word) => {
                found.push(Promise { id: word.to_owned(), sentence: String::new() });
            }
            None => return found,
            Some(last) if is_id(word) && ends_sentence(last) && is_same_letter(last) => {
                last.sentence = last.sentence.trim_end_matches(';').to_owned();
                found.push(Promise { id: word.to_owned(), sentence: String::new() });
            }
            Some(last) if last.sentence.is_empty() => last.sentence.push_str(word),
            Some(last) => last.sentence = format!("{} {word}", last.sentence),
        }
    }
    found
}

pub(crate) fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix(['W', 'F', 'X', 'A', 'S', 'O', 'Q', 'P']);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: SpecFile = SpecFile { name: "quality", ids: &["Q1", "P1"] };

    fn told(text: &str) -> Vec<(String, String)> {
        promises(text).into_iter().map(|promise| (promise.id, promise.sentence)).collect()
    }

    fn pair(id: &str, sentence: &str) -> (String, String) {
        (id.to_owned(), sentence.to_owned())
    }

    #[test]
    fn ids_and_sentences_are_read_from_lists_and_tables() {
        let text = "- Q1 one command,\n  in two lines\n\n  prose\n| id | work | baseline | goal |\n|---|---|---|---|\n\
                    | P1 | `true` | fork | fast |\n| P2 | events | – | many |\n| 7 | eviction storm | bounded |\n- SQLite\n";
        let expected = [
            pair("Q1", "one command, in two lines"),
            pair("P1", "`true`. Baseline in the same run: fork. Goal: fast."),
            pair("P2", "events. Goal: many."),
        ];
        assert_eq!(told(text), expected);
    }

    #[test]
    fn an_id_in_the_middle_of_an_item_begins_a_promise_of_its_own_and_a_mention_does_not() {
        let text = "- A16 They pass (A63). A17 It is the ledger of A14. F36 differs; A18 last\n";
        let expected = [
            pair("A16", "They pass (A63)."),
            pair("A17", "It is the ledger of A14. F36 differs"),
            pair("A18", "last"),
        ];
        assert_eq!(told(text), expected);
    }

    #[test]
    fn a_new_and_a_vanished_id_are_found() {
        let found = difference(&FILE, &promises("- Q1 one\n- Q2 two\n")).unwrap().to_string();
        assert!(found.contains("new [\"Q2\"], gone [\"P1\"]"), "{found}");
        assert!(difference(&FILE, &promises("- Q1 one\n- P1 two\n")).is_none());
    }
}
