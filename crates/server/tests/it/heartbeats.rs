//! Reports of runtimes: what they change, what they cannot change, and what their absence means.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_fleet::Config as FleetConfig;
use warren_model::Status;
use warren_testkit::{Faults, Warren};

use crate::events::{Frames, follow};
use crate::fleet::{
    arrivals, ask, beat, clock, create, events, external, join_token, register, reporting, show, status,
    status_after, sweep, try_beat, try_register,
};
use crate::{local, memory};

// F12, F13
#[tokio::test]
async fn a_wedge_is_believed_and_ends_only_when_the_runtime_takes_it_back() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    assert_eq!(status(&warren, id).await, "online");
    let wedged = beat(&warren, &runtime, &json!({ "runtime_state": "wedged", "sample_error": "401" })).await;
    assert_eq!(wedged["status"], "degraded");
    assert!(wedged["reason"].as_str().unwrap().contains("wedged"), "{wedged}");
    for partial in [
        json!({}),
        json!({ "error_rate": 0.0 }),
        json!({ "active_tasks": 0, "uptime_s": 99 }),
        json!({ "sample_error": "", "current_task": "", "error_rate": 0 }),
        json!({ "runtime_metadata": { "capabilities": { "status_mgmt": true } } }),
        json!({ "runtime_metadata": { "capabilities": { "status_mgmt": false } } }),
        json!({ "last_progress_at": "2027-01-15T08:00:00Z" }),
    ] {
        assert_eq!(status_after(&warren, &runtime, &partial).await, "degraded", "{partial}");
    }
    assert_eq!(show(&warren, id).await["vitals"]["runtime_state"], "wedged");
    let well = beat(&warren, &runtime, &json!({ "runtime_state": "" })).await;
    assert_eq!((&well["status"], &well["reason"]), (&json!("online"), &Value::Null));
}

// F12: a runtime that owns its status is still believed when it says that it is wedged
#[tokio::test]
async fn a_wedge_degrades_also_a_runtime_that_manages_its_own_status() {
    let warren = Warren::start().await;
    let (_, runtime) = reporting(&warren).await;
    let own = json!({ "runtime_metadata": { "capabilities": { "status_mgmt": true } }, "error_rate": 1.0 });
    assert_eq!(status_after(&warren, &runtime, &own).await, "online", "its numbers do not judge it");
    assert_eq!(status_after(&warren, &runtime, &json!({ "runtime_state": "wedged" })).await, "degraded");
    assert_eq!(status_after(&warren, &runtime, &json!({ "runtime_state": "" })).await, "online");
}

// F12: a wedge that is reported with the registration, or after silence, is not papered over by the proof of life
#[tokio::test]
async fn a_runtime_that_comes_back_wedged_is_degraded_and_not_online() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = external(&warren).await;
    let join = join_token(&warren, id).await;
    let wedged = json!({ "heartbeat": { "runtime_state": "wedged" } });
    let answer = try_register(&warren, &join, &wedged).await.json();
    assert_eq!(answer["status"], "degraded", "{answer}");
    let runtime = answer["token"].as_str().unwrap();
    clock.advance_ms(90_001);
    sweep(&warren, "liveness").await;
    assert_eq!(status(&warren, id).await, "offline");
    assert_eq!(status_after(&warren, runtime, &json!({})).await, "degraded", "it never took the wedge back");
}

// F12: what Warren does to the workspace does not cure a runtime that goes on elsewhere
#[tokio::test]
async fn neither_a_restart_nor_a_pause_takes_back_the_wedge_of_a_runtime_elsewhere() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    assert_eq!(status_after(&warren, &runtime, &json!({ "runtime_state": "wedged" })).await, "degraded");
    for asked in [&["restart"][..], &["pause", "resume"], &["hibernate", "wake"]] {
        for what in asked {
            assert_eq!(ask(&warren, id, what).await.status, 200, "{what}");
        }
        warren.wait_for_status(id, Status::AwaitingAgent).await;
        assert_eq!(status_after(&warren, &runtime, &json!({})).await, "degraded", "{asked:?}");
    }
    assert_eq!(status_after(&warren, &runtime, &json!({ "runtime_state": "" })).await, "online");
}

