//! A hosted workspace with an agent, as others see it over HTTP: card, A2A, chat, schedule.

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use warren_model::{Status, WorkspaceId};

use super::Stage;

const HELLO: &str = "turns:\n  - text: \"hello from the agent\"\n    chunk_characters: 6\n    delay_ms: 20\n";

/// A workspace that the stage's agent runs.
async fn hosted(stage: &Stage) -> String {
    let body = json!({ "name": "hosted", "provider": { "kind": "memory" }, "agent": "helper" });
    let made = stage.warren.create(&body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["agent"]["name"], "helper");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    stage.warren.wait_for_status(id.parse::<WorkspaceId>().unwrap(), Status::Online).await;
    id
}

// X1, X3
#[tokio::test]
async fn a_hosted_workspace_has_a_card_and_answers_by_a2a_as_it_speaks() {
    let stage = Stage::set(HELLO, json!({ "description": "greets people" })).await;
    let id = hosted(&stage).await;
    let card = stage.warren.get(&format!("/a2a/{id}/.well-known/agent-card.json")).await.json();
    assert_eq!(card["description"], "greets people");
    assert_eq!(
        (&card["skills"][0]["id"], &card["capabilities"]["streaming"]),
        (&json!("helper"), &json!(true))
    );
    let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "text": "hello" }] });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": { "message": message } });
    let call = stage.warren.call("POST", &format!("/a2a/{id}")).token(&stage.warren.token);
    let response = call.header("a2a-version", "1.0").json(&body).open().await;
    let mut bytes = response.bytes_stream();
    let mut text = String::new();
    while let Some(piece) = bytes.next().await {
        text.push_str(&String::from_utf8_lossy(&piece.unwrap()));
    }
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].clone())
        .collect();
    let pieces: Vec<_> = events.iter().filter_map(|event| event.get("artifactUpdate")).collect();
    assert!(pieces.len() >= 3, "it is heard as it speaks: {events:?}");
    assert_eq!(pieces[1]["append"], true);
    assert_eq!(pieces.last().unwrap()["artifact"]["parts"][0]["text"], "hello from the agent");
    let last = &events.last().unwrap()["statusUpdate"]["status"];
    assert_eq!(last["state"], "TASK_STATE_COMPLETED", "{events:?}");
    assert_eq!(last["message"]["parts"][0]["text"], "hello from the agent");
    stage.warren.stop().await;
}

// X30, A33
#[tokio::test]
async fn a_conversation_with_a_hosted_workspace_is_one_session_and_shows_its_questions() {
    let script = r#"
turns:
  - when: { not_called: ask_user }
    calls: [{ tool: ask_user, arguments: { question: "Which colour?" } }]
  - when: { result_of: ask_user }
    text: "it is {last_result}"
"#;
    let stage = Stage::set(script, json!({})).await;
    let id = hosted(&stage).await;
    let path = format!("/api/v1/workspaces/{id}/conversations");
    let chat = stage.warren.post(&path, &json!({})).await.json();
    assert_eq!(chat.get("session_id"), None, "there is none before the first message: {chat}");
    let list = path;
    let chat = format!("{list}/{}", chat["id"].as_str().unwrap());
    let path = format!("{chat}/messages");
    for (said, state, answer) in
        [("paint it", "input_required", "Which colour?"), ("blue", "completed", "it is blue")]
    {
        let body = json!({ "message": { "parts": [{ "text": said }] }, "wait_ms": 20_000 });
        let posted = stage.warren.post(&path, &body).await;
        assert_eq!(posted.json()["task_state"], state, "{}", posted.text());
        assert_eq!(posted.json()["answer"]["parts"][0]["text"], answer, "{}", posted.text());
    }
    let sessions = stage.warren.get(&format!("/api/v1/sessions?workspace_id={id}")).await.json();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions}");
    let session = &sessions["items"][0]["id"];
    assert!(session.is_string(), "{sessions}");
    assert_eq!(&stage.warren.get(&chat).await.json()["session_id"], session);
    assert_eq!(&stage.warren.get(&list).await.json()["items"][0]["session_id"], session);
    stage.warren.stop().await;
}

// F50: bad input, and a change
#[tokio::test]
async fn the_agent_of_a_workspace_is_given_taken_and_refused_over_http() {
    let stage = Stage::set(HELLO, json!({})).await;
    for (field, value, status, code) in
        [("agent", "nobody", 404, "agent_not_found"), ("model", "gpt", 422, "invalid_request")]
    {
        let body = json!({ "name": "w", "provider": { "kind": "memory" }, field: value });
        let refused = stage.warren.create(&body).await;
        assert_eq!(refused.code(), code, "{}", refused.text());
        assert!(refused.status == status || refused.status == 400, "{}", refused.text());
    }
    let path = format!("/api/v1/workspaces/{}", stage.workspace);
    let say = json!({ "message": { "parts": [{ "text": "hello" }] } });
    let messages = format!("{path}/messages");
    let refused = stage.warren.post(&messages, &say).await;
    assert_eq!(refused.code(), "no_agent", "{}", refused.text());
    assert!(refused.json()["remedy"].as_str().unwrap().contains("--agent"), "{}", refused.text());
    let patch = |body: Value| stage.warren.call("PATCH", &path).token(&stage.warren.token).json(&body).send();
    let unknown = patch(json!({ "agent": "nobody" })).await;
    assert_eq!(unknown.code(), "agent_not_found", "{}", unknown.text());
    let given = patch(json!({ "model": "scripted/test", "prompts": { "system": "Be kind." } })).await;
    assert_eq!(given.json()["agent"]["model"], "scripted/test", "{}", given.text());
    let taken = stage.warren.post(&messages, &say).await;
    assert!([200, 202].contains(&taken.status), "{}", taken.text());
    let away = patch(json!({ "model": null, "prompts": { "system": null } })).await;
    assert_eq!(away.json()["agent"]["prompts"], json!({}), "{}", away.text());
    assert_eq!(stage.warren.post(&messages, &say).await.code(), "no_agent");
    stage.warren.stop().await;
}
