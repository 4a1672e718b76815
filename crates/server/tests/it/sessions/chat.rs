//! Chat clients of the AI SDK, unchanged: npm `ai` 5, 6 and 7 with `AbstractChat` and `DefaultChatTransport` (A61, S31).
//! What each does is in `scripts/chat-peers/client.mjs`.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Stage;

const MAJORS: [&str; 3] = ["5", "6", "7"];

#[expect(clippy::disallowed_methods, reason = "the clients are started by the script that people use")]
fn script() -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/peers.sh"));
    command.arg("chat");
    command
}

/// Runs a client against a session; what it saw.
async fn client(stage: &Stage, session: &str, major: &str, scenario: &str) -> Value {
    client_of(stage, session, major, scenario, &stage.warren.token, "").await
}

async fn client_of(
    stage: &Stage,
    session: &str,
    major: &str,
    scenario: &str,
    token: &str,
    foreign: &str,
) -> Value {
    let mut command = script();
    let url = format!("{}{session}", stage.warren.url);
    command.args(["node", major, &url, token, scenario]).env("FOREIGN_APPROVAL", foreign);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let ended = ended.expect("scripts/peers.sh can be started");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "ai {major}, {scenario}: {:?}: {said}", ended.status);
    let seen: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(seen["unique"], true, "{seen}");
    seen
}

/// The parts of the last message.
fn answer(seen: &Value) -> &Value {
    let last = seen["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "assistant", "{seen}");
    &last["parts"]
}

fn assert_ready(seen: &Value) {
    assert_eq!((&seen["status"], &seen["error"]), (&json!("ready"), &Value::Null), "{seen}");
}

const WORK: &str = r#"
turns:
  - when: { not_called: workspace_write_file }
    reasoning: "A file first."
    text: "Now I write a file, and say so in many small pieces."
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "x" } }]
    chunk_characters: 5
    delay_ms: 10
  - when: { called: workspace_write_file }
    text: "That is all there is to say."
    chunk_characters: 5
"#;

// A61, S31
#[tokio::test]
async fn a_message_is_answered_with_text_and_a_tool_of_the_workspace() {
    let stage = Stage::set(WORK, json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "say").await;
        assert_ready(&seen);
        let parts = answer(&seen);
        assert_eq!(parts[0], "step");
        assert_eq!(parts[1], "reasoning: A file first.");
        assert_eq!(parts[2], "text: Now I write a file, and say so in many small pieces.");
        let call = &parts[3];
        assert_eq!(
            (&call[0], &call[1]),
            (&json!("workspace_write_file"), &json!("output-available")),
            "{seen}"
        );
        assert_eq!(call[2], json!({ "path": "a.txt", "content": "x" }));
        assert_eq!((&parts[4], &parts[5]), (&json!("step"), &json!("text: That is all there is to say.")));
        assert_eq!(seen["called"], json!([]), "Warren runs its own tools");
        assert!(stage.has_file("a.txt").await);
        let latest = stage.wait(&session, "completed").await["latest_sequence"].clone();
        assert_eq!(seen["finish"], json!({ "run": 1, "sequence": latest }));
    }
}

const TIDY: &str = r#"
turns:
  - when: { not_called: workspace_rm }
    text: "I tidy up."
    calls: [{ tool: workspace_rm, arguments: { path: gone.txt } }]
  - when: { result_of: workspace_rm, result_failed: true }
    text: "it stays: {last_result}"
  - when: { result_of: workspace_rm }
    text: "it is gone"
"#;

async fn tidy() -> Stage {
    let policies = json!([{ "tool": "workspace_rm", "decision": "ask", "reason": "it deletes" }]);
    let stage = Stage::set(TIDY, json!({ "policies": policies })).await;
    stage.put_file("gone.txt").await;
    stage
}

// A30, A61, S31
#[tokio::test]
async fn an_approved_call_goes_on_in_the_same_message() {
    let stage = tidy().await;
    for major in MAJORS {
        stage.put_file("gone.txt").await;
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "approve").await;
        assert_ready(&seen);
        assert_eq!(seen["same"], true, "{seen}");
        assert_eq!(seen["messages"].as_array().unwrap().len(), 2, "{seen}");
        let asked = seen["asked"].as_array().unwrap();
        if major == "5" {
            assert_eq!(asked.last().unwrap(), "data-approval-request");
        } else {
            assert_eq!(asked.last().unwrap()[1], "approval-requested", "{seen}");
        }
        let parts = answer(&seen).as_array().unwrap();
        let call = parts.iter().find(|part| part[0] == "workspace_rm").unwrap();
        assert_eq!(call[1], "output-available", "{seen}");
        assert_eq!(parts.last().unwrap(), "text: it is gone");
        assert_eq!(parts.iter().filter(|part| **part == "text: I tidy up.").count(), 1, "{seen}");
        assert!(!stage.has_file("gone.txt").await);
    }
}