// F13
#[tokio::test]
async fn error_rates_degrade_from_a_half_and_recover_below_a_tenth() {
    let warren = Warren::start().await;
    let (_, runtime) = reporting(&warren).await;
    for (rate, expected) in [
        (0.49, "online"),
        (0.5, "degraded"),
        (0.2, "degraded"),
        (0.1, "degraded"),
        (0.099, "online"),
        (0.4, "online"),
        (1.0, "degraded"),
        (0.0, "online"),
    ] {
        let reported = status_after(&warren, &runtime, &json!({ "error_rate": rate })).await;
        assert_eq!(reported, expected, "{rate}");
    }
    let both = json!({ "error_rate": 0.9, "runtime_state": "draining" });
    assert_eq!(status_after(&warren, &runtime, &both).await, "degraded");
    let low = json!({ "error_rate": 0.0 });
    assert_eq!(status_after(&warren, &runtime, &low).await, "degraded", "its own word is not empty yet");
    assert_eq!(status_after(&warren, &runtime, &json!({ "runtime_state": "" })).await, "online");
}

// F6, F5
#[tokio::test]
async fn a_late_sign_of_life_brings_a_failed_workspace_online() {
    let clock = clock();
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
    let id = external(&warren).await;
    let join = join_token(&warren, id).await;
    clock.advance_ms(600_000);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "failed");
    let late = try_register(&warren, &join, &json!({})).await.json();
    assert_eq!(late["status"], "online", "{late}");
    // The same, with a runtime that is there already and a place that does not come up again in time.
    let runtime = late["token"].as_str().unwrap();
    faults.hold_opens();
    assert_eq!(ask(&warren, id, "restart").await.json()["status"], "provisioning");
    clock.advance_ms(600_000);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "failed");
    assert_eq!(status_after(&warren, runtime, &json!({})).await, "online");
    assert_eq!(show(&warren, id).await["reason"], Value::Null);
    faults.release_opens();
}

// F6
#[tokio::test]
async fn no_heartbeat_ends_a_pause_or_a_sleep_or_a_removal() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, runtime) = reporting(&warren).await;
    for (put_away, expected, bring_back) in
        [("pause", "paused", "resume"), ("hibernate", "hibernated", "wake")]
    {
        assert_eq!(ask(&warren, id, put_away).await.json()["status"], expected);
        let report = json!({ "runtime_state": "", "error_rate": 0, "active_tasks": 3 });
        let answer = beat(&warren, &runtime, &report).await;
        assert_eq!((&answer["status"], &answer["desired"]), (&json!(expected), &json!(expected)));
        // Nor does the silence after it make it anything else, nor does its work count.
        clock.advance_ms(24 * 3_600_000);
        for name in ["liveness", "stalls", "provisioning", "mending", "hibernation"] {
            sweep(&warren, name).await;
        }
        assert_eq!(status(&warren, id).await, expected);
        assert_eq!(ask(&warren, id, bring_back).await.status, 200);
        assert_eq!(status_after(&warren, &runtime, &json!({ "active_tasks": 0 })).await, "online");
    }
    assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.json()["status"], "removed");
    assert_eq!(try_beat(&warren, &runtime, &json!({})).await.status, 401);
    assert_eq!(status(&warren, id).await, "removed");
}

