//! Warrens that do only a part: some serve clients, others do the work (O10).

use std::time::Duration;

use serde_json::json;
use warren_fleet::Role;
use warren_llm::Script;
use warren_testkit::{PostgresDatabase, Warren};

use crate::fleet::{eventually, status};
use crate::{local, memory};

fn builder(database: &PostgresDatabase, role: Role) -> warren_testkit::Builder {
    let script = Script::read("turns: [{ text: done }]").unwrap();
    Warren::builder().database(database.url()).role(role).reachable().script("test", script)
}

// O10
#[tokio::test]
async fn a_workspace_made_where_clients_are_served_is_opened_and_used_at_a_worker() {
    let database = PostgresDatabase::create();
    let api = builder(&database, Role::Api).start().await;
    let alone = api.create(&json!({ "name": "early", "provider": local() })).await;
    assert_eq!(alone.status, 201, "{}", alone.text());
    let early = alone.json()["id"].as_str().unwrap().parse().unwrap();
    let path = format!("/api/v1/workspaces/{early}/files?path=note");
    let refused = api.put(&path, "x").await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "workspace_elsewhere"), "{}", refused.text());
    assert!(refused.json()["detail"].as_str().unwrap().contains("no replica lives that opens boxes"));
    let worker = builder(&database, Role::Worker).key_of(api.folder()).start().await;
    eventually("a worker that comes takes it up", async || status(&api, early).await == "online").await;
    let written = api.put(&path, "by a worker").await;
    assert!(written.status < 300, "{}", written.text());
    assert_eq!(api.get(&path).await.text(), "by a worker");

    let begun = std::time::Instant::now();
    let id = api.workspace(local()).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "it is heard of: {:?}", begun.elapsed());
    let ran = api.post(&format!("/api/v1/workspaces/{id}/exec"), &json!({ "argv": ["true"] })).await;
    assert_eq!(ran.json()["exit_code"], 0, "{}", ran.text());
    assert_eq!(api.fleet.registry.open_ids(), []);
    assert_eq!(worker.fleet.registry.open_ids().len(), 2);

    let removed = api.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert!(removed.status < 300, "{}", removed.text());
    eventually("the worker ends its box", async || worker.fleet.registry.open_ids() == [early]).await;
}

// O10
#[tokio::test]
async fn a_worker_serves_no_clients_and_says_who_does() {
    let database = PostgresDatabase::create();
    let worker = builder(&database, Role::Worker).start().await;
    for path in ["/api/v1/workspaces", "/api/v1/info", "/api/v1/openapi.json"] {
        let refused = worker.call("GET", path).token(&worker.token).send().await;
        assert_eq!((refused.status, refused.code().as_str()), (421, "not_served_here"), "{path}");
        assert!(refused.json()["remedy"].as_str().unwrap().contains("--role api"));
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(worker.call("GET", path).send().await.status, 200, "{path}");
    }
    let metrics = worker.call("GET", "/metrics").token(&worker.token).send().await;
    assert_eq!(metrics.status, 200);
}

// O10: sessions and what runs by the clock are the workers'
#[tokio::test]
async fn sessions_and_sweeps_are_left_to_workers() {
    let database = PostgresDatabase::create();
    let api = builder(&database, Role::Api).start().await;
    let agent = json!({ "model": "scripted/test" });
    let put = api.call("PUT", "/api/v1/agents/helper").token(&api.token).json(&agent).send().await;
    assert_eq!(put.status, 201, "{}", put.text());
    let made = api.create(&json!({ "name": "place", "provider": memory() })).await.json();
    let id: warren_model::WorkspaceId = made["id"].as_str().unwrap().parse().unwrap();
    let body = json!({ "workspace_id": id.to_string(), "agent": "helper" });
    let session = api.post("/api/v1/sessions", &body).await;
    assert_eq!(session.status, 201, "{}", session.text());
    let session = format!("/api/v1/sessions/{}", session.json()["name"].as_str().unwrap());
    let said = api.post(&format!("{session}/messages"), &json!({ "text": "go" })).await;
    assert_eq!(said.status, 202, "{}", said.text());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(status(&api, id).await, "provisioning", "nobody here opens it");
    let seen = api.get(&format!("{session}/steps")).await.json();
    assert_eq!(seen["items"][0]["answered_at"], json!(null), "nobody here works on it: {seen}");
    let _worker = builder(&database, Role::Worker).key_of(api.folder()).start().await;
    eventually("a worker answers", async || {
        let steps = api.get(&format!("{session}/steps")).await.json();
        steps["items"]
            .as_array()
            .is_some_and(|steps| steps.last().is_some_and(|step| step["blocks"].to_string().contains("done")))
    })
    .await;
    let sweeps = api.get("/api/v1/admin/sweeps").await.json();
    let ran = sweeps["items"].as_array().unwrap().iter().filter(|sweep| !sweep["last_run"].is_null()).count();
    assert_eq!(ran, 0, "{sweeps}");
}
