//! Sessions: durable conversations with an agent (A2, A3).
//!
//! ```text
//!                    message                      answer without calls
//!   idle ────────────────────────▶ active ────────────────────────────▶ completed
//!   completed, failed,             │  ▲  │                 cannot go on ─▶ failed
//!   interrupted: the same          │  │  └─────────────────── interrupt ─▶ interrupted ── resume ─▶ active
//!                    has to wait   ▼  │ decision, result, time, money
//!                               suspended(why)
//! ```
//!
//! What is stored is the [`Phase`]. Whether an active session *runs* is decided by its lease: somebody works on it as
//! long as that is live, and from then on anybody may go on ([`Session::status`]).
//!
//! A **run** is one stretch of a session, from the message that began it to its end; a **step** is one call of the model
//! with the tool calls that it asked for. Which steps a model is shown is told by the session's [`Lineage`], so that a
//! branch or a way back copies nothing.

mod lineage;
mod queue;
mod request;
mod step;
mod stream;

pub use lineage::{Lineage, StepSpan};
pub use queue::{BusyMode, DropReason, QueuedState, SessionMessage};
pub use request::{ClosedCall, ContextOrigin, ContextShare, ModelRequest, ToolOffer, Turn};
pub use step::{
    Block, CallOutcome, CallState, CallWait, Decision, DeltaMark, InvalidModelName, ModelName, ModelOrigin,
    Opaque, OutcomeKind, StartMode, Step, StepPhase, StopReason, TokenUsage, ToolCall, ToolPlace, ToolResult,
};
pub use stream::{StreamEntry, StreamItem};

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text_enum::text_enum;
use crate::{AgentVersion, OrgId, Principal, SessionId, Timestamp, WorkspaceId};

/// What a session is called at the edge: 1 to 128 of `A-Z a-z 0-9 . _ : -`, chosen by whoever began it, or its id (A72).
/// Unique within an org.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session's name has 1 to 128 of A-Z, a-z, 0-9, `.`, `_`, `:`, `-`")]
pub struct InvalidSessionName;

impl SessionName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = InvalidSessionName;

    fn from_str(text: &str) -> Result<Self, InvalidSessionName> {
        let is_plain = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'.' | b'_' | b':' | b'-');
        let is_name = (1..=128).contains(&text.len()) && text.bytes().all(is_plain);
        // `.` and `..` would be taken for directories in an address.
        let is_directory = matches!(text, "." | "..");
        if is_name && !is_directory { Ok(Self(text.to_owned())) } else { Err(InvalidSessionName) }
    }
}

impl From<SessionId> for SessionName {
    fn from(id: SessionId) -> Self {
        Self(id.to_string())
    }
}

impl TryFrom<String> for SessionName {
    type Error = InvalidSessionName;

    fn try_from(text: String) -> Result<Self, InvalidSessionName> {
        text.parse()
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_enum! {
    /// What a suspended session waits for. It holds no process, thread or socket meanwhile.
    Suspension {
        /// A person has to decide about a tool call.
        Approval = "approval",
        /// The caller has to run a tool and hand in its result.
        ClientTool = "client_tool",
        /// The user has to answer a question.
        Input = "input",
        /// A moment has to come.
        Timer = "timer",
        /// A person has to allow more money, tokens, steps or time.
        Budget = "budget",
        /// It went in circles; a person has to say how to go on.
        Stuck = "stuck",
        /// Its workspace is paused or asleep.
        Workspace = "workspace",
    }
}

text_enum! {
    /// Why a run failed.
    FailureKind {
        /// The model could not be reached, or gave no usable answer, after every retry and fallback.
        Model = "model",
        /// The model's provider refuses the request: wrong key, unknown model, too long.
        ModelRefused = "model_refused",
        /// No provider or key is configured for the model.
        NoModel = "no_model",
        /// The agent's last answer does not fit its output schema, also after it was told so.
        Output = "output",
        /// Somebody aborted it.
        Aborted = "aborted",
        /// The agent's definition cannot be used any more.
        Agent = "agent",
        /// Warren itself could not go on.
        Internal = "internal",
    }
}

impl Suspension {
    /// Whether it waits for somebody to give a call its decision or result.
    pub const fn is_for_calls(self) -> bool {
        match self {
            Self::Approval | Self::ClientTool | Self::Input => true,
            Self::Timer | Self::Budget | Self::Stuck | Self::Workspace => false,
        }
    }
}

/// Why a run failed, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailure {
    pub kind: FailureKind,
    /// A public sentence.
    pub message: String,
}

/// What is stored of how far a session is. Whether it runs follows from its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing was said yet.
    Idle,
    /// There is work that somebody has to do.
    Active,
    Suspended {
        by: Suspension,
        /// For people: what it waits for.
        reason: String,
    },
    Completed {
        finish: StopReason,
    },
    Failed {
        failure: SessionFailure,
    },
    /// Somebody stopped it at a safe point; it can be resumed.
    Interrupted,
}

