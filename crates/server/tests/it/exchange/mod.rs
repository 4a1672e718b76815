//! Messages to workspaces, whatever happens to them on the way.

mod answers;
mod chat;
mod delegations;
mod dispatch;
mod peers;
mod pull;
mod refusals;
mod uploads;

use serde_json::{Value, json};
use warren_model::{Status, WorkspaceId};
use warren_testkit::{Answer, ScriptedAgent, Warren};

use crate::fleet::{create, eventually, join_token, try_register};

/// A workspace whose agent can be called: (id, its credential).
pub(crate) async fn agent(warren: &Warren, body: Value) -> (WorkspaceId, String) {
    let mut whole = json!({ "name": "agent", "provider": { "kind": "local" }, "runtime": "external" });
    whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let id = create(warren, &whole).await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    let secret = boot(warren, id, json!({})).await;
    (id, secret)
}

/// Registers a runtime that can be called; answers with its credential.
pub(crate) async fn boot(warren: &Warren, id: WorkspaceId, capabilities: Value) -> String {
    let join = join_token(warren, id).await;
    let body = json!({
        "agent_card": { "scripted": true },
        "heartbeat": { "runtime_metadata": { "capabilities": capabilities } },
    });
    let answer = try_register(warren, &join, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["token"].as_str().unwrap().to_owned()
}

pub(crate) async fn with_agent() -> (Warren, ScriptedAgent) {
    let agent = ScriptedAgent::default();
    let warren = Warren::builder().called_agents(std::sync::Arc::new(agent.clone())).start().await;
    (warren, agent)
}

pub(crate) fn said(text: &str) -> Value {
    json!({ "message": { "parts": [{ "text": text }] } })
}

pub(crate) async fn send(warren: &Warren, id: WorkspaceId, body: &Value) -> Answer {
    warren.post(&format!("/api/v1/workspaces/{id}/messages"), body).await
}

/// Sends a text; answers with the body of what was accepted.
pub(crate) async fn say(warren: &Warren, id: WorkspaceId, text: &str) -> Value {
    let answer = send(warren, id, &said(text)).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
    answer.json()
}

pub(crate) async fn task(warren: &Warren, accepted: &Value) -> Value {
    let task = &accepted["task"];
    let (id, of) = (task["id"].as_str().unwrap(), task["workspace_id"].as_str().unwrap());
    warren.get(&format!("/api/v1/workspaces/{of}/tasks/{id}")).await.json()
}

/// Waits until the task is in this state; answers with it.
pub(crate) async fn task_in(warren: &Warren, accepted: &Value, state: &str) -> Value {
    eventually(state, async || task(warren, accepted).await["state"] == state).await;
    task(warren, accepted).await
}

/// The last that the agent said.
pub(crate) fn answer_of(task: &Value) -> String {
    let last = task["history"].as_array().unwrap().iter().rev().find(|message| message["role"] == "agent");
    let said = if task["status_message"].is_null() { last } else { Some(&task["status_message"]) };
    said.map_or_else(String::new, |message| message["parts"][0]["text"].as_str().unwrap().to_owned())
}

pub(crate) async fn queue(warren: &Warren, id: WorkspaceId, state: &str) -> Vec<Value> {
    let page = warren.get(&format!("/api/v1/workspaces/{id}/queue?state={state}")).await.json();
    page["items"].as_array().unwrap().clone()
}
