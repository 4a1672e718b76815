//! Tests are run or they are not there; a lint is expected with a reason or it is obeyed.

use crate::finding::Finding;
use crate::tree::Tree;

/// A word that must not stand in code.
struct Banned {
    extensions: &'static [&'static str],
    word: &'static str,
    remedy: &'static str,
}

const RUN_IT: &str =
    "make the test pass, or remove it; a missing part of the system fails and names its package";
const EXPECT: &str = "use #[expect(…, reason = \"…\")], which tells when it is no longer needed";
const SCRIPT: &[&str] = &["ts", "tsx", "js", "mjs"];

const BANNED: &[Banned] = &[
    Banned { extensions: &["rs"], word: "#[ignore", remedy: RUN_IT },
    Banned { extensions: &["rs"], word: "#[allow(", remedy: EXPECT },
    Banned { extensions: &["rs"], word: "#![allow(", remedy: EXPECT },
    Banned { extensions: SCRIPT, word: "test.skip(", remedy: RUN_IT },
    Banned { extensions: SCRIPT, word: "it.skip(", remedy: RUN_IT },
    Banned { extensions: SCRIPT, word: "describe.skip(", remedy: RUN_IT },
    Banned { extensions: SCRIPT, word: "test.only(", remedy: RUN_IT },
    Banned { extensions: SCRIPT, word: "it.only(", remedy: RUN_IT },
    Banned { extensions: SCRIPT, word: "describe.only(", remedy: RUN_IT },
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for banned in BANNED {
        for (path, text) in tree.with_extension(banned.extensions) {
            let hits = text.lines().enumerate().filter(|(_, line)| code_of(line).contains(banned.word));
            findings.extend(hits.map(|(index, _)| {
                Finding::at(path, index + 1, format!("`{}` in code", banned.word), banned.remedy)
            }));
        }
    }
    findings
}

/// A line without what stands in double quotes and without its `//` comment.
fn code_of(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if quoted => drop(characters.next()),
            '"' => quoted = !quoted,
            '/' if !quoted && characters.peek() == Some(&'/') => break,
            _ if quoted => {}
            _ => code.push(character),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of([(path, text)])).len()
    }

    #[test]
    fn a_skipped_test_is_found_in_both_languages() {
        assert_eq!(count("a.rs", "#[test]\n    #[ignore = \"slow\"]\nfn x() {}"), 1);
        assert_eq!(count("a.test.ts", "it.skip('x', () => {})"), 1);
        assert_eq!(count("a.test.tsx", "test.only('x', () => {})"), 1);
    }

    #[test]
    fn an_allowed_lint_is_found_and_an_expected_one_is_not() {
        assert_eq!(count("a.rs", "#![allow(dead_code)]"), 1);
        assert_eq!(count("a.rs", "#[allow(dead_code)] fn x() {}"), 1);
        assert_eq!(count("a.rs", "#[expect(dead_code, reason = \"…\")]"), 0);
    }

    #[test]
    fn comments_and_strings_may_speak_of_it() {
        assert_eq!(count("a.rs", "// never #[ignore]\nlet a = \"say \\\" #[allow(x)]\";"), 0);
    }
}