// F11
#[tokio::test]
async fn what_a_report_does_not_mention_stays_as_it_was() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    let whole = json!({
        "error_rate": 0.25, "sample_error": "timeout", "active_tasks": 2, "uptime_s": 7, "current_task": "t1",
        "last_progress_at": "2020-01-01T00:00:00Z", "runtime_state": "busy",
        "runtime_metadata": {
            "capabilities": { "scheduler": true, "session": true }, "idle_timeout_seconds": 3600,
        },
    });
    beat(&warren, &runtime, &whole).await;
    let vitals = |row: &Value| {
        let mut vitals = row["vitals"].clone();
        for time in ["last_heartbeat_at", "last_task_at"] {
            vitals.as_object_mut().unwrap().remove(time);
        }
        vitals
    };
    let known = vitals(&show(&warren, id).await);
    assert_eq!(
        (&known["error_rate"], &known["sample_error"], &known["active_tasks"], &known["current_task"]),
        (&json!(0.25), &json!("timeout"), &json!(2), &json!("t1"))
    );
    assert_eq!((&known["uptime_s"], &known["runtime_state"]), (&json!(7), &json!("busy")));
    assert_eq!(known["displaces"], json!(["scheduler", "session"]));
    assert_eq!(known["idle_timeout_seconds"], 3600);
    beat(&warren, &runtime, &json!({})).await;
    assert_eq!(vitals(&show(&warren, id).await), known);
    beat(&warren, &runtime, &json!({ "runtime_metadata": { "capabilities": { "session": false } } })).await;
    let after = vitals(&show(&warren, id).await);
    assert_eq!(after["displaces"], json!(["scheduler"]));
    assert_eq!(after["idle_timeout_seconds"], 3600);
}

// F14
#[tokio::test]
async fn work_without_progress_is_found_out_although_heartbeats_go_on() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, runtime) = reporting(&warren).await;
    let busy = json!({ "active_tasks": 1, "runtime_metadata": { "idle_timeout_seconds": 120 } });
    assert_eq!(status_after(&warren, &runtime, &busy).await, "online");
    for _ in 0..3 {
        clock.advance_ms(30_000);
        assert_eq!(status_after(&warren, &runtime, &json!({})).await, "online");
        sweep(&warren, "stalls").await;
        assert_eq!(status(&warren, id).await, "online", "it still has time");
    }
    clock.advance_ms(30_000);
    sweep(&warren, "stalls").await;
    let stalled = show(&warren, id).await;
    assert_eq!(stalled["status"], "degraded", "{stalled}");
    assert!(stalled["reason"].as_str().unwrap().contains("progress"), "{stalled}");
    assert_eq!(status_after(&warren, &runtime, &json!({ "active_tasks": 1 })).await, "degraded");
    let progress = json!({ "last_progress_at": show(&warren, id).await["vitals"]["last_heartbeat_at"] });
    assert_eq!(status_after(&warren, &runtime, &progress).await, "online", "progress ends it");
    clock.advance_ms(120_000);
    assert_eq!(
        status_after(&warren, &runtime, &json!({})).await,
        "degraded",
        "the report itself shows it too"
    );
    assert_eq!(
        status_after(&warren, &runtime, &json!({ "active_tasks": 0 })).await,
        "online",
        "no work, no stall"
    );
}

// F14, and the bad input: a clock in the future
#[tokio::test]
async fn a_clock_ahead_of_ours_is_told_and_buys_no_time() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, runtime) = reporting(&warren).await;
    let ahead = json!({ "active_tasks": 1, "last_progress_at": "2199-01-01T00:00:00Z" });
    let answer = beat(&warren, &runtime, &ahead).await;
    assert!(answer["warnings"][0].as_str().unwrap().contains("clock"), "{answer}");
    clock.advance_ms(600_000);
    sweep(&warren, "stalls").await;
    assert_eq!(status(&warren, id).await, "degraded");
}

// F11, F17
#[tokio::test]
async fn what_a_runtime_declared_survives_a_restart_of_warren() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, runtime) = reporting(&warren).await;
    let capabilities = json!({ "scheduler": true, "session": true, "status_mgmt": true });
    let metadata = json!({ "capabilities": capabilities, "idle_timeout_seconds": 45 });
    beat(&warren, &runtime, &json!({ "runtime_metadata": metadata, "active_tasks": 1 })).await;
    let warren = warren.restart().await;
    let vitals = show(&warren, id).await["vitals"].clone();
    assert_eq!(vitals["displaces"], json!(["scheduler", "session", "status_mgmt"]));
    assert_eq!(vitals["idle_timeout_seconds"], 45);
    assert_eq!(
        status_after(&warren, &runtime, &json!({ "error_rate": 1.0 })).await,
        "online",
        "still no inference"
    );
    clock.advance_ms(45_000);
    sweep(&warren, "stalls").await;
    assert_eq!(status(&warren, id).await, "degraded", "its own idle timeout still holds");
}

