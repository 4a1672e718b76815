//! Operations against the real `local` and `memory` providers and a real SQLite store, without a server around them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod bundles;
mod commands;
mod files;
mod processes;
mod secrets;
mod terminals;
mod tools;

use std::time::Duration;

use serde_json::{Value, json};
use warren_fleet::{CreateWorkspace, SecretScope};
use warren_model::{ScopeSet, SecretValue, TokenKind, WorkspaceId};
use warren_operations::Operations;
use warren_service::Identity;
use warren_testkit::{Bed, BedOptions, eventually};

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A fleet with one workspace, and somebody who works in it.
struct Desk {
    bed: Bed,
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
        let bed = Bed::on_sqlite(BedOptions { is_real_time: true, ..BedOptions::default() }).await;
        let id = Self::workspace(&bed, provider).await;
        let operations = Operations::new(bed.fleet.clone());
        let who = bed.operator.clone();
        Self { bed, operations, who, id }
    }

    async fn workspace(bed: &Bed, provider: Value) -> WorkspaceId {
        let provider = serde_json::from_value(provider).expect("a provider's config");
        bed.online(CreateWorkspace { provider, ..Bed::request("test") }).await.id
    }

    /// The same after an orderly stop and a new start.
    async fn restart(self) -> Self {
        let (bed, id) = (self.bed.restart().await, self.id);
        let operations = Operations::new(bed.fleet.clone());
        let who = bed.operator.clone();
        Self { bed, operations, who, id }
    }

    /// Sets a secret of the org.
    async fn set_secret(&self, name: &str, value: &str) {
        let value = SecretValue::new(value.to_owned().into()).expect("a value");
        let name = name.parse().expect("a name");
        let set = self.bed.fleet.secrets.set(&self.who, SecretScope::Org, name, value);
        set.await.expect("an operator may");
        let is_rolled_out = async || self.bed.row(self.id).await.behind_of().is_none();
        eventually("the change has been rolled out", is_rolled_out).await;
    }

    /// A user with these scopes.
    async fn user(&self, scopes: ScopeSet) -> Identity {
        self.bed.user(scopes).await
    }

    /// The workspace's own agent.
    async fn agent(&self) -> Identity {
        self.bed.token(TokenKind::Workspace, ScopeSet::EMPTY, Some(self.id)).await
    }

    /// The data of all events of this kind, once there is one.
    async fn journal(&self, kind: &str) -> Vec<Value> {
        eventually(kind, async || !self.written(kind).await.is_empty()).await;
        self.written(kind).await
    }

    /// The data of all events of this kind that are there now.
    async fn written(&self, kind: &str) -> Vec<Value> {
        let mut events = self.bed.all_events().await;
        events.retain(|event| event.kind.as_str() == kind);
        let data = |text: String| serde_json::from_str(&text).expect("events are JSON");
        events.iter().map(|event| data(event.data.to_string())).collect()
    }

    /// Waits until a file is there.
    async fn file(&self, path: &str) {
        let file = self.bed.place(self.id).join(path);
        eventually(path, async || file.exists()).await;
    }
}
