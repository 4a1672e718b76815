//! The table, property by property. Ids are from the specification.

use proptest::prelude::*;

use super::*;

fn statuses() -> impl Strategy<Value = Status> {
    proptest::sample::select(Status::ALL)
}

fn signals() -> impl Strategy<Value = Signal> {
    proptest::sample::select(Signal::ALL.to_vec())
}

prop_compose! {
    fn facts()(
        runtime in proptest::sample::select(Runtime::ALL),
        error_rate in prop_oneof![0.0..=1.0_f64, Just(f64::NAN), Just(DEGRADED_FROM), Just(RECOVERED_BELOW)],
        runtime_state in prop_oneof![
            Just(RuntimeState::Well),
            Just(RuntimeState::Wedged),
            Just(RuntimeState::Other("warming".into())),
        ],
        manages_own_status: bool,
        is_stalled: bool,
        active_tasks in 0..3_u32,
        has_paused_ancestor: bool,
        has_lost_place: bool,
        is_forced: bool,
    ) -> Facts {
        Facts {
            runtime, error_rate, runtime_state, manages_own_status, is_stalled, active_tasks,
            has_paused_ancestor, has_lost_place, is_forced,
        }
    }
}

fn calm() -> Facts {
    Facts::from_vitals(Runtime::Resident, &Vitals::default())
}

fn after(status: Status, signal: Signal, facts: &Facts) -> Status {
    match transition(status, signal, facts) {
        Decision::Change(change) => change.to,
        Decision::Stay | Decision::Refuse(_) => status,
    }
}

proptest! {
    // F2, Q6
    #[test]
    fn there_is_no_path_out_of_removed(steps in proptest::collection::vec((signals(), facts()), 0..64)) {
        let mut status = Status::Removed;
        for (signal, facts) in steps {
            status = after(status, signal, &facts);
            prop_assert_eq!(status, Status::Removed);
        }
    }

    // F2
    #[test]
    fn a_change_always_changes_something_and_names_its_event(
        status in statuses(), signal in signals(), facts in facts(),
    ) {
        if let Decision::Change(change) = transition(status, signal, &facts) {
            prop_assert!(change.to != status || signal == Signal::Restart, "{status} to itself by {signal:?}");
            let is_removal = change.to == Status::Removed;
            prop_assert_eq!(change.event == EventKind::WorkspaceRemoved, is_removal);
        }
    }

    // F6
    #[test]
    fn a_heartbeat_proves_life_but_never_undoes_what_somebody_asked_for(status in statuses(), facts in facts()) {
        let next = after(status, Signal::Heartbeat, &facts);
        match status {
            Status::Paused | Status::Hibernated | Status::Removed => prop_assert_eq!(next, status),
            _ => prop_assert!(matches!(next, Status::Online | Status::Degraded), "{status} → {next}"),
        }
    }

    // F6
    #[test]
    fn a_heartbeat_does_not_hide_a_lost_place(status in statuses(), mut facts in facts()) {
        facts.has_lost_place = true;
        let next = after(status, Signal::Heartbeat, &facts);
        if matches!(status, Status::Failed | Status::Offline | Status::Degraded) {
            prop_assert_eq!(next, Status::Degraded);
        }
    }

    // F12
    #[test]
    fn a_wedge_degrades_before_any_inference(
        status in statuses(), mut facts in facts(),
    ) {
        facts.runtime_state = RuntimeState::Wedged;
        let next = after(status, Signal::Heartbeat, &facts);
        if matches!(status, Status::Online | Status::Degraded) {
            prop_assert_eq!(next, Status::Degraded);
        }
    }

    // F13
    #[test]
    fn a_runtime_that_manages_its_status_is_never_judged_by_its_numbers(mut facts in facts()) {
        facts.manages_own_status = true;
        facts.is_stalled = false;
        facts.runtime_state = RuntimeState::Well;
        facts.has_lost_place = false;
        prop_assert_eq!(after(Status::Online, Signal::Heartbeat, &facts), Status::Online);
        prop_assert_eq!(after(Status::Degraded, Signal::Heartbeat, &facts), Status::Online);
    }

    // F16
    #[test]
    fn silence_takes_only_the_living_offline(status in statuses(), facts in facts()) {
        let next = after(status, Signal::LivenessExpired, &facts);
        let was_alive = matches!(status, Status::Online | Status::Degraded);
        prop_assert_eq!(next == Status::Offline, was_alive || status == Status::Offline);
    }

    // F3
    #[test]
    fn following_the_wish_reaches_it_or_is_refused(
        status in statuses(),
        desired in proptest::sample::select(Desired::ALL),
        facts in facts(),
    ) {
        if let Some(signal) = signal_towards(status, desired) {
            match transition(status, signal, &facts) {
                Decision::Change(change) => prop_assert_eq!(signal_towards(change.to, desired), None),
                Decision::Refuse(_) => {}
                Decision::Stay => prop_assert!(false, "{status} wants {desired}, but {signal:?} does nothing"),
            }
        }
    }
}

