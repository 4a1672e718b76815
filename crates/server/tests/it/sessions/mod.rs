//! Sessions through HTTP: on scripted models, in a workspace that is kept in memory.

mod bad_input;
mod chat;
mod hosted;
mod messages;
mod people;
mod streams;

use std::time::Duration;

use serde_json::{Value, json};
use warren_llm::Script;
use warren_testkit::{Answer, Warren};

use crate::memory;

/// A Warren with a workspace and an agent named `helper`.
struct Stage {
    warren: Warren,
    workspace: String,
}

impl Stage {
    /// The agent's model answers from this script.
    async fn set(script: &str, more: Value) -> Self {
        let warren = Warren::builder().script("test", Script::read(script).unwrap()).start().await;
        let workspace = warren.workspace(memory()).await.to_string();
        let stage = Self { warren, workspace };
        let mut agent = json!({ "model": "scripted/test" });
        for (name, value) in more.as_object().unwrap() {
            agent[name] = value.clone();
        }
        let stored = stage.put_agent("helper", &agent).await;
        assert_eq!(stored.status, 201, "{}", stored.text());
        stage
    }

    async fn put_agent(&self, name: &str, agent: &Value) -> Answer {
        let path = format!("/api/v1/agents/{name}");
        self.warren.call("PUT", &path).token(&self.warren.token).json(agent).send().await
    }

    /// Begins a session; its path.
    async fn session(&self) -> String {
        let body = json!({ "workspace_id": self.workspace, "agent": "helper" });
        let made = self.warren.post("/api/v1/sessions", &body).await;
        assert_eq!(made.status, 201, "{}", made.text());
        format!("/api/v1/sessions/{}", made.json()["name"].as_str().unwrap())
    }

    async fn say(&self, session: &str, text: &str) -> Value {
        self.send(session, &json!({ "text": text })).await
    }

    async fn send(&self, session: &str, body: &Value) -> Value {
        let sent = self.warren.post(&format!("{session}/messages"), body).await;
        assert_eq!(sent.status, 202, "{}", sent.text());
        sent.json()
    }

