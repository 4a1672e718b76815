//! What to do after a failure: retry an open, resolve after an eviction, open the breaker, recover by itself.
//!
//! Times are milliseconds of any clock that does not go back; the wall clock may jump, and a jump must neither open
//! nor close a breaker.

use std::collections::VecDeque;

use warren_model::Backoff;

/// How transient opens are retried (W12).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenPlan {
    /// Attempts after the first.
    pub retries: u32,
    pub backoff: Backoff,
}

/// Three retries after 1.4, 2.8 and 5.6 s: 9.8 s in all, give or take a fifth.
impl Default for OpenPlan {
    fn default() -> Self {
        let backoff = Backoff { first_ms: 1_400, factor: 2, max_ms: 30_000, jitter: 0.2 };
        Self { retries: 3, backoff }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenVerdict {
    RetryAfterMs(u64),
    GiveUp,
}

impl OpenPlan {
    /// After `failures` failed attempts, the last of them `transient` or not.
    pub fn after_failure(&self, failures: u32, transient: bool, fraction: f64) -> OpenVerdict {
        if transient && failures <= self.retries {
            OpenVerdict::RetryAfterMs(self.backoff.delay_ms(failures.saturating_sub(1), fraction))
        } else {
            OpenVerdict::GiveUp
        }
    }
}

/// How often one operation may be repeated because its workspace was evicted under it (W13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvictionPlan {
    pub max_retries: u32,
}

impl Default for EvictionPlan {
    fn default() -> Self {
        Self { max_retries: 3 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvictionVerdict {
    /// Resolve the workspace again and repeat the operation once.
    ResolveAndRetry,
    Exhausted,
}

impl EvictionPlan {
    /// After the operation met its `evictions`-th eviction.
    pub const fn after_eviction(&self, evictions: u32) -> EvictionVerdict {
        if evictions <= self.max_retries {
            EvictionVerdict::ResolveAndRetry
        } else {
            EvictionVerdict::Exhausted
        }
    }
}

/// When evictions of one workspace are a storm (O2, incident 7). A restart that evicts every workspace once is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StormPlan {
    /// More evictions than this within the window open the breaker.
    pub max_evictions: u32,
    pub window_ms: u64,
    /// How long uses then fail at once.
    pub cooldown_ms: u64,
}

impl Default for StormPlan {
    fn default() -> Self {
        Self { max_evictions: 5, window_ms: 60_000, cooldown_ms: 30_000 }
    }
}

/// The evictions of one workspace within the window. Holds at most `max_evictions + 1` times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    evicted_at_ms: VecDeque<u64>,
}

impl Breaker {
    /// Takes note of an eviction; true when this one makes it a storm. After the cooldown one eviction suffices
    /// to open the breaker again, as long as the earlier ones are within the window.
    pub fn note(&mut self, plan: &StormPlan, now_ms: u64) -> bool {
        self.evicted_at_ms.retain(|at| now_ms.saturating_sub(*at) < plan.window_ms);
        self.evicted_at_ms.push_back(now_ms);
        let is_storm = self.evicted_at_ms.len() > plan.max_evictions as usize;
        if is_storm {
            self.evicted_at_ms.pop_front();
        }
        is_storm
    }

    pub fn forget(&mut self) {
        self.evicted_at_ms = VecDeque::new();
    }
}

/// Why a workspace is `failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The open failed, for good or after its retries.
    Open { transient: bool },
    /// The breaker opened.
    EvictionStorm,
}

/// How a failed workspace comes back without an operator (W14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecoveryPlan {
    /// Off unless set; 5 minutes is a good value.
    pub reset_after_ms: Option<u64>,
    pub storm: StormPlan,
}

impl RecoveryPlan {
    /// Whether the next use may reset a workspace that has been failed for `failed_for_ms`.
    pub fn may_reset(&self, cause: FailureCause, failed_for_ms: u64) -> bool {
        let by_time = self.reset_after_ms.is_some_and(|after| failed_for_ms >= after);
        match cause {
            FailureCause::Open { transient: _ } => by_time,
            FailureCause::EvictionStorm => by_time || failed_for_ms >= self.storm.cooldown_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The waits of an open whose every attempt fails.
    fn waits(plan: &OpenPlan, transient: bool, fraction: f64) -> Vec<u64> {
        (1..)
            .map_while(|failures| match plan.after_failure(failures, transient, fraction) {
                OpenVerdict::RetryAfterMs(ms) => Some(ms),
                OpenVerdict::GiveUp => None,
            })
            .collect()
    }

    proptest! {
        // W12
        #[test]
        fn transient_opens_are_retried_three_times_in_about_ten_seconds(fraction in 0.0..1.0_f64) {
            let waits = waits(&OpenPlan::default(), true, fraction);
            prop_assert_eq!(waits.len(), 3);
            let total: u64 = waits.iter().sum();
            prop_assert!((7_500..=12_000).contains(&total), "{total} ms");
        }

        // W12
        #[test]
        fn permanent_failures_are_never_retried(retries in 0_u32..10, failures in 1_u32..20) {
            let plan = OpenPlan { retries, ..OpenPlan::default() };
            prop_assert_eq!(plan.after_failure(failures, false, 0.5), OpenVerdict::GiveUp);
        }

        // W12
        #[test]
        fn an_open_is_attempted_once_more_than_it_is_retried(retries in 0_u32..10) {
            let plan = OpenPlan { retries, ..OpenPlan::default() };
            prop_assert_eq!(waits(&plan, true, 0.5).len(), retries as usize);
        }

        // W13
        #[test]
        fn an_operation_is_repeated_once_per_eviction_and_then_given_up(max_retries in 0_u32..10) {
            let plan = EvictionPlan { max_retries };
            let repeats = (1..).take_while(|n| plan.after_eviction(*n) == EvictionVerdict::ResolveAndRetry);
            prop_assert_eq!(repeats.count(), max_retries as usize);
        }

        // O2 incident 7
        #[test]
        fn the_breaker_opens_exactly_when_the_window_holds_too_many(
            gaps in proptest::collection::vec(0_u64..40_000, 1..60), max_evictions in 1_u32..6,
        ) {
            let plan = StormPlan { max_evictions, ..StormPlan::default() };
            let mut breaker = Breaker::default();
            let (mut now, mut times) = (0, Vec::new());
            for gap in gaps {
                now += gap;
                times.push(now);
                let recent = times.iter().filter(|at| now - **at < plan.window_ms).count();
                prop_assert_eq!(breaker.note(&plan, now), recent > max_evictions as usize);
                prop_assert!(breaker.evicted_at_ms.len() <= max_evictions as usize);
            }
        }
    }

    // W14
    #[test]
    fn a_failed_workspace_recovers_alone_only_when_told_to() {
        let off = RecoveryPlan::default();
        let on = RecoveryPlan { reset_after_ms: Some(300_000), ..off };
        for transient in [true, false] {
            let cause = FailureCause::Open { transient };
            assert!(!off.may_reset(cause, u64::MAX));
            assert!(!on.may_reset(cause, 299_999) && on.may_reset(cause, 300_000));
        }
    }

    // O2 incident 7
    #[test]
    fn a_breaker_closes_after_its_cooldown_without_an_operator() {
        let plan = RecoveryPlan::default();
        assert!(!plan.may_reset(FailureCause::EvictionStorm, 29_999));
        assert!(plan.may_reset(FailureCause::EvictionStorm, 30_000));
    }
}