// F13
#[test]
fn degrading_and_recovering_have_a_gap_between_them() {
    let with_rate = |error_rate| Facts { error_rate, ..calm() };
    assert_eq!(after(Status::Online, Signal::Heartbeat, &with_rate(0.49)), Status::Online);
    assert_eq!(after(Status::Online, Signal::Heartbeat, &with_rate(0.5)), Status::Degraded);
    assert_eq!(after(Status::Degraded, Signal::Heartbeat, &with_rate(0.1)), Status::Degraded);
    assert_eq!(after(Status::Degraded, Signal::Heartbeat, &with_rate(0.09)), Status::Online);
}

// F13
#[test]
fn a_low_error_rate_does_not_clear_a_word_of_trouble() {
    for state in ["wedged", "draining"] {
        let facts = Facts { runtime_state: RuntimeState::from_report(state), ..calm() };
        assert_eq!(after(Status::Degraded, Signal::Heartbeat, &facts), Status::Degraded);
    }
}

// F1, F4
#[test]
fn a_hosted_place_is_online_when_ready_and_others_wait_for_their_agent() {
    let hosted = Facts { runtime: Runtime::Hosted, ..calm() };
    assert_eq!(after(Status::Provisioning, Signal::PlaceReady, &hosted), Status::Online);
    assert_eq!(after(Status::Provisioning, Signal::PlaceReady, &calm()), Status::AwaitingAgent);
    assert_eq!(after(Status::AwaitingAgent, Signal::Heartbeat, &calm()), Status::Online);
}

// F7
#[test]
fn resume_under_a_paused_ancestor_is_refused() {
    let facts = Facts { has_paused_ancestor: true, ..calm() };
    for (status, signal) in [(Status::Paused, Signal::Resume), (Status::Hibernated, Signal::Wake)] {
        assert_eq!(transition(status, signal, &facts), Decision::Refuse(TransitionRefusal::AncestorPaused));
        assert_eq!(after(status, signal, &calm()), Status::Provisioning);
    }
}

// F7
#[test]
fn hibernating_with_tasks_in_flight_takes_force() {
    let busy = Facts { active_tasks: 1, ..calm() };
    assert_eq!(
        transition(Status::Online, Signal::Hibernate, &busy),
        Decision::Refuse(TransitionRefusal::TasksActive)
    );
    let forced = Facts { is_forced: true, ..busy };
    assert_eq!(after(Status::Online, Signal::Hibernate, &forced), Status::Hibernated);
}

// F1
#[test]
fn every_status_can_be_reached() {
    let mut reached = std::collections::BTreeSet::from([Status::Provisioning]);
    for _ in Status::ALL {
        for status in reached.clone() {
            for signal in Signal::ALL {
                for facts in [
                    calm(),
                    Facts { error_rate: 1.0, ..calm() },
                    Facts { runtime: Runtime::Hosted, ..calm() },
                ] {
                    reached.insert(after(status, signal, &facts));
                }
            }
        }
    }
    assert_eq!(reached.len(), Status::ALL.len());
}

// F7
#[test]
fn a_workspace_is_usable_unless_it_rests_failed_or_is_gone() {
    let usable: Vec<_> = Status::ALL.iter().filter(|one| usability(**one) == Usability::Usable).collect();
    let expected =
        [Status::Provisioning, Status::AwaitingAgent, Status::Online, Status::Degraded, Status::Offline];
    assert_eq!(usable, expected.iter().collect::<Vec<_>>());
    assert_eq!(usability(Status::Removed), Usability::Gone);
}

// F7
#[test]
fn a_rest_and_its_end_reach_all_below_and_sleep_does_not() {
    assert!(
        reaches_below(Status::Online, Desired::Paused) && reaches_below(Status::Paused, Desired::Running)
    );
    assert!(!reaches_below(Status::Hibernated, Desired::Running));
    assert!(!reaches_below(Status::Online, Desired::Hibernated));
    assert!(is_reached(Status::Hibernated, Status::Online, Desired::Paused));
    assert!(is_reached(Status::Paused, Status::Paused, Desired::Running));
    assert!(!is_reached(Status::Hibernated, Status::Paused, Desired::Running), "it sleeps on");
}

// F10
#[test]
fn a_boot_s_credentials_end_with_it_and_one_that_runs_elsewhere_keeps_its_own() {
    for status in Status::ALL {
        assert!(!ends_credentials(Runtime::External, *status));
        let is_over =
            matches!(status, Status::Provisioning | Status::Paused | Status::Hibernated | Status::Removed);
        assert_eq!(ends_credentials(Runtime::Resident, *status), is_over, "{status}");
    }
}
