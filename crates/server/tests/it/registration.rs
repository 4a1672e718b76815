//! How runtimes make themselves known, and what their credentials can and cannot do.

use std::sync::Arc;

use serde_json::json;
use warren_model::Status;
use warren_testkit::Warren;

use crate::fleet::{
    ask, clock, create, events, external, join_token, register, reporting, show, status, try_beat,
    try_register,
};
use crate::{local, memory};

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

// F10: of many who try with one token, one is let in
#[tokio::test]
async fn of_ten_runtimes_with_one_join_token_exactly_one_registers() {
    let warren = Warren::start().await;
    let id = external(&warren).await;
    let join = join_token(&warren, id).await;
    let body = json!({});
    let tries = (0..10).map(|_| try_register(&warren, &join, &body));
    let answers = futures_util::future::join_all(tries).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401, 401, 401, 401, 401, 401, 401, 401]);
    let kinds: Vec<_> = events(&warren, Some(id)).await.iter().map(|event| event["kind"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "workspace.runtime.registered").count(), 1, "{kinds:?}");
}

// F10
#[tokio::test]
async fn every_boot_has_its_own_credential_and_ends_the_one_before() {
    let warren = Warren::start().await;
    let (id, first) = reporting(&warren).await;
    assert_eq!(try_beat(&warren, &first, &json!({})).await.status, 200);
    let join = join_token(&warren, id).await;
    let second = try_register(&warren, &join, &json!({})).await.json();
    assert_eq!(second["boots"], 2);
    let second = second["token"].as_str().unwrap();
    assert_ne!(first, second);
    assert_eq!(try_beat(&warren, &first, &json!({})).await.status, 401);
    assert_eq!(try_beat(&warren, second, &json!({})).await.status, 200);
}

// F10: unknown and removed workspaces are refused, and tokens end with the workspace
#[tokio::test]
async fn nobody_joins_a_workspace_that_is_unknown_or_removed() {
    let warren = Warren::start().await;
    let id = external(&warren).await;
    let join = join_token(&warren, id).await;
    warren.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert_eq!(try_register(&warren, &join, &json!({})).await.status, 401);
    assert_eq!(status(&warren, id).await, "removed");
    let unknown = "00000000-0000-7000-8000-000000000000";
    let body = json!({ "kind": "join", "name": "x", "workspace_id": unknown });
    let refused = warren.post("/api/v1/tokens", &body).await;
    assert_eq!((refused.status, refused.code()), (404, "workspace_not_found".into()));
    let refused = warren.post("/api/v1/tokens", &json!({ "kind": "join", "name": "x" })).await;
    assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()));
    let removed = json!({ "kind": "join", "name": "x", "workspace_id": id.to_string() });
    let refused = warren.post("/api/v1/tokens", &removed).await;
    assert_eq!((refused.status, refused.code()), (404, "workspace_not_found".into()), "{}", refused.text());
}

// F10
#[tokio::test]
async fn a_join_token_ends_after_an_hour_unless_told() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = external(&warren).await;
    let usual = join_token(&warren, id).await;
    let body = json!({
        "kind": "join", "name": "long", "workspace_id": id.to_string(), "expires_in_seconds": 7200,
    });
    let long = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    clock.advance_ms(3_600_000);
    assert_eq!(try_register(&warren, &usual, &json!({})).await.status, 401);
    assert_eq!(try_register(&warren, &long, &json!({})).await.status, 200);
}

// F10, F3
#[tokio::test]
async fn the_credential_of_a_resident_ends_when_its_box_does() {
    let warren = Warren::start().await;
    let body = json!({ "name": "resident", "provider": local(), "runtime": "resident" });
    let id = create(&warren, &body).await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    for (asked, back) in [("restart", None), ("pause", Some("resume")), ("hibernate", Some("wake"))] {
        let runtime = register(&warren, id).await;
        let unused = join_token(&warren, id).await;
        assert_eq!(try_beat(&warren, &runtime, &json!({})).await.status, 200);
        assert_eq!(ask(&warren, id, asked).await.status, 200, "{asked}");
        assert_eq!(try_beat(&warren, &runtime, &json!({})).await.status, 401, "{asked}");
        assert_eq!(try_register(&warren, &unused, &json!({})).await.status, 401, "{asked}");
        if let Some(back) = back {
            assert_eq!(ask(&warren, id, back).await.status, 200, "{back}");
        }
        warren.wait_for_status(id, Status::AwaitingAgent).await;
    }
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
