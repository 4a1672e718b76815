//! People in the loop.

use serde_json::json;
use warren_agent::{HandedIn, NewSessionMessage};
use warren_exchange::{ApprovalAnswer, ApprovalDecision};
use warren_model::session::{BusyMode, CallOutcome, OutcomeKind, QueuedState, SessionName, StopKind};
use warren_model::{Approval, Part};
use warren_testkit::eventually;

use crate::bed::{AgentBed, Engine, is_suspended_by};

const TIDY: &str = r#"
turns:
  - when: { not_called: workspace_rm }
    calls:
      - { tool: workspace_write_file, arguments: { path: kept.txt, content: "kept" } }
      - { tool: workspace_rm, arguments: { path: gone.txt } }
  - when: { result_of: workspace_rm, result_failed: true }
    text: "it stays: {last_result}"
  - when: { result_of: workspace_rm }
    text: "it is gone"
"#;

fn asks() -> serde_json::Value {
    json!({ "policies": [{ "tool": "workspace_rm", "decision": "ask", "reason": "it deletes" }] })
}

/// A session that waits for a decision about `workspace_rm`.
async fn asked(bed: &AgentBed) -> (SessionName, Approval) {
    bed.agent(asks()).await;
    std::fs::write(bed.bed.place(bed.workspace.id).join("gone.txt"), "x").unwrap();
    let name = bed.session().await;
    bed.say(&name, "tidy up").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "approval"), "{:?}", session.phase);
    assert!(session.lease.is_none(), "what waits holds nothing");
    let mut pending = bed.host.sessions.pending(bed.who(), &name).await.unwrap().approvals;
    assert_eq!(pending.len(), 1);
    (name, pending.remove(0))
}

fn answer(decision: ApprovalDecision) -> ApprovalAnswer {
    ApprovalAnswer { decision, note: Some("my word".into()), edited: None }
}

// A30
pub(super) async fn an_approval_is_waited_for_and_used_once(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let subject = approval.subject.clone().unwrap();
    assert_eq!((subject.tool.as_str(), subject.step), ("workspace_rm", 1));
    assert_eq!(subject.arguments, json!({ "path": "gone.txt" }));
    // The call beside it needed nobody.
    let calls = bed.steps(&name).await[0].calls.clone();
    assert_eq!(calls[0].outcome().map(CallOutcome::kind), Some(OutcomeKind::Done));
    let file = bed.bed.place(bed.workspace.id).join("gone.txt");
    assert!(file.exists());
    let approvals = &bed.bed.exchange.approvals;
    approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Approve)).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(!file.exists());
    assert_eq!(bed.last_text(&name).await, "it is gone");
    let twice = approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Deny)).await.unwrap_err();
    assert_eq!(twice.code.as_str(), "approval_over");
}

// A30
pub(super) async fn a_denied_call_is_told_to_the_model(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let approvals = &bed.bed.exchange.approvals;
    approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Deny)).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(bed.bed.place(bed.workspace.id).join("gone.txt").exists());
    assert!(bed.last_text(&name).await.contains("my word"), "{}", bed.last_text(&name).await);
}

// A30
pub(super) async fn edited_arguments_are_kept_apart(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let place = bed.bed.place(bed.workspace.id);
    std::fs::write(place.join("other.txt"), "x").unwrap();
    let approvals = &bed.bed.exchange.approvals;
    let edit = |edited| ApprovalAnswer { edited: Some(edited), ..answer(ApprovalDecision::Approve) };
    let wrong = approvals.decide(bed.who(), approval.id, edit(json!("x"))).await.unwrap_err();
    assert_eq!(wrong.code.as_str(), "invalid_request", "{wrong}");
    approvals.decide(bed.who(), approval.id, edit(json!({ "path": "other.txt" }))).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(place.join("gone.txt").exists() && !place.join("other.txt").exists());
    let call = bed.steps(&name).await[0].calls[1].clone();
    assert_eq!(call.proposed, json!({ "path": "gone.txt" }));
    assert_eq!(call.effective(), &json!({ "path": "other.txt" }));
}

// A31
pub(super) async fn a_tool_of_the_caller_is_handed_in_once(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: weather }
    calls: [{ tool: weather, arguments: { city: Bern } }]
  - when: { result_of: weather }
    text: "It is {last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "tools": { "client": [{ "name": "weather", "description": "The weather" }] } })).await;
    let name = bed.session().await;
    bed.say(&name, "how is it?").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "client_tool"));
    let sessions = &bed.host.sessions;
    let calls = sessions.pending(bed.who(), &name).await.unwrap().calls;
    let id = calls[0].id.clone();
    let hand_in = |id: &str, value: &str| {
        sessions.hand_in(bed.who(), &name, id.to_owned(), HandedIn::Output(json!(value)))
    };
    assert_eq!(hand_in("call_9_9", "x").await.unwrap_err().code.as_str(), "not_pending");
    hand_in(&id, "sunny").await.unwrap();
    hand_in(&id, "sunny").await.unwrap();
    assert_eq!(hand_in(&id, "rainy").await.unwrap_err().code.as_str(), "not_pending");
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "It is sunny", "a string stays a raw string");
    let long =
        sessions.hand_in(bed.who(), &name, id, HandedIn::Error("x".repeat(9 << 10))).await.unwrap_err();
    assert_eq!(long.code.as_str(), "payload_too_large");
}

