use proptest::prelude::*;
use warren_model::{
    Delivery, DeliveryEnd, DeliveryId, DeliveryReason, DeliveryState, Message, OrgId, Part, Principal, Role,
    TaskId, TaskState, TaskUpdate, Timestamp, WorkspaceId,
};

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_763_200_000_000_000);

fn delivery() -> Delivery {
    Delivery {
        id: DeliveryId::from_bytes([1; 16]),
        org_id: OrgId::DEFAULT,
        workspace_id: WorkspaceId::from_bytes([2; 16]),
        task_id: TaskId::from_bytes([3; 16]),
        author: Principal::system("test"),
        message: Message::new("m", Role::User, vec![Part::text("hello")]),
        priority: 0,
        turn: 0,
        state: DeliveryState::Claimed,
        end: None,
        reason: None,
        attempts: 1,
        not_before: NOW,
        expires_at: NOW.plus_ms(3_600_000),
        idle_timeout_ms: 300_000,
        deadline_at: None,
        owner: Some("one".into()),
        lease_until: Some(NOW.plus_ms(30_000)),
        has_begun: false,
        progress_at: Some(NOW),
        due_at: None,
        created_at: NOW,
        ended_at: None,
    }
}

fn facts(deduplicates: bool, now: Timestamp) -> RuntimeFacts {
    RuntimeFacts { deduplicates, can_resume: false, answers_busy: false, now, fraction: 0.5 }
}

// X15
#[test]
fn with_a_runtime_dies_what_it_had_claimed_and_nothing_else() {
    let of = |owner: String, state| Delivery { owner: Some(owner), state, ..delivery() };
    let own = runtime_as_owner("t1");
    assert_eq!(
        dies_with_its_runtime(&of(own.clone(), DeliveryState::Claimed)),
        Some(DeliveryEvent::LeaseLost)
    );
    assert_eq!(dies_with_its_runtime(&of(own.clone(), DeliveryState::Queued)), None, "it was put back");
    assert_eq!(dies_with_its_runtime(&of(own, DeliveryState::Ended)), None);
    assert_eq!(dies_with_its_runtime(&of("a replica".into(), DeliveryState::Claimed)), None, "Warren calls");
}

// X12, F17
#[test]
fn busy_is_answered_where_the_runtime_keeps_its_own_session_and_the_sender_waits() {
    let busy = DeliveryEvent::Spoken(Outcome::Busy { retry_after_ms: None });
    let waiting = RuntimeFacts { answers_busy: true, ..facts(true, NOW) };
    let next = after(&delivery(), &busy, waiting);
    assert_eq!(next, Next::End { how: DeliveryEnd::Failed, reason: Some(DeliveryReason::Busy) });
    assert!(matches!(after(&delivery(), &busy, facts(true, NOW)), Next::Again { .. }));
    let turned_away =
        Delivery { end: Some(DeliveryEnd::Failed), reason: Some(DeliveryReason::Busy), ..delivery() };
    assert!(was_turned_away(&turned_away) && !was_turned_away(&delivery()));
    // Everything else is as it is with any runtime.
    for event in [DeliveryEvent::Spoken(Outcome::Gone), DeliveryEvent::LeaseLost, DeliveryEvent::Expired] {
        assert_eq!(after(&delivery(), &event, waiting), after(&delivery(), &event, facts(true, NOW)));
    }
}

// X11
#[test]
fn an_unknown_fate_is_tried_again_only_where_the_runtime_takes_a_message_once() {
    for event in [DeliveryEvent::Spoken(Outcome::Unknown), DeliveryEvent::LeaseLost] {
        let once = after(&delivery(), &event, facts(false, NOW));
        assert!(matches!(once, Next::End { how: DeliveryEnd::Failed, .. }), "{once:?}");
        let again = after(&delivery(), &event, facts(true, NOW));
        assert!(matches!(again, Next::Again { .. }), "{again:?}");
        let last = Delivery { attempts: MAX_ATTEMPTS, ..delivery() };
        let dead = after(&last, &event, facts(true, NOW));
        assert!(matches!(dead, Next::End { how: DeliveryEnd::Failed, .. }), "a dead letter: {dead:?}");
    }
}

