//! Output to a cap: all of it, or its head, a line that says how much is missing, and its tail (W31).

use std::collections::VecDeque;

use bytes::Bytes;
use warren_workspace::shell::Output;

/// Keeps at most `head + tail` bytes, however much is pushed.
#[derive(Debug)]
pub(crate) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    max_head: usize,
    max_tail: usize,
    total: u64,
}

impl HeadTail {
    pub(crate) fn new(max_bytes: usize) -> Self {
        let max_head = max_bytes / 2;
        Self { head: Vec::new(), tail: VecDeque::new(), max_head, max_tail: max_bytes - max_head, total: 0 }
    }

    /// So much of the beginning is lost. Comes before anything else.
    pub(crate) const fn skip(&mut self, bytes: u64) {
        if bytes > 0 {
            self.total += bytes;
            // What is kept stands after the gap.
            self.max_tail += self.max_head;
            self.max_head = 0;
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.max_head - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.max_tail)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.max_tail);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(mut self) -> Output {
        let tail = self.tail.make_contiguous();
        let kept = (self.head.len() + tail.len()) as u64;
        if kept == self.total {
            self.head.extend_from_slice(tail);
            return Output { bytes: self.head.into(), total_bytes: self.total, truncated: false };
        }
        let head = &self.head[..whole_characters_end(&self.head)];
        let tail = &tail[whole_characters_start(tail)..];
        let missing = self.total - (head.len() + tail.len()) as u64;
        let note = format!("\n[{missing} bytes left out]\n");
        Output {
            bytes: Bytes::from([head, note.as_bytes(), tail].concat()),
            total_bytes: self.total,
            truncated: true,
        }
    }
}

/// Where to cut so that no UTF-8 character loses its end. Bytes that are no UTF-8 are cut where they are.
fn whole_characters_end(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(4) {
        let at = bytes.len() - back;
        let needed = match bytes[at] {
            0x00..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => continue,
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}

/// Skips the rest of a character whose start is gone.
fn whole_characters_start(bytes: &[u8]) -> usize {
    let is_continuation = |byte: &&u8| (0x80..=0xbf).contains(*byte);
    match bytes.iter().take(4).take_while(is_continuation).count() {
        4 => 0,
        skipped => skipped,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(max: usize, text: &[u8]) -> Output {
        let mut capture = HeadTail::new(max);
        text.chunks(7).for_each(|chunk| capture.push(chunk));
        capture.finish()
    }

    // W31
    #[test]
    fn long_output_keeps_head_and_tail_and_says_what_is_missing() {
        let output = capture(8, b"abcdefghijklmnopqrstuvwxyz");
        assert_eq!(output.bytes, "abcd\n[18 bytes left out]\nwxyz");
        assert!(output.truncated && output.total_bytes == 26);
        let whole = capture(26, b"abcdefghijklmnopqrstuvwxyz");
        assert!(!whole.truncated && whole.bytes.len() == 26);
    }

    // W31, A4
    #[test]
    fn a_lost_beginning_is_told_where_it_was() {
        let mut capture = HeadTail::new(8);
        capture.skip(10);
        capture.push(b"abc");
        let output = capture.finish();
        assert_eq!(
            (&output.bytes[..], output.total_bytes, output.truncated),
            (&b"\n[10 bytes left out]\nabc"[..], 13, true)
        );
    }

    proptest! {
        // W31
        #[test]
        fn text_stays_text_and_within_the_cap(text in "\\PC{0,80}", max in 0usize..40) {
            let output = capture(max, text.as_bytes());
            prop_assert_eq!(output.total_bytes, text.len() as u64);
            prop_assert_eq!(output.truncated, text.len() > max);
            let shown = str::from_utf8(&output.bytes);
            prop_assert!(shown.is_ok(), "{:?}", output.bytes);
            if output.truncated {
                prop_assert!(output.bytes.len() <= max + 40);
            } else {
                prop_assert_eq!(shown.unwrap(), text);
            }
        }
    }
}