// A33
pub(super) async fn the_user_is_asked_a_question(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: ask_user }
    calls: [{ tool: ask_user, arguments: { question: "Which colour?", choices: [red, blue] } }]
  - when: { result_of: ask_user }
    text: "{last_result} it is"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "paint").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "input"));
    let sessions = &bed.host.sessions;
    let call = sessions.pending(bed.who(), &name).await.unwrap().calls.remove(0);
    assert_eq!(call.effective()["question"], "Which colour?");
    sessions.hand_in(bed.who(), &name, call.id, HandedIn::Output(json!("blue"))).await.unwrap();
    bed.wait(&name, "completed").await;
    assert_eq!(bed.last_text(&name).await, "blue it is");
}

// A34
pub(super) async fn a_message_while_busy_does_what_it_says(engine: Engine) {
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
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "slow").await;
    eventually("it is asked", async || bed.get(&name).await.lease.is_some()).await;
    let say = |text: &'static str, mode| bed.try_say(&name, text, Some(mode));
    assert_eq!(say("x", BusyMode::Reject).await.unwrap_err().code.as_str(), "session_busy");
    let queued = say("queued", BusyMode::Queue).await.unwrap();
    assert_eq!(queued.state, QueuedState::Queued);
    let cancelled = say("cancel me", BusyMode::Steer).await.unwrap();
    let gone = bed.host.sessions.cancel_message(bed.who(), &name, cancelled.id).await.unwrap();
    assert!(matches!(gone.state, QueuedState::Dropped { .. }));
    let again = bed.host.sessions.cancel_message(bed.who(), &name, cancelled.id).await.unwrap_err();
    assert_eq!(again.code.as_str(), "not_pending");
    say("interrupting", BusyMode::Interrupt).await.unwrap();
    eventually("both were answered", async || {
        let session = bed.get(&name).await;
        session.run == 2 && session.phase.as_str() == "completed"
    })
    .await;
    assert_eq!(bed.last_text(&name).await, "next");
    let delivered: Vec<_> = bed.steps(&name).await.iter().map(|step| step.messages.len()).collect();
    assert_eq!(delivered, [2, 1], "the interrupting one joined the question that was not answered yet");
}

// A32
pub(super) async fn an_interrupted_run_can_be_resumed_and_an_aborted_one_has_failed(engine: Engine) {
    let script = r#"
turns:
  - text: "slow"
    delay_ms: 1500
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let sessions = &bed.host.sessions;
    let stale = sessions.stop(bed.who(), &name, 7, StopKind::Interrupt, None).await.unwrap_err();
    assert_eq!(stale.code.as_str(), "stale_run");
    sessions.stop(bed.who(), &name, 1, StopKind::Interrupt, None).await.unwrap();
    let session = bed.wait(&name, "interrupted").await;
    assert_eq!(session.open_step, Some(1));
    sessions.resume(bed.who(), &name, None).await.unwrap();
    bed.wait(&name, "completed").await;
    let steps = bed.steps(&name).await;
    assert_eq!((steps.len(), steps[0].calls.len()), (1, 0));
    let other = bed.session().await;
    bed.say(&other, "go").await;
    let aborted = sessions.stop(bed.who(), &other, 1, StopKind::Abort, None).await.unwrap();
    assert_eq!((aborted.phase.as_str(), aborted.generation), ("failed", 2));
    bed.say(&other, "once more").await;
    bed.wait(&other, "completed").await;
}

// A7
pub(super) async fn the_same_key_is_the_same_message(engine: Engine) {
    let bed = AgentBed::start(engine, "otherwise: { text: ok }").await;
    bed.agent(json!({})).await;
    let name = bed.session().await;
    let send = |text: &str| {
        let parts = vec![Part::text(text)];
        let message = NewSessionMessage { parts, mode: None, client_id: None, key: Some("k".into()) };
        bed.host.sessions.send(bed.who(), &name, message)
    };
    let first = send("once").await.unwrap();
    let again = send("once").await.unwrap();
    assert_eq!(first.id, again.id);
    let other = send("something else").await.unwrap_err();
    assert_eq!(other.code.as_str(), "idempotency_key_reused");
    bed.wait(&name, "completed").await;
    assert_eq!(bed.get(&name).await.run, 1);
}
