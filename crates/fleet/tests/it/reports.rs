//! Reports of runtimes: what they change, and what they cannot change.

use warren_fleet::{CreateWorkspace, Register};
use warren_model::{
    Displacement, ErrorCode, EventData, EventKind, MemoryConfig, ProviderConfig, ReportDoubt, Runtime,
    RuntimeReport, RuntimeState, Status, Timestamp, WorkspaceId,
};
use warren_service::Identity;
use warren_testkit::{Bed, eventually};

fn says(state: &str) -> RuntimeReport {
    RuntimeReport { runtime_state: Some(RuntimeState::from_report(state)), ..RuntimeReport::default() }
}

fn rate(error_rate: f64) -> RuntimeReport {
    RuntimeReport { error_rate: Some(error_rate), ..RuntimeReport::default() }
}

fn tasks(count: u32) -> RuntimeReport {
    RuntimeReport { active_tasks: Some(count), ..RuntimeReport::default() }
}

fn progress(at: Timestamp) -> RuntimeReport {
    RuntimeReport { last_progress_at: Some(at), ..RuntimeReport::default() }
}

fn manages_status(is_own: bool) -> RuntimeReport {
    let displaced = Displacement { status_mgmt: Some(is_own), ..Displacement::default() };
    RuntimeReport { displaced, ..RuntimeReport::default() }
}

// F12, F13
#[tokio::test]
async fn a_wedge_is_believed_and_ends_only_when_the_runtime_takes_it_back() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        assert_eq!(bed.status(id).await, Status::Online);
        let wedged = bed.beat(&runner, RuntimeReport { sample_error: Some("401".into()), ..says("wedged") });
        let wedged = wedged.await.workspace;
        assert_eq!(wedged.status, Status::Degraded);
        let reason = wedged.reason.unwrap();
        assert_eq!(reason.as_str(), "The runtime reports that it is wedged: 401");
        let told = bed.events(EventKind::WorkspaceStatusChanged).await.pop().unwrap();
        match told.read().unwrap() {
            EventData::WorkspaceStatusChanged(changed) => {
                assert_eq!(changed.reason.as_deref(), Some(reason.as_str()), "the event says it too");
            }
            other => panic!("{other:?}"),
        }
        let newer = RuntimeReport { sample_error: Some("quota".into()), ..RuntimeReport::default() };
        let newer = bed.beat(&runner, newer).await.workspace;
        assert!(newer.reason.unwrap().as_str().ends_with(": quota"), "the list shows the error of today");
        let nothing = || Some(String::new());
        for partial in [
            RuntimeReport::default(),
            rate(0.0),
            RuntimeReport { uptime_s: Some(99), ..tasks(0) },
            RuntimeReport { sample_error: nothing(), current_task: nothing(), ..rate(0.0) },
            manages_status(true),
            manages_status(false),
            progress(bed.now()),
        ] {
            assert_eq!(bed.status_after(&runner, partial.clone()).await, Status::Degraded, "{partial:?}");
        }
        assert_eq!(bed.vitals(id).await.runtime_state, RuntimeState::Wedged);
        let well = bed.beat(&runner, says("")).await.workspace;
        assert_eq!((well.status, well.reason), (Status::Online, None));
    }
}

// F12: a runtime that owns its status is still believed when it says that it is wedged
#[tokio::test]
async fn a_wedge_degrades_also_a_runtime_that_manages_its_own_status() {
    for bed in Bed::on_each_store().await {
        let (_, runner) = bed.reporting().await;
        let own = RuntimeReport { error_rate: Some(1.0), ..manages_status(true) };
        assert_eq!(bed.status_after(&runner, own).await, Status::Online, "its numbers do not judge it");
        assert_eq!(bed.status_after(&runner, says("wedged")).await, Status::Degraded);
        assert_eq!(bed.status_after(&runner, says("")).await, Status::Online);
    }
}

