//! How fast one caller may ask (F36): a bucket that fills steadily and holds a burst.

use warren_model::Timestamp;

/// What a caller may do in a minute, and at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub per_minute: u32,
}

/// What is left to one caller. Kept in memory only: to lose it gives a caller one more burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    left: f64,
    filled_at: Timestamp,
}

impl RateLimit {
    /// A whole minute's worth may come at once.
    fn burst(self) -> f64 {
        f64::from(self.per_minute)
    }

    fn per_ms(self) -> f64 {
        f64::from(self.per_minute) / 60_000.0
    }
}

impl Bucket {
    pub fn full(limit: RateLimit, now: Timestamp) -> Self {
        Self { left: limit.burst(), filled_at: now }
    }

    /// The bucket after one request, or how many seconds to wait for the next.
    pub fn take(self, limit: RateLimit, now: Timestamp) -> Result<Self, u64> {
        // A clock that was turned back fills nothing and takes nothing away.
        #[expect(clippy::cast_precision_loss, reason = "a wait is far below 2^53 ms")]
        let passed = now.ms_since(self.filled_at).max(0) as f64;
        let left = (self.left + passed * limit.per_ms()).min(limit.burst());
        if left >= 1.0 {
            return Ok(Self { left: left - 1.0, filled_at: now.max(self.filled_at) });
        }
        let wait_ms = (1.0 - left) / limit.per_ms().max(f64::MIN_POSITIVE);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded to an hour, and never negative"
        )]
        let seconds = (wait_ms / 1_000.0).ceil().clamp(1.0, 3_600.0) as u64;
        Err(seconds)
    }

    /// Whether it is full again, so that it need not be kept.
    pub fn is_idle(self, limit: RateLimit, now: Timestamp) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a wait is far below 2^53 ms")]
        let passed = now.ms_since(self.filled_at).max(0) as f64;
        self.left + passed * limit.per_ms() >= limit.burst()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    // F36
    #[test]
    fn a_burst_passes_then_the_pace_holds_and_the_wait_is_true() {
        let limit = RateLimit { per_minute: 60 };
        let mut bucket = Bucket::full(limit, START);
        for _ in 0..60 {
            bucket = bucket.take(limit, START).unwrap();
        }
        assert_eq!(bucket.take(limit, START), Err(1));
        let bucket = bucket.take(limit, START.plus_ms(1_000)).unwrap();
        assert!(bucket.take(limit, START.plus_ms(1_000)).is_err());
        assert!(
            bucket.is_idle(limit, START.plus_ms(62_000)) && !bucket.is_idle(limit, START.plus_ms(30_000))
        );
    }

    proptest! {
        // F36
        #[test]
        fn no_pattern_of_asking_gets_more_than_a_burst_and_the_pace(
            per_minute in 1..600_u32,
            steps in proptest::collection::vec(-50..2_000_i64, 1..400),
        ) {
            let limit = RateLimit { per_minute };
            let (mut bucket, mut now, mut passed) = (Bucket::full(limit, START), START, 0_u32);
            let mut latest = START;
            for step in steps {
                now = now.plus_ms(step);
                latest = latest.max(now);
                if let Ok(next) = bucket.take(limit, now) {
                    bucket = next;
                    passed += 1;
                }
            }
            let minutes = latest.ms_since(START) as f64 / 60_000.0;
            prop_assert!(f64::from(passed) <= f64::from(per_minute) * (1.0 + minutes) + 1e-6);
        }
    }
}
