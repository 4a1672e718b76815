//! Randomness: ids, token secrets and jitter.

use std::sync::Mutex;

use warren_model::{Id, IdKind, Timestamp};

/// A source of random bytes.
pub trait Entropy: Send + Sync + std::fmt::Debug {
    fn fill(&self, bytes: &mut [u8]);

    /// 256 bits, for a token's secret.
    fn secret(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.fill(&mut bytes);
        bytes
    }

    /// A number in `0.0..1.0`, for jitter.
    fn fraction(&self) -> f64 {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
    }
}

impl dyn Entropy + '_ {
    /// A new UUIDv7 of the given kind; ids made later sort later.
    pub fn id<K: IdKind>(&self, now: Timestamp) -> Id<K> {
        let mut random = [0; 10];
        self.fill(&mut random);
        Id::from_parts(now, random)
    }
}

/// The operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the kernel's random source answers once the machine has booted");
    }
}

/// A reproducible generator (splitmix64) for tests and simulations. Never for secrets that matter.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<u64>);

impl SeededEntropy {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let mut first = [0; 37];
        let mut second = [0; 37];
        SeededEntropy::new(7).fill(&mut first);
        SeededEntropy::new(7).fill(&mut second);
        assert_eq!(first, second);
        assert_ne!(first, [0; 37]);
    }

    #[test]
    fn fractions_stay_in_range() {
        let entropy = SeededEntropy::new(1);
        assert!((0..10_000).map(|_| entropy.fraction()).all(|f| (0.0..1.0).contains(&f)));
    }
}
