//! What can happen to a session.

use serde_json::Value;
use warren_model::session::{
    Block, CallOutcome, DeltaMark, ModelOrigin, RunLimits, SessionMessage, StopReason, StopRequest,
    TokenUsage, ToolPlace,
};
use warren_model::{ApprovalId, SessionMessageId};

/// One thing that happened, or that somebody asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Somebody says something. Its state is `Queued`.
    Message(SessionMessage),
    /// Whoever sent a message takes it back.
    CancelMessage(SessionMessageId),
    /// The owner looks what is to be done: after it took the lease, and after others changed the session.
    Continue,
    /// The model's provider can take this answer up again after a cut, under this name (A12).
    Resumable { step: u32, attempt: u32, token: Value },
    /// The model answered.
    Answered { step: u32, attempt: u32, answer: ReceivedAnswer },
    /// The model gave no usable answer.
    AskFailed { step: u32, attempt: u32, failure: ModelFailure },
    /// A call ended.
    CallEnded { step: u32, index: u32, attempt: u32, outcome: CallOutcome },
    /// A tool said how far a call came that an earlier owner had begun.
    CallProbed { step: u32, index: u32, attempt: u32, finding: CallFinding },
    /// A person, or time, decided about a call.
    Decided { approval_id: ApprovalId, decision: PersonDecision },
    /// The caller ran its tool, or the user answered.
    HandedIn { call_id: String, outcome: CallOutcome },
    /// Somebody wants the run to stop.
    Stop { run: u32, request: StopRequest },
    /// Somebody wants it to go on, perhaps with other limits.
    Resume { limits: Option<RunLimits> },
    /// Its workspace was paused, woken or removed.
    WorkspaceChanged,
    /// Somebody wants an interrupted run to be over, so that the session can go back.
    EndInterrupted,
    /// Time went by.
    Time,
}

/// A whole answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedAnswer {
    /// The hash of what the model was asked with besides the conversation, where that was kept.
    pub request_head: Option<String>,
    pub origin: ModelOrigin,
    pub blocks: Vec<Block>,
    pub calls: Vec<ProposedCall>,
    pub stop_reason: StopReason,
    pub usage: TokenUsage,
    pub cost_micros: u64,
    /// Which entries of the stream held which piece of it.
    pub deltas: Vec<DeltaMark>,
    /// Why it does not fit the agent's output schema, if it is to be the last and does not.
    pub problem: Option<String>,
}

/// A call that the model asks for, with what is known about its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    pub tool: String,
    pub place: ToolPlace,
    pub arguments: Value,
    /// Why it cannot be carried out: no such tool, arguments that do not fit.
    pub problem: Option<String>,
    pub is_idempotent: bool,
    pub can_probe: bool,
    pub exclusive: Vec<String>,
    /// Under which people are asked, if they have to be.
    pub approval_id: ApprovalId,
}

/// Why a model gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFailure {
    pub trouble: ModelTrouble,
    /// A public sentence.
    pub message: String,
    /// An answer that had been cut before was taken up again. The next try begins a new one.
    pub was_resumed: bool,
    /// What it cost all the same.
    pub usage: TokenUsage,
    pub cost_micros: u64,
}

/// What can be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTrouble {
    /// Asked again later; the provider may say when.
    Passing { after_ms: Option<u64> },
    /// This model does not answer this request, however often.
    Refused,
    /// No key or no such provider.
    NotConfigured,
}

/// How far a call came that an earlier owner had begun (A4).
#[derive(Debug, Clone, PartialEq)]
pub enum CallFinding {
    NeverStarted,
    Running,
    Ended(CallOutcome),
    Unknown { evidence: String },
}

/// What became of a question to people.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonDecision {
    Approve {
        by: String,
        /// Other arguments, and why they cannot be used, if they cannot.
        edited: Option<(Value, Option<String>)>,
        note: Option<String>,
    },
    Deny {
        by: String,
        reason: String,
    },
    Expired,
}

/// Why an input is refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a run is under way")]
    Busy,
    #[error("the message was delivered or dropped already")]
    MessageOver,
    #[error("no call waits for this")]
    NotPending,
    #[error("the edited arguments cannot be used: {0}")]
    BadEdit(String),
    #[error("that run is not under way; the latest is {latest}")]
    StaleRun { latest: u32 },
    #[error("there is still nothing left to go on with: {0}")]
    StillSpent(String),
    #[error("there is nothing to resume")]
    NothingToResume,
    #[error("the session has no step {0} to go back to")]
    NoSuchStep(u32),
}
