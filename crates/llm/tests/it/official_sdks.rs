//! The official SDKs (npm and PyPI `openai` and `anthropic`) as clients of our server: they read what it streams and what it
//! answers whole, call tools, retry as they do with the real ones, and tell its errors by their own classes.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{KEY, ScriptedServer, peers};

const SCRIPT: &str = r#"
turns:
  - when: { result_of: get_weather }
    text: "It snows: {last_result}"
    usage: { input_tokens: 70, output_tokens: 7 }
  - when: { user_contains: weather }
    reasoning: "I look it up."
    text: "Let me see."
    calls: [{ tool: get_weather, arguments: { city: Oslo } }]
    usage: { input_tokens: 50, cached_input_tokens: 10, output_tokens: 20 }
    chunk_characters: 5
  - when: { user_contains: busy }
    text: "I am back."
    fault: { kind: status, status: 429, retry_after_ms: 10, times: 2 }
  - when: { user_contains: overloaded }
    text: "You will not see the end of this."
    chunk_characters: 5
    fault: { kind: error, after_chunks: 2, error: overloaded_error, times: 1000 }
otherwise: { text: "Hello there, in several pieces." }
"#;

/// What an SDK saw, as its script prints it: the same of all four.
fn expected() -> Value {
    json!({
        "stream_text": "Hello there, in several pieces.",
        "whole_text": "Hello there, in several pieces.",
        "call": { "name": "get_weather", "arguments": { "city": "Oslo" } },
        "usage": [50, 20],
        "after_tool": "It snows: -3 degrees",
        "after_busy": "I am back.",
        "broken_off": true,
        "orphan": 400,
        "wrong_key": 401,
    })
}

async fn run(language: &str, package: &str, extra: &[&str]) {
    let server = ScriptedServer::start(SCRIPT).await;
    let mut command = peers();
    command.args([language, package, server.url.trim_end_matches("/v1"), KEY]).args(extra);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let ended = ended.expect("scripts/peers.sh can be started");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{language} {package}: {:?}: {said}", ended.status);
    let seen: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(seen, expected(), "{language} {package}");
}

// A10
#[tokio::test]
async fn anthropic_for_javascript_reads_our_server() {
    run("node", "anthropic", &[]).await;
}

// A10
#[tokio::test]
async fn anthropic_for_python_reads_our_server() {
    run("python", "anthropic", &[]).await;
}

// A10
#[tokio::test]
async fn openai_for_javascript_reads_our_responses() {
    run("node", "openai", &["responses"]).await;
}

// A10
#[tokio::test]
async fn openai_for_javascript_reads_our_chat_completions() {
    run("node", "openai", &["chat"]).await;
}

// A10
#[tokio::test]
async fn openai_for_python_reads_our_responses() {
    run("python", "openai", &["responses"]).await;
}

// A10
#[tokio::test]
async fn openai_for_python_reads_our_chat_completions() {
    run("python", "openai", &["chat"]).await;
}
