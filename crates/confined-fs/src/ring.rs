//! The latest output of a background process, by offset from the beginning of all that it wrote.

use std::collections::VecDeque;

/// Keeps the last `capacity` bytes.
#[derive(Debug)]
pub struct OutputRing {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// Offset of the first byte that is still here.
    start: u64,
}

impl OutputRing {
    pub const fn new(capacity: usize) -> Self {
        Self { bytes: VecDeque::new(), capacity, start: 0 }
    }

    pub fn push(&mut self, new: &[u8]) {
        let kept = &new[new.len().saturating_sub(self.capacity)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(self.capacity);
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
        self.start += (excess + new.len() - kept.len()) as u64;
    }

    /// The offset after the last byte written.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// How many bytes are kept now.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What is kept from `offset` on, and where it begins.
    pub fn read(&self, offset: u64, max_bytes: usize) -> (u64, Vec<u8>) {
        let from = offset.clamp(self.start, self.end());
        let skip = usize::try_from(from - self.start).unwrap_or(usize::MAX);
        let count = max_bytes.min(self.bytes.len() - skip);
        let mut bytes = Vec::with_capacity(count);
        bytes.extend(self.bytes.range(skip..skip + count));
        (from, bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // W30
        #[test]
        fn any_offset_reads_what_was_written_there(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..12),
            capacity in 1usize..32, offset in 0u64..200, max in 0usize..40,
        ) {
            let mut ring = OutputRing::new(capacity);
            pieces.iter().for_each(|piece| ring.push(piece));
            let all = pieces.concat();
            prop_assert_eq!(ring.end(), all.len() as u64);
            let (from, bytes) = ring.read(offset, max);
            let oldest = all.len().saturating_sub(capacity) as u64;
            prop_assert_eq!(from, offset.clamp(oldest, all.len() as u64));
            let from = usize::try_from(from).unwrap();
            prop_assert_eq!(&bytes[..], &all[from..all.len().min(from + max)]);
        }
    }
}