impl Phase {
    pub const fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }

    pub const fn kind(&self) -> PhaseKind {
        match self {
            Self::Idle => PhaseKind::Idle,
            Self::Active => PhaseKind::Active,
            Self::Suspended { .. } => PhaseKind::Suspended,
            Self::Completed { .. } => PhaseKind::Completed,
            Self::Failed { .. } => PhaseKind::Failed,
            Self::Interrupted => PhaseKind::Interrupted,
        }
    }

    /// Whether a run is under way, working or waiting.
    pub const fn has_run(&self) -> bool {
        matches!(self, Self::Active | Self::Suspended { .. })
    }
}

text_enum! {
    /// The word of a [`Phase`], by which sessions are listed.
    PhaseKind {
        Idle = "idle",
        Active = "active",
        Suspended = "suspended",
        Completed = "completed",
        Failed = "failed",
        Interrupted = "interrupted",
    }
}

text_enum! {
    /// What people are told about a session.
    SessionStatus {
        Idle = "idle",
        /// Somebody holds its lease and works on it.
        Running = "running",
        Suspended = "suspended",
        Completed = "completed",
        Failed = "failed",
        Interrupted = "interrupted",
    }
}

/// Who works on a session, and until when that counts (A2). Each new owner raises the epoch, and whatever is written
/// names the epoch it was begun under, so that an owner who froze cannot write late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLease {
    pub owner: String,
    pub epoch: u64,
    pub expires_at: Timestamp,
}

/// Somebody asked for a run to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    pub kind: StopKind,
    /// Tools that still run then are cut.
    pub deadline: Timestamp,
    pub by: Principal,
}

text_enum! {
    StopKind {
        /// Stop at the next safe point; it can be resumed.
        Interrupt = "interrupt",
        /// Fail now.
        Abort = "abort",
    }
}

/// What a run may use at most; absent: no limit of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Millionths of the currency's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
}

/// What a run has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    pub cost_micros: u64,
    pub tokens: u64,
    pub steps: u32,
    pub tool_calls: u32,
    /// Time in which it worked; waiting for people does not count.
    pub active_ms: u64,
    /// How long the conversation is for the model, as far as is known: what the latest answer was given and what it said.
    #[serde(default)]
    pub context_tokens: u64,
}

/// What a run did lately, to notice that it goes in circles (A15).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopWatch {
    /// Fingerprints of the latest steps: their calls with what came of them.
    pub recent: Vec<String>,
    /// Steps in a row that were nothing new.
    pub stale_steps: u32,
    /// A fingerprint of the latest error of a tool, and how often it came in a row.
    pub error: String,
    pub same_errors: u32,
    /// Last answers in a row that did not fit the agent's output schema.
    pub bad_outputs: u32,
}

