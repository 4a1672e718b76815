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

use warren_model::{Runtime, Status, Timestamp, Vitals};

use crate::lifecycle::Signal;

/// How a runtime is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Its agent card is fetched.
    Card,
    /// Its box is asked.
    Box,
    /// It comes and asks itself: whether it still does is seen from its queue.
    Claims,
}

impl Way {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Box => "box",
            Self::Claims => "claims",
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Answers,
    /// It does not answer.
    Silent,
    /// It could not be asked: no verdict.
    Unknown,
}

impl Finding {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Silent => "silent",
            Self::Unknown => "unknown",
        }
    }
}

/// Which way leads closest to the runtime itself.
pub const fn way(runtime: Runtime, can_be_called: bool) -> Way {
    match runtime {
        _ if can_be_called => Way::Card,
        Runtime::Hosted | Runtime::Resident => Way::Box,
        Runtime::External => Way::Claims,
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

pub fn judge(status: Status, vitals: &Vitals, way: Way, finding: Finding, now: Timestamp) -> Verdict {
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

const fn sentence(way: Way, finding: Finding) -> &'static str {
    match (finding, way) {
        (Finding::Answers, Way::Card) => {
            "Work is in flight without progress; the runtime answers when it is asked."
        }
        (Finding::Answers, Way::Box) => "Work is in flight without progress; its box answers.",
        (Finding::Answers, Way::Claims) => {
            "Work is in flight without progress; the runtime still holds its messages."
        }
        (Finding::Silent, Way::Card) => {
            "Work was in flight without progress, and the runtime does not answer."
        }
        (Finding::Silent, Way::Box) => "Work was in flight without progress, and its box has ended.",
        (Finding::Silent, Way::Claims) => {
            "Work was in flight without progress, and the runtime takes no messages any more."
        }
        (Finding::Unknown, _) => {
            "Work is in flight without progress; whether the runtime is there could not be found out."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn asked() -> Vitals {
        Vitals { probe_at: Some(NOW), ..Vitals::default() }
    }

    // F14
    #[test]
    fn only_silence_leads_on_and_only_while_it_is_still_stalled() {
        for way in [Way::Card, Way::Box, Way::Claims] {
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
        assert_eq!(way(Runtime::External, true), Way::Card);
        assert_eq!(way(Runtime::Resident, true), Way::Card);
        assert_eq!(way(Runtime::Resident, false), Way::Box);
        assert_eq!(way(Runtime::External, false), Way::Claims);
    }
}
