//! What is kept of a command with a key, for the owner that comes back for it (A4).

use warren_confined_fs::OutputRing;
use warren_init::{Channel, KEPT_OUTPUT_BYTES, Spawn};

#[derive(Debug)]
pub(super) struct Kept {
    key: Vec<u8>,
    /// Stdout and stderr.
    outputs: [OutputRing; 2],
    /// Up to where the owner of now has each of them.
    sent: [u64; 2],
}

impl Kept {
    pub(super) fn of(spawn: &Spawn) -> Option<Box<Self>> {
        let ring = || OutputRing::new(KEPT_OUTPUT_BYTES);
        let kept = || Self { key: spawn.key.clone(), outputs: [ring(), ring()], sent: [0; 2] };
        (!spawn.key.is_empty()).then(|| Box::new(kept()))
    }

    pub(super) fn has_key(&self, key: &[u8]) -> bool {
        self.key == key
    }

    pub(super) fn len(&self) -> usize {
        self.outputs.iter().map(OutputRing::len).sum()
    }

    pub(super) fn push(&mut self, channel: Channel, bytes: &[u8], is_sent: bool) {
        let index = channel as usize;
        self.outputs[index].push(bytes);
        if is_sent {
            self.sent[index] = self.outputs[index].end();
        }
    }

    /// A new owner has nothing yet. Returns how much it will never get.
    pub(super) fn begin_again(&mut self) -> [u64; 2] {
        self.sent = [0, 1].map(|index: usize| self.outputs[index].read(0, 0).0);
        self.sent
    }

    pub(super) fn is_all_sent(&self) -> bool {
        self.outputs.iter().zip(self.sent).all(|(output, sent)| output.end() == sent)
    }

    /// The next piece that the owner does not have.
    pub(super) fn next(&mut self, max_bytes: usize) -> Option<(Channel, Vec<u8>)> {
        for channel in [Channel::Stdout, Channel::Stderr] {
            let index = channel as usize;
            let (offset, bytes) = self.outputs[index].read(self.sent[index], max_bytes);
            if !bytes.is_empty() {
                self.sent[index] = offset + bytes.len() as u64;
                return Some((channel, bytes));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Box<Kept> {
        Kept::of(&Spawn { key: b"k".to_vec(), ..Spawn::default() }).unwrap()
    }

    // A4
    #[test]
    fn a_new_owner_gets_what_is_kept_and_hears_what_is_not() {
        let mut kept = kept();
        kept.push(Channel::Stdout, b"one", true);
        kept.push(Channel::Stderr, &vec![b'e'; KEPT_OUTPUT_BYTES + 5], true);
        assert!(kept.is_all_sent());
        assert_eq!(kept.begin_again(), [0, 5]);
        assert_eq!(kept.next(2), Some((Channel::Stdout, b"on".to_vec())));
        assert_eq!(kept.next(2), Some((Channel::Stdout, b"e".to_vec())));
        kept.push(Channel::Stdout, b"two", false);
        assert_eq!(kept.next(9), Some((Channel::Stdout, b"two".to_vec())));
        assert_eq!(kept.next(usize::MAX).map(|(_, bytes)| bytes.len()), Some(KEPT_OUTPUT_BYTES));
        assert!(kept.is_all_sent() && kept.next(9).is_none());
    }
}
