//! What those who are no operators may give a workspace.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_providers::{DockerProvider, DockerSettings, SandboxProvider, SandboxSettings};
use warren_testkit::Warren;
use warren_workspace::Provider;

use crate::residents::docker_daemon;

const FIELDS: [(&str, u64); 5] = [
    ("memory_mb", 1_000_000),
    ("pids", 1_000_000),
    ("disk_mb", 1_000_000),
    ("tmp_mb", 100_000),
    ("cpus", 64),
];

async fn limits_are_asked_for(provider: Arc<dyn Provider>, config: &Value) {
    let warren = Warren::builder().provider(provider).start().await;
    let scopes = json!(["workspaces:read", "workspaces:write"]);
    let user = json!({ "kind": "user", "name": "member", "scopes": scopes });
    let user = warren.post("/api/v1/tokens", &user).await.json()["secret"].as_str().unwrap().to_owned();
    let create = async |token: &str, name: &str, limits: Value| {
        let mut provider = config.clone();
        provider["limits"] = limits;
        let body = json!({ "name": name, "provider": provider });
        warren.call("POST", "/api/v1/workspaces").token(token).json(&body).send().await
    };
    for (field, asked) in FIELDS {
        let refused = create(&user, "greedy", json!({ field: asked })).await;
        assert_eq!((refused.status, refused.code()), (403, "forbidden".into()), "{}", refused.text());
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with(&format!("provider.limits.{field}: {asked} is more than")), "{detail}");
    }
    // The controls: what is below a ceiling is anybody's, and what is above it an operator's.
    let mut made = Vec::new();
    for (token, name, memory_mb) in [(&user, "modest", 600), (&warren.token, "large", 8_192)] {
        let answer = create(token, name, json!({ "memory_mb": memory_mb })).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        made.push(answer.json()["id"].as_str().unwrap().to_owned());
    }
    // A template that an operator would use is no way around it.
    let mut provider = config.clone();
    provider["limits"] = json!({ "memory_mb": 1_000_000 });
    let put =
        warren.call("PUT", "/api/v1/templates/greedy").token(&user).json(&json!({ "provider": provider }));
    assert_eq!(put.send().await.status, 403);
    for id in made {
        assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.status, 200);
    }
}

// F9, sec/S14, sec/S15, sec/S16
#[tokio::test]
async fn who_is_no_operator_asks_for_no_more_than_the_ceilings_of_a_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let (base, clock) = (folder.path().join("sandbox"), Arc::new(SystemClock));
    let settings = SandboxSettings::default();
    let provider = SandboxProvider::new(&base, settings, Environment::default(), clock, &OsEntropy).unwrap();
    limits_are_asked_for(Arc::new(provider), &json!({ "kind": "sandbox" })).await;
}

// F9, sec/S14, sec/S15, sec/S16
#[tokio::test]
async fn who_is_no_operator_asks_for_no_more_than_the_ceilings_of_a_container() {
    let (host, mut daemon) = docker_daemon();
    let folder = tempfile::tempdir().unwrap();
    let (base, clock) = (folder.path().join("docker"), Arc::new(SystemClock));
    let settings = DockerSettings { host: Some(host), ..DockerSettings::default() };
    let provider = DockerProvider::new(&base, settings, Environment::default(), clock, &OsEntropy).unwrap();
    let config = json!({ "kind": "docker", "image": "warren-test:busybox", "pull_policy": "never" });
    limits_are_asked_for(Arc::new(provider), &config).await;
    if let Some(daemon) = &mut daemon {
        drop(daemon.stdin.take());
        daemon.wait().unwrap();
    }
}
