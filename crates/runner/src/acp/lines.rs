//! Lines out of pieces, with a limit.

/// Of one message. Files and the outputs of tools go through the workspace, not through messages.
pub(crate) const MAX_LINE_BYTES: usize = 8 << 20;
/// Of a longer one, so much is kept to tell what it was.
const HEAD_BYTES: usize = 4 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    TooLong { head: Vec<u8>, bytes: usize },
}

#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    buffered: Vec<u8>,
    /// How much of the line was left out, where it is too long.
    left_out: usize,
}

impl LineSplitter {
    /// The lines that end within this piece.
    pub(crate) fn push(&mut self, mut piece: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.keep(&piece[..end]);
            piece = &piece[end + 1..];
            let bytes = std::mem::take(&mut self.buffered);
            lines.push(match std::mem::take(&mut self.left_out) {
                0 => Line::Whole(bytes),
                left_out => Line::TooLong { bytes: bytes.len() + left_out, head: bytes },
            });
        }
        self.keep(piece);
        lines
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.left_out > 0 {
            self.left_out += piece.len();
            return;
        }
        self.buffered.extend_from_slice(piece);
        if self.buffered.len() > MAX_LINE_BYTES {
            self.left_out = self.buffered.len() - HEAD_BYTES;
            self.buffered.truncate(HEAD_BYTES);
            self.buffered.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // A80
        #[test]
        fn lines_are_the_same_however_they_are_cut(lines in proptest::collection::vec("[a-z]{0,20}", 0..10), cut in 1_usize..7) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut splitter = LineSplitter::default();
            let read: Vec<Line> = text.as_bytes().chunks(cut).flat_map(|piece| splitter.push(piece)).collect();
            let expected: Vec<Line> = lines.into_iter().map(|line| Line::Whole(line.into_bytes())).collect();
            prop_assert_eq!(read, expected);
        }
    }

    // A80
    #[test]
    fn a_line_that_is_too_long_is_counted_and_not_kept() {
        let mut splitter = LineSplitter::default();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..50 {
            assert_eq!(splitter.push(&piece), Vec::new());
            assert!(splitter.buffered.capacity() <= 2 * MAX_LINE_BYTES + piece.len());
        }
        let told = splitter.push(b"\nafter\n");
        assert!(
            matches!(&told[0], Line::TooLong { bytes, head } if *bytes == 50 << 20 && head.len() == HEAD_BYTES)
        );
        assert_eq!(told[1], Line::Whole(b"after".to_vec()));
    }
}