// F16
#[tokio::test]
async fn silence_takes_a_runtime_offline_and_one_that_lives_elsewhere_is_left_to_come_back() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (silent, credential) = reporting(&warren).await;
    let (lively, lively_credential) = reporting(&warren).await;
    let hosted = warren.workspace(local()).await;
    clock.advance_ms(89_999);
    beat(&warren, &lively_credential, &json!({})).await;
    sweep(&warren, "liveness").await;
    assert_eq!(status(&warren, silent).await, "online");
    clock.advance_ms(1);
    sweep(&warren, "liveness").await;
    assert_eq!(status(&warren, silent).await, "offline");
    assert_eq!(status(&warren, lively).await, "online");
    assert_eq!(status(&warren, hosted).await, "online", "nobody expects a hosted runtime to report");
    clock.advance_ms(3_600_000);
    for name in ["liveness", "mending", "provisioning"] {
        sweep(&warren, name).await;
    }
    assert_eq!(status(&warren, silent).await, "offline", "Warren did not bring it up and cannot");
    assert_eq!(status_after(&warren, &credential, &json!({})).await, "online");
}

// F16: the deadline is a column, so that a restart of Warren forgets nobody
#[tokio::test]
async fn a_runtime_that_falls_silent_while_warren_restarts_is_found_out_all_the_same() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, _) = reporting(&warren).await;
    let warren = warren.restart().await;
    sweep(&warren, "liveness").await;
    assert_eq!(status(&warren, id).await, "online", "a restart of Warren is not its silence");
    clock.advance_ms(90_000);
    sweep(&warren, "liveness").await;
    assert_eq!(status(&warren, id).await, "offline");
    assert_eq!(arrivals(&warren, id, "offline").await, 1);
}

// F16
#[tokio::test]
async fn a_silent_resident_is_restarted_at_once_and_then_with_growing_waits() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let body = json!({ "name": "resident", "provider": local(), "runtime": "resident" });
    let id = create(&warren, &body).await;
    for wait in [0, 15_000, 30_000, 60_000] {
        warren.wait_for_status(id, Status::AwaitingAgent).await;
        let before = show(&warren, id).await["generation"].as_u64().unwrap();
        let runtime = register(&warren, id).await;
        clock.advance_ms(90_000);
        sweep(&warren, "liveness").await;
        assert_eq!(status(&warren, id).await, "offline");
        if wait > 0 {
            clock.advance_ms(wait - 1);
            sweep(&warren, "mending").await;
            assert_eq!(status(&warren, id).await, "offline", "not before {wait} ms");
            clock.advance_ms(1);
        }
        sweep(&warren, "mending").await;
        assert_ne!(status(&warren, id).await, "offline", "after {wait} ms");
        assert_eq!(show(&warren, id).await["generation"], before + 1);
        assert_eq!(
            try_beat(&warren, &runtime, &json!({})).await.status,
            401,
            "its credential was the boot's"
        );
    }
}

// F5
#[tokio::test]
async fn provisioning_has_a_time_of_its_own_and_past_it_a_public_reason() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let usual = external(&warren).await;
    let quick = json!({
        "name": "quick", "provider": memory(), "runtime": "external", "provision_timeout_seconds": 60,
    });
    let quick = create(&warren, &quick).await;
    warren.wait_for_status(quick, Status::AwaitingAgent).await;
    assert_eq!(show(&warren, usual).await["provision_timeout_ms"], 600_000);
    assert_eq!(show(&warren, quick).await["provision_timeout_ms"], 60_000);
    clock.advance_ms(59_999);
    // Touching the row does not move the clock: it started with provisioning.
    warren.patch(&format!("/api/v1/workspaces/{quick}"), &json!({ "name": "touched" })).await;
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, quick).await, "awaiting_agent");
    clock.advance_ms(1);
    sweep(&warren, "provisioning").await;
    let failed = show(&warren, quick).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["reason"], "The agent did not register in time.");
    assert_eq!(status(&warren, usual).await, "awaiting_agent", "its own time is longer");
    clock.advance_ms(540_000);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, usual).await, "failed");
}

