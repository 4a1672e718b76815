//! Reports of runtimes: what they change, what they cannot change, and what their absence means.

use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::events::{Frames, follow};
use crate::fleet::{beat, events, reporting, show};

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
