//! Cuts a window of whole lines out of a stream of bytes, holding no more than the window.

/// Takes pieces of a file as they come and keeps what was asked for.
#[derive(Debug)]
pub(super) struct TextWindow {
    lines_to_skip: u64,
    max_lines: u64,
    max_bytes: usize,
    skipped_bytes: u64,
    kept: Vec<u8>,
    lines: u64,
    is_full: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) text: String,
    /// Bytes before the text, from where the stream began.
    pub(super) skipped_bytes: u64,
    /// Line ends in the text; a last line without one counts too.
    pub(super) lines: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotText;

impl TextWindow {
    pub(super) const fn new(lines_to_skip: u64, max_lines: u64, max_bytes: usize) -> Self {
        Self {
            lines_to_skip,
            max_lines,
            max_bytes,
            skipped_bytes: 0,
            kept: Vec::new(),
            lines: 0,
            is_full: false,
        }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn push(&mut self, mut piece: &[u8]) {
        while self.lines_to_skip > 0 && !piece.is_empty() {
            let length = match piece.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    self.lines_to_skip -= 1;
                    end + 1
                }
                None => piece.len(),
            };
            self.skipped_bytes += length as u64;
            piece = &piece[length..];
        }
        for byte in piece {
            if self.is_full {
                return;
            }
            self.kept.push(*byte);
            self.lines += u64::from(*byte == b'\n');
            self.is_full = self.lines == self.max_lines || self.kept.len() == self.max_bytes;
        }
    }

    /// What was kept, up to the last whole line if it was cut by bytes; a line longer than the window is cut between
    /// characters.
    pub(super) fn finish(mut self) -> Result<Cut, NotText> {
        let was_cut_by_bytes = self.is_full && self.lines < self.max_lines;
        if was_cut_by_bytes && let Some(end) = self.kept.iter().rposition(|byte| *byte == b'\n') {
            self.kept.truncate(end + 1);
        }
        if let Err(error) = std::str::from_utf8(&self.kept)
            && error.error_len().is_none()
            && was_cut_by_bytes
        {
            self.kept.truncate(error.valid_up_to());
        }
        let text = String::from_utf8(self.kept).map_err(|_| NotText)?;
        let has_open_line = !text.is_empty() && !text.ends_with('\n');
        Ok(Cut { skipped_bytes: self.skipped_bytes, lines: self.lines + u64::from(has_open_line), text })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &[u8], skip: u64, max_lines: u64, max_bytes: usize, piece: usize) -> Result<Cut, NotText> {
        let mut window = TextWindow::new(skip, max_lines, max_bytes);
        text.chunks(piece).for_each(|chunk| window.push(chunk));
        window.finish()
    }

    // W20
    #[test]
    fn a_window_holds_whole_lines_and_knows_where_it_begins() {
        let seen = cut(b"one\ntwo\nthree\nfour", 1, 2, 100, 3).unwrap();
        assert_eq!((seen.text.as_str(), seen.skipped_bytes, seen.lines), ("two\nthree\n", 4, 2));
        let last = cut(b"one\ntwo", 1, 5, 100, 3).unwrap();
        assert_eq!((last.text.as_str(), last.lines), ("two", 1));
        assert_eq!(cut(b"one\n", 9, 5, 100, 3).unwrap().text, "");
    }

    // W20
    #[test]
    fn bytes_that_are_not_text_are_told_apart_from_a_cut_character() {
        assert_eq!(cut(b"a\xff", 0, 5, 100, 3), Err(NotText));
        assert_eq!(cut("ab漢字".as_bytes(), 0, 5, 6, 3).unwrap().text, "ab漢");
        // At the end of the file half a character is no text.
        assert_eq!(cut(&"漢".as_bytes()[..2], 0, 5, 100, 3), Err(NotText));
    }

    proptest! {
        // W20
        #[test]
        fn windows_one_after_the_other_give_the_whole_file(
            text in "(a|é|漢|🦀|\n){0,60}", max_lines in 1_u64..5, max_bytes in 4_usize..12, piece in 1_usize..7,
        ) {
            let (mut offset, mut whole) = (0, String::new());
            while offset < text.len() {
                let seen = cut(&text.as_bytes()[offset..], 0, max_lines, max_bytes, piece).unwrap();
                prop_assert!(!seen.text.is_empty() && seen.text.len() <= max_bytes && seen.lines <= max_lines);
                offset += seen.text.len();
                whole.push_str(&seen.text);
            }
            prop_assert_eq!(whole, text);
        }
    }
}
