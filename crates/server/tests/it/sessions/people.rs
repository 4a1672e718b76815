//! People and callers in the loop (A30–A33).

use serde_json::{Value, json};

use super::Stage;

const TIDY: &str = r#"
turns:
  - when: { not_called: workspace_rm }
    calls: [{ tool: workspace_rm, arguments: { path: gone.txt } }]
  - when: { result_of: workspace_rm, result_failed: true }
    text: "it stays: {last_result}"
  - when: { result_of: workspace_rm }
    text: "it is gone"
"#;

/// A session that waits for a decision: its path, and the question's id.
async fn asked() -> (Stage, String, String) {
    let policies = json!([{ "tool": "workspace_rm", "decision": "ask", "reason": "it deletes" }]);
    let stage = Stage::set(TIDY, json!({ "policies": policies })).await;
    stage.put_file("gone.txt").await;
    let (session, id) = ask(&stage).await;
    (stage, session, id)
}

async fn ask(stage: &Stage) -> (String, String) {
    let session = stage.session().await;
    stage.say(&session, "tidy up").await;
    let waits = stage.wait(&session, "suspended").await;
    assert_eq!(waits["suspension"]["by"], "approval", "{waits}");
    let pending = stage.pending(&session).await;
    let approval = &pending["approvals"][0];
    assert_eq!(approval["call"]["tool"], "workspace_rm", "{pending}");
    assert_eq!(approval["call"]["arguments"], json!({ "path": "gone.txt" }));
    let id = approval["id"].as_str().unwrap().to_owned();
    (session, id)
}

fn decision(id: &str, word: &str) -> Value {
    json!({ "approval_id": id, "decision": word, "note": "my word" })
}

// A30
#[tokio::test]
async fn an_approved_call_runs_and_is_decided_once() {
    let (stage, session, id) = asked().await;
    let path = format!("{session}/approvals");
    let decided = stage.warren.post(&path, &decision(&id, "approve")).await;
    assert_eq!((decided.status, &decided.json()["state"]), (200, &json!("approved")), "{}", decided.text());
    stage.wait(&session, "completed").await;
    assert!(!stage.has_file("gone.txt").await);
    let twice = stage.warren.post(&path, &decision(&id, "deny")).await;
    assert_eq!((twice.status, twice.code().as_str()), (409, "approval_over"));
    assert_eq!(stage.last_text(&session).await, "it is gone");
}

// A30
#[tokio::test]
async fn a_denied_call_is_told_to_the_model() {
    let (stage, session, id) = asked().await;
    let denied = stage.warren.post(&format!("{session}/approvals"), &decision(&id, "deny")).await;
    assert_eq!(denied.status, 200, "{}", denied.text());
    stage.wait(&session, "completed").await;
    assert!(stage.has_file("gone.txt").await);
    assert!(stage.last_text(&session).await.contains("my word"));
    let call = stage.steps(&session).await[0]["calls"][0].clone();
    assert_eq!(
        (&call["decision"]["decision"], &call["outcome"]["kind"]),
        (&json!("denied"), &json!("denied"))
    );
}

// A30: by the route of the session, and by the one of the inbox
#[tokio::test]
async fn edited_arguments_are_kept_apart_from_the_proposed_ones() {
    let (stage, session, id) = asked().await;
    for (path, with) in
        [(format!("{session}/approvals"), true), ("/api/v1/approvals/{id}/approve".to_owned(), false)]
    {
        stage.put_file("other.txt").await;
        let (session, id) = if with { (session.clone(), id.clone()) } else { ask(&stage).await };
        let edited = json!({ "path": "other.txt" });
        let mut body = if with { decision(&id, "approve") } else { json!({}) };
        body["arguments"] = edited.clone();
        let decided = stage.warren.post(&path.replace("{id}", &id), &body).await;
        assert_eq!(decided.status, 200, "{}", decided.text());
        assert_eq!(decided.json()["call"]["edited"], edited);
        stage.wait(&session, "completed").await;
        assert!(stage.has_file("gone.txt").await && !stage.has_file("other.txt").await);
        let call = stage.steps(&session).await[0]["calls"][0].clone();
        assert_eq!((&call["proposed"], &call["arguments"]), (&json!({ "path": "gone.txt" }), &edited));
    }
}

// A30
#[tokio::test]
async fn a_decision_counts_for_its_own_session_and_question_only() {
    let (stage, session, id) = asked().await;
    let other = stage.session().await;
    let elsewhere = stage.warren.post(&format!("{other}/approvals"), &decision(&id, "approve")).await;
    assert_eq!((elsewhere.status, elsewhere.code().as_str()), (404, "approval_not_found"));
    for forged in ["01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e", "approve-me", ""] {
        let refused = stage.warren.post(&format!("{session}/approvals"), &decision(forged, "approve")).await;
        assert_eq!((refused.status, refused.code().as_str()), (404, "approval_not_found"), "{forged}");
    }
    let denied_with_arguments = json!({ "approval_id": id, "decision": "deny", "arguments": {} });
    let refused = stage.warren.post(&format!("{session}/approvals"), &denied_with_arguments).await;
    assert_eq!(refused.code(), "invalid_approval");
    assert_eq!(stage.wait(&session, "suspended").await["suspension"]["by"], "approval");
    assert!(stage.has_file("gone.txt").await);
}

