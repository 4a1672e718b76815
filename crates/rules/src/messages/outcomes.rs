//! How well a runtime does the work that Warren hands it, counted by Warren itself (F13).
//!
//! ```text
//!   a delivery ends ──▶ counts? ──▶ joins the last ten ──▶ four or more, half of them failed: degraded
//!                                        │
//!                                        └─ nothing ended for a quarter of an hour: they are forgotten
//! ```
//!
//! A few numbers, since one failure is no trend and a rate from last week says nothing of today. The rate is joined with
//! the one that the runtime reports of itself; the worse of the two counts.

use warren_model::{DeliveryEnd, DeliveryReason, Outcomes, TaskState, Timestamp, Vitals, WorkOutcome};

use crate::lifecycle::DEGRADED_FROM;

/// As many ends are remembered: recovery below a tenth then means that none of them failed.
pub const WINDOW: usize = 10;
/// Fewer say nothing.
pub const ENOUGH: usize = 4;
/// So long after the last end, nothing is known any more.
pub const FORGOTTEN_AFTER_MS: i64 = 15 * 60_000;

/// What the end of a delivery says of the runtime, if anything.
pub fn counted(end: DeliveryEnd, reason: Option<DeliveryReason>, state: TaskState) -> Option<WorkOutcome> {
    match end {
        DeliveryEnd::Answered if state == TaskState::Failed => Some(WorkOutcome::Failed),
        DeliveryEnd::Answered => Some(WorkOutcome::Succeeded),
        DeliveryEnd::Failed => reason.is_none_or(is_the_runtimes).then_some(WorkOutcome::Failed),
        // It never reached the runtime, or somebody did not want it any more.
        DeliveryEnd::Expired | DeliveryEnd::Cancelled => None,
    }
}

/// Whether a failure was the runtime's doing.
const fn is_the_runtimes(reason: DeliveryReason) -> bool {
    use DeliveryReason as Reason;
    match reason {
        // Warren itself may have been the one that died, or has no way to call it, or does not know what it was.
        Reason::LeaseLost | Reason::CannotBeCalled | Reason::WorkspaceRemoved | Reason::Unrecognized => false,
        // It has enough to do, and says so.
        Reason::Busy => false,
        Reason::Gone
        | Reason::Resumed
        | Reason::NoAnswer
        | Reason::GivenBack
        | Reason::NoProgress
        | Reason::DeadlinePassed
        | Reason::Expired
        | Reason::Cancelled
        | Reason::AnswerTooLarge
        | Reason::Failed
        | Reason::Unauthorized
        | Reason::Forbidden
        | Reason::CallRefused
        | Reason::Untrusted
        | Reason::BadAnswer
        | Reason::TaskUnknown
        | Reason::NotCancelable
        | Reason::VersionNotSupported
        | Reason::ContentTypeNotSupported
        | Reason::NotSupported
        | Reason::MessageRefused
        | Reason::AgentError => true,
    }
}

/// The memory after one more end.
#[must_use]
pub fn after(known: &Outcomes, outcome: WorkOutcome, now: Timestamp) -> Outcomes {
    let mut recent = if is_forgotten(known, now) { Vec::new() } else { known.recent.clone() };
    recent.push(outcome);
    let too_many = recent.len().saturating_sub(WINDOW);
    recent.drain(..too_many);
    Outcomes { recent, last_at: Some(now) }
}

/// The part that failed, where enough is known.
pub fn rate(known: &Outcomes, now: Timestamp) -> Option<f64> {
    if known.recent.len() < ENOUGH || is_forgotten(known, now) {
        return None;
    }
    let share = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    Some(share(known.failures()) / share(known.recent.len()))
}

/// The rate that counts: the worse of what the runtime says and what Warren saw.
pub fn worse_rate(vitals: &Vitals, now: Timestamp) -> f64 {
    rate(&vitals.outcomes, now).map_or(vitals.error_rate, |seen| seen.max(vitals.error_rate))
}

/// Whether this end is the one that makes it too many: the table is asked once, and not for each failure after.
pub fn begins_to_fail(before: &Outcomes, after: &Outcomes, now: Timestamp) -> bool {
    let fails = |outcomes| rate(outcomes, now).is_some_and(|rate| rate >= DEGRADED_FROM);
    fails(after) && !fails(before)
}