// X15, X20
#[test]
fn work_that_the_runtime_names_is_taken_up_again_and_not_sent_twice() {
    let begun = Delivery { has_begun: true, attempts: 1_000, ..delivery() };
    let facts = RuntimeFacts { can_resume: true, ..facts(false, NOW) };
    for event in [DeliveryEvent::Spoken(Outcome::Unknown), DeliveryEvent::LeaseLost] {
        let next = after(&begun, &event, facts);
        assert!(matches!(next, Next::Again { reason: DeliveryReason::Resumed, .. }), "{next:?}");
        let unheard = after(&delivery(), &event, facts);
        assert!(matches!(unheard, Next::End { .. }), "an older turn of the task does not count: {unheard:?}");
    }
}

// X12, X13
#[test]
fn busy_and_gone_keep_the_message_until_it_expires() {
    let many = Delivery { attempts: 1_000, ..delivery() };
    for outcome in [Outcome::Busy { retry_after_ms: None }, Outcome::Gone] {
        let next = after(&many, &DeliveryEvent::Spoken(outcome.clone()), facts(false, NOW));
        assert!(matches!(next, Next::Again { .. }), "{next:?}");
        let late = after(&many, &DeliveryEvent::Spoken(outcome), facts(false, many.expires_at));
        assert!(matches!(late, Next::End { how: DeliveryEnd::Expired, .. }), "{late:?}");
    }
    let asked = DeliveryEvent::Spoken(Outcome::Busy { retry_after_ms: Some(120_000) });
    let next = after(&delivery(), &asked, facts(false, NOW));
    assert_eq!(next, Next::Again { not_before: NOW.plus_ms(120_000), reason: DeliveryReason::Busy });
}

// X10
#[test]
fn only_progress_of_the_work_itself_counts_against_silence() {
    let mut row = Delivery { lease_until: Some(NOW.plus_ms(10_000_000)), ..delivery() };
    assert_eq!(overdue(&row, NOW.plus_ms(299_999)), None);
    // The lease is renewed all the time, which is what a heartbeat does; the work does not move.
    assert_eq!(overdue(&row, NOW.plus_ms(300_000)), Some(DeliveryEvent::Silent));
    for minute in 1..=60 {
        row.progress_at = Some(NOW.plus_ms(minute * 60_000));
        assert_eq!(overdue(&row, NOW.plus_ms(minute * 60_000 + 299_999)), None, "an hour of progress");
    }
    // A ceiling holds, progress or not.
    row.deadline_at = Some(NOW.plus_ms(30 * 60_000));
    assert_eq!(overdue(&row, NOW.plus_ms(60 * 60_000)), Some(DeliveryEvent::PastDeadline));
}

#[test]
fn what_is_due_is_overdue_at_that_very_moment_and_not_before() {
    let queued =
        Delivery { state: DeliveryState::Queued, progress_at: None, lease_until: None, ..delivery() };
    for row in [delivery(), queued] {
        let due = due_at(&row).expect("it is due some day");
        assert_eq!(overdue(&row, due.plus_ms(-1)), None);
        assert!(overdue(&row, due).is_some());
    }
    assert_eq!(due_at(&Delivery { state: DeliveryState::Ended, ..delivery() }), None);
}

#[test]
fn the_task_ends_as_the_agent_said_or_as_the_delivery_did() {
    use TaskState as T;
    assert_eq!(task_after(Some(T::InputRequired), DeliveryEnd::Answered), T::InputRequired);
    assert_eq!(task_after(Some(T::Rejected), DeliveryEnd::Answered), T::Rejected);
    assert_eq!(task_after(Some(T::Working), DeliveryEnd::Answered), T::Completed);
    assert_eq!(task_after(None, DeliveryEnd::Answered), T::Completed);
    for told in [None, Some(T::Completed), Some(T::Working)] {
        assert_eq!(task_after(told, DeliveryEnd::Failed), T::Failed);
        assert_eq!(task_after(told, DeliveryEnd::Expired), T::Failed);
        assert_eq!(task_after(told, DeliveryEnd::Cancelled), T::Cancelled);
    }
    let said = TaskUpdate::Message(Message::new("a", Role::Agent, vec![Part::text("yes")]));
    assert_eq!(state_of(&said), Some(T::Completed));
}

