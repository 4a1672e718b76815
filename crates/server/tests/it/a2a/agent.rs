//! An agent behind Warren that does what the message tells it, and the ways to speak with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Notify;
use warren_exchange::{
    AgentAddress, AgentRuntime, AgentUpdate, DeliveryAttempt, Finding, Outcome, Reach, UpdateSink,
};
use warren_model::{Artifact, Message, Part, Role, TaskState, TaskUpdate, Timestamp, WorkspaceId};
use warren_testkit::{Answer, Builder, Warren};

use crate::fleet::{external, join_token, try_register};

/// What it was told, and what it waits for.
#[derive(Debug, Default)]
pub(crate) struct Agent {
    turns: Mutex<Vec<DeliveryAttempt>>,
    cancelled: Mutex<Vec<String>>,
    gates: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Agent {
    pub(crate) fn turns(&self) -> Vec<DeliveryAttempt> {
        self.turns.lock().unwrap().clone()
    }

    pub(crate) fn cancelled(&self) -> Vec<String> {
        self.cancelled.lock().unwrap().clone()
    }

    /// Lets work go on that waits for `wait <name>`.
    pub(crate) fn open(&self, name: &str) {
        self.gate(name).notify_one();
    }

    fn gate(&self, name: &str) -> Arc<Notify> {
        Arc::clone(self.gates.lock().unwrap().entry(name.to_owned()).or_default())
    }
}

fn said(id: &str, text: &str) -> Message {
    Message::new(id, Role::Agent, vec![Part::text(text)])
}

fn status(state: TaskState, message: Option<Message>) -> AgentUpdate {
    AgentUpdate::Task(TaskUpdate::Status { state, message, at: Timestamp::from_micros(0) })
}

fn piece(text: &str, is_append: bool, is_last: bool) -> AgentUpdate {
    let parts = vec![Part::text(text)];
    let (metadata, extensions) = (serde_json::Map::new(), Vec::new());
    let artifact = Artifact { id: "a1".into(), name: None, description: None, parts, metadata, extensions };
    AgentUpdate::Task(TaskUpdate::Artifact { artifact, is_append, is_last })
}

#[async_trait]
impl AgentRuntime for Agent {
    fn reach(&self, agent: &AgentAddress) -> Reach {
        let is_ours = agent.card.as_ref().is_some_and(|card| card["name"] == "agent");
        if is_ours { Reach::Called } else { Reach::Asks }
    }

    async fn deliver(&self, _endpoint: &AgentAddress, turn: &DeliveryAttempt, sink: &UpdateSink) -> Outcome {
        self.turns.lock().unwrap().push(turn.clone());
        let text = turn.message.text();
        let (verb, rest) = text.split_once(' ').unwrap_or((text.as_str(), ""));
        if verb == "message" {
            sink.tell(AgentUpdate::Task(TaskUpdate::Message(said("r1", rest)))).await;
            return Outcome::Answered;
        }
        if verb == "refuse" {
            return Outcome::Failed { reason: warren_model::DeliveryReason::Unauthorized };
        }
        let remote = turn.remote_id.clone().unwrap_or_else(|| format!("far-{}", turn.task_id));
        sink.tell(AgentUpdate::RemoteId(remote)).await;
        sink.tell(status(TaskState::Working, None)).await;
        match verb {
            "ask" => {
                sink.tell(status(TaskState::InputRequired, Some(said("q1", "which one?")))).await;
            }
            "authorize" => {
                sink.tell(status(TaskState::AuthRequired, Some(said("q1", "who are you?")))).await;
            }
            "wait" => {
                sink.tell(piece("before ", false, false)).await;
                self.gate(rest).notified().await;
                sink.tell(piece("after", true, true)).await;
                sink.tell(status(TaskState::Completed, Some(said("r1", "done")))).await;
            }
            _ => {
                sink.tell(piece(&format!("echo: {text}"), false, true)).await;
                sink.tell(status(TaskState::Completed, Some(said("r1", "done")))).await;
            }
        }
        Outcome::Answered
    }

    async fn cancel(&self, _endpoint: &AgentAddress, remote_id: &str) -> Outcome {
        self.cancelled.lock().unwrap().push(remote_id.to_owned());
        Outcome::Answered
    }