// F12: a wedge that is reported with the registration, or after silence, is not papered over by the proof of life
#[tokio::test]
async fn a_runtime_that_comes_back_wedged_is_degraded_and_not_online() {
    for bed in Bed::on_each_store().await {
        let id = bed.external().await;
        let wedged = Register { report: says("wedged"), ..Register::default() };
        let registered = bed.register_with(id, wedged).await;
        assert_eq!(registered.workspace.status, Status::Degraded);
        let runner = bed.identify(&registered.credential).await;
        bed.clock.advance_ms(90_001);
        bed.sweep("liveness").await;
        assert_eq!(bed.status(id).await, Status::Offline);
        let after = bed.status_after(&runner, RuntimeReport::default()).await;
        assert_eq!(after, Status::Degraded, "it never took the wedge back");
    }
}

// F12: a resident that is brought up anew has the key and the quota of the one before
#[tokio::test]
async fn the_wedge_of_a_resident_outlives_a_restart_until_it_has_worked() {
    for bed in Bed::on_each_store().await {
        let id = bed.awaiting(Runtime::Resident).await;
        let runner = bed.register(id).await;
        bed.beat(&runner, RuntimeReport { sample_error: Some("401".into()), ..says("wedged") }).await;
        bed.fleet.lifecycle.restart(&bed.operator, id).await.unwrap();
        bed.wait_for(id, Status::AwaitingAgent).await;
        // As a runner begins: it knows nothing of the one before.
        let report = RuntimeReport { sample_error: Some(String::new()), ..says("") };
        let join = bed.join_token(id).await;
        let register = Register { report, ..Register::default() };
        let again = bed.fleet.runtimes.register(&join, register).await.unwrap();
        assert_eq!(again.workspace.status, Status::Degraded);
        assert!(again.workspace.reason.unwrap().as_str().ends_with(": 401"));
        assert_eq!(again.wedge.as_deref(), Some("401"), "so that the runner goes on from there");
        let runner = bed.identify(&again.credential).await;
        assert_eq!(bed.status_after(&runner, says("")).await, Status::Online, "its own word takes it back");
    }
}

// F12: what Warren does to the workspace does not cure a runtime that goes on elsewhere
#[tokio::test]
async fn neither_a_restart_nor_a_pause_takes_back_the_wedge_of_a_runtime_elsewhere() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let (lifecycle, who) = (&bed.fleet.lifecycle, &bed.operator);
        assert_eq!(bed.status_after(&runner, says("wedged")).await, Status::Degraded);
        for round in 0..3 {
            match round {
                0 => drop(lifecycle.restart(who, id).await.unwrap()),
                1 => {
                    lifecycle.pause(who, id).await.unwrap();
                    lifecycle.resume(who, id).await.unwrap();
                }
                _ => {
                    lifecycle.hibernate(who, id, false).await.unwrap();
                    lifecycle.wake(who, id).await.unwrap();
                }
            }
            bed.wait_for(id, Status::AwaitingAgent).await;
            let after = bed.status_after(&runner, RuntimeReport::default()).await;
            assert_eq!(after, Status::Degraded, "round {round}");
        }
        assert_eq!(bed.status_after(&runner, says("")).await, Status::Online);
    }
}

// F13
#[tokio::test]
async fn error_rates_degrade_from_a_half_and_recover_below_a_tenth() {
    for bed in Bed::on_each_store().await {
        let (_, runner) = bed.reporting().await;
        for (reported, expected) in [
            (0.49, Status::Online),
            (0.5, Status::Degraded),
            (0.2, Status::Degraded),
            (0.1, Status::Degraded),
            (0.099, Status::Online),
            (0.4, Status::Online),
            (1.0, Status::Degraded),
            (0.0, Status::Online),
        ] {
            assert_eq!(bed.status_after(&runner, rate(reported)).await, expected, "{reported}");
        }
        let both = RuntimeReport { error_rate: Some(0.9), ..says("draining") };
        assert_eq!(bed.status_after(&runner, both).await, Status::Degraded);
        let low = bed.status_after(&runner, rate(0.0)).await;
        assert_eq!(low, Status::Degraded, "its own word is not empty yet");
        assert_eq!(bed.status_after(&runner, says("")).await, Status::Online);
    }
}

