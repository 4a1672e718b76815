//! What is wrong is told, and changes nothing.

use serde_json::{Value, json};

use super::Stage;

// A72: bad input
#[tokio::test]
async fn a_name_that_is_none_is_a_session_that_is_not_there() {
    let stage = Stage::set("otherwise: { text: ok }", json!({})).await;
    for name in ["a%0Ab", "a%00", "a%1Bb", "a%20b", "%C3%A4", "nobody", &"x".repeat(129)] {
        let answer = stage.warren.get(&format!("/api/v1/sessions/{name}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "session_not_found"), "{name}");
        let answer =
            stage.warren.post(&format!("/api/v1/sessions/{name}/messages"), &json!({ "text": "x" })).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "session_not_found"), "{name}");
    }
    for name in ["", "a\nb", "a b", "..", "ä", &"x".repeat(129)] {
        let body = json!({ "workspace_id": stage.workspace, "agent": "helper", "name": name });
        let answer = stage.warren.post("/api/v1/sessions", &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"), "{name:?}");
    }
    assert_eq!(stage.warren.get("/api/v1/sessions").await.json()["items"], json!([]));
}

// A1: bad input
#[tokio::test]
async fn an_agent_that_is_none_is_told_with_its_place() {
    let stage = Stage::set("otherwise: { text: ok }", json!({})).await;
    for (agent, told) in [
        (json!({ "model": "scripted/test", "modle": "x" }), "modle"),
        (json!({ "model": "claude" }), "model"),
        (json!({ "model": "scripted/test", "limits": { "run": { "stepz": 1 } } }), "limits.run"),
        (json!({ "name": "other", "model": "scripted/test" }), "name: the address says"),
        (json!({ "model": "scripted/test", "system": "x".repeat(300 << 10) }), "system"),
    ] {
        let answer = stage.put_agent("wrong", &agent).await;
        assert!(matches!(answer.status, 413 | 422), "{}", answer.text());
        let is_told = answer.status == 413 || answer.json()["detail"].as_str().unwrap().contains(told);
        assert!(is_told, "{told}: {}", answer.text());
    }
    let yaml = "model: scripted/test\nsystem: |\n  be kind\nextra: 1\n";
    let put = async |text: &str| {
        let call = stage.warren.call("PUT", "/api/v1/agents/wrong").token(&stage.warren.token);
        call.header("content-type", "application/yaml").body(text.to_owned()).send().await
    };
    assert_eq!(put(yaml).await.code(), "invalid_agent");
    assert_eq!(put("model: [").await.code(), "invalid_yaml");
    assert_eq!(stage.warren.get("/api/v1/agents/wrong").await.code(), "agent_not_found");
    assert_eq!(put("model: scripted/test\n").await.status, 201);
}

// A31, A34: bad input
#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_and_nothing_begins() {
    let stage = Stage::set("otherwise: { text: ok }", json!({})).await;
    let session = stage.session().await;
    let send = async |body: Value| stage.warren.post(&format!("{session}/messages"), &body).await;
    for (body, code) in [
        (json!({}), "invalid_request"),
        (json!({ "text": "x", "parts": [{ "text": "y" }] }), "invalid_request"),
        (json!({ "text": "x", "role": "assistant" }), "invalid_request"),
        (json!({ "text": "x", "mode": "shout" }), "invalid_request"),
        (json!({ "text": "x", "client_id": "a\u{1b}b" }), "invalid_request"),
        (json!({ "parts": [] }), "invalid_message"),
        (json!({ "text": "" }), "blank_message"),
        (json!({ "text": " \n\t" }), "blank_message"),
        (json!({ "parts": [{ "text": "x" }, { "text": " " }] }), "blank_message"),
        (json!({ "text": "a\u{0}b" }), "invalid_message"),
        (json!({ "text": "x".repeat(2 << 20) }), "payload_too_large"),
    ] {
        let answer = send(body).await;
        assert_eq!(answer.code(), code, "{}", answer.text());
    }
    let unknown = json!({ "workspace_id": stage.workspace, "agent": "nobody" });
    assert_eq!(stage.warren.post("/api/v1/sessions", &unknown).await.code(), "agent_not_found");
    let state = json!({ "workspace_id": stage.workspace, "agent": "helper", "initial_state": { "x": 1 } });
    assert_eq!(stage.warren.post("/api/v1/sessions", &state).await.code(), "invalid_request");
    let extra = json!({ "workspace_id": stage.workspace, "agent": "helper", "history": [] });
    assert_eq!(stage.warren.post("/api/v1/sessions", &extra).await.code(), "invalid_request");
    for (path, code) in [
        ("steps/99/context", "step_not_found"),
        ("steps/x/context", "step_not_found"),
        ("messages/x", "session_message_not_found"),
        ("messages/01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e", "session_message_not_found"),
        ("steps?limit=0", "invalid_request"),
        ("stream?until=never", "invalid_request"),
    ] {
        assert_eq!(stage.warren.get(&format!("{session}/{path}")).await.code(), code, "{path}");
    }
    let seen = stage.warren.get(&session).await.json();
    assert_eq!((&seen["run"], &seen["latest_sequence"]), (&json!(0), &json!(0)));
}
