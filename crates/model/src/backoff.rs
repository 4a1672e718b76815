//! How long to wait before something is tried again: exponential, bounded, jittered.
//!
//! This is the only formula of its kind. It stands here and not in `rules` because the runner waits by it too, and the
//! runner is built for boxes without the libraries that `rules` brings (time zones, URLs).

use std::time::Duration;

/// Waits that grow by `factor` from `first_ms` to at most `max_ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    pub first_ms: u64,
    pub factor: u32,
    pub max_ms: u64,
    /// How far a wait may stray from its nominal length, as a share of it: 0.2 means ±20 %. Without it, all that
    /// failed together would come back together.
    pub jitter: f64,
}

impl Backoff {
    /// Doubles from `first_ms` to `max_ms`, without jitter: for one who waits alone.
    pub const fn doubling(first_ms: u64, max_ms: u64) -> Self {
        Self { first_ms, factor: 2, max_ms, jitter: 0.0 }
    }

    /// The wait before retry number `retry` (the first is 0), without jitter.
    pub fn nominal(&self, retry: u32) -> Duration {
        Duration::from_millis(self.nominal_ms(retry))
    }

    fn nominal_ms(&self, retry: u32) -> u64 {
        u64::from(self.factor).saturating_pow(retry).saturating_mul(self.first_ms).min(self.max_ms)
    }

    /// The wait before retry number `retry` (the first is 0). `fraction` is a random number in `0.0..1.0`.
    pub fn delay_ms(&self, retry: u32, fraction: f64) -> u64 {
        let nominal = self.nominal_ms(retry);
        let stray = self.jitter.clamp(0.0, 1.0) * (2.0 * fraction.clamp(0.0, 1.0) - 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a wait is far below 2^53 ms, and the product is never negative: stray is at least -1"
        )]
        let jittered = (nominal as f64 * (1.0 + stray)) as u64;
        jittered
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // W12
        #[test]
        fn a_wait_stays_within_its_jitter_and_its_maximum(
            first_ms in 0_u64..10_000, factor in 1_u32..5, max_ms in 0_u64..60_000,
            jitter in 0.0..1.0_f64, retry in 0_u32..200, fraction in 0.0..1.0_f64,
        ) {
            let backoff = Backoff { first_ms, factor, max_ms, jitter };
            let wait = backoff.delay_ms(retry, fraction);
            let nominal = Backoff { jitter: 0.0, ..backoff }.delay_ms(retry, fraction);
            prop_assert!(nominal <= max_ms);
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (wait, nominal) = (wait as f64, nominal as f64);
            prop_assert!(wait >= nominal * (1.0 - jitter) - 1.0 && wait <= nominal * (1.0 + jitter) + 1.0);
        }

        // W12
        #[test]
        fn without_jitter_waits_never_shrink(retry in 0_u32..100, factor in 1_u32..5) {
            let backoff = Backoff { first_ms: 100, factor, max_ms: 30_000, jitter: 0.0 };
            prop_assert!(backoff.delay_ms(retry, 0.5) <= backoff.delay_ms(retry + 1, 0.5));
        }
    }
}