// F6, F5
#[tokio::test]
async fn a_late_sign_of_life_brings_a_failed_workspace_online() {
    for bed in Bed::on_each_store().await {
        let id = bed.external().await;
        let join = bed.join_token(id).await;
        bed.clock.advance_ms(600_000);
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(id).await, Status::Failed);
        let late = bed.fleet.runtimes.register(&join, Register::default()).await.unwrap();
        assert_eq!(late.workspace.status, Status::Online);
        // The same, with a runtime that is there already and a place that does not come up again in time.
        let runner = bed.identify(&late.credential).await;
        bed.faults.hold_opens();
        let restarted = bed.fleet.lifecycle.restart(&bed.operator, id).await.unwrap();
        assert_eq!(restarted.status, Status::Provisioning);
        bed.clock.advance_ms(600_000);
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(id).await, Status::Failed);
        assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Online);
        assert_eq!(bed.row(id).await.reason, None);
        bed.faults.release_opens();
    }
}

// F6, W70
#[tokio::test]
async fn a_heartbeat_does_not_hide_that_the_files_are_lost() {
    for bed in Bed::on_each_store().await {
        let provider = ProviderConfig::Memory(MemoryConfig::default());
        let request = CreateWorkspace { runtime: Runtime::External, provider, ..Bed::request("away") };
        let id = bed.create(request).await.id;
        bed.wait_for(id, Status::AwaitingAgent).await;
        bed.register(id).await;
        let bed = bed.restart().await;
        assert_eq!(bed.status(id).await, Status::Failed, "its files ended with the process");
        let runner = bed.register(id).await;
        for _ in 0..2 {
            let heard = bed.beat(&runner, RuntimeReport::default()).await.workspace;
            assert_eq!(heard.status, Status::Degraded, "it is alive, and can be called");
            assert!(heard.reason.unwrap().as_str().contains("files are not"));
        }
        let action = warren_service::Action::UseWorkspace;
        let refused = bed.fleet.workspaces.usable(&bed.operator, action, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceFailed);
        assert!(refused.detail.unwrap().contains("files are not"));
        bed.clock.advance_ms(90_000);
        bed.sweep("liveness").await;
        assert_eq!(bed.status(id).await, Status::Offline);
        let back = bed.status_after(&runner, RuntimeReport::default()).await;
        assert_eq!(back, Status::Degraded, "silence in between brings nothing back");
    }
}

// F6
#[tokio::test]
async fn no_heartbeat_ends_a_pause_or_a_sleep_or_a_removal() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let (lifecycle, who) = (&bed.fleet.lifecycle, &bed.operator);
        for expected in [Status::Paused, Status::Hibernated] {
            if expected == Status::Paused {
                lifecycle.pause(who, id).await.unwrap();
            } else {
                lifecycle.hibernate(who, id, false).await.unwrap();
            }
            let report = RuntimeReport { error_rate: Some(0.0), active_tasks: Some(3), ..says("") };
            assert_eq!(bed.status_after(&runner, report).await, expected);
            // Nor does the silence after it make it anything else, nor does its work count.
            bed.clock.advance_ms(24 * 3_600_000);
            for name in ["liveness", "stalls", "provisioning", "mending", "hibernation"] {
                bed.sweep(name).await;
            }
            assert_eq!(bed.status(id).await, expected);
            if expected == Status::Paused {
                lifecycle.resume(who, id).await.unwrap();
            } else {
                lifecycle.wake(who, id).await.unwrap();
            }
            assert_eq!(bed.status_after(&runner, tasks(0)).await, Status::Online);
        }
        bed.remove(id).await;
        assert!(!bed.is_valid(&runner).await);
        assert!(bed.fleet.runtimes.heartbeat(&runner, RuntimeReport::default()).await.is_err());
        assert_eq!(bed.status(id).await, Status::Removed);
    }
}

