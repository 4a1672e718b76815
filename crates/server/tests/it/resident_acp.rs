//! Agents in real boxes that speak the Agent Client Protocol: what they ask people, and what becomes of it when they die.

use std::time::Duration;

use serde_json::{Value, json};
use warren_model::{Status, WorkspaceId};
use warren_testkit::Warren;

use crate::fleet::{create, eventually, show};
use crate::residents::{House, answer_of, house, in_box, say};

/// The one that the runner is tried with; it does what its prompt says.
const AGENT: &str = include_str!("../../../runner/tests/it/fake_agent.py");

async fn online(warren: &Warren, runner: &Value) -> WorkspaceId {
    let asked = json!({
        "name": "agent", "provider": { "kind": "sandbox" }, "runtime": "resident", "runner": runner,
        "prompts": { "initial": "say I begin." }, "command": ["python3", "-c", AGENT, "/tmp"],
    });
    let id = create(warren, &asked).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

/// Sends a text without waiting for what comes of it.
async fn begin(warren: &Warren, id: WorkspaceId, text: &str) -> String {
    let body = json!({ "message": { "parts": [{ "text": text }] }, "context_id": "one" });
    let answer = warren.post(&format!("/api/v1/workspaces/{id}/messages"), &body).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
    answer.json()["task"]["id"].as_str().unwrap().to_owned()
}

async fn task(warren: &Warren, id: WorkspaceId, task: &str) -> Value {
    warren.get(&format!("/api/v1/workspaces/{id}/tasks/{task}")).await.json()
}

async fn questions(warren: &Warren, id: WorkspaceId, state: &str) -> Vec<Value> {
    let told = warren.get(&format!("/api/v1/workspaces/{id}/approvals?state={state}")).await.json();
    told["items"].as_array().unwrap().clone()
}

async fn ended(warren: &Warren, id: WorkspaceId, of: &str) -> Value {
    let mut last = Value::Null;
    eventually("the task ends", async || {
        last = task(warren, id, of).await;
        matches!(last["state"].as_str(), Some("completed" | "failed" | "cancelled" | "rejected"))
    })
    .await;
    last
}

// A80, X51: through the box's own line, with nothing but the inbox in between
#[tokio::test]
async fn an_agent_in_a_box_asks_people_and_goes_on_when_they_decide() {
    let House { warren, _folder } = &house().await;
    let id = online(warren, &json!({ "adapter": "acp", "idle_timeout_seconds": 900 })).await;
    assert_eq!(answer_of(&say(warren, id, "x").await), "I begin.\nx");
    let shown = show(warren, id).await;
    assert_eq!(shown["agent"]["runner"]["adapter"], "acp", "{shown}");
    // The first text of a conversation has the initial prompt before it, which this agent takes for the whole.
    let first = begin(warren, id, "x").await;
    ended(warren, id, &first).await;
    let asked = begin(warren, id, "permit rm -rf build").await;
    eventually("somebody is asked", async || questions(warren, id, "pending").await.len() == 1).await;
    let question = &questions(warren, id, "pending").await[0];
    assert_eq!((&question["action"], &question["task_id"]), (&json!("run it"), &json!(asked)));
    assert_eq!(question["context"]["call"]["rawInput"]["command"], "rm -rf build");
    assert_eq!(question["asked_by"]["kind"], "workspace");
    let path = format!("/api/v1/approvals/{}/approve", question["id"].as_str().unwrap());
    assert_eq!(warren.post(&path, &json!({})).await.status, 200);
    assert_eq!(answer_of(&ended(warren, id, &asked).await), "decided yes");
}

// A82: kill -9 with a question open
#[tokio::test]
async fn what_a_killed_program_asked_is_void_and_its_work_is_done_by_the_next() {
    let House { warren, _folder } = &house().await;
    let id = online(warren, &json!({ "adapter": "acp" })).await;
    let asked = begin(warren, id, "permit-and-die").await;
    // The first text of a conversation has the initial prompt before it, which this agent takes for the whole.
    ended(warren, id, &asked).await;
    let asked = begin(warren, id, "permit-and-die").await;
    eventually("somebody is asked", async || questions(warren, id, "pending").await.len() == 1).await;
    in_box(warren, id, "touch ${TMPDIR:-/tmp}/die-now").await;
    let done = ended(warren, id, &asked).await;
    assert_eq!((&done["state"], answer_of(&done)), (&json!("completed"), "done in session-1"));
    let void = &questions(warren, id, "void").await[0];
    assert!(void["note"].as_str().unwrap().starts_with("the program that asked has ended"), "{void}");
    assert!(questions(warren, id, "pending").await.is_empty());
}

// A82: kill -9 of the runner itself
#[tokio::test]
async fn what_was_asked_is_void_when_the_runner_is_killed() {
    let House { warren, _folder } = &house().await;
    let id = online(warren, &json!({ "adapter": "acp" })).await;
    say(warren, id, "x").await;
    begin(warren, id, "say once").await;
    let asked = begin(warren, id, "permit ls").await;
    eventually("somebody is asked", async || questions(warren, id, "pending").await.len() == 1).await;
    in_box(warren, id, "kill -9 $(runner)").await;
    eventually("nobody is asked any more", async || questions(warren, id, "void").await.len() == 1).await;
    let void = &questions(warren, id, "void").await[0];
    assert_eq!(void["note"], "the runner of the agent that asked has ended");
    assert_eq!(ended(warren, id, &asked).await["state"], "failed");
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(answer_of(&say(warren, id, "say back").await).lines().last(), Some("say back"));
}

// A80, F12: told at once, and not when its time to come up is over
#[tokio::test]
async fn a_program_that_is_not_there_is_told_when_the_workspace_is_made() {
    let House { warren, _folder } = &house().await;
    let asked = json!({
        "name": "agent", "provider": { "kind": "sandbox" }, "runtime": "resident", "runner": { "adapter": "acp" },
        "command": ["no-such-agent"],
    });
    let id = create(warren, &asked).await;
    let told = async || show(warren, id).await;
    let soon = tokio::time::timeout(Duration::from_secs(20), async {
        while told().await["status"] != "degraded" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    soon.await.expect("it says so within seconds");
    let shown = told().await;
    assert!(shown.to_string().contains("`no-such-agent` could not be started"), "{shown}");
    let bad = json!({ "name": "b", "provider": { "kind": "sandbox" }, "runner": { "adapter": "acp", "declares": ["x"] } });
    let refused = warren.post("/api/v1/workspaces", &bad).await;
    assert!(refused.status == 400 && refused.text().contains("runner.declares[0]"), "{}", refused.text());
}
