//! A runner that works for the programs of its box. The real one is kept from them (sec/B15); should that ever fail, what
//! it can say must still reach nothing but its own workspace (sec/S12, S28).

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{Status, WorkspaceId};
use warren_outbound::Resolver;
use warren_providers::{DockerProvider, DockerSettings, SandboxProvider, SandboxSettings};
use warren_testkit::Warren;
use warren_workspace::Provider;

use crate::fleet::{create, eventually, external, join_token, status, try_register};
use crate::residents::{docker_daemon, registrations};

/// A name server that knows nobody, and remembers who was asked for.
#[derive(Debug, Default)]
struct Names(Mutex<Vec<String>>);

#[async_trait]
impl Resolver for Names {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap().push(name.to_owned());
        Err(io::ErrorKind::NotFound.into())
    }
}

impl Names {
    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn card(host: &str) -> Value {
    json!({
        "name": "evil", "version": "1",
        "supportedInterfaces": [{ "url": format!("https://{host}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
    })
}

/// Speaks the lines of `says`, one after the other, with `JOIN` and `OWN` for its tokens, and keeps what it hears.
fn script(says: &[Value]) -> String {
    let says: Vec<_> = says.iter().map(|line| format!("say '{line}'\n")).collect();
    format!(
        r#"#!/bin/sh
read -r join
own=none
say() {{
  printf '%s\n' "$1" | sed "s/JOIN/$join/; s/OWN/$own/"
  read -r answer
  printf '%s\n' "$answer" >> /workspace/heard
  case "$answer" in *wrn_runner_*) own=$(printf '%s' "$answer" | sed 's/.*"\(wrn_runner_[^"]*\)".*/\1/') ;; esac
}}
{}exec sleep 600
"#,
        says.concat()
    )
}

/// Puts it where the boxes that are made from now on have their runner.
fn replace_runner(folder: &Path, script: &str) {
    let path = find(folder, "warren-runner").expect("the provider has a runner");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).unwrap();
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find_map(|path| match path.file_name().is_some_and(|found| found == name) {
        true => Some(path),
        false if path.is_dir() => find(&path, name),
        false => None,
    })
}

fn line(id: u64, method: &str, path: &str, token: &str, body: &Value) -> Value {
    json!({ "id": id, "method": method, "path": path, "token": token, "body": body })
}

async fn heard(warren: &Warren, id: WorkspaceId, count: usize) -> Vec<Value> {
    let body = json!({ "argv": ["cat", "/workspace/heard"] });
    let read = async || {
        let ran = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await.json();
        let text = ran["stdout"].as_str().unwrap_or_default().to_owned();
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect::<Vec<_>>()
    };
    eventually("it was answered", async || read().await.len() >= count).await;
    read().await
}

async fn a_runner_of_the_box_reaches_nothing_but_its_own_workspace(
    folder: &Path,
    provider: Arc<dyn Provider>,
    config: &Value,
) {
    let names = Arc::new(Names::default());
    let resolver: Arc<dyn Resolver> = Arc::<Names>::clone(&names);
    let warren = &Warren::builder().provider(provider).resolver(resolver).start().await;
    let other = warren.workspace(json!({ "kind": "memory" })).await;
    let theirs = json!({ "kind": "workspace", "name": "theirs", "workspace_id": other.to_string() });
    let theirs = warren.post("/api/v1/tokens", &theirs).await.json()["secret"].as_str().unwrap().to_owned();
    let register = "/api/v1/registry/register";
    let evil = |host: &str| json!({ "version": "evil", "agent_card": card(host) });
    let message = json!({ "message": { "parts": [{ "text": "x" }] } });
    let says = [
        line(1, "POST", register, "JOIN", &evil("chunk1.evil.test")),
        line(2, "POST", register, &warren.token, &evil("chunk2.evil.test")),
        line(3, "POST", register, "JOIN", &json!({ "version": "plain" })),
        line(4, "POST", register, "OWN", &evil("chunk4.evil.test")),
        line(5, "DELETE", &format!("/api/v1/workspaces/{other}"), &warren.token, &Value::Null),
        line(6, "POST", &format!("/api/v1/workspaces/{other}/messages"), &theirs, &message),
        line(7, "POST", "/api/v1/tokens", &warren.token, &json!({ "kind": "admin", "name": "stolen" })),
        // The control: with its own it is heard.
        line(8, "POST", "/api/v1/registry/heartbeat", "OWN", &json!({ "current_task": "its own voice" })),
        line(
            9,
            "PUT",
            "/api/v1/registry/agent-card",
            "OWN",
            &json!({ "agent_card": card("chunk9.evil.test") }),
        ),
    ];
    replace_runner(folder, &script(&says));
    let wish = json!({
        "name": "resident", "provider": config, "runtime": "resident", "command": ["/bin/cat"],
    });
    let id = create(warren, &wish).await;
    let heard = heard(warren, id, says.len()).await;
    let answers: Vec<_> = heard.iter().map(|answer| answer["status"].as_u64().unwrap()).collect();
    assert_eq!(answers, [400, 403, 200, 403, 403, 403, 403, 200, 400], "{heard:?}");
    for answer in [&heard[0], &heard[8]] {
        let said = answer["body"]["detail"].as_str().unwrap();
        assert!(said.contains("leave the card out"), "{said}");
    }
    assert_eq!(names.asked(), Vec::<String>::new(), "no name server was asked for anybody");
    assert_eq!(registrations(warren, id).await, 1);
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(status(warren, other).await, "online");
    assert!(!warren.get("/api/v1/tokens").await.text().contains("stolen"));
    let queue = warren.get(&format!("/api/v1/workspaces/{other}/queue")).await.json();
    assert_eq!(queue["items"], json!([]));
    let shown = warren.get(&format!("/api/v1/workspaces/{id}")).await.json();
    assert_eq!(shown["vitals"]["current_task"], "its own voice", "{shown}");
    assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.status, 200);
}

// sec/S12, sec/S28, F18
#[tokio::test]
async fn out_of_a_sandbox_only_its_own_workspace_speaks_and_no_name_is_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let (base, clock) = (folder.path().join("sandbox"), Arc::new(SystemClock));
    let settings = SandboxSettings::default();
    let provider = SandboxProvider::new(&base, settings, Environment::default(), clock, &OsEntropy).unwrap();
    let config = json!({ "kind": "sandbox" });
    a_runner_of_the_box_reaches_nothing_but_its_own_workspace(&base, Arc::new(provider), &config).await;
}