// F5
#[tokio::test]
async fn a_fleet_wide_time_for_provisioning_holds_for_all() {
    let clock = clock();
    let faults = Arc::new(Faults::default());
    faults.hold_opens();
    let config = FleetConfig { provision_timeout_ms: Some(30_000), ..FleetConfig::default() };
    let warren = Warren::builder().clock(Arc::clone(&clock)).fleet_config(config).faults(Arc::clone(&faults));
    let warren = warren.start().await;
    let mut ids = Vec::new();
    for own in [Value::Null, json!(5), json!(3600)] {
        let mut body = json!({ "name": "slow", "provider": memory() });
        if !own.is_null() {
            body["provision_timeout_seconds"] = own;
        }
        let id = create(&warren, &body).await;
        assert_eq!(show(&warren, id).await["provision_timeout_ms"], 30_000);
        ids.push(id);
    }
    clock.advance_ms(29_999);
    sweep(&warren, "provisioning").await;
    for id in &ids {
        assert_eq!(status(&warren, *id).await, "provisioning");
    }
    clock.advance_ms(1);
    sweep(&warren, "provisioning").await;
    for id in &ids {
        let row = show(&warren, *id).await;
        assert_eq!(
            (&row["status"], &row["reason"]),
            (&json!("failed"), &json!("The workspace was not ready in time."))
        );
    }
    // A place that is ready too late is ready all the same.
    faults.release_opens();
    for id in ids {
        warren.wait_for_status(id, Status::Online).await;
    }
}

// F5: found by the simulation
#[tokio::test]
async fn an_agent_is_not_waited_for_without_end_when_its_place_was_late() {
    let clock = clock();
    let faults = Arc::new(Faults::default());
    faults.hold_opens();
    let warren = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
    let body = json!({ "name": "late", "provider": memory(), "runtime": "external" });
    let id = create(&warren, &body).await;
    clock.advance_ms(600_000);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "failed");
    faults.release_opens();
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    clock.advance_ms(599_999);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "awaiting_agent");
    clock.advance_ms(1);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "failed");
}

// F15
#[tokio::test]
async fn every_heartbeat_is_told_live_and_none_is_stored() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    let (_, other) = reporting(&warren).await;
    let mut frames = Frames::open(follow(&warren, &format!("?live=true&workspace_id={id}"))).await;
    let mut plain = Frames::open(follow(&warren, &format!("?workspace_id={id}"))).await;
    frames.history().await;
    plain.history().await;
    beat(&warren, &runtime, &json!({ "active_tasks": 1 })).await;
    beat(&warren, &other, &json!({})).await;
    beat(&warren, &runtime, &json!({})).await;
    beat(&warren, &runtime, &json!({})).await;
    for _ in 0..3 {
        let (sse_id, frame) = frames.next().await.unwrap();
        assert_eq!(
            (&frame["type"], &frame["event"]["kind"]),
            (&json!("live"), &json!("workspace.heartbeat"))
        );
        assert_eq!(frame["event"]["workspace_id"], id.to_string());
        assert_eq!((&frame["event"]["data"]["active_tasks"], sse_id), (&json!(1), None));
    }
    warren.patch(&format!("/api/v1/workspaces/{id}"), &json!({ "name": "renamed" })).await;
    let (_, next) = plain.next().await.unwrap();
    assert_eq!(next["event"]["kind"], "workspace.spec.changed", "who did not ask for live events gets none");
    let stored = events(&warren, None).await;
    assert!(stored.iter().all(|event| event["kind"] != "workspace.heartbeat"), "{stored:?}");
}
