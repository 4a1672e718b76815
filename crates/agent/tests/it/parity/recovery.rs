//! What a crash, or an owner that froze, leaves behind (A3, A4).

use std::time::Duration;

use serde_json::json;
use warren_agent::Config;
use warren_exchange::{ApprovalAnswer, ApprovalDecision};
use warren_model::session::{CallOutcome, CallState, OutcomeKind, StepPhase};
use warren_testkit::eventually;

use crate::bed::{AgentBed, Engine, config, is_suspended_by};

pub(super) async fn a_crash_in_the_middle_of_an_answer_repeats_nothing_that_was_done(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_edit_file }
    calls: [{ tool: workspace_edit_file, arguments: { path: n.txt, old: "x", new: "xx" } }]
  - when: { result_of: workspace_edit_file }
    text: "edited, says the agent slowly"
    chunk_characters: 5
    delay_ms: 200
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let file = bed.bed.place(bed.workspace.id).join("n.txt");
    std::fs::write(&file, "x").unwrap();
    let name = bed.session().await;
    bed.say(&name, "go").await;
    eventually("the second answer has begun", async || {
        bed.steps(&name).await.get(1).is_some_and(|step| step.phase == StepPhase::Asking && step.attempt == 1)
    })
    .await;
    let bed = bed.crash().await;
    let session = bed.wait(&name, "completed").await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "xx", "the edit was done once");
    let steps = bed.steps(&name).await;
    assert_eq!((steps.len(), steps[1].attempt), (2, 2));
    assert_eq!(session.epoch, 2);
    assert_eq!(bed.last_text(&name).await, "edited, says the agent slowly");
    let entries = bed.entries(&name, 0).await;
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.sequence).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "the sequence goes on");
}

pub(super) async fn a_crash_in_the_middle_of_a_call_tells_that_its_end_is_unknown(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_run }
    calls:
      - { tool: workspace_run, arguments: { argv: [sleep, "30"] } }
      - { tool: workspace_ls, arguments: { path: "." } }
  - when: { result_of: workspace_run }
    text: "I was told: {last_result}"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    let workspace = bed.sleeping_workspace().await;
    let name = bed.session_in(workspace.id).await;
    bed.say(&name, "go").await;
    eventually("the command runs, and the other call is done", async || {
        let steps = bed.steps(&name).await;
        let calls = steps.first().map(|step| step.calls.clone()).unwrap_or_default();
        calls.len() == 2 && matches!(calls[0].state, CallState::Started { .. }) && calls[1].is_closed()
    })
    .await;
    let bed = bed.crash().await;
    bed.wait(&name, "completed").await;
    let calls = bed.steps(&name).await[0].calls.clone();
    assert!(matches!(calls[0].outcome(), Some(CallOutcome::Unknown { .. })), "{:?}", calls[0]);
    assert_eq!(calls[1].outcome().map(CallOutcome::kind), Some(OutcomeKind::Done));
}

pub(super) async fn a_suspended_session_outlives_a_crash_and_holds_nothing(engine: Engine) {
    let script = r#"
turns:
  - when: { not_called: workspace_rm }
    calls: [{ tool: workspace_rm, arguments: { path: gone.txt } }]
  - when: { result_of: workspace_rm }
    text: "it is gone"
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({ "policies": [{ "tool": "workspace_rm", "decision": "ask" }] })).await;
    let file = bed.bed.place(bed.workspace.id).join("gone.txt");
    std::fs::write(&file, "x").unwrap();
    let name = bed.session().await;
    bed.say(&name, "tidy up").await;
    bed.wait(&name, "suspended").await;
    let bed = bed.crash().await;
    let session = bed.get(&name).await;
    assert!(is_suspended_by(&session, "approval") && session.lease.is_none());
    assert_eq!(bed.host.engine.working_on(), 0, "no task belongs to it");
    let approval = bed.host.sessions.pending(bed.who(), &name).await.unwrap().approvals.remove(0);
    let answer = ApprovalAnswer::new(ApprovalDecision::Approve);
    bed.bed.exchange.approvals.decide(bed.who(), approval.id, answer).await.unwrap();
    bed.wait(&name, "completed").await;
    assert!(!file.exists());
}

/// The first owner's lease ends while it waits for its model: that is what a process that was stopped looks like.
pub(super) async fn a_frozen_owner_is_taken_over_and_cannot_write_late(engine: Engine) {
    let script = r#"
turns:
  - text: "answered"
    delay_ms: 1000
"#;
    let bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    bed.host.stop().await;
    let frozen = Config {
        lease: Duration::from_millis(200),
        renew_every: Duration::from_secs(60),
        look_every: Duration::from_secs(60),
        ..config()
    };
    let first = bed.second_host(frozen).await;
    let name = bed.session().await;
    let message = warren_agent::NewSessionMessage {
        parts: vec![warren_model::Part::text("go")],
        mode: None,
        client_id: None,
        key: None,
    };
    first.sessions.send(bed.who(), &name, message).await.unwrap();
    eventually("the first has it", async || bed.get(&name).await.epoch == 1).await;
    let second = bed.second_host(config()).await;
    bed.wait(&name, "completed").await;
    let session = bed.get(&name).await;
    assert!(session.epoch >= 2, "somebody else took it over: {}", session.epoch);
    let steps = bed.steps(&name).await;
    assert_eq!(steps.len(), 1);
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(bed.get(&name).await.version, session.version, "the first wrote nothing more");
    first.stop().await;
    second.stop().await;
}

/// Nobody else can be on the database: the lease of a process that is gone is not waited for.
pub(super) async fn a_process_that_is_alone_takes_sessions_up_at_once(engine: Engine) {
    let script = r#"
turns:
  - text: "answered"
    delay_ms: 500
"#;
    let mut bed = AgentBed::start(engine, script).await;
    bed.agent(json!({})).await;
    bed.host.stop().await;
    let patient = Config { lease: Duration::from_secs(3_600), ..config() };
    let gone = bed.second_host(patient).await;
    let name = bed.session().await;
    let message = warren_agent::NewSessionMessage {
        parts: vec![warren_model::Part::text("go")],
        mode: None,
        client_id: None,
        key: None,
    };
    gone.sessions.send(bed.who(), &name, message).await.unwrap();
    eventually("the first has it", async || bed.get(&name).await.epoch == 1).await;
    drop(gone);
    bed.config = Config { is_alone: true, ..patient };
    let bed = bed.crash().await;
    bed.wait(&name, "completed").await;
    let (session, steps) = (bed.get(&name).await, bed.steps(&name).await);
    assert_eq!((session.epoch, steps.len()), (2, 1), "it was taken over, and answered once");
}