// F14
#[tokio::test]
async fn work_without_progress_is_found_out_although_heartbeats_go_on() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let busy = RuntimeReport { idle_timeout_seconds: Some(120), ..tasks(1) };
        assert_eq!(bed.status_after(&runner, busy).await, Status::Online);
        for _ in 0..3 {
            bed.clock.advance_ms(30_000);
            assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Online);
            bed.sweep("stalls").await;
            assert_eq!(bed.status(id).await, Status::Online, "it still has time");
        }
        bed.clock.advance_ms(30_000);
        bed.sweep("stalls").await;
        let stalled = bed.row(id).await;
        assert_eq!(stalled.status, Status::Degraded);
        assert!(stalled.reason.unwrap().as_str().contains("progress"));
        assert_eq!(bed.status_after(&runner, tasks(1)).await, Status::Degraded);
        let moved = bed.status_after(&runner, progress(bed.now())).await;
        assert_eq!(moved, Status::Online, "progress ends it");
        bed.clock.advance_ms(120_000);
        let silent = bed.status_after(&runner, RuntimeReport::default()).await;
        assert_eq!(silent, Status::Degraded, "the report itself shows it too");
        assert_eq!(bed.status_after(&runner, tasks(0)).await, Status::Online, "no work, no stall");
    }
}

// F14: a clock in the future
#[tokio::test]
async fn a_clock_ahead_of_ours_is_told_and_buys_no_time() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let ahead = "2199-01-01T00:00:00Z".parse().unwrap();
        let heard = bed.beat(&runner, RuntimeReport { last_progress_at: Some(ahead), ..tasks(1) }).await;
        assert!(matches!(heard.doubts[..], [ReportDoubt::ClockAhead { .. }]), "{:?}", heard.doubts);
        bed.clock.advance_ms(600_000);
        bed.sweep("stalls").await;
        assert_eq!(bed.status(id).await, Status::Degraded);
    }
}

/// Has it declare what it takes over, as a restart must not forget.
async fn declare_much(bed: &Bed, runner: &Identity) {
    let all = Displacement {
        scheduler: Some(true),
        session: Some(true),
        status_mgmt: Some(true),
        deduplication: None,
    };
    let report = RuntimeReport { displaced: all, idle_timeout_seconds: Some(45), ..tasks(1) };
    bed.beat(runner, report).await;
}

async fn assert_declared(bed: &Bed, id: WorkspaceId) {
    let vitals = bed.vitals(id).await;
    let known = vitals.displaced;
    assert!(known.scheduler && known.session && known.status_mgmt && !known.deduplication);
    assert_eq!(vitals.idle_timeout_seconds, Some(45));
}

// F11, F17
#[tokio::test]
async fn what_a_runtime_declared_survives_a_restart_of_warren() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        declare_much(&bed, &runner).await;
        let bed = bed.restart().await;
        assert_declared(&bed, id).await;
        assert_eq!(bed.status_after(&runner, rate(1.0)).await, Status::Online, "still no inference");
        bed.clock.advance_ms(45_000);
        bed.sweep("stalls").await;
        assert_eq!(bed.status(id).await, Status::Degraded, "its own idle timeout still holds");
    }
}

// F15
#[tokio::test]
async fn no_heartbeat_is_stored() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let (before, version) = (bed.all_events().await.len(), bed.row(id).await.version);
        for count in 0..3 {
            bed.beat(&runner, tasks(count)).await;
        }
        eventually("the last one is known", async || bed.vitals(id).await.active_tasks == 2).await;
        assert_eq!(bed.all_events().await.len(), before);
        assert_eq!(bed.row(id).await.version, version, "reports raise no version");
    }
}
