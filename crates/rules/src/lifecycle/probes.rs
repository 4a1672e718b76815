//! What is found out about a runtime whose work shows no progress, and what follows (F14).
//!
//! ```text
//!   stalled ──▶ degraded, and asked: can be called ─▶ its card is fetched
//!                                    lives in a box ─▶ the box is asked
//!                                    comes and asks ─▶ does it take what waits for it?
//!
//!   answers ─▶ degraded still, asked again later       silent ─▶ offline, and restarted where Warren owns it
//!   nothing found out ─▶ asked again soon
//! ```

use warren_model::{Finding, ProbeWay, Runtime, Status, Timestamp, Vitals};

use crate::lifecycle::Signal;

/// Which way leads closest to the runtime itself.
pub const fn way(runtime: Runtime, can_be_called: bool) -> ProbeWay {
    match runtime {
        _ if can_be_called => ProbeWay::Card,
        Runtime::Hosted | Runtime::Resident => ProbeWay::Box,
        Runtime::External => ProbeWay::Claims,
    }
}

/// What the queue of a runtime that comes and asks shows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueSeen {
    /// It holds a message and renews its claim.
    pub holds_claim: bool,
    /// Since when the oldest message waits that it could have taken.
    pub waits_since: Option<Timestamp>,
}

/// Left waiting for so long, a message says that nobody comes for it.
pub const UNCLAIMED_MS: i64 = 60_000;

/// Whether a runtime that comes and asks still does. With nothing to take, nothing is known.
pub fn seen_from_queue(seen: QueueSeen, now: Timestamp) -> Finding {
    match seen.waits_since {
        _ if seen.holds_claim => Finding::Answers,
        Some(since) if now.ms_since(since) >= UNCLAIMED_MS => Finding::Silent,
        Some(_) | None => Finding::Unknown,
    }
}

/// What is done about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It moved, or somebody put it away, while it was asked.
    Outdated,
    /// Degraded as before, with this reason; asked again then.
    Stays { reason: &'static str, ask_again_at: Timestamp },
    /// Sent through the table, with this reason; should reports go on all the same, it is asked again then.
    Leads { signal: Signal, reason: &'static str, ask_again_at: Timestamp },
}

/// One that answers, or reports and does not, is asked again after so long, should it still not move.
const ANSWERED_AGAIN_MS: i64 = 5 * 60_000;
/// One that could not be asked, sooner.
const UNKNOWN_AGAIN_MS: i64 = 60_000;

pub fn judge(status: Status, vitals: &Vitals, way: ProbeWay, finding: Finding, now: Timestamp) -> Verdict {
    if status != Status::Degraded || vitals.probe_at.is_none() {
        return Verdict::Outdated;
    }
    let reason = sentence(way, finding);
    match finding {
        Finding::Answers => Verdict::Stays { reason, ask_again_at: now.plus_ms(ANSWERED_AGAIN_MS) },
        Finding::Unknown => Verdict::Stays { reason, ask_again_at: now.plus_ms(UNKNOWN_AGAIN_MS) },
        Finding::Silent => {
            let ask_again_at = now.plus_ms(ANSWERED_AGAIN_MS);
            Verdict::Leads { signal: Signal::ProbeFailed, reason, ask_again_at }
        }
    }
}

/// What follows where nothing was heard from a runtime that Warren can call, once it was asked (F16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAsking {
    /// It reported meanwhile, or somebody put it away.
    Outdated,
    /// An answer is a sign of life like a report that mentions nothing.
    Alive,
    /// As good as silent. It is asked again then; absent: Warren cannot call it after all.
    Silent { ask_again_at: Option<Timestamp> },
}

/// One that was found silent is asked again after so long: it need not report to come back.
const SILENT_AGAIN_MS: i64 = 60_000;

/// `found` is absent where the runtime is not one that is called.
pub fn after_asking(
    status: Status,
    vitals: &Vitals,
    asked_at: Timestamp,
    found: Option<Finding>,
    now: Timestamp,
) -> AfterAsking {
    let has_reported = vitals.last_heartbeat_at.is_some_and(|at| at > asked_at);
    match status {
        Status::Online | Status::Degraded | Status::Offline if !has_reported => {}
        _ => return AfterAsking::Outdated,
    }
    match found {
        Some(Finding::Answers) => AfterAsking::Alive,
        Some(Finding::Silent | Finding::Unknown) => {
            AfterAsking::Silent { ask_again_at: Some(now.plus_ms(SILENT_AGAIN_MS)) }
        }
        None => AfterAsking::Silent { ask_again_at: None },
    }
}

