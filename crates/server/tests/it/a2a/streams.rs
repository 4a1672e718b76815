use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::agent::{Stage, send};
use super::tasks::wait_for;

/// A stream of events, read one by one.
pub(super) struct Reader {
    bytes: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
}

impl Reader {
    async fn open(stage: &Stage, path: &str, body: &Value) -> Self {
        let call = stage.warren.call("POST", &stage.path(path)).token(&stage.warren.token);
        let response = call.header("a2a-version", "1.0").json(body).open().await;
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{:?}", response.status());
        Self { bytes: Box::pin(response.bytes_stream()), text: String::new() }
    }

    pub(super) async fn rpc(stage: &Stage, method: &str, params: &Value) -> Self {
        let body = json!({ "jsonrpc": "2.0", "id": "s1", "method": method, "params": params });
        Self::open(stage, "", &body).await
    }

    /// The next event; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data: Vec<_> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                let (data, rest) = (data.join("\n"), rest.to_owned());
                self.text = rest;
                if data.is_empty() {
                    continue;
                }
                return Some(serde_json::from_str(&data).unwrap());
            }
            let piece = tokio::time::timeout(Duration::from_secs(20), self.bytes.next()).await;
            match piece.expect("an event, or the end, comes in time") {
                Some(piece) => self.text.push_str(&String::from_utf8_lossy(&piece.unwrap())),
                None => return None,
            }
        }
    }

    pub(super) async fn rest(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

/// A word for each event, with its state.
fn words(events: &[Value]) -> Vec<String> {
    let word = |event: &Value| {
        let event = event.get("result").unwrap_or(event);
        let (kind, inner) = event.as_object().unwrap().iter().next().unwrap();
        match inner["status"]["state"].as_str() {
            Some(state) => format!("{kind} {}", state.trim_start_matches("TASK_STATE_").to_lowercase()),
            None => kind.clone(),
        }
    };
    events.iter().map(word).collect()
}

// X1
#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_it_on_both_bindings() {
    let stage = Stage::set().await;
    // Held back until somebody listens, so that everything is heard and not just seen in the row.
    for (path, is_rpc) in [("", true), ("/message:stream", false)] {
        let params = send("wait gate");
        let body =
            json!({ "jsonrpc": "2.0", "id": "s1", "method": "SendStreamingMessage", "params": params });
        let mut reader = Reader::open(&stage, path, if is_rpc { &body } else { &params }).await;
        let mut events = vec![reader.next().await.unwrap()];
        stage.agent.open("gate");
        events.extend(reader.rest().await);
        let words = words(&events);
        assert_eq!(
            (words[0].as_str(), words.last().unwrap().as_str()),
            ("task working", "statusUpdate completed")
        );
        assert!(!is_rpc || events.iter().all(|event| event["id"] == "s1" && event["jsonrpc"] == "2.0"));
        let inner = |event: &Value| if is_rpc { event["result"].clone() } else { event.clone() };
        let task = inner(&events[0])["task"].clone();
        let mut text = task["artifacts"][0]["parts"][0]["text"].as_str().unwrap_or_default().to_owned();
        for piece in events.iter().map(inner).filter_map(|event| event.get("artifactUpdate").cloned()) {
            assert_eq!((&piece["taskId"], &piece["contextId"]), (&task["id"], &task["contextId"]));
            text.push_str(piece["artifact"]["parts"][0]["text"].as_str().unwrap());
        }
        assert_eq!(text, "before after", "each piece once, in order: {events:?}");
    }
}

// X1
#[tokio::test]
async fn an_agent_that_keeps_no_task_streams_its_message_alone() {
    let stage = Stage::set().await;
    let events = Reader::open(&stage, "/message:stream", &send("message hi")).await.rest().await;
    assert_eq!(words(&events), ["message"]);
}

// X1
#[tokio::test]
async fn a_stream_ends_when_the_agent_waits_for_input() {
    let stage = Stage::set().await;
    let events = Reader::open(&stage, "/message:stream", &send("ask me")).await.rest().await;
    assert_eq!(words(&events).last().unwrap().split_once(' ').unwrap().1, "input_required");
}