/// One thing that may come next, in any order.
#[derive(Debug, Clone)]
enum Event {
    Claim,
    /// An answer about the attempt that many claims ago: 0 is the current one, others come late or twice.
    Answer {
        late_by: u32,
        outcome: Outcome,
    },
    Crash,
    Wait(i64),
    Progress {
        late_by: u32,
    },
    Cancel,
    GiveBack {
        late_by: u32,
    },
}

fn events() -> impl Strategy<Value = Event> {
    let outcome = prop_oneof![
        Just(Outcome::Answered),
        Just(Outcome::Busy { retry_after_ms: None }),
        Just(Outcome::Busy { retry_after_ms: Some(5_000) }),
        Just(Outcome::Gone),
        Just(Outcome::Failed { reason: DeliveryReason::MessageRefused }),
        Just(Outcome::Unknown),
    ];
    prop_oneof![
        4 => Just(Event::Claim),
        4 => (0_u32..3, outcome).prop_map(|(late_by, outcome)| Event::Answer { late_by, outcome }),
        1 => Just(Event::Crash),
        3 => (0_i64..400_000).prop_map(Event::Wait),
        2 => (0_u32..3).prop_map(|late_by| Event::Progress { late_by }),
        1 => Just(Event::Cancel),
        1 => (0_u32..3).prop_map(|late_by| Event::GiveBack { late_by }),
    ]
}

/// The row, and who writes to it: every write names the attempt it is about, as the store demands.
struct Row {
    delivery: Delivery,
    ends: u32,
    runs_of_work: u32,
    deduplicates: bool,
}

impl Row {
    fn happen(&mut self, event: &DeliveryEvent, now: Timestamp) {
        match after(&self.delivery, event, facts(self.deduplicates, now)) {
            Next::End { how, .. } => {
                self.delivery.state = DeliveryState::Ended;
                self.delivery.end = Some(how);
                self.ends += 1;
            }
            Next::Again { not_before, .. } => {
                self.delivery.state = DeliveryState::Queued;
                self.delivery.not_before = not_before;
            }
        }
    }

    fn is_current(&self, late_by: u32) -> bool {
        late_by == 0 && self.delivery.state == DeliveryState::Claimed
    }

    fn apply(&mut self, event: &Event, now: Timestamp) {
        match event {
            Event::Claim => {
                let can = self.delivery.state == DeliveryState::Queued && self.delivery.not_before <= now;
                if can && self.delivery.expires_at > now {
                    self.delivery.state = DeliveryState::Claimed;
                    self.delivery.attempts += 1;
                    self.delivery.progress_at = Some(now);
                    self.delivery.lease_until = Some(now.plus_ms(30_000));
                    self.runs_of_work += 1;
                }
            }
            Event::Answer { late_by, outcome } if self.is_current(*late_by) => {
                self.happen(&DeliveryEvent::Spoken(outcome.clone()), now);
            }
            Event::GiveBack { late_by } if self.is_current(*late_by) => {
                self.happen(&DeliveryEvent::GivenBack, now);
            }
            Event::Progress { late_by } if self.is_current(*late_by) => {
                self.delivery.progress_at = Some(now);
                self.delivery.lease_until = Some(now.plus_ms(30_000));
            }
            Event::Cancel if self.delivery.state != DeliveryState::Ended => {
                self.happen(&DeliveryEvent::Cancelled, now);
            }
            // Whoever held it is gone, and renews nothing.
            Event::Crash => {
                self.delivery.lease_until = self.delivery.lease_until.map(|at| at.min(now.plus_ms(30_000)));
            }
            Event::Answer { .. }
            | Event::GiveBack { .. }
            | Event::Progress { .. }
            | Event::Cancel
            | Event::Wait(_) => {}
        }
    }

