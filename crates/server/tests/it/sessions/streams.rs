//! The stream of a session (A60–A62).

use std::time::Duration;

use serde_json::{Value, json};

use super::{Stage, entries_of};

const TWO_STEPS: &str = r#"
turns:
  - when: { not_called: workspace_write_file }
    reasoning: "A file first."
    text: "Now I write a file, and say so in many small pieces."
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "x" } }]
    chunk_characters: 5
    delay_ms: 20
  - when: { called: workspace_write_file }
    text: "That is all there is to say about it."
    chunk_characters: 5
    delay_ms: 20
"#;

fn sequences(entries: &[Value]) -> Vec<u64> {
    entries.iter().filter_map(|entry| entry["sequence"].as_u64()).collect()
}

// A60, A61
#[tokio::test]
async fn a_stream_that_is_resumed_from_any_entry_shows_the_same_ones() {
    let stage = Stage::set(TWO_STEPS, json!({})).await;
    let session = stage.session().await;
    assert!(stage.entries(&session, 0).await.is_empty(), "nothing is under way");
    stage.say(&session, "go").await;
    let live = stage.entries(&session, 0).await;
    let latest = stage.wait(&session, "completed").await["latest_sequence"].as_u64().unwrap();
    assert_eq!(sequences(&live), (1..=latest).collect::<Vec<_>>(), "no gap and no repeat");
    assert_eq!(live.last().unwrap()["type"], "run_ended");
    let text: String = live
        .iter()
        .filter(|entry| entry["type"] == "text_delta" && entry["step"] == 1)
        .filter_map(|entry| entry["text"].as_str())
        .collect();
    assert_eq!(text, "Now I write a file, and say so in many small pieces.");
    // Pieces of a call's arguments are told while they come. What stays is the call as it was proposed.
    let is_kept = |entry: &&Value| entry["type"] != "call_delta";
    let kept = |entries: &[Value], after: u64| -> Vec<Value> {
        let bare = |entry: &Value| {
            let mut entry = entry.clone();
            entry.as_object_mut().unwrap().remove("at");
            entry
        };
        let is_behind = |entry: &&Value| entry["sequence"].as_u64() > Some(after);
        entries.iter().filter(is_kept).filter(is_behind).map(bare).collect()
    };
    for after in 0..=latest {
        let later = stage.entries(&session, after).await;
        assert_eq!(kept(&later, after), kept(&live, after), "after {after}");
        assert_eq!(later.len(), kept(&later, after).len(), "nothing is repeated");
    }
    let path = format!("{session}/stream?until=idle");
    let call = stage.warren.call("GET", &path).token(&stage.warren.token);
    let resumed = call.header("last-event-id", &(latest - 1).to_string()).send().await;
    assert_eq!(sequences(&entries_of(&resumed.body)), [latest]);
    let wrong = stage.warren.call("GET", &path).token(&stage.warren.token).header("last-event-id", "x");
    assert_eq!(wrong.send().await.code(), "invalid_request");
}

// A32, A60
#[tokio::test]
async fn closing_a_stream_cancels_nothing() {
    let stage = Stage::set(TWO_STEPS, json!({})).await;
    let session = stage.session().await;
    stage.say(&session, "go").await;
    let call = stage.warren.call("GET", &format!("{session}/stream")).token(&stage.warren.token);
    let mut response = call.open().await;
    let first = response.chunk().await.unwrap().unwrap();
    assert!(!first.is_empty());
    drop(response);
    stage.wait(&session, "completed").await;
    assert_eq!(stage.steps(&session).await.len(), 2);
}

// sec/U05
#[tokio::test]
async fn a_stream_ends_with_the_token_that_let_it_in() {
    let stage = Stage::set(TWO_STEPS, json!({})).await;
    let session = stage.session().await;
    let body = json!({ "kind": "user", "name": "reader", "scopes": ["workspaces:read"] });
    let made = stage.warren.post("/api/v1/tokens", &body).await.json();
    let call = stage.warren.call("GET", &format!("{session}/stream"));
    let response = call.token(made["secret"].as_str().unwrap()).open().await;
    let id = made["token"]["id"].as_str().unwrap();
    assert_eq!(stage.warren.delete(&format!("/api/v1/tokens/{id}")).await.status, 200);
    let rest = tokio::time::timeout(Duration::from_secs(20), response.text()).await.unwrap().unwrap();
    assert!(rest.contains("event: closing") && rest.contains("token_expired"), "{rest}");
}
