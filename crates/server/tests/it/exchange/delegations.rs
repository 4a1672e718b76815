use std::sync::Arc;

use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Act, Answer, ScriptedAgent, Warren};

use super::{agent, answer_of, queue, task_in, with_agent};
use crate::fleet::{events, eventually};
use crate::memory;

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

// X20, X21: queued is not completed; stitched when it drains
#[tokio::test]
async fn a_queued_delegation_is_stitched_to_its_result_when_it_drains() {
    let (warren, peer) = with_agent().await;
    let [lead, one, two] = team(&warren).await;
    peer.next([Act::Hold, Act::Say("first".into())]);
    let first = delegate(&warren, &lead, one.0, json!({})).await.json();
    assert_eq!(first["state"], "dispatched");
    let second = delegate(&warren, &two, one.0, json!({ "tell": true })).await.json();
    assert_eq!((&second["state"], &second["position"]), (&json!("queued"), &json!(0)));
    assert_eq!(second["result"], json!([]));
    peer.let_go();
    eventually("both end", async || show(&warren, &two, &second["id"]).await["state"] == "completed").await;
    assert_eq!(show(&warren, &lead, &first["id"]).await["result"][0]["text"], "first");
    let told = events(&warren, Some(two.0)).await;
    let told = told.iter().filter(|event| event["kind"] == "exchange.delegation.completed").count();
    assert_eq!(told, 1);
    // The delegator that wanted to be told got the result as a message of the one that did the work.
    eventually("it is told", async || peer.seen().len() == 3).await;
    let message = &peer.seen()[2];
    assert_eq!(message.author.to_string(), format!("workspace:{}", one.0));
    assert_eq!(message.message.text(), "echo: help");
}

// X22
#[tokio::test]
async fn cycles_and_depth_are_limited_even_for_one_that_does_not_say_where_work_came_from() {
    let (warren, peer) = with_agent().await;
    let [lead, one, two] = team(&warren).await;
    for _ in 0..2 {
        peer.next([Act::Hold, Act::Say("done".into())]);
    }
    delegate(&warren, &lead, one.0, json!({})).await.json();
    eventually("it has it", async || peer.seen().len() == 1).await;
    let handed = delegate(&warren, &one, two.0, json!({})).await.json();
    eventually("it has it", async || peer.seen().len() == 2).await;
    for (from, to) in [(&two, lead.0), (&two, one.0), (&one, lead.0), (&one, one.0)] {
        let refused = delegate(&warren, from, to, json!({})).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "delegation_cycle"));
    }
    assert!(handed["parent_task"].is_string(), "found out by what it has in hand");
    peer.let_go();
    peer.let_go();
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

// X3, X20
#[tokio::test]
async fn nobody_hands_work_to_a_stranger_or_in_anothers_name() {
    let (warren, _) = with_agent().await;
    let [lead, one, _] = team(&warren).await;
    let stranger = agent(&warren, json!({ "name": "stranger" })).await;
    let refused = delegate(&warren, &lead, stranger.0, json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (404, "workspace_not_found"));
    let impostor = (lead.0, one.1.clone());
    let refused = delegate(&warren, &impostor, one.0, json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (404, "workspace_not_found"));
    assert!(queue(&warren, stranger.0, "ended").await.is_empty());
}

// X20: a restart of Warren in the middle of a delegation, with both sides
#[tokio::test]
async fn a_delegation_goes_on_after_warren_was_cut_off_in_the_middle() {
    let peer = ScriptedAgent::default();
    let terms = warren_exchange::Config { lease_ms: 1_000, ..warren_exchange::Config::default() };
    let builder = Warren::builder().crashable().exchange_config(terms);
    let warren = builder.called_agents(Arc::new(peer.clone())).start().await;
    let [lead, one, _] = team(&warren).await;
    peer.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold]);
    let made = delegate(&warren, &lead, one.0, json!({ "tell": true })).await.json();
    let accepted = json!({ "task": { "id": made["task_id"], "workspace_id": one.0.to_string() } });
    eventually("it works", async || answer_of(&super::task(&warren, &accepted).await) == "on it").await;
    // The runtime goes on by itself; asked again, it tells how it went.
    peer.next([Act::Say("finished".into())]);
    let warren = warren.crash().await;
    let done = task_in(&warren, &accepted, "completed").await;
    assert_eq!(answer_of(&done), "finished");
    let resumed =
        peer.seen().iter().find(|turn| turn.resumes).cloned().expect("it was asked, not told again");
    assert_eq!(resumed.remote_id.as_deref(), Some("theirs"));
    assert_eq!(show(&warren, &lead, &made["id"]).await["state"], "completed");
    eventually("the delegator is told", async || peer.heard().contains(&"finished".to_owned())).await;
}

#[tokio::test]
async fn a_delegator_that_is_gone_by_the_end_loses_nothing_for_the_others() {
    let (warren, peer) = with_agent().await;
    let [lead, one, _] = team(&warren).await;
    let alone = warren
        .post(
            "/api/v1/workspaces",
            &json!({ "name": "brief", "provider": memory(), "parent_id": lead.0.to_string() }),
        )
        .await
        .json();
    let brief: WorkspaceId = alone["id"].as_str().unwrap().parse().unwrap();
    peer.next([Act::Hold, Act::Say("done".into())]);
    let from = (brief, warren.token.clone());
    let made = delegate(&warren, &from, one.0, json!({ "tell": true })).await.json();
    assert_eq!(warren.delete(&format!("/api/v1/workspaces/{brief}")).await.status, 200);
    peer.let_go();
    let accepted = json!({ "task": { "id": made["task_id"], "workspace_id": one.0.to_string() } });
    task_in(&warren, &accepted, "completed").await;
}

// X4, X21: Warren's words are not put into the mouth of whoever was asked
#[tokio::test]
async fn a_delegator_is_told_by_warren_itself_why_there_is_no_result() {
    let (warren, peer) = with_agent().await;
    let [lead, one, _] = team(&warren).await;
    peer.next([Act::Hold]);
    let made = delegate(&warren, &lead, one.0, json!({ "tell": true })).await.json();
    eventually("it has it", async || peer.seen().len() == 1).await;
    let path = format!("/api/v1/workspaces/{}/tasks/{}/cancel", one.0, made["task_id"].as_str().unwrap());
    assert_eq!(warren.post(&path, &json!({})).await.status, 200);
    eventually("the delegator is told", async || peer.seen().len() == 2).await;
    let told = &peer.seen()[1];
    assert_eq!(told.author.to_string(), "system:exchange");
    assert_eq!(told.message.text(), "The work was cancelled.");
}
