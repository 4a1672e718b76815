//! Decisions and results that come late, twice, from elsewhere, or are very long (A30, A31).

use serde_json::json;
use warren_agent::{HandedIn, NewStop};
use warren_exchange::ApprovalDecision;
use warren_model::ApprovalState;
use warren_model::session::{CallOutcome, Decision, OutcomeKind, StopKind};

use super::people::{TIDY, answer, asked, asks};
use crate::bed::{AgentBed, Engine, is_suspended_by};

// A30
pub(super) async fn an_approval_that_nobody_gives_expires_and_the_model_is_told(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let mut agent = asks();
    agent["limits"] = json!({ "approval_seconds": 1 });
    bed.agent(agent).await;
    let file = bed.bed.place(bed.workspace.id).join("gone.txt");
    std::fs::write(&file, "x").unwrap();
    let name = bed.session().await;
    bed.say(&name, "tidy up").await;
    bed.wait(&name, "completed").await;
    assert!(file.exists(), "what nobody allowed was not done");
    let told = bed.last_text(&name).await;
    assert!(told.contains("it stays") && told.contains("nobody decided about it in time"), "{told}");
    let call = bed.steps(&name).await[0].calls[1].clone();
    let Some(Decision::Denied { by, .. }) = &call.decision else { panic!("{call:?}") };
    assert_eq!((by.as_str(), call.outcome().map(CallOutcome::kind)), ("time", Some(OutcomeKind::Denied)));
    assert!(bed.host.sessions.pending(bed.who(), &name).await.unwrap().approvals.is_empty());
    let approvals = &bed.bed.exchange.approvals;
    let query = warren_store::ApprovalQuery {
        org_id: None,
        workspace_id: Some(bed.workspace.id),
        state: None,
        before: None,
        limit: 9,
    };
    let expired = approvals.list(bed.who(), query).await.unwrap().rows.remove(0);
    assert_eq!(expired.state, ApprovalState::Expired);
    let late = approvals.decide(bed.who(), expired.id, answer(ApprovalDecision::Approve)).await.unwrap_err();
    assert_eq!(late.code.as_str(), "approval_over");
    assert!(file.exists());
}

// A30, A32
pub(super) async fn a_decision_after_an_abort_changes_nothing(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    bed.host.sessions.stop(bed.who(), &name, 1, NewStop::new(StopKind::Abort)).await.unwrap();
    let failed = bed.wait(&name, "failed").await;
    let approvals = &bed.bed.exchange.approvals;
    let state = approvals.get(bed.who(), approval.id).await.unwrap().state;
    assert_eq!(state, ApprovalState::Void, "nobody needs to decide it any more");
    for decision in [ApprovalDecision::Approve, ApprovalDecision::Deny] {
        let late = approvals.decide(bed.who(), approval.id, answer(decision)).await.unwrap_err();
        assert_eq!(late.code.as_str(), "approval_over");
    }
    let file = bed.bed.place(bed.workspace.id).join("gone.txt");
    assert!(file.exists());
    assert_eq!(bed.get(&name).await.version, failed.version, "the session is as it was");
    // It asks anew, and the old decision is none for the new question.
    bed.say(&name, "tidy up").await;
    bed.wait(&name, "completed").await;
    assert!(bed.last_text(&name).await.contains("the run was aborted"), "{}", bed.last_text(&name).await);
}

// A30
pub(super) async fn an_approval_counts_for_its_own_session_only(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let (other, of_other) = asked(&bed).await;
    let approvals = &bed.bed.exchange.approvals;
    let (session_id, other_id) = (bed.get(&name).await.id, bed.get(&other).await.id);
    let approve = || answer(ApprovalDecision::Approve);
    for (session, id) in [(session_id, of_other.id), (other_id, approval.id)] {
        let strange = approvals.decide_in_session(bed.who(), session, id, approve()).await.unwrap_err();
        assert_eq!(strange.code.as_str(), "approval_not_found");
    }
    approvals.decide_in_session(bed.who(), other_id, of_other.id, approve()).await.unwrap();
    bed.wait(&other, "completed").await;
    let session = bed.get(&name).await;
    assert!(is_suspended_by(&session, "approval"), "its own question is still open: {:?}", session.phase);
    assert_eq!(approvals.get(bed.who(), approval.id).await.unwrap().state, ApprovalState::Pending);
}

// A30: a double click, or two people
pub(super) async fn of_two_decisions_at_once_one_counts(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let place = bed.bed.place(bed.workspace.id);
    std::fs::write(place.join("other.txt"), "x").unwrap();
    let edited = warren_exchange::ApprovalAnswer {
        edited: Some(json!({ "path": "other.txt" })),
        ..answer(ApprovalDecision::Approve)
    };
    let approvals = &bed.bed.exchange.approvals;
    let (edit, plain) = tokio::join!(
        approvals.decide(bed.who(), approval.id, edited),
        approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Approve)),
    );
    assert!(edit.is_ok() != plain.is_ok(), "{edit:?} {plain:?}");
    let (won, lost) = if edit.is_ok() { ("other.txt", plain) } else { ("gone.txt", edit) };
    assert_eq!(lost.unwrap_err().code.as_str(), "approval_over");
    bed.wait(&name, "completed").await;
    let call = bed.steps(&name).await[0].calls[1].clone();
    assert_eq!(call.effective(), &json!({ "path": won }));
    let left = ["gone.txt", "other.txt"].map(|file| place.join(file).exists());
    assert_eq!(left, [won != "gone.txt", won != "other.txt"], "one file is gone, and no more");
    // After an edit the question is over, too.
    let again =
        approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Approve)).await.unwrap_err();
    assert_eq!(again.code.as_str(), "approval_over");
    assert_eq!(["gone.txt", "other.txt"].map(|file| place.join(file).exists()), left);
}

