//! Text from elsewhere, made safe for a terminal: names and reasons may hold escape sequences that would move the
//! cursor, set the title or write to the clipboard.

use std::fmt::Write as _;

/// Shows control characters and direction overrides as escapes instead of obeying them.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if drives_terminal(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The same for a JSON document, as the escapes that JSON has: the document means what it meant.
pub(crate) fn visible_json(document: &str) -> String {
    let mut shown = String::with_capacity(document.len());
    for character in document.chars() {
        if drives_terminal(character) {
            // All of them are below U+10000. Writing to a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn drives_terminal(character: char) -> bool {
    character.is_control() || is_direction_override(character)
}

fn is_direction_override(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11
    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(visible("a\u{1b}]52;c;aGk=\u{7}b\r\n"), "a\\u{1b}]52;c;aGk=\\u{7}b\\r\\n");
        assert_eq!(visible("exe\u{202e}txt"), "exe\\u{202e}txt");
        assert_eq!(visible("grün 緑"), "grün 緑");
    }

    // S11
    #[test]
    fn json_has_nothing_that_drives_a_terminal_and_means_the_same() {
        let name = "a\u{9b}31m\u{7f}\u{1b}\u{202e}\u{2069}grün 緑";
        let document = serde_json::json!({ name: [name] });
        let shown = visible_json(&document.to_string());
        assert!(shown.contains("a\\u009b31m\\u007f\\u001b\\u202e\\u2069grün 緑"), "{shown}");
        assert!(!shown.chars().any(drives_terminal), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), document);
    }
}