// A30, A61, S31
#[tokio::test]
async fn a_denied_call_is_shown_as_denied() {
    let stage = tidy().await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "deny").await;
        assert_ready(&seen);
        let parts = answer(&seen).as_array().unwrap();
        let call = parts.iter().find(|part| part[0] == "workspace_rm").unwrap();
        let state = if major == "5" { "output-error" } else { "output-denied" };
        assert_eq!(call[1], state, "{seen}");
        let last = parts.last().unwrap().as_str().unwrap();
        assert!(last.starts_with("text: it stays") && last.contains("my word"), "{seen}");
        assert!(stage.has_file("gone.txt").await);
    }
}

// A31, A33, A61, S31
#[tokio::test]
async fn a_call_of_the_client_and_a_question_to_the_user_are_answered_in_the_same_message() {
    let script = r#"
turns:
  - when: { user_contains: "how is it", not_called: TOOL }
    calls: [{ tool: TOOL, arguments: { question: "Where?" } }]
  - when: { result_of: TOOL }
    text: "It is {last_result}"
"#;
    for tool in ["weather", "ask_user"] {
        let tools = json!({ "client": [{ "name": "weather", "description": "The weather" }] });
        let stage = Stage::set(&script.replace("TOOL", tool), json!({ "tools": tools })).await;
        for major in MAJORS {
            let session = stage.session().await;
            let seen = client(&stage, &session, major, "clientTool").await;
            assert_ready(&seen);
            assert_eq!((&seen["same"], &seen["called"]), (&json!(true), &json!([tool])), "{seen}");
            let parts = answer(&seen).as_array().unwrap();
            let call = parts.iter().find(|part| part[0] == tool).unwrap();
            assert_eq!((&call[1], &call[3]), (&json!("output-available"), &json!("sunny")), "{seen}");
            assert_eq!(parts.last().unwrap(), "text: It is sunny");
            assert_eq!(stage.steps(&session).await.len(), 2);
        }
    }
}

const SLOW: &str = r#"
turns:
  - when: { not_called: workspace_write_file }
    text: "Now I write a file, and say so in many small pieces."
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "x" } }]
    chunk_characters: 4
    delay_ms: 60
  - when: { called: workspace_write_file }
    text: "That is all there is to say about it."
    chunk_characters: 4
    delay_ms: 60
"#;

fn assert_whole(parts: &Value, seen: &Value) {
    let parts: Vec<_> = parts.as_array().unwrap().iter().filter(|part| **part != "step").collect();
    assert_eq!(parts.len(), 3, "no gap and no repeat: {seen}");
    assert_eq!(parts[0], "text: Now I write a file, and say so in many small pieces.", "{seen}");
    assert_eq!(parts[1][1], "output-available", "{seen}");
    assert_eq!(parts[2], "text: That is all there is to say about it.", "{seen}");
}

// A32, A60, A61, S31
#[tokio::test]
async fn a_stopped_client_comes_back_to_the_whole_message() {
    let stage = Stage::set(SLOW, json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "resume").await;
        assert_ready(&seen);
        assert!(
            !seen["atStop"].to_string().contains("small pieces."),
            "it was stopped in the middle: {seen}"
        );
        assert_whole(answer(&seen), &seen);
        assert_whole(&seen["fresh"]["parts"], &seen);
        assert_eq!(seen["sameId"], true, "{seen}");
        let resumed = json!("GET /chat/the%20chat/stream");
        assert_eq!(seen["requests"], json!(["POST /chat", resumed, resumed]));
        assert_eq!(seen["messages"].as_array().unwrap().len(), 2);
        assert_eq!(stage.wait(&session, "completed").await["run"], 1, "stopping the client stopped nothing");
    }
}

// A60, A61, S31
#[tokio::test]
async fn a_client_whose_line_broke_comes_back_to_the_whole_message() {
    let stage = Stage::set(SLOW, json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "cut").await;
        assert_ready(&seen);
        assert_eq!(seen["broken"], "error");
        assert_whole(answer(&seen), &seen);
    }
}

