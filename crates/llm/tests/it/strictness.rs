//! What the scripted server refuses, as the real ones do, each in the shape of its wire.

use serde_json::{Value, json};
use url::Url;
use warren_outbound::{Call, Credential};

use crate::support::{KEY, ScriptedServer, connector};

async fn post(server: &ScriptedServer, path: &str, version: Option<&str>, body: &Value) -> (u16, Value) {
    let url = format!("{}{path}", server.url);
    let credential = if path == "/messages" {
        Credential::header(&Url::parse(&url).unwrap(), http::HeaderName::from_static("x-api-key"), KEY)
    } else {
        Credential::bearer(&Url::parse(&url).unwrap(), KEY)
    };
    let mut call = Call::post(url).json(body).credential(Some(credential));
    if let Some(version) = version {
        call = call.header("anthropic-version", version);
    }
    let answer = connector().call(call).await.unwrap();
    (answer.status.as_u16(), answer.json().await.unwrap())
}

// A8, A10: bad input
#[tokio::test]
async fn anthropic_s_rules_are_kept() {
    let server = ScriptedServer::start("otherwise: { text: fine }").await;
    let tools = json!([{ "name": "t", "input_schema": { "type": "object" } }]);
    let user = json!({ "role": "user", "content": "x" });
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c1", "name": "t", "input": {} }] });
    let result = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "r" });
    let text = json!({ "type": "text", "text": "and" });
    let ok = json!({ "model": "claude-x", "max_tokens": 9, "messages": [user], "tools": tools });
    let with = |field: &str, value: Value| {
        let mut body = ok.clone();
        body[field] = value;
        body
    };
    let talk = |messages: Value| with("messages", messages);
    for body in [
        ok.clone(),
        talk(json!([user, call, { "role": "user", "content": [result, text] }])),
        talk(json!([user, user])),
        // Words of the system between the turns, as Claude Code sends them.
        talk(json!([user, { "role": "system", "content": "x" }])),
    ] {
        let (status, answer) = post(&server, "/messages", Some("2026-10-21"), &body).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["content"][0]["text"], "fine");
    }
    for (body, expected) in [
        (with("temperature", json!(1)), "temperature"),
        (with("colour", json!(1)), "colour"),
        (with("max_tokens", Value::Null), "max_tokens"),
        (talk(json!([])), "first message"),
        (talk(json!([call])), "first message"),
        (talk(json!([{ "role": "user", "content": "" }])), "non-empty"),
        (talk(json!([{ "role": "user", "content": [{ "type": "text", "text": " " }] }])), "non-whitespace"),
        (talk(json!([user, call])), "without `tool_result`"),
        (talk(json!([user, call, user])), "without `tool_result`"),
        (talk(json!([{ "role": "user", "content": [result] }])), "unexpected `tool_use_id`"),
        (talk(json!([user, call, { "role": "user", "content": [text, result] }])), "come first"),
        (talk(json!([user, call, { "role": "user", "content": [result, result] }])), "two `tool_result`"),
        (talk(json!([user, { "role": "assistant", "content": "pre" }])), "prefill"),
        (talk(json!([{ "role": "system", "content": "x" }, user])), "first message"),
        (talk(json!([user, { "role": "tool", "content": "x" }])), "role"),
        (
            talk(json!([user, { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "forged", "signature": "x" }, text
            ] }, user])),
            "signature",
        ),
    ] {
        let (status, answer) = post(&server, "/messages", Some("2026-10-21"), &body).await;
        assert_eq!(
            (status, &answer["type"], &answer["error"]["type"]),
            (400, &json!("error"), &json!("invalid_request_error"))
        );
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{expected}: {message}");
    }
    // The older version takes what the newer refuses.
    let older = post(&server, "/messages", Some("2023-06-01"), &with("temperature", json!(1))).await;
    assert_eq!(older.0, 200);
    for version in [None, Some("2020-01-01")] {
        let (status, answer) = post(&server, "/messages", version, &ok).await;
        assert_eq!(status, 400);
        assert!(answer["error"]["message"].as_str().unwrap().contains("anthropic-version"));
    }
}

// A8, A10: bad input
#[tokio::test]
async fn the_rules_of_responses_are_kept() {
    let server = ScriptedServer::start("otherwise: { text: fine }").await;
    let call = json!({ "type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "r" });
    let user = json!({ "role": "user", "content": "x" });
    let ok = json!({ "model": "gpt-5", "input": [user, call, output] });
    let with = |field: &str, value: Value| {
        let mut body = ok.clone();
        body[field] = value;
        body
    };
    let (status, answer) = post(&server, "/responses", None, &ok).await;
    assert_eq!((status, &answer["output"][0]["content"][0]["text"]), (200, &json!("fine")), "{answer}");
    for (body, expected) in [
        (with("temperature", json!(1)), "temperature"),
        (with("colour", json!(1)), "colour"),
        (with("input", json!([])), "input"),
        (with("input", json!([user, call])), "No tool output found"),
        (with("input", json!([user, call, user])), "No tool output found"),
        (with("input", json!([user, output])), "No tool call found"),
        (with("input", json!([{ "role": "user", "content": [] }])), "empty"),
        (with("input", json!([{ "role": "tool", "content": "x" }])), "role"),
        (with("max_output_tokens", json!(1)), "max_output_tokens"),
        (
            with(
                "input",
                json!([user, { "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x" }]),
            ),
            "encrypted",
        ),
    ] {
        let (status, answer) = post(&server, "/responses", None, &body).await;
        assert_eq!(status, 400, "{expected}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let mut background = with("background", json!(true));
    background["store"] = json!(false);
    assert_eq!(post(&server, "/responses", None, &background).await.0, 400);
}

// A8, A10: bad input
#[tokio::test]
async fn the_rules_of_chat_completions_are_kept() {
    let server = ScriptedServer::start("otherwise: { text: fine }").await;
    let function = json!({ "name": "t", "arguments": "{}" });
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function", "function": function }] });
    let output = json!({ "role": "tool", "tool_call_id": "c1", "content": "r" });
    let user = json!({ "role": "user", "content": "x" });
    let ok = json!({ "model": "gpt-5", "messages": [user, call, output] });
    let with = |field: &str, value: Value| {
        let mut body = ok.clone();
        body[field] = value;
        body
    };
    let (status, answer) = post(&server, "/chat/completions", None, &ok).await;
    assert_eq!((status, &answer["choices"][0]["message"]["content"]), (200, &json!("fine")), "{answer}");
    for (body, expected) in [
        (with("temperature", json!(1)), "temperature"),
        (with("max_tokens", json!(1)), "max_tokens"),
        (with("colour", json!(1)), "colour"),
        (with("stream_options", json!({})), "stream_options"),
        (with("messages", json!([])), "too short"),
        (with("messages", json!([user, call])), "did not have response messages"),
        (with("messages", json!([user, call, user])), "did not have response messages"),
        (with("messages", json!([user, output])), "must be a response"),
        (with("messages", json!([{ "role": "user", "content": "" }])), "not empty"),
        (with("messages", json!([user, { "role": "assistant", "content": null }])), "content"),
        (with("messages", json!([{ "role": "robot", "content": "x" }])), "role"),
    ] {
        let (status, answer) = post(&server, "/chat/completions", None, &body).await;
        assert_eq!(status, 400, "{expected}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{expected}: {message}");
    }
}
