//! Text from elsewhere, made safe for a terminal: names and reasons may hold escape sequences that would move the
//! cursor, set the title or write to the clipboard.

use std::fmt::Write as _;

use warren_rules::text::unseen::is_unseen;

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
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The output of a program, piece by piece: lines and tabs stay what they are, whatever else would drive the terminal
/// is shown. A piece may end within a character or between CR and LF.
#[derive(Debug, Default)]
pub(crate) struct VisibleBytes {
    pending: Vec<u8>,
}

impl VisibleBytes {
    pub(crate) fn show(&mut self, piece: &[u8]) -> String {
        self.pending.extend_from_slice(piece);
        let held_back = unfinished(&self.pending);
        let rest = self.pending.split_off(self.pending.len() - held_back);
        let whole = std::mem::replace(&mut self.pending, rest);
        visible_lines(&String::from_utf8_lossy(&whole))
    }

    /// What was held back for a rest that never came.
    pub(crate) fn finish(self) -> String {
        visible_lines(&String::from_utf8_lossy(&self.pending))
    }
}

fn visible_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            other => shown.push_str(&visible(other.encode_utf8(&mut [0; 4]))),
        }
    }
    shown
}

/// Bytes at the end that may be the beginning of something: of a character, or of a line's end.
fn unfinished(bytes: &[u8]) -> usize {
    if bytes.last() == Some(&b'\r') {
        return 1;
    }
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let Some(lead) = tail.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000) else { return 0 };
    match std::str::from_utf8(&tail[lead..]) {
        Err(error) if error.error_len().is_none() => tail.len() - lead,
        _ => 0,
    }
}

fn drives_terminal(character: char) -> bool {
    character.is_control() || is_unseen(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11, sec/T08
    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(visible("a\u{1b}]52;c;aGk=\u{7}b\r\n"), "a\\u{1b}]52;c;aGk=\\u{7}b\\r\\n");
        assert_eq!(visible("exe\u{202e}txt"), "exe\\u{202e}txt");
        assert_eq!(visible("grün 緑"), "grün 緑");
    }

    // S11, sec/T08: what is approved is what is seen.
    #[test]
    fn characters_that_nobody_sees_are_shown() {
        for (text, shown) in [
            ("rm\u{200b} -rf", "rm\\u{200b} -rf"),
            ("ls\u{e0072}\u{e006d}", "ls\\u{e0072}\\u{e006d}"),
            ("a\u{2060}b\u{feff}c\u{ad}d", "a\\u{2060}b\\u{feff}c\\u{ad}d"),
            ("x\u{200f}y\u{61c}z", "x\\u{200f}y\\u{61c}z"),
            ("a\u{2028}b\u{fe01}", "a\\u{2028}b\\u{fe01}"),
        ] {
            assert_eq!(visible(text), shown);
            let document = serde_json::json!(text).to_string();
            let safe = visible_json(&document);
            assert!(safe.is_ascii(), "{safe}");
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text, "and it means the same");
        }
    }

    // S11, sec/T08
    #[test]
    fn a_program_s_output_keeps_its_lines_and_loses_its_hold_on_the_terminal() {
        let attack = "ok\r\n\u{1b}]52;c;aGk=\u{7}\u{1b}]0;title\u{7}\u{1b}]8;;http://x\u{1b}\\\u{1b}P$qm\u{1b}\\ab\u{8}\rc\tgrün 緑🦀\n";
        let shown = "ok\n\\u{1b}]52;c;aGk=\\u{7}\\u{1b}]0;title\\u{7}\\u{1b}]8;;http://x\\u{1b}\\\\u{1b}P$qm\\u{1b}\\ab\\u{8}\\rc\tgrün 緑🦀\n";
        for size in 1..=attack.len() {
            let mut text = VisibleBytes::default();
            let mut all: String = attack.as_bytes().chunks(size).map(|piece| text.show(piece)).collect();
            all.push_str(&text.finish());
            assert_eq!(all, shown, "in pieces of {size}");
        }
        let mut text = VisibleBytes::default();
        assert_eq!(text.show(b"a\xff\xe2\x82"), "a\u{fffd}");
        assert_eq!(text.finish(), "\u{fffd}");
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
