//! What is asked of a workspace, over HTTP. What follows from it is tested in `fleet`.

use serde_json::json;
use warren_model::Status;
use warren_testkit::Warren;

use crate::fleet::{ask, beat, reporting, show};
use crate::memory;

// F7, F3, W14
#[tokio::test]
async fn each_request_is_answered_with_the_row_and_a_refused_one_with_409_and_the_reason() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    for (asked, status) in [
        ("pause", "paused"),
        ("resume", "provisioning"),
        ("hibernate", "hibernated"),
        ("wake", "provisioning"),
        ("restart", "provisioning"),
    ] {
        let answer = ask(&warren, id, asked).await;
        assert_eq!((answer.status, &answer.json()["status"]), (200, &json!(status)), "{asked}");
        assert_eq!(answer.json()["id"], id.to_string());
        if status == "provisioning" {
            warren.wait_for_status(id, Status::AwaitingAgent).await;
            beat(&warren, &runtime, &json!({ "active_tasks": 1 })).await;
        } else {
            let refused = warren.get(&format!("/api/v1/workspaces/{id}/files")).await;
            assert_eq!((refused.status, refused.code()), (409, "workspace_not_ready".into()));
        }
        if asked == "resume" {
            let refused = ask(&warren, id, "hibernate").await;
            assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()), "it works");
            beat(&warren, &runtime, &json!({ "active_tasks": 0 })).await;
        }
    }
    for asked in ["resume", "wake", "reset"] {
        let refused = ask(&warren, id, asked).await;
        assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()), "{asked}");
        assert!(refused.json()["detail"].is_string(), "{}", refused.text());
    }
    assert_eq!(ask(&warren, id, "hibernate?force=true").await.json()["status"], "hibernated");
}

// F7: the same by PATCH
#[tokio::test]
async fn a_patch_of_what_is_wanted_answers_as_the_request_does() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let paused = warren.patch(&path, &json!({ "desired": "paused" })).await.json();
    assert_eq!((&paused["status"], &paused["generation"]), (&json!("paused"), &json!(2)));
    assert_eq!(warren.patch(&path, &json!({ "desired": "running" })).await.json()["status"], "provisioning");
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(show(&warren, id).await["desired"], "running");
}
