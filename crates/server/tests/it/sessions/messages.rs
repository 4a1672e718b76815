//! Messages: the same key, and each way in which one comes while a run is under way (A7, A34).

use serde_json::{Value, json};

use super::Stage;

// A7
#[tokio::test]
async fn the_same_key_is_the_same_session_and_the_same_message() {
    let stage = Stage::set("otherwise: { text: ok }", json!({})).await;
    let keyed = async |path: &str, body: Value| {
        let call = stage.warren.call("POST", path).token(&stage.warren.token);
        call.header("idempotency-key", "k").json(&body).send().await
    };
    let body = json!({ "workspace_id": stage.workspace, "agent": "helper" });
    let first = keyed("/api/v1/sessions", body.clone()).await.json();
    assert_eq!(keyed("/api/v1/sessions", body).await.json()["id"], first["id"]);
    let session = format!("/api/v1/sessions/{}", first["id"].as_str().unwrap());
    let path = format!("{session}/messages");
    let sent = keyed(&path, json!({ "text": "once" })).await.json();
    assert_eq!(keyed(&path, json!({ "text": "once" })).await.json()["id"], sent["id"]);
    let other = keyed(&path, json!({ "text": "something else" })).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    assert_eq!(stage.wait(&session, "completed").await["run"], 1);
}

// A34
#[tokio::test]
async fn a_message_while_busy_does_what_it_says_and_is_told_once() {
    let script = r#"
turns:
  - when: { user_contains: "interrupting" }
    text: "interrupted"
  - when: { user_contains: "queued" }
    text: "next"
  - when: { user_contains: "slow" }
    text: "slowly done"
    delay_ms: 60000
"#;
    let stage = Stage::set(script, json!({})).await;
    let session = stage.session().await;
    stage.say(&session, "slow").await;
    stage.wait(&session, "running").await;
    let path = format!("{session}/messages");
    let refused = stage.warren.post(&path, &json!({ "text": "x", "mode": "reject" })).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "session_busy"));
    let queued = stage.send(&session, &json!({ "text": "queued", "mode": "queue", "client_id": "c1" })).await;
    assert_eq!((&queued["state"], &queued["client_id"]), (&json!("queued"), &json!("c1")));
    let steering = stage.send(&session, &json!({ "text": "cancel me", "mode": "steer" })).await;
    let one = format!("{path}/{}", steering["id"].as_str().unwrap());
    let cancelled = stage.warren.delete(&one).await.json();
    assert_eq!(
        (&cancelled["state"], &cancelled["dropped_because"]),
        (&json!("dropped"), &json!("cancelled"))
    );
    assert_eq!(stage.warren.delete(&one).await.code(), "not_pending");
    assert_eq!(stage.pending(&session).await["messages"].as_array().unwrap().len(), 1);
    let interrupting = stage.send(&session, &json!({ "text": "interrupting", "mode": "interrupt" })).await;
    let state_of = async |message: &Value| {
        let seen = stage.warren.get(&format!("{path}/{}", message["id"].as_str().unwrap())).await.json();
        seen["state"].clone()
    };
    while state_of(&queued).await != "delivered" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    stage.wait(&session, "completed").await;
    assert_eq!(state_of(&interrupting).await, "delivered");
    assert_eq!(state_of(&steering).await, "dropped");
    assert_eq!(stage.last_text(&session).await, "next");
}

// A34
#[tokio::test]
async fn a_steering_message_is_seen_in_the_same_run() {
    let script = r#"
turns:
  - when: { user_contains: "left" }
    text: "turning left"
  - when: { not_called: workspace_write_file }
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "x" } }]
    delay_ms: 200
  - text: "straight on"
"#;
    let stage = Stage::set(script, json!({})).await;
    let session = stage.session().await;
    stage.say(&session, "go").await;
    let sent = stage.send(&session, &json!({ "text": "go left", "mode": "steer" })).await;
    let done = stage.wait(&session, "completed").await;
    assert_eq!((&done["run"], &done["usage"]["steps"]), (&json!(1), &json!(2)), "{done}");
    assert_eq!(stage.last_text(&session).await, "turning left");
    let entries = stage.entries(&session, 0).await;
    let told = entries.iter().filter(|entry| entry["message_id"] == sent["id"]).count();
    assert_eq!(told, 1, "it stands in the stream once, where the model saw it");
}
