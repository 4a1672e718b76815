use serde_json::json;
use warren_model::Status;
use warren_testkit::Warren;

use crate::{local, memory};

// S20, F1, F4
#[tokio::test]
async fn a_new_workspace_comes_online_and_says_so_in_events() {
    let warren = Warren::start().await;
    let body = json!({ "name": "first", "provider": local() });
    let answer = warren.create(&body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made = answer.json();
    assert_eq!((&made["status"], &made["name"]), (&json!("provisioning"), &json!("first")));
    assert_eq!(made["capabilities"], json!(["fs", "shell"]));
    let id = made["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/api/v1/workspaces/{id}").as_str()));
    warren.wait_for_status(id, Status::Online).await;
    let page = warren.call("GET", "/api/v1/events?after=0").token(&warren.token);
    let page = page.header("accept", "application/json").send().await.json();
    let of_workspace = |event: &&serde_json::Value| event["workspace_id"] == json!(id.to_string());
    let kinds: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_workspace)
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, [json!("workspace.lifecycle.created"), json!("workspace.status.changed")]);
}

// S21
#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repetition() {
    let warren = Warren::start().await;
    for number in 0..7 {
        let body = json!({ "name": format!("n{number}"), "provider": memory() });
        assert_eq!(warren.create(&body).await.status, 201);
    }
    let mut names = Vec::new();
    let mut path = "/api/v1/workspaces?limit=3".to_owned();
    loop {
        let page = warren.get(&path).await.json();
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/api/v1/workspaces?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    let expected: Vec<_> = (0..7).map(|number| json!(format!("n{number}"))).collect();
    assert_eq!(names, expected);
}

// S21
#[tokio::test]
async fn if_match_lets_only_the_current_version_through() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let etag = warren.get(&path).await.header("etag").unwrap().to_owned();
    let patch = |etag: &str, name: &str| {
        let call = warren.call("PATCH", &path).token(&warren.token).header("if-match", etag);
        call.json(&json!({ "name": name }))
    };
    assert_eq!(patch(&etag, "a").send().await.status, 200);
    let stale = patch(&etag, "b").send().await;
    assert_eq!((stale.status, stale.code()), (412, "precondition_failed".into()));
    assert_eq!(warren.get(&path).await.json()["name"], "a");
    assert_eq!(patch("banana", "c").send().await.code(), "invalid_request");
}

// W11, S23
#[tokio::test]
async fn health_tells_what_the_registry_knows() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let health = warren.get(&format!("/api/v1/workspaces/{id}/health")).await.json();
    assert_eq!((&health["status"], &health["registry"]["state"]), (&json!("online"), &json!("open")));
    assert_eq!(health["registry"]["opens"], 1);
    assert!(health["registry"]["limits"].is_object(), "{health}");
}

// F3: PATCH of what a workspace is given, in a real directory with real commands
#[tokio::test]
async fn limits_policy_and_tier_are_changed_by_patch_and_reach_the_box() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let patch = async |body: serde_json::Value| {
        warren.call("PATCH", &path).token(&warren.token).json(&body).send().await
    };
    assert_eq!(warren.put(&format!("{path}/files?path=kept"), "kept").await.status, 201);
    let changed = patch(json!({ "provider": { "max_file_mb": 1, "max_output_bytes": 4096 } })).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let body = changed.json();
    assert_eq!((&body["status"], &body["behind_of"]), (&json!("provisioning"), &json!("change")), "{body}");
    assert_eq!(
        (&body["provider"]["max_file_mb"], &body["provider"]["max_grep_file_mb"]),
        (&json!(1), &json!(10))
    );
    warren.wait_for_status(id, Status::Online).await;
    let large = warren.put(&format!("{path}/files?path=large"), "x".repeat(2 << 20)).await;
    assert_eq!((large.status, large.code()), (413, "file_too_large".into()), "the new limit counts");
    assert_eq!(warren.get(&format!("{path}/files?path=kept")).await.text(), "kept");

    // What models may run counts from the next call on.
    let call = async || {
        let body = json!({ "argv": ["echo", "hello"] });
        warren.post(&format!("{path}/tools/workspace_run"), &body).await.text()
    };
    let generation = warren.get(&path).await.json()["generation"].clone();
    let policy =
        json!({ "provider": { "run": { "allow": ["echo"] } }, "prompts": { "system": "Be terse." } });
    let allowed = patch(policy).await;
    assert_eq!((allowed.status, &allowed.json()["generation"]), (200, &generation), "{}", allowed.text());
    let said = call().await;
    assert!(said.contains("hello"), "{said}");
    let forbidden = patch(json!({ "provider": { "run": { "allow": ["ls"] } } })).await;
    assert_eq!(forbidden.status, 200);
    let said = call().await;
    assert!(!said.contains("hello\\n"), "{said}");

    let refused = patch(json!({ "tier": "basic" })).await;
    assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()), "{}", refused.text());
    let refused = patch(json!({ "provider": { "kind": "memory" } })).await;
    assert_eq!(refused.code(), "invalid_config", "{}", refused.text());
    let refused = patch(json!({ "capabilities": ["fs", "snapshot"] })).await;
    assert_eq!(refused.code(), "capability_missing", "{}", refused.text());
    let peers = patch(json!({ "peers": { "circle": "org", "allow": [], "deny": [] } })).await;
    assert_eq!(peers.status, 200, "{}", peers.text());
    assert_eq!(warren.get(&format!("{path}/peer-policy")).await.json()["circle"], "org");
}
