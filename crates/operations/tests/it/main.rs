//! Operations against the real `local` and `memory` providers and a real SQLite store.

mod commands;
mod files;
mod processes;
mod terminals;
mod tools;

use std::time::Duration;

use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_operations::Operations;
use warren_service::Identity;
use warren_testkit::Warren;

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Warren with one workspace, and somebody who works in it.
struct Desk {
    warren: Warren,
    operations: Operations,
    /// An operator.
    who: Identity,
    id: WorkspaceId,
}

impl Desk {
    async fn local() -> Self {
        Self::with(json!({ "kind": "local" })).await
    }

    async fn with(provider: Value) -> Self {
        let warren = Warren::start().await;
        let id = warren.workspace(provider).await;
        let operations = Operations::new(warren.fleet.clone());
        let who = warren.fleet.tokens.identify(&warren.token).await.expect("the operator is known");
        Self { warren, operations, who, id }
    }

    /// Somebody else, by a token of their own.
    async fn other(&self, token: Value) -> (Identity, String) {
        let made = self.warren.post("/api/v1/tokens", &token).await.json();
        let secret = made["secret"].as_str().expect("a secret");
        let who = self.warren.fleet.tokens.identify(secret).await.expect("the token is good");
        (who, made["token"]["id"].as_str().expect("an id").to_owned())
    }

    /// The workspace's own agent.
    async fn agent(&self) -> Identity {
        let token = json!({ "kind": "workspace", "name": "agent", "workspace_id": self.id.to_string() });
        self.other(token).await.0
    }

    /// The data of all events of this kind, once there is one.
    async fn journal(&self, kind: &str) -> Vec<Value> {
        let waiting = async {
            loop {
                let found = self.written(kind).await;
                if !found.is_empty() {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("no {kind} was written"))
    }

    /// The data of all events of this kind that are there now.
    async fn written(&self, kind: &str) -> Vec<Value> {
        let call = self.warren.call("GET", "/api/v1/events?after=0&limit=200").token(&self.warren.token);
        let page = call.header("accept", "application/json").send().await.json();
        let events = page["items"].as_array().cloned().unwrap_or_default();
        events.into_iter().filter(|event| event["kind"] == kind).map(|event| event["data"].clone()).collect()
    }

    /// Waits until a file is there.
    async fn file(&self, path: &str) {
        let file = self.warren.folder().join("workspaces").join(self.id.to_string()).join(path);
        let waiting = async {
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{path} is not there"));
    }
}
