//! The audit log over the API (F35).

use serde_json::{Value, json};
use warren_model::Scope;
use warren_testkit::Warren;

use crate::memory;

/// The whole log through the API.
async fn log(warren: &Warren, filter: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = warren.get(&format!("/api/v1/audit?limit=3&{filter}{cursor}")).await.json();
        entries.extend(page["items"].as_array().unwrap_or_else(|| panic!("{page}")).iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return entries,
        }
    }
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect()
}

// F35
#[tokio::test]
async fn every_change_leaves_an_entry_that_says_who_did_what_to_which() {
    let warren = Warren::start().await;
    let start = warren.get("/api/v1/audit/head").await.json()["seq"].as_u64().unwrap();
    let id = warren.workspace(json!({ "kind": "local" })).await.to_string();
    let path = format!("/api/v1/workspaces/{id}");
    warren.patch(&path, &json!({ "name": "renamed" })).await;
    let token = json!({ "kind": "user", "name": "t", "scopes": ["events:read"] });
    let made = warren.post("/api/v1/tokens", &token).await.json();
    let token_id = made["token"]["id"].as_str().unwrap();
    warren.delete(&format!("/api/v1/tokens/{token_id}")).await;
    let value = json!({ "value": "hunter2-hunter2" });
    warren.call("PUT", "/api/v1/secrets/API_KEY").token(&warren.token).json(&value).send().await;
    warren.delete("/api/v1/secrets/API_KEY").await;
    warren.post("/api/v1/secrets/rotate-key", &json!({})).await;
    let link = warren.post("/api/v1/sign-in/links", &json!({})).await.json();
    let secret = link["path"].as_str().unwrap().split('=').next_back().unwrap().to_owned();
    warren.call("POST", "/api/v1/sign-in").json(&json!({ "secret": secret })).send().await;
    let budget = json!({ "monthly_limit_micros": 5 });
    let set = warren.call("PUT", &format!("{path}/budget")).token(&warren.token).json(&budget).send().await;
    assert_eq!(set.status, 200, "{}", set.text());
    crate::fleet::sweep(&warren, "stalls").await;
    crate::fleet::register(&warren, id.parse().unwrap()).await;
    let answer = warren.delete(&path).await;
    let all = log(&warren, "").await;
    let entries = &all[all.iter().position(|entry| entry["seq"] == start + 1).unwrap()..];
    assert_eq!(
        actions(entries),
        [
            "workspace.created",
            "workspace.isolation_relaxed",
            "workspace.changed",
            "token.created",
            "token.revoked",
            "secret.set",
            "secret.removed",
            "secret.key_rotated",
            "token.created",
            "session.started",
            "budget.set",
            "sweep.run",
            "token.created",
            "runtime.registered",
            "workspace.removed",
        ]
    );
    let last = entries.last().unwrap();
    assert_eq!(last["target"], json!({ "kind": "workspace", "id": id }));
    assert_eq!(last["outcome"], "done");
    assert!(last["principal"].as_str().unwrap().starts_with("user:"));
    assert!(last["token_prefix"].as_str().unwrap().starts_with("wrn_admin_"));
    assert_eq!(last["request_id"].as_str(), answer.header("x-request-id"), "it leads to the log's lines");
    assert_eq!(entries[1]["details"], json!({ "by": "operator", "knobs": ["local"], "tier": "privileged" }));
    assert_eq!(entries[3]["target"]["id"], token_id);
    assert_eq!(entries[3]["details"]["scopes"], json!(["events:read"]));
    assert_eq!(entries[5]["target"], json!({ "kind": "secret", "id": "API_KEY" }));
    assert_eq!(entries[10]["details"], json!({ "by": "operator", "from_micros": null, "to_micros": 5 }));
    assert_eq!(entries[11]["target"], json!({ "kind": "sweep", "id": "stalls" }));
    assert!(entries[13]["token_prefix"].as_str().unwrap().starts_with("wrn_join_"), "{}", entries[13]);
    let text = serde_json::to_string(entries).unwrap();
    assert!(!text.contains("hunter2") && !text.contains(made["secret"].as_str().unwrap()));
}

// F35
#[tokio::test]
async fn the_log_is_for_operators_and_is_filtered_by_target_principal_action_and_time() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await.to_string();
    warren.workspace(memory()).await;
    warren.delete(&format!("/api/v1/workspaces/{id}")).await;
    let scopes: Vec<&str> =
        Scope::ALL.iter().map(|scope| scope.as_str()).filter(|scope| *scope != "org:operate").collect();
    let body = json!({ "kind": "user", "name": "all", "scopes": scopes });
    let user = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    for path in ["/api/v1/audit", "/api/v1/audit/head"] {
        assert_eq!(warren.call("GET", path).token(&user).send().await.status, 403, "{path}");
    }
    let of_one = log(&warren, &format!("target_kind=workspace&target_id={id}")).await;
    assert_eq!(actions(&of_one), ["workspace.created", "workspace.removed"], "it outlives what it speaks of");
    let made = log(&warren, "action=workspace.created").await;
    assert_eq!(made.len(), 2);
    let principal = made[0]["principal"].as_str().unwrap();
    assert!(log(&warren, &format!("principal={principal}")).await.len() >= 4);
    assert_eq!(log(&warren, "principal=user:nobody").await, [] as [Value; 0]);
    let at = made[1]["at"].as_str().unwrap();
    assert!(log(&warren, &format!("since={at}")).await.iter().all(|entry| entry["at"].as_str() >= Some(at)));
    assert_eq!(log(&warren, &format!("since={at}&until={at}")).await, [] as [Value; 0]);
    assert_eq!(warren.get("/api/v1/audit?since=yesterday").await.code(), "invalid_request");
    assert_eq!(warren.get("/api/v1/audit?cursor=x").await.code(), "invalid_cursor");
}
