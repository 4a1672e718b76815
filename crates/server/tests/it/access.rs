//! Route × credential, made from the API's own document: a route that is added is in here at once.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_doors::ManualClock;
use warren_model::Timestamp;
use warren_server::PUBLIC;
use warren_testkit::Warren;

use crate::memory;

/// Every (method, path) of the document, with the workspace's id put in.
fn routes(workspace_id: &str) -> Vec<(String, String, String)> {
    let document: Value = serde_json::from_str(&warren_server::openapi_json()).unwrap();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let concrete = path.replace("{id}", workspace_id).replace("{name}", "workspace_ls");
            let concrete = concrete.replace("{process}", "1").replace("{scope}", "local");
            // What is left is an id of something else, which is nobody's.
            let nobody = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e";
            let concrete = ["{call}", "{channel}", "{conversation}", "{delegation}", "{delivery}", "{task}"]
                .iter()
                .fold(concrete, |path, name| path.replace(name, nobody));
            all.push((method.to_uppercase(), path.clone(), concrete));
        }
    }
    assert!(all.len() > 20, "the document lists the routes");
    all
}

/// A body that the route would take of whoever may use it.
fn body_of(route: &str, to: &str) -> Value {
    let message = json!({ "parts": [{ "text": "hello" }] });
    match route.rsplit('/').next().unwrap() {
        "schedules" => json!({ "name": "n", "every_seconds": 60, "prompt": "p" }),
        "approvals" => json!({ "action": "a", "reason": "r" }),
        "messages" => json!({ "message": message }),
        "delegations" => json!({ "to": to, "message": message }),
        "progress" => json!({ "attempt": 1 }),
        "answer" => json!({ "attempt": 1, "outcome": "answered" }),
        "peer-policy" => json!({ "circle": "family" }),
        "notify" => json!({ "text": "hello" }),
        _ if route.contains("/memory/") => json!({ "value": "x" }),
        _ => json!({}),
    }
}

fn is_public(method: &str, path: &str) -> bool {
    PUBLIC.iter().any(|(public_method, public_path, _)| *public_method == method && *public_path == path)
}

// F30, sec/U01
#[tokio::test]
async fn no_route_answers_without_a_good_token_unless_it_is_named_public() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = warren.workspace(memory()).await.to_string();
    let revoked = {
        let made = warren.post("/api/v1/tokens", &json!({ "kind": "admin", "name": "r" })).await.json();
        warren.delete(&format!("/api/v1/tokens/{}", made["token"]["id"].as_str().unwrap())).await;
        made["secret"].as_str().unwrap().to_owned()
    };
    let brief = json!({ "kind": "admin", "name": "e", "expires_in_seconds": 1 });
    let expired = warren.post("/api/v1/tokens", &brief).await.json()["secret"].as_str().unwrap().to_owned();
    clock.advance_ms(2_000);
    let mut checked = 0;
    for (method, route, path) in routes(&id) {
        if is_public(&method, &route) {
            continue;
        }
        // Wrong tokens are counted by the minute (sec/U06).
        clock.advance_ms(60_000);
        for credential in [None, Some("garbage"), Some(revoked.as_str()), Some(expired.as_str())] {
            let call = warren.call(&method, &path);
            let call = credential.map_or(warren.call(&method, &path), |secret| call.token(secret));
            let answer = call.json(&json!({})).send().await;
            assert_eq!(answer.status, 401, "{method} {route} with {credential:?}: {}", answer.text());
            checked += 1;
        }
    }
    assert!(checked >= 80, "{checked} combinations");
    assert_eq!(warren.get(&format!("/api/v1/workspaces/{id}")).await.status, 200, "and nothing happened");
}