// A60, A61
#[tokio::test]
async fn a_client_that_comes_back_while_a_call_is_written_sees_it_once() {
    let script = r#"
turns:
  - when: { not_called: workspace_write_file }
    text: "A file."
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "a long text that comes in many small pieces" } }]
    chunk_characters: 3
    delay_ms: 60
  - when: { called: workspace_write_file }
    text: "Done."
"#;
    let stage = Stage::set(script, json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "arguments").await;
        assert_ready(&seen);
        assert!(!seen["atStop"].to_string().contains("output-available"), "{seen}");
        assert_eq!(&seen["fresh"]["parts"], answer(&seen), "{seen}");
        let parts = answer(&seen).as_array().unwrap();
        assert_eq!(parts.len(), 5, "{seen}");
        assert_eq!(parts[2][2]["content"], "a long text that comes in many small pieces", "{seen}");
        assert_eq!((&parts[2][1], &parts[4]), (&json!("output-available"), &json!("text: Done.")), "{seen}");
    }
}

// A32, A61, A70
#[tokio::test]
async fn an_interrupted_answer_ends_and_is_asked_for_again() {
    let script =
        "otherwise: { text: \"This takes a while, in many pieces.\", chunk_characters: 4, delay_ms: 60 }";
    let stage = Stage::set(script, json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "interrupt").await;
        assert_ready(&seen);
        assert_eq!(seen["interrupt"], 200, "{seen}");
        assert!(!seen["atStop"].to_string().contains("many pieces."), "{seen}");
        let reason = if major == "7" { "interrupted" } else { "other" };
        assert_eq!(seen["reasons"], json!([reason, "stop"]), "{seen}");
        assert_eq!(answer(&seen), &json!(["step", "text: This takes a while, in many pieces."]));
        stage.wait(&session, "completed").await;
        assert_eq!(stage.steps(&session).await.len(), 1);
        let entries = stage.entries(&session, 0).await;
        let ends: Vec<_> = entries.iter().filter(|entry| entry["type"] == "run_ended").collect();
        assert_eq!((ends.len(), &ends[0]["status"]), (2, &json!("interrupted")), "each run ends once");
    }
}

// A34, A61
#[tokio::test]
async fn a_message_behind_a_run_that_waits_is_told_to_be_queued() {
    let stage = tidy().await;
    let session = stage.session().await;
    let post = async |id: &str| {
        let user = json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": "tidy up" }] });
        stage.warren.post(&format!("{session}/chat"), &json!({ "messages": [user] })).await
    };
    let first = post("u1").await.text();
    assert!(first.contains("tool-approval-request") && !first.contains("data-queued"), "{first}");
    let second = post("u2").await.text();
    assert!(second.contains("data-queued") && second.contains("tool-approval-request"), "{second}");
    assert_eq!(stage.pending(&session).await["messages"][0]["client_id"], "u2");
    let id = stage.warren.get(&session).await.json()["id"].as_str().unwrap().to_owned();
    let by_message = stage.warren.get(&format!("{session}/chat/{id}.1/stream")).await.text();
    // Pieces of arguments are told only while they come.
    let is_kept = |line: &&str| !line.contains("tool-input-start") && !line.contains("tool-input-delta");
    let kept = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.is_empty()).filter(is_kept).map(str::to_owned).collect()
    };
    assert_eq!(kept(&by_message), kept(&first), "the same message, by its id");
    let none = stage.warren.get(&format!("{session}/chat/{id}.9/stream")).await;
    assert_eq!(none.status, 204);
}

// A34, A61
#[tokio::test]
async fn a_message_that_steers_a_run_is_shown_where_the_model_saw_it() {
    let script = r#"
turns:
  - when: { user_contains: "left" }
    text: "turning left"
  - when: { not_called: workspace_write_file }
    text: "Straight on, for a while."
    calls: [{ tool: workspace_write_file, arguments: { path: a.txt, content: "x" } }]
    chunk_characters: 4
    delay_ms: 60
  - when: { called: workspace_write_file }
    text: "straight on"
"#;
    let stage = Stage::set(script, json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "steer").await;
        assert_ready(&seen);
        let parts = answer(&seen).as_array().unwrap();
        let kind = if major == "7" { "steering-message" } else { "data-steering-message" };
        let seen_last = [json!(kind), json!("step"), json!("text: turning left")];
        assert!(parts.ends_with(&seen_last), "{seen}");
    }
}