/// A session's row: everything but its steps, messages and stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub org_id: OrgId,
    /// Where its tools work, and whose budget it spends.
    pub workspace_id: WorkspaceId,
    pub name: SessionName,
    /// For people; the beginning of the first message unless somebody chose one.
    pub title: String,
    pub created_by: Principal,
    /// The version that it keeps until somebody upgrades it (A6).
    pub agent: AgentVersion,
    pub phase: Phase,
    /// Raised by whatever makes earlier decisions void: an abort, a way back, an upgrade (A30).
    pub generation: u64,
    /// The number of the latest run, from 1; 0 before the first.
    pub run: u32,
    /// The highest number that was given to a step; never used again.
    pub last_step: u32,
    /// The step that is not closed yet.
    pub open_step: Option<u32>,
    /// The closed steps that a model is shown.
    pub lineage: Lineage,
    /// What the agent keeps for itself (A21).
    pub state: BTreeMap<String, Value>,
    pub stop: Option<StopRequest>,
    /// Limits of the run under way, raised by a person where they were reached.
    pub limits: RunLimits,
    pub usage: RunUsage,
    /// Over all runs.
    pub total_usage: RunUsage,
    /// Added to the workspace's spending before the model was called, and not settled yet (A14).
    pub reserved_micros: u64,
    /// When that was: it is taken back from the spending of the same month.
    pub reserved_at: Option<Timestamp>,
    pub loop_watch: LoopWatch,
    /// When a timer, a retry or an expiry is due.
    pub wake_at: Option<Timestamp>,
    pub lease: Option<SessionLease>,
    /// The epoch of the latest lease; it only grows.
    pub epoch: u64,
    /// The sequence of the latest entry of its stream (A60). In a list of sessions, pieces of an answer that is under way
    /// may stand behind it.
    pub latest_sequence: u64,
    /// What it was branched from.
    pub branched_from: Option<(SessionId, u32)>,
    /// Raised by every write.
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What a session is told when it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStart {
    pub id: SessionId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    pub created_by: Principal,
    pub agent: AgentVersion,
    pub state: BTreeMap<String, Value>,
    pub limits: RunLimits,
    pub now: Timestamp,
}

impl Session {
    pub const MAX_TITLE_CHARACTERS: usize = 200;

    /// A session that waits for its first message, called by its id.
    pub fn start(start: SessionStart) -> Self {
        let SessionStart { id, org_id, workspace_id, created_by, agent, state, limits, now } = start;
        Self {
            id,
            org_id,
            workspace_id,
            name: SessionName::from(id),
            title: String::new(),
            created_by,
            agent,
            phase: Phase::Idle,
            generation: 1,
            run: 0,
            last_step: 0,
            open_step: None,
            lineage: Lineage::default(),
            state,
            stop: None,
            limits,
            usage: RunUsage::default(),
            total_usage: RunUsage::default(),
            reserved_micros: 0,
            reserved_at: None,
            loop_watch: LoopWatch::default(),
            wake_at: None,
            lease: None,
            epoch: 0,
            latest_sequence: 0,
            branched_from: None,
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// What people are told now. An active session that nobody works on is idle: it is due, and anybody may claim it.
    pub fn status(&self, now: Timestamp) -> SessionStatus {
        match &self.phase {
            Phase::Idle => SessionStatus::Idle,
            Phase::Active if self.has_live_lease(now) => SessionStatus::Running,
            Phase::Active => SessionStatus::Idle,
            Phase::Suspended { .. } => SessionStatus::Suspended,
            Phase::Completed { .. } => SessionStatus::Completed,
            Phase::Failed { .. } => SessionStatus::Failed,
            Phase::Interrupted => SessionStatus::Interrupted,
        }
    }

    /// Whether somebody is to take it up: it is active and nobody works on it.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.phase == Phase::Active && !self.has_live_lease(now)
    }

    pub fn has_live_lease(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.expires_at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A72
    #[test]
    fn a_session_is_named_by_plain_characters_only() {
        for good in ["a", "chat-1", "A.b_c:d-9", &"x".repeat(128)] {
            assert!(good.parse::<SessionName>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a b", "a/b", "ä", "a\n", "a\u{0}", &"x".repeat(129)] {
            assert!(bad.parse::<SessionName>().is_err(), "{bad:?}");
        }
    }
}