    async fn probe(&self, _agent: &AgentAddress) -> Finding {
        Finding::Answers
    }

    fn has_extended_card(&self, agent: &AgentAddress) -> bool {
        agent.card.as_ref().is_some_and(|card| card["capabilities"]["extendedAgentCard"] == true)
    }

    async fn extended_card(&self, agent: &AgentAddress) -> Result<Option<Value>, Outcome> {
        let mut more = card();
        more["skills"][0]["id"] = json!("more");
        Ok(self.has_extended_card(agent).then_some(more))
    }
}

/// A Warren with one workspace whose agent is called by the fake.
pub(crate) struct Stage {
    pub(crate) warren: Warren,
    pub(crate) agent: Arc<Agent>,
    pub(crate) id: WorkspaceId,
}

pub(crate) fn card() -> Value {
    json!({
        "name": "agent", "description": "Does as it is told", "version": "7", "iconUrl": "https://icons.example/a.png",
        "supportedInterfaces": [
            { "url": "https://secret.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
        ],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "echo", "name": "Echo", "description": "Says it again", "tags": ["test"], "url": "https://x.example" }],
    })
}

impl Stage {
    pub(crate) async fn set() -> Self {
        Self::with(Warren::builder()).await
    }

    pub(crate) async fn with(builder: Builder) -> Self {
        let agent = Arc::new(Agent::default());
        let warren =
            builder.resolver(Arc::new(Anywhere)).called_agents(Arc::clone(&agent) as _).start().await;
        let id = Self::agent_in(&warren).await;
        Self { warren, agent, id }
    }

    /// Another workspace with the same agent.
    pub(crate) async fn agent_in(warren: &Warren) -> WorkspaceId {
        let id = external(warren).await;
        let join = join_token(warren, id).await;
        let body = json!({ "agent_card": card() });
        let answer = try_register(warren, &join, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        id
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/a2a/{}{rest}", self.id)
    }

    /// One JSON-RPC call as the operator.
    pub(crate) async fn rpc(&self, method: &str, params: &Value) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post("", &body).await
    }

    pub(crate) async fn post(&self, rest: &str, body: &Value) -> Answer {
        let call = self.warren.call("POST", &self.path(rest)).token(&self.warren.token);
        call.header("a2a-version", "1.0").json(body).send().await
    }

    pub(crate) async fn get(&self, rest: &str) -> Answer {
        let call = self.warren.call("GET", &self.path(rest)).token(&self.warren.token);
        call.header("a2a-version", "1.0").send().await
    }

    pub(crate) async fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.rpc(method, params).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let json = answer.json();
        assert!(json.get("error").is_none(), "{json}");
        json["result"].clone()
    }

    /// (HTTP status, JSON-RPC code, message)
    pub(crate) async fn error(&self, method: &str, params: &Value) -> (u16, i64, String) {
        let answer = self.rpc(method, params).await;
        let json = answer.json();
        let error = &json["error"];
        let code = error["code"].as_i64().unwrap_or_else(|| panic!("no error: {json}"));
        (answer.status, code, error["message"].as_str().unwrap().to_owned())
    }

    /// Sends and waits; answers with the task.
    pub(crate) async fn task(&self, text: &str) -> Value {
        self.result("SendMessage", &send(text)).await["task"].clone()
    }

    /// Sends without waiting.
    pub(crate) async fn begin(&self, text: &str) -> Value {
        let mut params = send(text);
        params["configuration"] = json!({ "returnImmediately": true });
        self.result("SendMessage", &params).await["task"].clone()
    }
}

pub(crate) fn send(text: &str) -> Value {
    json!({ "message": { "messageId": unique("m"), "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

pub(crate) fn unique(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{prefix}-{}", NEXT.fetch_add(1, Ordering::SeqCst))
}

/// Every name is somewhere on the web, where nobody is ever called.
#[derive(Debug)]
struct Anywhere;

#[async_trait]
impl warren_outbound::Resolver for Anywhere {
    async fn look_up(&self, _name: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        Ok(vec!["93.184.216.34".parse().unwrap()])
    }
}