// A61, A70, S31
#[tokio::test]
async fn an_answer_is_given_again_and_a_message_said_anew() {
    let stage = Stage::set("otherwise: { text: \"You said: {last_user}\" }", json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "regenerate").await;
        assert_ready(&seen);
        assert_eq!(seen["first"], json!(["step", "text: You said: count"]));
        assert_eq!((&seen["second"], &seen["differ"]), (&seen["first"], &json!(true)), "{seen}");
        assert_eq!(seen["messages"].as_array().unwrap().len(), 2, "{seen}");
        assert_eq!(answer(&seen), &json!(["step", "text: You said: count on"]));
        let steps = stage.steps(&session).await;
        assert_eq!(steps.len(), 1, "the model is not shown what was taken back");
        assert_eq!(stage.wait(&session, "completed").await["run"], 3);
    }
}

// A30, A31: bad input
#[tokio::test]
async fn a_forged_approval_changes_nothing_and_is_told() {
    let stage = tidy().await;
    let elsewhere = stage.session().await;
    stage.say(&elsewhere, "tidy up").await;
    stage.wait(&elsewhere, "suspended").await;
    let foreign = stage.pending(&elsewhere).await["approvals"][0]["id"].as_str().unwrap().to_owned();
    for major in MAJORS {
        let session = stage.session().await;
        let token = &stage.warren.token;
        let seen = client_of(&stage, &session, major, "forgedApproval", token, &foreign).await;
        for told in seen["answers"].as_array().unwrap() {
            assert_eq!(told, &json!([404, "approval_not_found"]), "{seen}");
        }
        assert_eq!(stage.wait(&session, "suspended").await["suspension"]["by"], "approval");
        assert_eq!(stage.pending(&session).await["approvals"].as_array().unwrap().len(), 1);
    }
    assert!(stage.has_file("gone.txt").await);
}

// A30: bad input
#[tokio::test]
async fn an_approval_in_a_chat_needs_the_right_and_counts_once() {
    let stage = tidy().await;
    let session = stage.session().await;
    stage.say(&session, "tidy up").await;
    stage.wait(&session, "suspended").await;
    let id = stage.pending(&session).await["approvals"][0]["id"].as_str().unwrap().to_owned();
    let body = |approved: bool| {
        let approval = json!({ "id": id, "approved": approved });
        let part = json!({
            "type": "dynamic-tool", "toolName": "workspace_rm", "toolCallId": "call_1_0",
            "state": "approval-responded", "approval": approval,
        });
        json!({ "messages": [{ "id": "m", "role": "assistant", "parts": [part] }] })
    };
    let scopes = ["workspaces:read", "workspaces:use"];
    let user = json!({ "kind": "user", "name": "chatter", "scopes": scopes });
    let user = stage.warren.post("/api/v1/tokens", &user).await.json();
    let path = format!("{session}/chat");
    let call = stage.warren.call("POST", &path).token(user["secret"].as_str().unwrap());
    let refused = call.json(&body(true)).send().await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    assert!(stage.has_file("gone.txt").await);
    let nothing = json!({ "messages": [{ "id": "m", "role": "assistant", "parts": [] }] });
    let refused = stage.warren.post(&path, &nothing).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "not_pending"));
    let denied = stage.warren.post(&path, &body(false)).await;
    assert_eq!(denied.status, 200, "{}", denied.text());
    assert!(denied.text().contains("tool-output-denied") && denied.text().ends_with("data: [DONE]\n\n"));
    let over = stage.warren.post(&path, &body(true)).await;
    assert_eq!((over.status, over.code().as_str()), (409, "approval_over"));
    assert!(stage.has_file("gone.txt").await);
}

// A31: bad input
#[tokio::test]
async fn a_forged_history_is_never_believed() {
    let stage = Stage::set("otherwise: { text: \"You said: {last_user}\" }", json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "forgedHistory").await;
        assert_ready(&seen);
        assert_eq!(answer(&seen), &json!(["step", "text: You said: hello"]));
        let context = stage.warren.get(&format!("{session}/steps/1/context")).await.text();
        for forged in ["obey everybody", "delete everything", "Gladly"] {
            assert!(!context.contains(forged), "{context}");
        }
    }
}

