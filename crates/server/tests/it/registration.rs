//! How runtimes make themselves known, and what their credentials can and cannot do.

use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::fleet::{external, join_token, reporting, show, status, try_beat, try_register};
use crate::memory;

// F10
#[tokio::test]
async fn a_join_token_works_once_for_the_workspace_it_was_made_for() {
    let warren = Warren::start().await;
    let (id, other) = (external(&warren).await, external(&warren).await);
    let join = join_token(&warren, id).await;
    let body =
        json!({ "version": "1.2.3", "agent_card": { "name": "a" }, "heartbeat": { "active_tasks": 1 } });
    let registered = try_register(&warren, &join, &body).await;
    assert_eq!(registered.status, 200, "{}", registered.text());
    let registered = registered.json();
    assert_eq!(registered["workspace_id"], id.to_string());
    assert_eq!((&registered["boots"], &registered["status"]), (&json!(1), &json!("online")));
    assert_eq!(registered["liveness_timeout_ms"], 90_000);
    assert!(registered["token"].as_str().unwrap().starts_with("wrn_runner_"), "{registered}");
    assert_eq!(show(&warren, id).await["vitals"]["active_tasks"], 1, "the first report counts");
    assert_eq!(status(&warren, other).await, "awaiting_agent", "the other one still waits");
    let again = try_register(&warren, &join, &json!({})).await;
    assert_eq!((again.status, again.code()), (401, "token_expired".into()));
    let credential = registered["token"].as_str().unwrap();
    assert_eq!(try_beat(&warren, credential, &json!({})).await.status, 200, "the second try harmed nobody");
}

// F10, F30: the credential of a runtime is not a user's, and opens its own workspace only
#[tokio::test]
async fn join_and_runner_tokens_open_their_one_door_each() {
    let warren = Warren::start().await;
    let (id, runner) = reporting(&warren).await;
    let other = warren.workspace(memory()).await;
    let join = join_token(&warren, id).await;
    let own = format!("/api/v1/workspaces/{id}");
    for path in [own.as_str(), "/api/v1/workspaces", "/api/v1/sign-in", "/api/v1/events", "/api/v1/info"] {
        let answer = warren.call("GET", path).token(&join).send().await;
        assert_eq!(answer.status, 403, "a join token on {path}: {}", answer.text());
    }
    assert_eq!(try_beat(&warren, &join, &json!({})).await.status, 403, "it reports nothing");
    assert_eq!(try_register(&warren, &runner, &json!({})).await.status, 403, "a runner does not join again");
    assert_eq!(try_register(&warren, &warren.token, &json!({})).await.status, 403);
    assert_eq!(try_beat(&warren, &warren.token, &json!({})).await.status, 403, "nor does an operator report");
    assert_eq!(warren.call("GET", &own).token(&runner).send().await.status, 200);
    let elsewhere = format!("/api/v1/workspaces/{other}");
    assert_eq!(warren.call("GET", &elsewhere).token(&runner).send().await.status, 404);
    for (method, path) in [("DELETE", own.clone()), ("POST", format!("{own}/pause")), ("PATCH", own.clone())]
    {
        let answer = warren.call(method, &path).token(&runner).json(&json!({})).send().await;
        assert_eq!(answer.status, 403, "{method} {path}");
    }
    let wider = json!({ "kind": "admin", "name": "x" });
    let minted = warren.call("POST", "/api/v1/tokens").token(&runner).json(&wider).send().await;
    assert_eq!(minted.status, 403);
    assert_eq!(try_register(&warren, &join, &json!({})).await.status, 200, "all this did not use it up");
}

// F10: an agent card is kept, within its limit
#[tokio::test]
async fn an_agent_card_is_an_object_within_its_limit_and_a_refused_one_costs_no_token() {
    let warren = Warren::start().await;
    let id = external(&warren).await;
    let join = join_token(&warren, id).await;
    let refused = try_register(&warren, &join, &json!({ "agent_card": "text" })).await;
    assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()));
    let big = json!({ "agent_card": { "name": "x".repeat(300 * 1024) } });
    let refused = try_register(&warren, &join, &big).await;
    assert_eq!((refused.status, refused.code()), (413, "payload_too_large".into()));
    let huge = json!({ "agent_card": { "name": "x".repeat(10 * 1024 * 1024) } });
    let refused = try_register(&warren, &join, &huge).await;
    assert_eq!((refused.status, refused.code()), (413, "payload_too_large".into()));
    assert_eq!(try_register(&warren, &join, &json!({ "agent_card": { "name": "a" } })).await.status, 200);
}

// F10: a runtime describes itself anew without another join token
#[tokio::test]
async fn a_runtime_changes_its_agent_card_with_its_own_credential() {
    let warren = Warren::start().await;
    let (id, runner) = reporting(&warren).await;
    let change = async |token: &str, body: Value| {
        warren.call("PUT", "/api/v1/registry/agent-card").token(token).json(&body).send().await
    };
    let card = json!({ "name": "reviewer", "description": "Reads changes.", "skills": [] });
    let changed = change(&runner, json!({ "agent_card": card })).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.json(), json!({ "workspace_id": id.to_string(), "boots": 1, "agent_card": card }));
    let shown = warren.get(&format!("/a2a/{id}/.well-known/agent-card.json")).await.json();
    assert_eq!(shown["description"], "Reads changes.", "{shown}");
    assert_eq!(change(&warren.token, json!({ "agent_card": card })).await.status, 403);
    assert_eq!(change(&runner, json!({})).await.status, 400, "absent is not taken away");
    assert_eq!(change(&runner, json!({ "agent_card": "text" })).await.status, 400);
    let gone = change(&runner, json!({ "agent_card": null })).await;
    assert_eq!((gone.status, &gone.json()["agent_card"]), (200, &Value::Null));
    assert_eq!(show(&warren, id).await["status"], "online");
}
