//! A hosted workspace has no agent yet: whatever would wait for one is refused at once.

use std::sync::Arc;

use serde_json::json;
use warren_doors::ManualClock;
use warren_model::{DeliveryState, ErrorCode, Status, Timestamp, WorkspaceId};
use warren_testkit::Warren;

use crate::stage::Stage;

// X12, X15; the control is in the test: a resident takes the message
#[tokio::test]
async fn a_message_to_a_hosted_workspace_is_refused_and_nothing_is_queued() {
    let stage = Stage::set().await;
    let hosted = stage.create(&json!({})).await;
    stage.warren.wait_for_status(hosted, Status::Online).await;
    let error = stage.send(hosted, "hello").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NoAgent);
    for state in [DeliveryState::Queued, DeliveryState::Claimed, DeliveryState::Ended] {
        assert_eq!(stage.count(hosted, state).await, 0);
    }
    // Control
    let external = stage.create(&json!({ "name": "external", "runtime": "external" })).await;
    stage.send(external, "hello").await.unwrap();
    assert_eq!(stage.count(external, DeliveryState::Queued).await, 1);
    stage.warren.stop().await;
}

fn nightly() -> serde_json::Value {
    json!({ "name": "nightly", "every_seconds": 86_400, "prompt": "tidy up" })
}

// X12, X40; the control is in the test: a workspace whose agent comes gets its schedule
#[tokio::test]
async fn a_schedule_of_a_hosted_workspace_is_refused_with_what_to_do_about_it() {
    let stage = Stage::set().await;
    let hosted = stage.create(&json!({})).await;
    stage.warren.wait_for_status(hosted, Status::Online).await;
    let refused = stage.warren.post(&format!("/api/v1/workspaces/{hosted}/schedules"), &nightly()).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "no_agent"), "{}", refused.text());
    let remedy = refused.json()["remedy"].as_str().unwrap().to_owned();
    assert!(remedy.contains("--runtime resident"), "{remedy}");
    let none = stage.warren.get(&format!("/api/v1/workspaces/{hosted}/schedules")).await.json();
    assert_eq!(none["items"], json!([]));
    // Control
    let external = stage.create(&json!({ "name": "external", "runtime": "external" })).await;
    let made = stage.warren.post(&format!("/api/v1/workspaces/{external}/schedules"), &nightly()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    stage.warren.stop().await;
}

// X12, X41: what a template brings along is made, and tells why it does not fire
#[tokio::test]
async fn a_template_s_schedule_of_a_hosted_workspace_fails_with_the_reason_and_is_not_run_by_hand() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let stage = Stage::set_with(Warren::builder().clock(Arc::clone(&clock))).await;
    let template = json!({ "provider": { "kind": "local" }, "schedules": [nightly()] });
    let stored = stage.warren.call("PUT", "/api/v1/templates/t").token(&stage.warren.token);
    let stored = stored.json(&template).send().await;
    assert_eq!(stored.status, 201, "{}", stored.text());
    let hosted = stage.warren.post("/api/v1/workspaces", &json!({ "name": "hosted", "template": "t" })).await;
    let hosted: WorkspaceId = hosted.json()["id"].as_str().unwrap().parse().unwrap();
    stage.warren.wait_for_status(hosted, Status::Online).await;
    let all = stage.warren.get(&format!("/api/v1/workspaces/{hosted}/schedules")).await.json();
    let path = format!("/api/v1/schedules/{}", all["items"][0]["id"].as_str().unwrap());
    for deed in ["run", "resume"] {
        let refused = stage.warren.post(&format!("{path}/{deed}"), &json!({})).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "no_agent"), "{}", refused.text());
    }
    clock.advance_ms(86_400_000);
    stage.warren.exchange.scheduler.fire_due().await.unwrap();
    stage
        .until("the run fails", async || {
            let runs = stage.warren.get(&format!("{path}/runs")).await.json();
            runs["items"][0]["state"] == "failed" && runs["items"][0]["reason"] == "no_agent"
        })
        .await;
    stage.warren.stop().await;
}