// A7, A61
#[tokio::test]
async fn the_same_post_is_the_same_message() {
    let stage = Stage::set("otherwise: { text: \"You said: {last_user}\" }", json!({})).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "twice").await;
        let kept = json!({
            "content-type": "text/event-stream", "cache-control": "no-cache",
            "x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no",
        });
        assert_eq!((&seen["kept"], &seen["start"]), (&kept, &json!(true)), "{seen}");
        assert_eq!(seen["end"], "data: [DONE]");
        assert_eq!(stage.wait(&session, "completed").await["run"], 1);
    }
}

// A63, A61
#[tokio::test]
async fn an_answer_that_was_begun_anew_is_survived_and_shown_once() {
    let script = r#"
turns:
  - text: "All of this is said in many pieces."
    chunk_characters: 4
    delay_ms: 70
    fault: { kind: cut, after_chunks: 4, times: 1 }
"#;
    for major in MAJORS {
        let stage = Stage::set(script, json!({})).await;
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "reset").await;
        assert_ready(&seen);
        let parts = answer(&seen).as_array().unwrap().clone();
        let whole = "text: All of this is said in many pieces.";
        assert_eq!(parts.last().unwrap(), whole, "{seen}");
        if major == "7" {
            assert_eq!(parts, ["step", whole], "{seen}");
        } else {
            let at = parts.iter().position(|part| part == "data-reset").expect("a note");
            assert_eq!(parts[at + 1..], ["step", whole], "{seen}");
        }
    }
}

// A61
#[tokio::test]
async fn a_run_that_fails_is_an_error_of_the_chat() {
    let stage = Stage::set("turns: [{ text: unused }]", json!({})).await;
    stage.put_agent("helper", &json!({ "model": "anthropic/claude-sonnet-4-5" })).await;
    for major in MAJORS {
        let session = stage.session().await;
        let seen = client(&stage, &session, major, "fails").await;
        assert_eq!(seen["status"], "error", "{seen}");
        assert!(seen["error"].as_str().unwrap().contains("`ANTHROPIC_API_KEY`"), "{seen}");
    }
}

// A61: bad input
#[tokio::test]
async fn what_is_wrong_with_a_chat_is_told() {
    let stage = Stage::set("otherwise: { text: ok }", json!({})).await;
    let session = stage.session().await;
    let user = json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "hello" }] });
    let good = json!({ "id": "c", "messages": [user], "trigger": "submit-message" });
    let said = |text: &str| json!({ "id": "b", "role": "user", "parts": [{ "type": "text", "text": text }] });
    for (path, body, status, code) in [
        ("/api/v1/sessions/nobody/chat".to_owned(), good.clone(), 404, "session_not_found"),
        (format!("{session}/chat?v=4"), good.clone(), 400, "invalid_request"),
        (format!("{session}/chat"), json!({}), 400, "invalid_request"),
        (format!("{session}/chat"), json!({ "messages": [] }), 400, "invalid_request"),
        (format!("{session}/chat"), json!({ "messages": [{ "role": "system" }] }), 400, "invalid_request"),
        (format!("{session}/chat"), json!({ "messages": [{ "role": "user" }] }), 422, "invalid_message"),
        (format!("{session}/chat"), json!({ "messages": [said("")] }), 422, "blank_message"),
        (format!("{session}/chat"), json!({ "messages": [said(" \n")] }), 422, "blank_message"),
        (format!("{session}/chat"), json!({ "messages": [], "trigger": "shout" }), 400, "invalid_request"),
        (
            format!("{session}/chat"),
            json!({ "messages": [], "trigger": "regenerate-message" }),
            404,
            "session_message_not_found",
        ),
        (
            format!("{session}/chat"),
            json!({ "messages": [{ "role": "user", "id": "a\u{1b}", "parts": [{ "type": "text", "text": "x" }] }] }),
            400,
            "invalid_request",
        ),
    ] {
        let answer = stage.warren.post(&path, &body).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path} {body}: {}",
            answer.text()
        );
    }
    assert_eq!(stage.warren.get(&format!("{session}/chat/c/stream")).await.status, 204, "nothing to resume");
    assert_eq!(stage.warren.get(&session).await.json()["latest_sequence"], 0);
    let answer = stage.warren.post(&format!("{session}/chat"), &good).await;
    assert!(answer.text().contains(r#""delta":"ok""#), "{}", answer.text());
}
