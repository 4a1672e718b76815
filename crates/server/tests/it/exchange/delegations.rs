use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Act, Answer, Warren};

use super::{agent, answer_of, with_agent};
use crate::fleet::eventually;

/// A team: the lead and two agents below it, each with its credential.
async fn team(warren: &Warren) -> [(WorkspaceId, String); 3] {
    let lead = agent(warren, json!({ "name": "lead" })).await;
    let below = |name: &str| json!({ "name": name, "parent_id": lead.0.to_string() });
    let (one, two) = (agent(warren, below("one")).await, agent(warren, below("two")).await);
    [lead, one, two]
}

async fn delegate(
    warren: &Warren,
    from: &(WorkspaceId, String),
    to: WorkspaceId,
    mut extra: Value,
) -> Answer {
    extra["to"] = json!(to.to_string());
    if extra["message"].is_null() {
        extra["message"] = json!({ "parts": [{ "text": "help" }] });
    }
    let path = format!("/api/v1/workspaces/{}/delegations", from.0);
    warren.call("POST", &path).token(&from.1).json(&extra).send().await
}

async fn show(warren: &Warren, from: &(WorkspaceId, String), id: &Value) -> Value {
    let path = format!("/api/v1/workspaces/{}/delegations/{}", from.0, id.as_str().unwrap());
    warren.call("GET", &path).token(&from.1).send().await.json()
}

// X20, X21
#[tokio::test]
async fn a_delegation_is_a_row_that_ends_with_its_result() {
    let (warren, peer) = with_agent().await;
    let [lead, one, _] = team(&warren).await;
    let made = delegate(&warren, &lead, one.0, json!({ "wait_ms": 10_000 })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!((&made["state"], &made["result"][0]["text"]), (&json!("completed"), &json!("echo: help")));
    assert_eq!(show(&warren, &lead, &made["id"]).await["state"], "completed");
    assert_eq!(peer.seen()[0].author.to_string(), format!("workspace:{}", lead.0));
    assert!(peer.seen()[0].deadline_at.is_some(), "agent-to-agent calls have a ceiling (X10)");
    let path = format!("/api/v1/workspaces/{}/delegations?state=completed", lead.0);
    assert_eq!(warren.get(&path).await.json()["items"].as_array().unwrap().len(), 1);
}

// X22: cancellation reaches the far side, and what was handed on from there
#[tokio::test]
async fn a_delegation_taken_back_stops_the_far_side_and_all_that_hangs_on_it() {
    let (warren, peer) = with_agent().await;
    let [lead, one, two] = team(&warren).await;
    peer.next([Act::Name("first".into()), Act::Work("on it".into()), Act::Hold]);
    peer.next([Act::Name("second".into()), Act::Work("me too".into()), Act::Hold]);
    let made = delegate(&warren, &lead, one.0, json!({})).await.json();
    eventually("it has it", async || peer.seen().len() == 1).await;
    let further = delegate(&warren, &one, two.0, json!({})).await.json();
    eventually("both work", async || {
        let path = format!("/api/v1/workspaces/{}/tasks/{}", two.0, further["task_id"].as_str().unwrap());
        answer_of(&warren.get(&path).await.json()) == "me too"
    })
    .await;
    let path = format!("/api/v1/workspaces/{}/delegations/{}/cancel", lead.0, made["id"].as_str().unwrap());
    let cancelled = warren.call("POST", &path).token(&lead.1).send().await;
    assert_eq!(
        (cancelled.status, &cancelled.json()["state"]),
        (200, &json!("cancelled")),
        "{}",
        cancelled.text()
    );
    eventually("the second too", async || show(&warren, &one, &further["id"]).await["state"] == "cancelled")
        .await;
    let stopped = peer.cancelled();
    assert!(stopped.contains(&"first".into()) && stopped.contains(&"second".into()), "{stopped:?}");
}
