//! Warren as a test wants it: what it was told is kept, and what it answers can be changed under way.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde_json::json;
use warren_api::{
    AnswerMessage, Approval, ApprovalState, Claim, ClaimMessage, ClaimedMessage, Heartbeat, HeartbeatAnswer,
    ProgressTaken, RegisterRuntime, RegisteredRuntime, ReportProgress, RequestApproval, WithdrawApproval,
};
use warren_runner::{ApiError, WarrenApi};

#[derive(Debug, Clone, Default)]
pub(crate) struct FakeState {
    pub(crate) registrations: u32,
    pub(crate) heartbeats: Vec<Heartbeat>,
    pub(crate) claims: u32,
    pub(crate) progress: Vec<ReportProgress>,
    pub(crate) answers: Vec<AnswerMessage>,
    /// Calls with a credential that is not accepted.
    pub(crate) refused: u32,
    pub(crate) withdrawn: u32,
    pub(crate) lost: u32,
    /// Questions to people.
    pub(crate) asked: Vec<RequestApproval>,
    /// Those that were taken back, and why.
    pub(crate) withdrawn_questions: Vec<(String, String)>,
    decision: Option<ApprovalState>,
    queue: VecDeque<String>,
    given: u32,
    accepted: String,
    withdraws: bool,
    loses: u32,
    at_once: u32,
    liveness_ms: u64,
}

impl FakeState {
    /// What it was told, without most of the heartbeats.
    pub(crate) fn in_short(&self) -> String {
        let heartbeats: Vec<_> = self.heartbeats.iter().rev().take(2).cloned().collect();
        format!("{:?}", Self { heartbeats, ..self.clone() })
    }

    /// What it said of itself each time between two messages.
    pub(crate) fn idle_states(&self) -> Vec<String> {
        let idle = self.heartbeats.iter().filter(|beat| beat.active_tasks == Some(0));
        let mut states: Vec<String> = idle.map(|beat| beat.runtime_state.clone().unwrap()).collect();
        states.truncate(4);
        states
    }
}

pub(crate) struct FakeApi(RefCell<FakeState>);

impl FakeApi {
    pub(crate) fn new() -> Self {
        Self(RefCell::new(FakeState {
            accepted: "credential-1".into(),
            at_once: 1,
            liveness_ms: 90_000,
            ..FakeState::default()
        }))
    }

    pub(crate) fn desk(&self) -> FakeState {
        self.0.borrow().clone()
    }

    pub(crate) fn queue(&self, text: &str) {
        self.0.borrow_mut().queue.push_back(text.to_owned());
    }

    pub(crate) fn accept_only(&self, credential: &str) {
        self.0.borrow_mut().accepted = credential.to_owned();
    }

    /// From now on, messages are taken back while they are worked on.
    pub(crate) fn withdraw(&self) {
        self.0.borrow_mut().withdraws = true;
    }

    pub(crate) fn lose_answers(&self, count: u32) {
        self.0.borrow_mut().loses = count;
    }

    /// From now on, so many messages are given out at once.
    pub(crate) fn give_at_once(&self, count: u32) {
        self.0.borrow_mut().at_once = count;
    }

    /// Wants to hear from it three times in so long.
    pub(crate) fn expect_reports(&self, liveness_ms: u64) {
        self.0.borrow_mut().liveness_ms = liveness_ms;
    }

    /// All questions are decided like this, those that are open and those to come.
    pub(crate) fn decide(&self, decision: ApprovalState) {
        self.0.borrow_mut().decision = Some(decision);
    }

    fn approval(&self, id: &str, state: ApprovalState) -> Approval {
        let approval = json!({
            "id": id, "workspace_id": "w", "task_id": null, "action": "a", "reason": "r", "context": {}, "state": state,
            "asked_by": { "kind": "workspace", "id": "w" }, "decided_by": null, "decided_at": null, "note": null,
            "created_at": "", "expires_at": "",
        });
        serde_json::from_value(approval).unwrap()
    }

    fn check(&self, token: &str) -> Result<(), ApiError> {
        let mut desk = self.0.borrow_mut();
        if desk.accepted == token {
            return Ok(());
        }
        desk.refused += 1;
        Err(ApiError::Unauthorized)
    }
}

