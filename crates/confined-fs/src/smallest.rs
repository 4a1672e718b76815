//! The smallest few of many, in memory for the few.

use std::collections::BinaryHeap;

/// Keeps the `capacity` smallest items it was offered, so that the first page of a directory with a million
/// entries costs a page of memory.
#[derive(Debug)]
pub struct Smallest<T: Ord> {
    heap: BinaryHeap<T>,
    capacity: usize,
    /// Whether something was left out.
    pub overflowed: bool,
}

impl<T: Ord> Smallest<T> {
    pub fn new(capacity: usize) -> Self {
        Self { heap: BinaryHeap::new(), capacity, overflowed: false }
    }

    pub fn offer(&mut self, item: T) {
        if self.heap.len() < self.capacity {
            self.heap.push(item);
            return;
        }
        self.overflowed = true;
        if let Some(mut largest) = self.heap.peek_mut()
            && item < *largest
        {
            *largest = item;
        }
    }

    pub fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec()
    }
}

impl Smallest<Vec<u8>> {
    /// As `offer`, and copies only what it keeps.
    pub fn offer_bytes(&mut self, item: &[u8]) {
        if self.heap.len() < self.capacity {
            self.heap.push(item.to_vec());
            return;
        }
        self.overflowed = true;
        if let Some(mut largest) = self.heap.peek_mut()
            && item < largest.as_slice()
        {
            largest.clear();
            largest.extend_from_slice(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_smallest_are_kept_in_order(items in proptest::collection::vec(0u32..50, 0..60), capacity in 0usize..20) {
            let mut smallest = Smallest::new(capacity);
            items.iter().for_each(|item| smallest.offer(*item));
            let mut sorted = items.clone();
            sorted.sort_unstable();
            prop_assert_eq!(smallest.overflowed, items.len() > capacity);
            sorted.truncate(capacity);
            prop_assert_eq!(smallest.into_sorted(), sorted);
        }
    }
}