// A30, A6: what was asked belongs to the version that asked it
pub(super) async fn a_new_version_of_the_agent_leaves_the_question_as_it_was(engine: Engine) {
    let bed = AgentBed::start(engine, TIDY).await;
    let (name, approval) = asked(&bed).await;
    let before = bed.get(&name).await.agent;
    bed.agent(json!({ "policies": [{ "tool": "workspace_rm", "decision": "deny" }] })).await;
    let busy = bed.host.sessions.upgrade(bed.who(), &name).await.unwrap_err();
    assert_eq!(busy.code.as_str(), "session_busy", "a session that waits keeps its version");
    assert_eq!(
        approval.subject.as_ref().map(|subject| subject.agent_hash.clone()),
        Some(before.hash.clone())
    );
    let approvals = &bed.bed.exchange.approvals;
    approvals.decide(bed.who(), approval.id, answer(ApprovalDecision::Approve)).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(!bed.bed.place(bed.workspace.id).join("gone.txt").exists());
    assert_eq!(bed.get(&name).await.agent, before);
    bed.host.sessions.upgrade(bed.who(), &name).await.unwrap();
    assert_ne!(bed.get(&name).await.agent, before);
}

// A31, A20
pub(super) async fn a_result_of_the_caller_may_have_a_megabyte_and_is_read_on(engine: Engine) {
    const MOST: usize = 1 << 20;
    let script = r#"
turns:
  - when: { not_called: report }
    calls: [{ tool: report, arguments: {} }]
  - when: { result_of: report }
    calls: [{ tool: read_result, arguments: { call: call_1_0, offset: 1048000, limit: 20000 } }]
  - when: { result_of: read_result }
    text: "read"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "tools": { "client": [{ "name": "report", "description": "A report" }] } })).await;
    let name = bed.session().await;
    bed.say(&name, "go").await;
    let session = bed.wait(&name, "suspended").await;
    assert!(is_suspended_by(&session, "client_tool"));
    let sessions = &bed.host.sessions;
    let hand_in = |id: &str, handed_in| sessions.hand_in(bed.who(), &name, id.to_owned(), handed_in, None);
    let code = |result: Result<_, warren_service::Error>| {
        result.map(|_: warren_model::session::Session| ()).unwrap_err().code.as_str()
    };
    // Of ids: 256 characters are an id that no call has; one more is none at all.
    let none = HandedIn::Output(json!("x"));
    assert_eq!(code(hand_in(&"c".repeat(256), none.clone()).await), "not_pending");
    assert_eq!(code(hand_in(&"c".repeat(257), none.clone()).await), "invalid_request");
    assert_eq!(code(hand_in("", none).await), "invalid_request");
    // Of results: their JSON has two quotes.
    let long = |bytes: usize| {
        let text: String = "0123456789".chars().cycle().take(bytes - 5).chain("END".chars()).collect();
        HandedIn::Output(json!(text))
    };
    assert_eq!(code(hand_in("call_1_0", long(MOST + 1)).await), "payload_too_large");
    assert_eq!(
        code(hand_in("call_1_0", HandedIn::Error("x".repeat((8 << 10) + 1))).await),
        "payload_too_large"
    );
    assert_eq!(bed.get(&name).await.version, session.version, "nothing of it was taken");
    hand_in("call_1_0", long(MOST)).await.unwrap();
    hand_in("call_1_0", long(MOST)).await.unwrap();
    // As long, with the same beginning, and yet another one.
    let HandedIn::Output(other) = long(MOST) else { unreachable!("it was made as one") };
    let other = other.as_str().unwrap().replace("END", "AND");
    assert_eq!(code(hand_in("call_1_0", HandedIn::Output(json!(other))).await), "not_pending");
    bed.wait(&name, "completed").await;
    let steps = bed.steps(&name).await;
    let Some(CallOutcome::Done { result }) = steps[0].calls[0].outcome() else {
        panic!("{:?}", steps[0].calls[0].outcome().map(CallOutcome::kind))
    };
    assert_eq!(result.whole_bytes, Some(MOST as u64 - 2));
    assert!(result.to_text().len() < 64 << 10, "the model is shown its beginning");
    let Some(CallOutcome::Done { result }) = steps[1].calls[0].outcome() else { panic!("it was read") };
    assert!(result.value["text"].as_str().unwrap().ends_with("END"), "and reads its end");
    assert_eq!(result.value["next_offset"], json!(null));
}