impl WarrenApi for FakeApi {
    async fn register(&self, token: &str, _: &RegisterRuntime) -> Result<RegisteredRuntime, ApiError> {
        if token != "join" {
            return Err(ApiError::Unauthorized);
        }
        self.0.borrow_mut().registrations += 1;
        let registered = json!({
            "workspace_id": "w", "status": "online", "boots": 1, "token": "credential-1",
            "liveness_timeout_ms": self.0.borrow().liveness_ms, "generation": 1, "warnings": [],
            "max_concurrent_tasks": self.0.borrow().at_once,
        });
        Ok(serde_json::from_value(registered).unwrap())
    }

    async fn heartbeat(&self, token: &str, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, ApiError> {
        self.check(token)?;
        self.0.borrow_mut().heartbeats.push(heartbeat.clone());
        let answer = json!({
            "workspace_id": "w", "status": "online", "reason": null, "desired": "running", "generation": 1,
            "liveness_timeout_ms": 90_000, "warnings": [], "max_concurrent_tasks": self.0.borrow().at_once,
        });
        Ok(serde_json::from_value(answer).unwrap())
    }

    async fn claim(&self, token: &str, _: &str, _: &ClaimMessage) -> Result<Claim, ApiError> {
        self.check(token)?;
        let text = {
            let mut desk = self.0.borrow_mut();
            desk.claims += 1;
            desk.queue.pop_front()
        };
        let Some(text) = text else {
            // As Warren does, which waits for a message.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            return Ok(Claim { claimed: None });
        };
        self.0.borrow_mut().given += 1;
        let number = self.0.borrow().given;
        let message = json!({ "role": "user", "parts": [{ "text": text }] });
        let claimed = json!({
            "queue_id": format!("q-{number}"), "attempt": 1, "lease_until": "2026-01-01T00:00:00Z",
            "author": { "kind": "user", "id": "operator" }, "message": message,
            "task": {
                "id": format!("task-{number}"), "workspace_id": "w", "context_id": "c",
                "author": { "kind": "user", "id": "operator" }, "state": "working", "status_message": null,
                "history": [], "artifacts": [], "created_at": "", "updated_at": "",
            },
        });
        let claimed: ClaimedMessage = serde_json::from_value(claimed).unwrap();
        Ok(Claim { claimed: Some(claimed) })
    }

    async fn progress(
        &self,
        token: &str,
        _: &str,
        _: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, ApiError> {
        self.check(token)?;
        let mut desk = self.0.borrow_mut();
        if desk.withdraws {
            desk.withdrawn += 1;
            return Err(ApiError::Withdrawn { code: "claim_lost".into() });
        }
        desk.progress.push(progress.clone());
        Ok(ProgressTaken { lease_until: None })
    }

    async fn answer(&self, token: &str, _: &str, _: &str, answer: &AnswerMessage) -> Result<(), ApiError> {
        self.check(token)?;
        let mut desk = self.0.borrow_mut();
        if desk.lost < desk.loses {
            desk.lost += 1;
            return Err(ApiError::Unreachable("away".into()));
        }
        desk.answers.push(answer.clone());
        Ok(())
    }

    async fn ask_approval(
        &self,
        token: &str,
        _: &str,
        question: &RequestApproval,
    ) -> Result<Approval, ApiError> {
        self.check(token)?;
        self.0.borrow_mut().asked.push(question.clone());
        let id = format!("approval-{}", self.0.borrow().asked.len());
        Ok(self.approval(&id, ApprovalState::Pending))
    }

    async fn decision(&self, token: &str, approval: &str, _: u64) -> Result<Approval, ApiError> {
        self.check(token)?;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let state = self.0.borrow().decision.unwrap_or(ApprovalState::Pending);
        Ok(self.approval(approval, state))
    }

    async fn withdraw(
        &self,
        token: &str,
        approval: &str,
        withdrawal: &WithdrawApproval,
    ) -> Result<Approval, ApiError> {
        self.check(token)?;
        let why = withdrawal.note.clone().unwrap();
        self.0.borrow_mut().withdrawn_questions.push((approval.to_owned(), why));
        Ok(self.approval(approval, ApprovalState::Void))
    }
}