// F30: a workspace's token reaches no other workspace, by any route
#[tokio::test]
async fn a_workspaces_token_finds_no_other_workspace_on_any_route() {
    let warren = Warren::start().await;
    let own = warren.workspace(memory()).await.to_string();
    let other = warren.workspace(memory()).await.to_string();
    // Side by side they would be peers, who may send each other messages.
    let policy = format!("/api/v1/workspaces/{other}/peer-policy");
    let alone = json!({ "circle": "nobody" });
    assert_eq!(warren.call("PUT", &policy).token(&warren.token).json(&alone).send().await.status, 200);
    let body = json!({ "kind": "workspace", "name": "agent", "workspace_id": own });
    let secret = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    let mut checked = 0;
    for (method, route, path) in routes(&other) {
        if !route.contains("/workspaces/{id}") {
            continue;
        }
        let path = if route.ends_with("/files") || route.ends_with("/directory") {
            format!("{path}?path=x")
        } else if route.ends_with("/search") {
            format!("{path}?q=x")
        } else {
            path
        };
        let body = match route.rsplit('/').next().unwrap() {
            "exec" | "processes" => json!({ "argv": ["true"] }),
            "move" => json!({ "from": "a", "to": "b" }),
            "resize" => json!({ "rows": 1, "columns": 1 }),
            "expand" => json!({ "template": "x" }),
            "position" => json!({ "x": 0.0, "y": 0.0 }),
            "channels" => json!({ "name": "x" }),
            _ => body_of(&route, &own),
        };
        let answer = warren.call(&method, &path).token(&secret).json(&body).send().await;
        assert_eq!((answer.status, answer.code()), (404, "workspace_not_found".into()), "{method} {route}");
        checked += 1;
    }
    assert!(checked >= 12, "{checked} routes");
    let own_files =
        warren.call("GET", &format!("/api/v1/workspaces/{own}/files")).token(&secret).send().await;
    assert_eq!(own_files.status, 200);
    for (method, path) in
        [("GET", "/api/v1/workspaces"), ("GET", "/api/v1/tokens"), ("POST", "/api/v1/sign-in/links")]
    {
        let answer = warren.call(method, path).token(&secret).json(&json!({})).send().await;
        assert_eq!(answer.status, 403, "{method} {path}");
    }
    let own_row = format!("/api/v1/workspaces/{own}");
    assert_eq!(warren.call("DELETE", &own_row).token(&secret).send().await.status, 403);
    let exec =
        warren.call("POST", &format!("{own_row}/exec")).token(&secret).json(&json!({ "argv": ["id"] }));
    assert_eq!(exec.send().await.status, 403, "commands past the policy are not for agents");
}