// sec/S12, sec/S28, F18
#[tokio::test]
async fn out_of_a_container_only_its_own_workspace_speaks_and_no_name_is_looked_up() {
    let (host, mut daemon) = docker_daemon();
    let folder = tempfile::tempdir().unwrap();
    let (base, clock) = (folder.path().join("docker"), Arc::new(SystemClock));
    let settings = DockerSettings { host: Some(host), ..DockerSettings::default() };
    let provider = DockerProvider::new(&base, settings, Environment::default(), clock, &OsEntropy).unwrap();
    let config = json!({ "kind": "docker", "image": "warren-test:busybox", "pull_policy": "never" });
    a_runner_of_the_box_reaches_nothing_but_its_own_workspace(&base, Arc::new(provider), &config).await;
    if let Some(daemon) = &mut daemon {
        drop(daemon.stdin.take());
        daemon.wait().unwrap();
    }
}

// control: sec/S28
#[tokio::test]
async fn the_card_of_an_agent_elsewhere_is_looked_up_once_its_token_was_seen() {
    let names = Arc::new(Names::default());
    let resolver: Arc<dyn Resolver> = Arc::<Names>::clone(&names);
    let warren = Warren::builder().resolver(resolver).start().await;
    let id = external(&warren).await;
    let join = join_token(&warren, id).await;
    let evil = json!({ "agent_card": card("agent.example.test") });
    let user = json!({ "kind": "user", "name": "reader", "scopes": ["workspaces:read"] });
    let user = warren.post("/api/v1/tokens", &user).await.json()["secret"].as_str().unwrap().to_owned();
    for token in [&warren.token, &user] {
        assert_eq!(try_register(&warren, token, &evil).await.status, 403);
        let change = warren.call("PUT", "/api/v1/registry/agent-card").token(token).json(&evil).send().await;
        assert_eq!(change.status, 403);
    }
    assert_eq!(names.asked(), Vec::<String>::new(), "who may not register has nothing looked up");
    let answer = try_register(&warren, &join, &evil).await;
    assert!(answer.status >= 400 && answer.text().contains("agent_card."), "{}", answer.text());
    assert_eq!(names.asked(), ["agent.example.test"]);
}
