//! Text from elsewhere, made safe for a terminal: names and reasons may hold escape sequences that would move the
//! cursor, set the title or write to the clipboard.

use std::fmt::Write as _;

/// Shows control characters and direction overrides as escapes instead of obeying them.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_direction_override(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
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
}
