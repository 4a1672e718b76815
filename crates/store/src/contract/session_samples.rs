//! Sessions to write, with their steps, and short ways to write and read them.

use serde_json::json;
use warren_model::session::{
    Block, CallOutcome, CallState, CallWait, DeltaMark, Lineage, Phase, RunLimits, Session, SessionStart,
    Step, StepPhase, TokenUsage, ToolCall, ToolPlace, ToolResult,
};
use warren_model::{AgentVersion, OrgId, Principal, SessionId, Timestamp, WorkspaceId};

use super::samples::{NOW, id, new_workspace};
use crate::{Error, Store};

pub(super) fn session(workspace_id: WorkspaceId) -> Session {
    let session = Session::start(SessionStart {
        id: id(),
        org_id: OrgId::DEFAULT,
        workspace_id,
        created_by: Principal::system("asker"),
        agent: AgentVersion { name: "helper".parse().expect("a good name"), hash: "ab".into() },
        state: [("notes".to_owned(), json!([]))].into(),
        limits: RunLimits::default(),
        now: NOW,
    });
    Session { title: "write a file".into(), phase: Phase::Active, run: 1, ..session }
}

/// A session in a workspace of its own.
pub(super) async fn new_session(store: &dyn Store) -> Session {
    let row = session(new_workspace(store).await);
    assert_eq!(put(store, &row).await, Ok(()));
    row
}

pub(super) async fn put(store: &dyn Store, session: &Session) -> Result<(), Error> {
    let row = session.clone();
    store.write(move |tx| tx.insert_session(&row)).await
}

pub(super) async fn read(store: &dyn Store, id: SessionId) -> Option<Session> {
    store.read::<_, Error, _>(move |tx| tx.session(id)).await.expect("a session is read")
}

pub(super) async fn change(store: &dyn Store, from: &Session, to: &Session) -> Result<u64, Error> {
    let (from, to) = (from.clone(), to.clone());
    store.write(move |tx| tx.update_session(&from, &to)).await
}

pub(super) async fn claim(store: &dyn Store, id: SessionId, owner: &str, now: Timestamp) -> Option<Session> {
    let owner = owner.to_owned();
    let claimed = store.write::<_, Error, _>(move |tx| tx.claim_session(id, &owner, now, now.plus_ms(1_000)));
    claimed.await.expect("a claim is answered")
}

pub(super) fn call(id: &str, state: CallState) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        tool: "workspace_run".into(),
        place: ToolPlace::Workspace,
        proposed: json!({ "command": "ls — 日本 \u{0}" }),
        is_idempotent: false,
        can_probe: true,
        exclusive: Vec::new(),
        decision: None,
        state,
        started_at: None,
        ended_at: None,
    }
}

pub(super) fn waiting() -> CallState {
    CallState::Waiting(CallWait::Turn)
}

pub(super) fn done(text: &str) -> CallState {
    CallState::Closed(CallOutcome::Done { result: ToolResult::text(text) })
}

/// A closed step with one call.
pub(super) fn step(session_id: SessionId, number: u32) -> Step {
    Step {
        session_id,
        number,
        run: 1,
        phase: StepPhase::Closed,
        messages: Vec::new(),
        notices: Vec::new(),
        attempt: 1,
        failed_attempts: 0,
        asked_under: None,
        model_index: 0,
        resume_token: None,
        request_head: None,
        origin: None,
        blocks: vec![Block::Text { text: "I look".into() }, Block::Call { index: 0 }],
        calls: vec![call(&format!("call-{number}"), done("a file"))],
        stop_reason: None,
        usage: TokenUsage { input_tokens: 10, output_tokens: 5, ..TokenUsage::default() },
        cost_micros: 7,
        state: None,
        deltas: vec![DeltaMark { sequence: 3, block: 0, end: 6 }],
        started_at: NOW,
        answered_at: Some(NOW.plus_ms(1)),
        ended_at: Some(NOW.plus_ms(2)),
    }
}

pub(super) async fn put_step(store: &dyn Store, step: &Step) -> Result<(), Error> {
    let row = step.clone();
    store.write(move |tx| tx.insert_step(&row)).await
}

pub(super) fn lineage(of: &[(SessionId, u32)]) -> Lineage {
    let mut lineage = Lineage::default();
    of.iter().for_each(|(session, step)| lineage.push(*session, *step));
    lineage
}