// X1
#[tokio::test]
async fn a_client_that_hangs_up_ends_nothing_and_can_come_back() {
    let stage = Stage::set().await;
    let mut reader = Reader::open(&stage, "/message:stream", &send("wait gate")).await;
    let first = reader.next().await.unwrap();
    let id = first["task"]["id"].clone();
    drop(reader);
    let mut back = Reader::rpc(&stage, "SubscribeToTask", &json!({ "id": id })).await;
    let first = back.next().await.unwrap();
    assert_eq!(words(std::slice::from_ref(&first)), ["task working"]);
    stage.agent.open("gate");
    let rest = back.rest().await;
    assert_eq!(words(&rest).last().unwrap(), "statusUpdate completed");
    let ended = wait_for(&stage, &id, "TASK_STATE_COMPLETED").await;
    assert_eq!(ended["artifacts"][0]["parts"], json!([{ "text": "before " }, { "text": "after" }]));
    let streamed: Vec<_> = rest
        .iter()
        .filter_map(|event| event["result"]["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str())
        .collect();
    let known = first["result"]["task"]["artifacts"][0]["parts"].as_array().map_or(0, Vec::len);
    assert_eq!(known + streamed.len(), 2, "each piece once: {first} {rest:?}");
}

// X1: "the official server crate answers TaskNotFound to this".
#[tokio::test]
async fn work_that_waits_for_input_can_be_subscribed_to() {
    let stage = Stage::set().await;
    let asked = stage.task("ask me").await;
    let path = format!("/tasks/{}:subscribe", asked["id"].as_str().unwrap());
    let mut reader = Reader::open(&stage, &path, &json!({})).await;
    assert_eq!(words(&[reader.next().await.unwrap()]), ["task input_required"]);
    let mut reply = send("the left one");
    reply["message"]["taskId"] = asked["id"].clone();
    stage.result("SendMessage", &reply).await;
    let rest = reader.rest().await;
    assert_eq!(words(&rest).last().unwrap(), "statusUpdate completed", "{rest:?}");
}

// X1
#[tokio::test]
async fn what_has_ended_cannot_be_subscribed_to() {
    let stage = Stage::set().await;
    let id = stage.task("hello").await["id"].clone();
    assert_eq!(stage.error("SubscribeToTask", &json!({ "id": id })).await.1, -32004);
    let rest = stage.get(&format!("/tasks/{}:subscribe", id.as_str().unwrap())).await;
    assert_eq!(
        (rest.status, &rest.json()["error"]["details"][0]["reason"]),
        (400, &json!("UNSUPPORTED_OPERATION"))
    );
}

// X1: a restart in the middle; the client subscribes again.
#[tokio::test]
async fn a_stream_says_goodbye_at_a_restart_and_is_taken_up_again() {
    let mut stage = Stage::set().await;
    let asked = stage.task("ask me").await;
    let mut reader = Reader::rpc(&stage, "SubscribeToTask", &json!({ "id": asked["id"] })).await;
    reader.next().await.unwrap();
    stage.warren.begin_stop();
    let last = reader.next().await.unwrap();
    assert_eq!(last["error"]["data"][0]["reason"], "SHUTTING_DOWN");
    assert_eq!(reader.next().await, None);
    stage.warren = stage.warren.restart().await;
    let mut back = Reader::rpc(&stage, "SubscribeToTask", &json!({ "id": asked["id"] })).await;
    assert_eq!(words(&[back.next().await.unwrap()]), ["task input_required"]);
}

// sec/U05
#[tokio::test]
async fn a_stream_ends_with_the_token_that_let_it_in() {
    let stage = Stage::set().await;
    let made = stage
        .warren
        .post("/api/v1/tokens", &json!({ "kind": "user", "name": "one", "scopes": ["workspaces:use"] }))
        .await
        .json();
    let asked = stage.task("ask me").await;
    let path = stage.path(&format!("/tasks/{}:subscribe", asked["id"].as_str().unwrap()));
    let call = stage.warren.call("GET", &path).token(made["secret"].as_str().unwrap());
    let response = call.header("a2a-version", "1.0").open().await;
    let mut reader = Reader { bytes: Box::pin(response.bytes_stream()), text: String::new() };
    reader.next().await.unwrap();
    let id = made["token"]["id"].as_str().unwrap();
    assert_eq!(stage.warren.delete(&format!("/api/v1/tokens/{id}")).await.status, 200);
    let last = reader.next().await.unwrap();
    assert_eq!(last["error"]["details"][0]["reason"], "TOKEN_EXPIRED");
    assert_eq!(reader.next().await, None);
}
