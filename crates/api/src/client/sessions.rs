//! Routes of agents and sessions.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Serialize;

use super::{Client, Error, Frames};
use crate::{
    AgentPage, Approval, BranchSession, CreateSession, DecideCall, KnownModels, PendingWork, ResumeSession,
    RewindSession, SendSessionMessage, Session, SessionEntry, SessionMessage, SessionPage, SessionStatus,
    SessionStepPage, StepContext, StopRun, StoredAgent, SubmitToolResult, UpgradedSession,
};

/// Three keep-alives of the server missed.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

/// Which sessions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// From where on, and until when, a session is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FollowSession {
    /// Entries after this sequence.
    pub after: u64,
    /// Ends once nothing is under way. Otherwise the stream has no end.
    pub until_idle: bool,
}

impl Client {
    /// The providers of models, and which of them have a key.
    pub async fn models(&self) -> Result<KnownModels, Error> {
        self.answer(self.request(Method::GET, &["models"])).await
    }

    /// One page, by name.
    pub async fn agents(&self, cursor: Option<&str>) -> Result<AgentPage, Error> {
        let request = self.request(Method::GET, &["agents"]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    /// The version that the name stands for now.
    pub async fn agent(&self, name: &str) -> Result<StoredAgent, Error> {
        self.answer(self.request(Method::GET, &["agents", name])).await
    }

    pub async fn agent_version(&self, name: &str, hash: &str) -> Result<StoredAgent, Error> {
        self.answer(self.request(Method::GET, &["agents", name, "versions", hash])).await
    }

    /// Stores a document under this name; `media_type` is [`YAML`](crate::YAML) or `application/json`.
    pub async fn put_agent(
        &self,
        name: &str,
        media_type: &str,
        document: String,
    ) -> Result<StoredAgent, Error> {
        let request = self.request(Method::PUT, &["agents", name]).header(CONTENT_TYPE, media_type);
        self.answer(request.body(document)).await
    }

    /// The same key is the same session.
    pub async fn create_session(
        &self,
        session: &CreateSession,
        idempotency_key: Option<&str>,
    ) -> Result<Session, Error> {
        let mut request = self.request(Method::POST, &["sessions"]).json(session);
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        self.answer(request).await
    }

    /// One page, the newest first.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<SessionPage, Error> {
        self.answer(self.request(Method::GET, &["sessions"]).query(query)).await
    }

    /// By its name or its id, here as in all that follows.
    pub async fn session(&self, session: &str) -> Result<Session, Error> {
        self.answer(self.request(Method::GET, &["sessions", session])).await
    }

    pub async fn session_pending(&self, session: &str) -> Result<PendingWork, Error> {
        self.answer(self.request(Method::GET, &["sessions", session, "pending"])).await
    }

    /// When the stream breaks off, ask again with `after` set to the last sequence seen.
    pub async fn follow_session(
        &self,
        session: &str,
        follow: FollowSession,
    ) -> Result<Frames<SessionEntry>, Error> {
        let request = self.request(Method::GET, &["sessions", session, "stream"]);
        let request = request.header(ACCEPT, "text/event-stream").query(&[("after", follow.after)]);
        let request = request.query(&follow.until_idle.then_some([("until", "idle")]));
        Ok(Frames::of(self.send(request).await?, Some(SILENCE_LIMIT)))
    }

    /// The same key is the same message.
    pub async fn send_session_message(
        &self,
        session: &str,
        message: &SendSessionMessage,
        idempotency_key: Option<&str>,
    ) -> Result<SessionMessage, Error> {
        let mut request = self.request(Method::POST, &["sessions", session, "messages"]).json(message);
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        self.answer(request).await
    }

    pub async fn session_message(&self, session: &str, message: &str) -> Result<SessionMessage, Error> {
        self.answer(self.request(Method::GET, &["sessions", session, "messages", message])).await
    }

    pub async fn cancel_session_message(
        &self,
        session: &str,
        message: &str,
    ) -> Result<SessionMessage, Error> {
        self.answer(self.request(Method::DELETE, &["sessions", session, "messages", message])).await
    }

    pub async fn decide_call(&self, session: &str, decision: &DecideCall) -> Result<Approval, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "approvals"]).json(decision)).await
    }

    pub async fn submit_tool_result(
        &self,
        session: &str,
        result: &SubmitToolResult,
    ) -> Result<Session, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "tool-results"]).json(result)).await
    }

    pub async fn interrupt_session(&self, session: &str, stop: StopRun) -> Result<Session, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "interrupt"]).json(&stop)).await
    }

    pub async fn abort_session(&self, session: &str, stop: StopRun) -> Result<Session, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "abort"]).json(&stop)).await
    }

    pub async fn resume_session(&self, session: &str, resume: ResumeSession) -> Result<Session, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "resume"]).json(&resume)).await
    }

    pub async fn rewind_session(&self, session: &str, step: u32) -> Result<Session, Error> {
        let body = RewindSession { step };
        self.answer(self.request(Method::POST, &["sessions", session, "rewind"]).json(&body)).await
    }

    pub async fn branch_session(&self, session: &str, branch: &BranchSession) -> Result<Session, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "branch"]).json(branch)).await
    }

    pub async fn upgrade_session(&self, session: &str) -> Result<UpgradedSession, Error> {
        self.answer(self.request(Method::POST, &["sessions", session, "upgrade"])).await
    }

    /// One page, in their order.
    pub async fn session_steps(&self, session: &str, after: u32) -> Result<SessionStepPage, Error> {
        let request = self.request(Method::GET, &["sessions", session, "steps"]);
        self.answer(request.query(&[("after", after)])).await
    }

    pub async fn step_context(&self, session: &str, step: u32) -> Result<StepContext, Error> {
        let step = step.to_string();
        self.answer(self.request(Method::GET, &["sessions", session, "steps", &step, "context"])).await
    }
}