// A31
#[tokio::test]
async fn a_tool_of_the_caller_is_handed_in_once() {
    let script = r#"
turns:
  - when: { not_called: weather }
    calls: [{ tool: weather, arguments: { city: Bern } }]
  - when: { result_of: weather }
    text: "It is {last_result}"
"#;
    let tools = json!({ "client": [{ "name": "weather", "description": "The weather" }] });
    let stage = Stage::set(script, json!({ "tools": tools })).await;
    let session = stage.session().await;
    stage.say(&session, "how is it?").await;
    assert_eq!(stage.wait(&session, "suspended").await["suspension"]["by"], "client_tool");
    let call = stage.pending(&session).await["calls"][0].clone();
    assert_eq!((&call["waits_for"], &call["arguments"]["city"]), (&json!("client"), &json!("Bern")));
    let path = format!("{session}/tool-results");
    let hand_in = async |more: Value| {
        let mut body = more;
        if body["call_id"].is_null() {
            body["call_id"] = call["id"].clone();
        }
        stage.warren.post(&path, &body).await
    };
    assert_eq!(hand_in(json!({ "call_id": "forged", "output": 1 })).await.code(), "not_pending");
    assert_eq!(hand_in(json!({})).await.code(), "invalid_request");
    assert_eq!(hand_in(json!({ "output": 1, "error": "x" })).await.code(), "invalid_request");
    assert_eq!(hand_in(json!({ "error": "x".repeat(9 << 10) })).await.code(), "payload_too_large");
    assert_eq!(hand_in(json!({ "output": "sunny" })).await.status, 200);
    assert_eq!(hand_in(json!({ "output": "sunny" })).await.status, 200, "the same again");
    assert_eq!(hand_in(json!({ "output": "rainy" })).await.code(), "not_pending");
    stage.wait(&session, "completed").await;
    assert_eq!(stage.last_text(&session).await, "It is sunny");
}

// A32
#[tokio::test]
async fn a_run_is_interrupted_resumed_and_aborted_by_its_number() {
    let stage = Stage::set("otherwise: { text: slow, delay_ms: 1500 }", json!({})).await;
    let session = stage.session().await;
    stage.say(&session, "go").await;
    let stop = async |deed: &str, run: u32| {
        stage.warren.post(&format!("{session}/{deed}"), &json!({ "run": run })).await
    };
    for deed in ["interrupt", "abort"] {
        let stale = stop(deed, 7).await;
        assert_eq!((stale.status, stale.code().as_str()), (409, "stale_run"));
    }
    let interrupted = stop("interrupt", 1).await;
    assert_eq!(interrupted.status, 200, "{}", interrupted.text());
    stage.wait(&session, "interrupted").await;
    let resumed = stage.warren.post(&format!("{session}/resume"), &json!({})).await;
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    stage.wait(&session, "completed").await;
    assert_eq!(stage.warren.post(&format!("{session}/resume"), &json!({})).await.code(), "nothing_to_resume");
    stage.say(&session, "again").await;
    let aborted = stop("abort", 2).await.json();
    assert_eq!((&aborted["status"], &aborted["failure"]["kind"]), (&json!("failed"), &json!("aborted")));
}

// A23: made with an approval, listed, revoked; made by itself; not for an agent
#[tokio::test]
async fn an_approval_becomes_a_rule_that_can_be_revoked() {
    let (stage, session, id) = asked().await;
    let mut body = decision(&id, "approve");
    body["remember"] =
        json!({ "scope": "workspace", "arguments": { "path": "*.txt" }, "expires_in_seconds": 60 });
    let denied = json!({ "approval_id": id, "decision": "deny", "remember": { "scope": "org" } });
    let path = format!("{session}/approvals");
    let refused = stage.warren.post(&path, &denied).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "invalid_approval"), "{}", refused.text());
    assert_eq!(stage.warren.post(&path, &body).await.status, 200);
    stage.wait(&session, "completed").await;
    stage.put_file("gone.txt").await;
    let second = stage.session().await;
    stage.say(&second, "tidy up").await;
    stage.wait(&second, "completed").await;
    let listed = stage.warren.get("/api/v1/tool-rules").await.json();
    let rule = &listed["items"][0];
    assert_eq!((&rule["scope"], &rule["workspace_id"]), (&json!("workspace"), &json!(stage.workspace)));
    assert_eq!((&rule["tool"], &rule["decision"]), (&json!("workspace_rm"), &json!("allow")));
    let of_rule = format!("/api/v1/tool-rules/{}", rule["id"].as_str().unwrap());
    let revoked = stage.warren.call("DELETE", &of_rule).token(&stage.warren.token).send().await;
    assert_eq!((revoked.status, revoked.json()["revoked_at"].is_string()), (200, true), "{}", revoked.text());
    ask(&stage).await;
    let entries = stage.warren.get("/api/v1/audit").await.text();
    assert!(entries.contains("tool_rule.created") && entries.contains("tool_rule.revoked"), "{entries}");

    let of_nobody =
        json!({ "tool": "x", "decision": "allow", "workspace_id": stage.workspace, "agent": "helper" });
    assert_eq!(stage.warren.post("/api/v1/tool-rules", &of_nobody).await.status, 400);
    let unknown = json!({ "tool": "x", "decision": "perhaps" });
    assert_eq!(stage.warren.post("/api/v1/tool-rules", &unknown).await.status, 400);
    let made =
        stage.warren.post("/api/v1/tool-rules", &json!({ "tool": "workspace_rm", "decision": "deny" })).await;
    assert_eq!((made.status, &made.json()["scope"]), (201, &json!("org")), "{}", made.text());
    let third = stage.session().await;
    stage.say(&third, "tidy up").await;
    stage.wait(&third, "completed").await;
    assert!(stage.last_text(&third).await.contains("a policy denies workspace_rm"));
}