const fn sentence(way: ProbeWay, finding: Finding) -> &'static str {
    match (finding, way) {
        (Finding::Answers, ProbeWay::Card) => {
            "Work is in flight without progress; the runtime answers when it is asked."
        }
        (Finding::Answers, ProbeWay::Box) => "Work is in flight without progress; its box answers.",
        (Finding::Answers, ProbeWay::Claims) => {
            "Work is in flight without progress; the runtime still holds its messages."
        }
        (Finding::Silent, ProbeWay::Card) => {
            "Work was in flight without progress, and the runtime does not answer."
        }
        (Finding::Silent, ProbeWay::Box) => "Work was in flight without progress, and its box has ended.",
        (Finding::Silent, ProbeWay::Claims) => {
            "Work was in flight without progress, and the runtime takes no messages any more."
        }
        (Finding::Unknown, _) => {
            "Work is in flight without progress; whether the runtime is there could not be found out."
        }
    }
}

#[cfg(test)]
mod tests {
    // F16
    #[test]
    fn a_runtime_that_answers_is_alive_and_one_that_does_not_is_asked_again() {
        let later = Timestamp::from_micros(1_000_000_000);
        let asked_at = later.plus_ms(-10);
        let known = Vitals { last_heartbeat_at: Some(asked_at.plus_ms(-90_000)), ..Vitals::default() };
        let after = |status, found| after_asking(status, &known, asked_at, found, later);
        for status in [Status::Online, Status::Degraded, Status::Offline] {
            assert_eq!(after(status, Some(Finding::Answers)), AfterAsking::Alive);
            let again = AfterAsking::Silent { ask_again_at: Some(later.plus_ms(60_000)) };
            assert_eq!(after(status, Some(Finding::Silent)), again);
            assert_eq!(after(status, None), AfterAsking::Silent { ask_again_at: None });
        }
        for status in [Status::Paused, Status::Hibernated, Status::Removed, Status::Failed] {
            assert_eq!(after(status, Some(Finding::Answers)), AfterAsking::Outdated, "{status}");
        }
        let reported = Vitals { last_heartbeat_at: Some(later), ..known };
        let silent = after_asking(Status::Online, &reported, asked_at, Some(Finding::Silent), later);
        assert_eq!(silent, AfterAsking::Outdated, "it reported meanwhile");
    }

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn asked() -> Vitals {
        Vitals { probe_at: Some(NOW), ..Vitals::default() }
    }

    // F14
    #[test]
    fn only_silence_leads_on_and_only_while_it_is_still_stalled() {
        for way in [ProbeWay::Card, ProbeWay::Box, ProbeWay::Claims] {
            for &status in Status::ALL {
                let verdict = judge(status, &asked(), way, Finding::Silent, NOW);
                let leads = matches!(verdict, Verdict::Leads { signal: Signal::ProbeFailed, .. });
                assert_eq!(leads, status == Status::Degraded, "{status}");
                for finding in [Finding::Answers, Finding::Unknown] {
                    let verdict = judge(status, &asked(), way, finding, NOW);
                    assert!(!matches!(verdict, Verdict::Leads { .. }), "{status} {finding:?}");
                }
            }
            // It reported progress while it was asked.
            let moved = judge(Status::Degraded, &Vitals::default(), way, Finding::Silent, NOW);
            assert_eq!(moved, Verdict::Outdated);
        }
    }

    // F14
    #[test]
    fn whoever_comes_and_asks_is_judged_by_what_it_takes() {
        let waits = |ms: i64| QueueSeen { waits_since: Some(NOW.plus_ms(-ms)), ..QueueSeen::default() };
        assert_eq!(seen_from_queue(QueueSeen::default(), NOW), Finding::Unknown, "nothing to take");
        assert_eq!(seen_from_queue(waits(UNCLAIMED_MS - 1), NOW), Finding::Unknown);
        assert_eq!(seen_from_queue(waits(UNCLAIMED_MS), NOW), Finding::Silent);
        let busy = QueueSeen { holds_claim: true, ..waits(UNCLAIMED_MS) };
        assert_eq!(seen_from_queue(busy, NOW), Finding::Answers);
    }

    // F14
    #[test]
    fn the_way_leads_to_the_runtime_itself_where_there_is_one() {
        assert_eq!(way(Runtime::External, true), ProbeWay::Card);
        assert_eq!(way(Runtime::Resident, true), ProbeWay::Card);
        assert_eq!(way(Runtime::Resident, false), ProbeWay::Box);
        assert_eq!(way(Runtime::External, false), ProbeWay::Claims);
    }
}