fn is_forgotten(known: &Outcomes, now: Timestamp) -> bool {
    known.last_at.is_none_or(|at| now.ms_since(at) >= FORGOTTEN_AFTER_MS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn all(signs: &str) -> Outcomes {
        let ends = Outcomes::from_signs(signs).unwrap();
        ends.into_iter().fold(Outcomes::default(), |known, outcome| after(&known, outcome, NOW))
    }

    // F13
    #[test]
    fn a_few_failures_are_no_trend_and_enough_of_them_are() {
        for (signs, expected) in [
            ("", None),
            ("-", None),
            ("---", None),
            ("----", Some(1.0)),
            ("+-+-", Some(0.5)),
            ("++++-", Some(0.2)),
            ("----------++++++++++", Some(0.0)),
            ("++++++++++-", Some(0.1)),
        ] {
            assert_eq!(rate(&all(signs), NOW), expected, "{signs}");
        }
    }

    // F13
    #[test]
    fn what_ended_long_ago_is_forgotten() {
        let failing = all("-----");
        let late = NOW.plus_ms(FORGOTTEN_AFTER_MS);
        assert_eq!(rate(&failing, late.plus_ms(-1)), Some(1.0));
        assert_eq!(rate(&failing, late), None);
        assert_eq!(after(&failing, WorkOutcome::Succeeded, late).signs(), "+");
    }

    // F13
    #[test]
    fn the_worse_of_what_is_said_and_what_is_seen_counts() {
        for (said, signs, expected) in
            [(0.0, "----", 1.0), (0.9, "++++", 0.9), (0.3, "-", 0.3), (0.0, "++++", 0.0)]
        {
            let vitals = Vitals { error_rate: said, outcomes: all(signs), ..Vitals::default() };
            assert!((worse_rate(&vitals, NOW) - expected).abs() < f64::EPSILON, "{said} {signs}");
        }
    }

    // F13
    #[test]
    fn only_ends_that_say_something_of_the_runtime_count() {
        use DeliveryEnd::{Answered, Cancelled, Expired, Failed};
        for (end, reason, state, expected) in [
            (Answered, None, TaskState::Completed, Some(WorkOutcome::Succeeded)),
            (Answered, None, TaskState::InputRequired, Some(WorkOutcome::Succeeded)),
            (Answered, None, TaskState::Rejected, Some(WorkOutcome::Succeeded)),
            (Answered, None, TaskState::Failed, Some(WorkOutcome::Failed)),
            (Failed, Some(DeliveryReason::Unauthorized), TaskState::Failed, Some(WorkOutcome::Failed)),
            (Failed, Some(DeliveryReason::NoProgress), TaskState::Failed, Some(WorkOutcome::Failed)),
            (Failed, Some(DeliveryReason::LeaseLost), TaskState::Failed, None),
            (Failed, Some(DeliveryReason::Unrecognized), TaskState::Failed, None),
            (Expired, Some(DeliveryReason::Expired), TaskState::Failed, None),
            (Cancelled, Some(DeliveryReason::Cancelled), TaskState::Cancelled, None),
        ] {
            assert_eq!(counted(end, reason, state), expected, "{end:?} {reason:?} {state:?}");
        }
    }

    proptest! {
        // F13
        #[test]
        fn the_memory_is_bounded_written_and_read_and_tells_once(failures in proptest::collection::vec(any::<bool>(), 0..60)) {
            let (mut known, mut told, mut is_failing) = (Outcomes::default(), 0, false);
            for failed in failures {
                let outcome = if failed { WorkOutcome::Failed } else { WorkOutcome::Succeeded };
                let next = after(&known, outcome, NOW);
                prop_assert!(next.recent.len() <= WINDOW);
                prop_assert_eq!(Outcomes::from_signs(&next.signs()), Some(next.recent.clone()));
                let fails = rate(&next, NOW).is_some_and(|rate| rate >= DEGRADED_FROM);
                told += usize::from(begins_to_fail(&known, &next, NOW));
                prop_assert_eq!(begins_to_fail(&known, &next, NOW), fails && !is_failing);
                (known, is_failing) = (next, fails);
            }
            prop_assert!(told <= 30);
        }
    }
}