    /// Waits until the session has this status.
    async fn wait(&self, session: &str, status: &str) -> Value {
        for _ in 0..3_000 {
            let seen = self.warren.get(session).await.json();
            if seen["status"] == status {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not {status}: {}", self.warren.get(session).await.text());
    }

    /// The steps of the session.
    async fn steps(&self, session: &str) -> Vec<Value> {
        self.warren.get(&format!("{session}/steps")).await.json()["items"].as_array().unwrap().clone()
    }

    /// The text of the latest step.
    async fn last_text(&self, session: &str) -> String {
        let steps = self.steps(session).await;
        let blocks = steps.last().unwrap()["blocks"].as_array().unwrap().clone();
        blocks.iter().filter_map(|block| block["text"].as_str()).collect()
    }

    async fn pending(&self, session: &str) -> Value {
        self.warren.get(&format!("{session}/pending")).await.json()
    }

    async fn put_file(&self, path: &str) {
        let path = format!("/api/v1/workspaces/{}/files?path={path}", self.workspace);
        let put = self.warren.put(&path, "x").await;
        assert!(put.status < 300, "{}", put.text());
    }

    async fn has_file(&self, path: &str) -> bool {
        let path = format!("/api/v1/workspaces/{}/files?path={path}", self.workspace);
        self.warren.get(&path).await.status == 200
    }

    /// All entries behind a sequence, until nothing is under way.
    async fn entries(&self, session: &str, after: u64) -> Vec<Value> {
        let path = format!("{session}/stream?until=idle&after={after}");
        let answer = self.warren.get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        entries_of(&answer.body)
    }
}

/// What a stream said. Each entry's `id` and `event` are those of its data.
fn entries_of(bytes: &[u8]) -> Vec<Value> {
    let mut decoder = warren_api::sse::Decoder::default();
    decoder.push(bytes).unwrap();
    let messages = std::iter::from_fn(|| decoder.next_message());
    let entry = |message: warren_api::sse::Message| {
        let data: Value = serde_json::from_str(&message.data).unwrap();
        assert_eq!(message.event.as_deref(), data["type"].as_str());
        assert_eq!(message.id, data["sequence"].as_u64().map(|sequence| sequence.to_string()));
        data
    };
    messages.map(entry).collect()
}

// A1, A6, A72
#[tokio::test]
async fn a_session_goes_from_its_beginning_to_its_end() {
    let stage = Stage::set("turns: [{ text: unused }]", json!({})).await;
    let warren = &stage.warren;
    let tour = json!({ "model": "scripted/tour", "state": { "notes": { "merge": "append" } } });
    assert_eq!(stage.put_agent("tour", &tour).await.status, 201);
    assert_eq!(stage.put_agent("tour", &tour).await.status, 200, "the same content is the same version");
    let body = json!({
        "workspace_id": stage.workspace, "agent": "tour", "name": "first:one", "title": "A tour",
        "initial_state": { "notes": ["mine"] },
    });
    let made = warren.post("/api/v1/sessions", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!(
        (&made["status"], &made["run"], &made["state"]["notes"]),
        (&json!("idle"), &json!(0), &json!(["mine"]))
    );
    assert_eq!(warren.post("/api/v1/sessions", &body).await.code(), "session_exists");
    let session = "/api/v1/sessions/first:one";
    let sent = stage.say(session, "show me around").await;
    let done = stage.wait(session, "completed").await;
    assert_eq!(
        (&done["run"], &done["finish"], &done["suspension"]),
        (&json!(1), &json!("end_turn"), &Value::Null)
    );
    assert_eq!(done["id"], made["id"]);
    let message = warren.get(&format!("{session}/messages/{}", sent["id"].as_str().unwrap())).await.json();
    assert_eq!((&message["state"], &message["step"]), (&json!("delivered"), &json!(1)));
    let steps = stage.steps(session).await;
    let call = &steps[0]["calls"][0];
    assert_eq!((&call["tool"], &call["outcome"]["kind"]), (&json!("workspace_write_file"), &json!("done")));
    assert_eq!(call["decision"]["decision"], "allowed");
    assert!(stage.last_text(session).await.contains("That was the tour"));
    let context = warren.get(&format!("{session}/steps/2/context")).await.json();
    assert_eq!(context["model"], "scripted/tour");
    assert_eq!(context["turns"][0]["parts"][0]["text"], "show me around");
    assert_eq!(context["turns"][1]["calls"][0]["outcome"]["kind"], "done");
    let listed =
        warren.get(&format!("/api/v1/sessions?workspace_id={}&agent=tour", stage.workspace)).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(warren.get("/api/v1/sessions?status=failed").await.json()["items"], json!([]));
    assert_eq!(warren.get("/api/v1/sessions?status=completed").await.json()["items"][0]["name"], "first:one");
}

// A6, A70
#[tokio::test]
async fn a_session_goes_back_branches_and_is_upgraded() {
    let stage = Stage::set("otherwise: { text: \"{last_user}\" }", json!({})).await;
    let session = stage.session().await;
    for text in ["one", "two"] {
        stage.say(&session, text).await;
        stage.wait(&session, "completed").await;
    }
    let first = stage.warren.get(&format!("{session}/checkpoints?limit=1")).await.json();
    assert_eq!(first["items"][0]["step"], 1);
    assert_eq!(first["next_after"], 1, "{first}");
    let branched = stage.warren.post(&format!("{session}/branch"), &json!({ "step": 1, "name": "b" })).await;
    assert_eq!(branched.status, 201, "{}", branched.text());
    assert_eq!(branched.json()["branched_from"]["step"], 1);
    assert_eq!(stage.steps("/api/v1/sessions/b").await.len(), 1);
    let back = stage.warren.post(&format!("{session}/rewind"), &json!({ "step": 1 })).await;
    assert_eq!((back.status, back.json()["last_step"].as_u64()), (200, Some(1)), "{}", back.text());
    assert_eq!(
        stage.warren.post(&format!("{session}/rewind"), &json!({ "step": 9 })).await.code(),
        "step_not_found"
    );
    stage.put_agent("helper", &json!({ "model": "scripted/hello" })).await;
    let before = stage.warren.get(&session).await.json()["agent_hash"].clone();
    let upgraded =
        stage.warren.call("POST", &format!("{session}/upgrade")).token(&stage.warren.token).send().await;
    assert_eq!(upgraded.status, 200, "{}", upgraded.text());
    let upgraded = upgraded.json();
    assert_eq!(upgraded["previous_agent_hash"], before);
    assert_ne!(upgraded["session"]["agent_hash"], before);
    let version = format!("/api/v1/agents/helper/versions/{}", before.as_str().unwrap());
    assert_eq!(stage.warren.get(&version).await.json()["definition"]["model"], "scripted/test");
}

// A10: a model that nobody has a key for
#[tokio::test]
async fn a_model_without_a_key_fails_the_run_and_says_what_to_do() {
    let stage = Stage::set("turns: [{ text: unused }]", json!({})).await;
    stage.put_agent("helper", &json!({ "model": "anthropic/claude-sonnet-4-5" })).await;
    let session = stage.session().await;
    stage.say(&session, "hello").await;
    let failed = stage.wait(&session, "failed").await;
    assert_eq!(failed["failure"]["kind"], "no_model");
    assert!(failed["failure"]["message"].as_str().unwrap().contains("`ANTHROPIC_API_KEY`"), "{failed}");
}