    fn sweep(&mut self, now: Timestamp) {
        if let Some(event) = overdue(&self.delivery, now) {
            self.happen(&event, now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // X15: accepted means delivered, failed, expired or cancelled, exactly one of them
    #[test]
    fn any_interleaving_ends_an_accepted_message_exactly_once(
        happenings in prop::collection::vec(events(), 0..60), deduplicates: bool,
    ) {
        let queued = Delivery { state: DeliveryState::Queued, attempts: 0, lease_until: None, progress_at: None, ..delivery() };
        let mut row = Row { delivery: queued, ends: 0, runs_of_work: 0, deduplicates };
        let mut now = NOW;
        let mut first_end = None;
        for event in &happenings {
            if let Event::Wait(ms) = event {
                now = now.plus_ms(*ms);
                row.sweep(now);
            }
            row.apply(event, now);
            prop_assert!(row.ends <= 1);
            first_end = first_end.or(row.delivery.end);
            prop_assert_eq!(row.delivery.end, first_end, "an end is never changed");
        }
        // Then nobody does anything any more but the sweep.
        for _ in 0..3 {
            now = due_at(&row.delivery).unwrap_or(now).max(now);
            row.sweep(now);
        }
        prop_assert_eq!(row.ends, 1, "it ended once: {:?}", row.delivery);
        prop_assert_eq!(row.delivery.state, DeliveryState::Ended);
    }

    // X11: a runtime that does not de-duplicate never sees a message twice after it may have begun to work on it
    #[test]
    fn work_that_may_have_begun_is_begun_again_only_by_a_runtime_that_can_tell(
        happenings in prop::collection::vec(events(), 0..60),
    ) {
        let queued = Delivery { state: DeliveryState::Queued, attempts: 0, lease_until: None, progress_at: None, ..delivery() };
        let mut row = Row { delivery: queued, ends: 0, runs_of_work: 0, deduplicates: false };
        let mut now = NOW;
        for event in &happenings {
            let had_begun = row.delivery.state == DeliveryState::Claimed;
            let is_undone = matches!(
                event,
                Event::Answer { outcome: Outcome::Busy { .. } | Outcome::Gone, late_by: 0 } | Event::GiveBack { late_by: 0 }
            );
            if let Event::Wait(ms) = event {
                now = now.plus_ms(*ms);
                row.sweep(now);
            }
            row.apply(event, now);
            if had_begun && row.delivery.state == DeliveryState::Queued {
                prop_assert!(is_undone, "{event:?} put back what may have been begun");
            }
        }
    }
}

// X10
#[test]
fn agents_wait_no_longer_than_the_ceiling_and_people_as_long_as_they_say() {
    let (now, late) = (Timestamp::from_micros(0), Timestamp::from_micros(0).plus_ms(9_000));
    let early = now.plus_ms(10);
    assert_eq!(deadline_of(None, PrincipalKind::User, 1_000, now), None);
    assert_eq!(deadline_of(Some(late), PrincipalKind::User, 1_000, now), Some(late));
    assert_eq!(deadline_of(None, PrincipalKind::Workspace, 1_000, now), Some(now.plus_ms(1_000)));
    assert_eq!(deadline_of(Some(late), PrincipalKind::Workspace, 1_000, now), Some(now.plus_ms(1_000)));
    assert_eq!(deadline_of(Some(early), PrincipalKind::Workspace, 1_000, now), Some(early));
}

// X11
#[test]
fn warren_speaks_only_where_the_agent_has_not() {
    assert_eq!(words_for(DeliveryEnd::Answered, None, false), None);
    assert_eq!(words_for(DeliveryEnd::Failed, Some(DeliveryReason::Failed), true), None, "by its own words");
    assert!(words_for(DeliveryEnd::Failed, Some(DeliveryReason::Failed), false).is_some());
    assert!(
        words_for(DeliveryEnd::Failed, Some(DeliveryReason::NoProgress), true).is_some(),
        "it did not say so itself"
    );
    let Next::End { how, reason } = after_overflow() else { panic!("it ends") };
    assert_eq!(how, DeliveryEnd::Failed);
    let words = words_for(how, reason, true).unwrap();
    assert!(words.contains("more than a task can hold"), "{words}");
}

// X11, X15
#[test]
fn every_reason_is_read_as_it_was_written_and_a_newer_ones_is_told_as_unknown() {
    for reason in DeliveryReason::ALL {
        assert_eq!(DeliveryReason::read(reason.as_str()), *reason);
        let spoken = words_for(DeliveryEnd::Failed, Some(*reason), false);
        assert!(spoken.is_some(), "who asked learns something of {reason}");
    }
    assert_eq!(DeliveryReason::read("moonstruck"), DeliveryReason::Unrecognized);
    assert_eq!(words_for(DeliveryEnd::Failed, Some(DeliveryReason::Failed), true), None, "its own words");
}
