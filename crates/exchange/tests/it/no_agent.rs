//! A hosted workspace has no agent yet: whatever would wait for one is refused at once.

use std::time::Duration;

use serde_json::json;
use warren_model::{DeliveryState, ErrorCode, Status};

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

// X12, X41
#[tokio::test]
async fn a_schedule_of_a_hosted_workspace_fails_with_the_reason() {
    let stage = Stage::set().await;
    let hosted = stage.create(&json!({})).await;
    stage.warren.wait_for_status(hosted, Status::Online).await;
    let body = json!({ "name": "nightly", "every_seconds": 86_400, "prompt": "tidy up" });
    let made = stage.warren.post(&format!("/api/v1/workspaces/{hosted}/schedules"), &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/schedules/{id}");
    let run = stage.warren.post(&format!("{path}/run"), &json!({})).await;
    assert!(run.status < 300, "{}", run.text());
    stage
        .until("the run fails", async || {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let runs = stage.warren.get(&format!("{path}/runs")).await.json();
            runs["items"][0]["state"] == "failed" && runs["items"][0]["reason"] == "no_agent"
        })
        .await;
    stage.warren.stop().await;
}