// F30: scopes
#[tokio::test]
async fn a_read_only_token_changes_nothing() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await.to_string();
    let scopes = json!(["workspaces:read", "events:read", "tokens:read"]);
    let body = json!({ "kind": "user", "name": "reader", "scopes": scopes });
    let secret = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    let bundle = warren.get(&format!("/api/v1/workspaces/{id}/bundle")).await.json();
    for (method, route, path) in routes(&id) {
        // What has an id of its own that is no workspace's is asked for in the matrix of routes and credentials.
        let elsewhere = [
            "/api/v1/schedules/",
            "/api/v1/approvals/",
            "/api/v1/sessions/",
            "/api/v1/tool-rules/",
            "/api/v1/users/",
            "/api/v1/orgs/",
            "/api/v1/invitations/",
            "/api/v1/sign-in/org",
        ];
        let is_elsewhere = elsewhere.iter().any(|head| route.starts_with(head));
        if method == "GET" || is_public(&method, &route) || route == "/api/v1/sign-in" || is_elsewhere {
            continue;
        }
        let path = if route.contains("/files") { format!("{path}?path=x") } else { path };
        let body = match route.as_str() {
            "/api/v1/workspaces" => json!({ "name": "x", "provider": memory() }),
            "/api/v1/sessions" => json!({ "workspace_id": id, "agent": "x" }),
            "/api/v1/users" => json!({ "name": "x", "role": "viewer" }),
            "/api/v1/invitations" => json!({ "role": "viewer" }),
            "/api/v1/orgs" => json!({ "name": "x" }),
            "/api/v1/tokens" => json!({ "kind": "user", "name": "x", "scopes": ["workspaces:read"] }),
            route if route.ends_with("exec") || route.ends_with("processes") => {
                json!({ "argv": ["true"] })
            }
            route if route.ends_with("move") => json!({ "from": "a", "to": "b" }),
            route if route.ends_with("resize") => json!({ "rows": 1, "columns": 1 }),
            route if route.ends_with("expand") || route.ends_with("import") => json!({ "template": "x" }),
            route if route.ends_with("position") => json!({ "x": 0.0, "y": 0.0 }),
            route if route.ends_with("schedules") => {
                json!({ "name": "n", "every_seconds": 60, "prompt": "p" })
            }
            route if route.ends_with("approvals") => json!({ "action": "a", "reason": "r" }),
            route if route.contains("/memory/") => json!({ "value": "x" }),
            "/api/v1/bundles" => json!({ "bundle": bundle }),
            "/api/v1/tool-rules" => json!({ "tool": "x", "decision": "allow" }),
            "/api/v1/webhooks" => json!({ "name": "x", "url": "https://93.184.215.14/" }),
            "/api/v1/webhooks/{id}" => json!({ "is_active": false }),
            route if route.ends_with("/channels") => json!({ "name": "x" }),
            route if route.ends_with("/delegations") => {
                json!({ "to": id, "message": { "parts": [{ "text": "x" }] } })
            }
            route if route.ends_with("/messages") => json!({ "message": { "parts": [{ "text": "x" }] } }),
            route if route.ends_with("/answer") => json!({ "attempt": 1, "outcome": "answered" }),
            route if route.ends_with("/progress") => json!({ "attempt": 1 }),
            route if route.ends_with("/agent-card") => json!({ "agent_card": {} }),
            _ => body_of(&route, &id),
        };
        let answer = warren.call(&method, &path).token(&secret).json(&body).send().await;
        assert_eq!((answer.status, answer.code()), (403, "forbidden".into()), "{method} {route}");
    }
}

// F30: what is wrong with a request is for those who may make it
#[tokio::test]
async fn whoever_may_not_is_told_so_and_not_what_is_wrong_with_the_request() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let body = json!({ "kind": "user", "name": "listener", "scopes": ["events:read"] });
    let secret = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    let at = format!("/api/v1/workspaces/{id}");
    for (method, path, body) in [
        ("POST", "exec", json!({})),
        ("POST", "processes", json!({ "argv": ["true"], "command": "true" })),
        ("GET", "processes/1/output?max_bytes=0", json!({})),
        ("POST", "processes/1/stdin", json!({ "base64": "?" })),
        ("POST", "processes/1/resize", json!({ "rows": 0, "columns": 0 })),
        ("GET", "files?path=..", json!({})),
        ("GET", "files?depth=0", json!({})),
        ("PUT", "files?path=..", json!({})),
        ("DELETE", "files?path=..", json!({})),
        ("POST", "files/move", json!({ "from": "a", "to": ".." })),
        ("POST", "files/directory?path=..", json!({})),
    ] {
        let path = format!("{at}/{path}");
        let call = |token| warren.call(method, &path).token(token).json(&body).send();
        let refused = call(&secret).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"), "{method} {path}");
        // Control: whoever may is told what is wrong.
        let wrong = call(&warren.token).await;
        let is_told = matches!(wrong.status, 400 | 403) && wrong.code() != "forbidden";
        assert!(is_told, "{method} {path}: {}", wrong.text());
    }
}

// S20: routes and document agree
#[tokio::test]
async fn every_route_of_the_document_is_served_and_the_document_is_served_too() {
    let warren = Warren::start().await;
    let served = warren.call("GET", "/api/v1/openapi.json").send().await;
    assert_eq!(served.text(), warren_server::openapi_json());
    assert!(served.json()["openapi"].as_str().unwrap().starts_with("3.1"));
    let id = warren.workspace(memory()).await.to_string();
    for (method, route, path) in routes(&id) {
        let answer = warren.call(&method, &path).header("authorization", "Bearer none").send().await;
        assert!(![404, 405].contains(&answer.status), "{method} {route} is not served: {}", answer.status);
    }
}
