//! A Warren whose agents do what the test says, spoken to through the services.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use warren_exchange::{Accepted, Config, Error, NewMessage, Sender};
use warren_model::{DeliveryState, Message, OrgId, Part, Principal, Role, Status, UserId, WorkspaceId};
use warren_service::Identity;
use warren_store::DeliveryQuery;
use warren_testkit::{Builder, ScriptedAgent, Warren};

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Stage {
    pub(crate) warren: Warren,
    pub(crate) agent: ScriptedAgent,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        Self::set_with(Warren::builder()).await
    }

    pub(crate) async fn set_with(builder: Builder) -> Self {
        let agent = ScriptedAgent::default();
        let builder = builder.exchange_config(Config::default());
        let warren = builder.called_agents(Arc::new(agent.clone())).start().await;
        Self { warren, agent }
    }

    pub(crate) async fn create(&self, more: &Value) -> WorkspaceId {
        let mut body = json!({ "name": "agent", "provider": { "kind": "local" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.warren.post("/api/v1/workspaces", &body).await;
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().parse().unwrap()
    }

    /// An external workspace whose agent is called, with the agent's credential.
    pub(crate) async fn called(&self, max_concurrent_tasks: u32) -> (WorkspaceId, String) {
        let body = json!({ "runtime": "external", "max_concurrent_tasks": max_concurrent_tasks });
        let id = self.create(&body).await;
        self.warren.wait_for_status(id, Status::AwaitingAgent).await;
        let join = json!({ "kind": "join", "name": "boot", "workspace_id": id.to_string() });
        let join =
            self.warren.post("/api/v1/tokens", &join).await.json()["secret"].as_str().unwrap().to_owned();
        let body = json!({ "agent_card": { "scripted": true } });
        let registered = self.warren.call("POST", "/api/v1/registry/register").token(&join).json(&body);
        let registered = registered.send().await;
        assert_eq!(registered.status, 200, "{}", registered.text());
        (id, registered.json()["token"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn beat(&self, credential: &str) {
        let call = self.warren.call("POST", "/api/v1/registry/heartbeat").token(credential);
        let heard = call.json(&json!({ "active_tasks": 0 })).send().await;
        assert_eq!(heard.status, 200, "{}", heard.text());
    }

    /// Whoever has the token of this Warren.
    pub(crate) async fn operator(&self) -> Identity {
        self.warren.exchange.fleet().tokens.identify(&self.warren.token).await.unwrap()
    }

    /// Sends a text as the operator.
    pub(crate) async fn send(&self, id: WorkspaceId, text: &str) -> Result<Accepted, Error> {
        let sender = Sender { principal: Principal::user(UserId::OPERATOR), org_id: OrgId::DEFAULT };
        let message = Message::new(text, Role::User, vec![Part::text(text)]);
        self.warren.exchange.messages.send_as(&sender, NewMessage::new(id, message)).await
    }

    pub(crate) async fn count(&self, id: WorkspaceId, state: DeliveryState) -> usize {
        let query = DeliveryQuery { workspace_id: id, state, after: None, limit: 200 };
        let page =
            self.warren.store.read(move |tx| tx.deliveries(&query).map_err(Error::from)).await.unwrap();
        page.rows.len()
    }

    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let waiting = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "not in time: {what}");
    }
}
