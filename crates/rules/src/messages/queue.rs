//! Who gets in, and who goes first (X12, X14).

use warren_model::{Status, Timestamp};

use crate::messages::dispatch::{DeliveryEvent, Outcome};

/// What is known of a workspace when a message for it comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFacts {
    pub status: Status,
    /// Warren can call its runtime; otherwise the runtime comes and asks.
    pub can_be_called: bool,
    /// The runtime answers "busy" itself (F17).
    pub keeps_own_session: bool,
    pub max_running: u32,
    pub running: u32,
    pub waiting: u64,
    pub max_waiting: u64,
    /// After it said that it is busy: not called before this.
    pub not_before: Timestamp,
    pub now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is called at once.
    Start,
    Queue,
    /// Asleep: queued, and woken (F7).
    QueueAndWake,
    /// The runtime keeps its own session: nothing is queued for it.
    Busy,
    /// More wait than may.
    Full,
}

pub fn admit(facts: &QueueFacts) -> Verdict {
    let is_busy = facts.running >= facts.max_running;
    if is_busy && facts.keeps_own_session {
        return Verdict::Busy;
    }
    if facts.waiting >= facts.max_waiting {
        return Verdict::Full;
    }
    // Nobody overtakes those who wait.
    let is_next = !is_busy && facts.waiting == 0 && facts.not_before <= facts.now;
    match facts.status {
        Status::Hibernated => Verdict::QueueAndWake,
        _ if is_next && may_be_called(facts.status) && facts.can_be_called => Verdict::Start,
        _ => Verdict::Queue,
    }
}

/// Whether a workspace in this status is called. Others are waited for: what is kept for them is not lost.
pub const fn may_be_called(status: Status) -> bool {
    match status {
        Status::Online | Status::Degraded => true,
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => false,
    }
}

/// Whether a runtime that comes and asks is given something. One that asks is alive, whatever its status says yet; but
/// what somebody put to rest is left there.
pub const fn may_ask(status: Status) -> bool {
    match status {
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed => true,
        Status::Paused | Status::Hibernated | Status::Removed => false,
    }
}

/// Until when a queue rests after something happened to one of its messages: with a runtime that has no time the others
/// need not be tried, and one that answered is free.
pub fn rest_after(event: &DeliveryEvent, not_before: Timestamp, known: Timestamp) -> Timestamp {
    match event {
        DeliveryEvent::Spoken(Outcome::Busy { .. } | Outcome::Gone) => not_before,
        DeliveryEvent::Spoken(Outcome::Answered) => Timestamp::from_micros(0),
        DeliveryEvent::Spoken(Outcome::Failed { .. } | Outcome::Unknown)
        | DeliveryEvent::LeaseLost
        | DeliveryEvent::GivenBack
        | DeliveryEvent::Silent
        | DeliveryEvent::PastDeadline
        | DeliveryEvent::Expired
        | DeliveryEvent::Cancelled
        | DeliveryEvent::WorkspaceRemoved => known,
    }
}

/// How many more may be claimed now.
pub fn room(max_running: u32, running: u32) -> u32 {
    max_running.saturating_sub(running)
}

/// The turn of a new message: start-time fair queueing. Each sender's messages have turns one after the other, from
/// where the queue is now; so the second message of one sender waits behind the first of every other.
pub fn turn_of(current: u64, last_of_sender: Option<u64>) -> u64 {
    last_of_sender.map_or(current, |last| current.max(last.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn facts() -> QueueFacts {
        QueueFacts {
            status: Status::Online,
            can_be_called: true,
            keeps_own_session: false,
            max_running: 1,
            running: 0,
            waiting: 0,
            max_waiting: 10,
            not_before: NOW,
            now: NOW,
        }
    }

    // X12, X14
    #[test]
    fn a_free_workspace_starts_at_once_and_a_busy_one_queues() {
        assert_eq!(admit(&facts()), Verdict::Start);
        assert_eq!(admit(&QueueFacts { running: 1, ..facts() }), Verdict::Queue);
        assert_eq!(admit(&QueueFacts { running: 1, max_running: 2, ..facts() }), Verdict::Start);
        assert_eq!(admit(&QueueFacts { waiting: 1, ..facts() }), Verdict::Queue, "nobody overtakes");
        assert_eq!(admit(&QueueFacts { not_before: NOW.plus_ms(1), ..facts() }), Verdict::Queue);
        assert_eq!(admit(&QueueFacts { can_be_called: false, ..facts() }), Verdict::Queue);
        assert_eq!(admit(&QueueFacts { waiting: 10, ..facts() }), Verdict::Full);
    }

    // X12
    #[test]
    fn a_runtime_with_its_own_session_is_answered_busy_and_nothing_is_queued() {
        let own = QueueFacts { keeps_own_session: true, ..facts() };
        assert_eq!(admit(&own), Verdict::Start);
        assert_eq!(admit(&QueueFacts { running: 1, ..own }), Verdict::Busy);
        assert_eq!(admit(&QueueFacts { status: Status::Offline, ..own }), Verdict::Queue);
    }

    // X12, X13
    #[test]
    fn a_lane_rests_with_a_runtime_that_has_no_time_and_is_free_after_an_answer() {
        let (later, known) = (NOW.plus_ms(500), NOW.plus_ms(7));
        let after = |outcome| rest_after(&DeliveryEvent::Spoken(outcome), later, known);
        assert_eq!(after(Outcome::Busy { retry_after_ms: None }), later);
        assert_eq!(after(Outcome::Gone), later);
        assert!(after(Outcome::Answered) <= NOW);
        assert_eq!(after(Outcome::Unknown), known);
        assert_eq!(rest_after(&DeliveryEvent::Cancelled, later, known), known);
    }

    // F7
    #[test]
    fn who_was_put_to_rest_is_given_nothing_even_if_it_asks() {
        let resting = [Status::Paused, Status::Hibernated, Status::Removed];
        for status in Status::ALL {
            assert_eq!(may_ask(*status), !resting.contains(status), "{status}");
        }
    }

    // F7
    #[test]
    fn a_message_to_one_asleep_is_queued_and_wakes_it() {
        assert_eq!(admit(&QueueFacts { status: Status::Hibernated, ..facts() }), Verdict::QueueAndWake);
        for status in Status::ALL.iter().filter(|status| !may_be_called(**status)) {
            assert_ne!(admit(&QueueFacts { status: *status, ..facts() }), Verdict::Start, "{status}");
        }
    }

    proptest! {
        // X14
        #[test]
        fn whoever_sends_little_never_waits_behind_all_of_one_who_sends_much(flood in 1_u64..500, later in 0_u64..500) {
            let mut last = None;
            let mut turns = Vec::new();
            for _ in 0..flood {
                let turn = turn_of(0, last);
                last = Some(turn);
                turns.push(turn);
            }
            // The queue has moved on by some; then somebody else says one thing.
            let current = turns.get(usize::try_from(later).unwrap()).copied().unwrap_or(flood);
            let quiet = turn_of(current, None);
            let before = turns.iter().filter(|turn| **turn >= current && **turn < quiet).count();
            prop_assert_eq!(before, 0, "at most those of the same turn are before it");
        }

        #[test]
        fn one_senders_turns_grow(current in 0_u64..1_000, last in 0_u64..1_000) {
            prop_assert!(turn_of(current, Some(last)) > last);
            prop_assert!(turn_of(current, Some(last)) >= current);
        }
    }
}
