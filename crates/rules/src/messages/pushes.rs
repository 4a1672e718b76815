//! When somebody who wants to be told about a task is called again.

use warren_model::{PushConfig, Timestamp};

use warren_model::Backoff;

/// Calls about one change before it is let go: with the waits between them about a quarter of an hour.
pub const MAX_ATTEMPTS: u32 = 8;
/// How long whoever calls has it to themselves; longer than a call may take.
pub const CLAIM_MS: i64 = 60_000;
const BETWEEN_TRIES: Backoff = Backoff { first_ms: 1_000, factor: 3, max_ms: 300_000, jitter: 0.2 };

/// The config as whoever is about to call writes it first.
pub fn claimed(config: &PushConfig, now: Timestamp) -> PushConfig {
    PushConfig {
        attempts: config.attempts.saturating_add(1),
        not_before: now.plus_ms(CLAIM_MS),
        ..config.clone()
    }
}

/// After a call that was taken: the receiver knows this version.
pub fn after_success(config: &PushConfig, version: u64, now: Timestamp) -> PushConfig {
    PushConfig { told_version: version, attempts: 0, not_before: now, ..config.clone() }
}

/// After one that was not. `None`: as often as it may be; this version is let go, and the next change is told.
pub fn after_failure(config: &PushConfig, now: Timestamp, fraction: f64) -> Option<PushConfig> {
    if config.attempts >= MAX_ATTEMPTS {
        return None;
    }
    let wait = BETWEEN_TRIES.delay_ms(config.attempts.saturating_sub(1), fraction);
    let not_before = now.plus_ms(i64::try_from(wait).unwrap_or(i64::MAX));
    Some(PushConfig { not_before, ..config.clone() })
}

#[cfg(test)]
mod tests {
    use warren_model::{Principal, TaskId};

    use super::*;

    // X1
    #[test]
    fn a_receiver_that_fails_is_called_again_later_and_later_and_not_for_ever() {
        let mut now = Timestamp::from_micros(0);
        let mut config = PushConfig {
            task_id: TaskId::from_bytes([1; 16]),
            id: "one".into(),
            owner: Principal::system("test"),
            url: "https://example.org".into(),
            sealed: None,
            told_version: 3,
            attempts: 0,
            not_before: now,
            created_at: now,
        };
        let (mut calls, mut last_wait) = (0, 0);
        loop {
            let held = claimed(&config, now);
            assert_eq!(held.not_before, now.plus_ms(CLAIM_MS));
            calls += 1;
            let Some(next) = after_failure(&held, now, 0.5) else { break };
            let wait = next.not_before.ms_since(now);
            assert!(wait >= last_wait && wait <= 300_000, "{wait}");
            assert_eq!(next.told_version, 3, "it still does not know");
            (now, last_wait, config) = (next.not_before, wait, next);
        }
        assert_eq!(calls, MAX_ATTEMPTS);
        let told = after_success(&claimed(&config, now), 7, now);
        assert_eq!((told.told_version, told.attempts, told.not_before), (7, 0, now));
    }
}
