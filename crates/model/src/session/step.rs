//! Steps: one call of the model with the tool calls that it asked for.
//!
//! A call and its result are one value, [`ToolCall`], and the text of an answer names calls by their place in the step
//! ([`Block::Call`]). A call without a place for its result cannot be written down (A8).
//!
//! ```text
//!   step:   asking ── answer ──▶ acting ── every call closed ──▶ closed
//!
//!   call:   waiting(turn | approval | client | answer) ─▶ started(epoch) ─▶ closed(done | failed | denied | unknown)
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text_enum::text_enum;
use crate::{ApprovalId, SessionId, SessionMessageId, Timestamp};

/// A model by its provider and its name there, written `provider/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName {
    /// As the config names it, such as `anthropic`.
    pub provider: String,
    /// As the provider names it. May contain `/`.
    pub model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a model is written `provider/name`, such as `anthropic/claude-sonnet-4-5` or `scripted/hello`")]
pub struct InvalidModelName;

impl std::str::FromStr for ModelName {
    type Err = InvalidModelName;

    fn from_str(text: &str) -> Result<Self, InvalidModelName> {
        let (provider, model) = text.split_once('/').ok_or(InvalidModelName)?;
        let is_word =
            |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-' || one == '_';
        let is_provider = (1..=64).contains(&provider.len()) && provider.chars().all(is_word);
        let is_model = (1..=200).contains(&model.chars().count())
            && !model.chars().any(|one| one.is_control() || one.is_whitespace());
        if !is_provider || !is_model {
            return Err(InvalidModelName);
        }
        Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl TryFrom<String> for ModelName {
    type Error = InvalidModelName;

    fn try_from(text: String) -> Result<Self, InvalidModelName> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Whose opaque blocks these are: they are sent back to the same provider, account and model, and to no other (A13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOrigin {
    pub model: ModelName,
    /// A fingerprint of the key with which it was called; never the key.
    pub account: String,
}

/// What a provider wants back byte for byte: reasoning with its signature, encrypted content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    pub origin: ModelOrigin,
    pub data: Value,
}

/// A part of what a model answered, in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Reasoning {
        /// What may be shown; may be empty.
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// The tool call at this place of the step's list.
    Call {
        index: u32,
    },
    /// Something else that only its provider understands.
    Other {
        opaque: Opaque,
    },
}

text_enum! {
    /// Why a model stopped.
    StopReason {
        /// It had said everything.
        EndTurn = "end_turn",
        /// It wants tools to be called.
        ToolUse = "tool_use",
        /// It reached the most tokens that it may write.
        MaxTokens = "max_tokens",
        StopSequence = "stop_sequence",
        /// It wants to be called again with what it said so far.
        PauseTurn = "pause_turn",
        Refusal = "refusal",
        ContentFilter = "content_filter",
        /// What it was shown is longer than it can read.
        ContextWindow = "context_window",
        Other = "other",
    }
}

/// Tokens of one or more calls, as the provider told them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// Everything that was read, from the cache or not.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_tokens: u64,
    /// Everything that was written, reasoning included.
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
}

impl TokenUsage {
    pub const fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}

text_enum! {
    /// Who carries out a call.
    ToolPlace {
        /// Warren, in the session's workspace.
        Workspace = "workspace",
        /// The session itself, from what it holds.
        Session = "session",
        /// The caller: its result is handed in.
        Client = "client",
        /// A person answers.
        Person = "person",
        /// No such tool: the model is told so.
        Unknown = "unknown",
    }
}

/// What a call waits for before it is begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum CallWait {
    /// Its turn: others hold what it needs, or enough run already.
    Turn,
    /// A person's decision.
    Approval { approval_id: ApprovalId, expires_at: Timestamp },
    /// The caller, who runs it.
    Client,
    /// The user, who is asked something.
    Answer,
}

text_enum! {
    /// What a new owner does about a call that an earlier one had begun.
    StartMode {
        /// It is carried out from its beginning.
        Run = "run",
        /// The tool is asked how far it came.
        Probe = "probe",
        /// It still runs; its end is waited for.
        Attach = "attach",
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CallState {
    Waiting(CallWait),
    /// Written before it is begun. Whoever finds it under an older epoch does not know how far it came.
    Started {
        epoch: u64,
        attempt: u32,
        how: StartMode,
    },
    Closed(CallOutcome),
}

/// What a call gave. There is exactly one for each call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CallOutcome {
    Done {
        result: ToolResult,
    },
    /// The tool says that it did not work; the model is told.
    Failed {
        result: ToolResult,
    },
    Denied {
        reason: String,
    },
    /// It was begun, and nobody knows how it ended; with what is known.
    Unknown {
        evidence: String,
    },
}

text_enum! {
    OutcomeKind {
        Done = "done",
        Failed = "failed",
        Denied = "denied",
        Unknown = "unknown",
    }
}

impl CallOutcome {
    pub const fn kind(&self) -> OutcomeKind {
        match self {
            Self::Done { .. } => OutcomeKind::Done,
            Self::Failed { .. } => OutcomeKind::Failed,
            Self::Denied { .. } => OutcomeKind::Denied,
            Self::Unknown { .. } => OutcomeKind::Unknown,
        }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed { result: ToolResult::text(text) }
    }
}

/// What a tool gave. A string stays a raw string, on its way to every model (A20).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// What the model is shown: all of it, or its beginning.
    pub value: Value,
    /// How long the whole is, where `value` is only its beginning; the rest is read with `read_result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_bytes: Option<u64>,
    /// What it changes in the session's state, by name (A21).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, Value>,
}

impl ToolResult {
    pub fn new(value: Value) -> Self {
        Self { value, whole_bytes: None, state: BTreeMap::new() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Value::String(text.into()))
    }

    /// As a model reads it: a string as it is, anything else as JSON.
    pub fn to_text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// What was decided about a call, by a rule or by a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// By the policies, or because none speaks against it.
    Allowed,
    Approved {
        by: String,
        /// What the person changed the arguments to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    Denied {
        by: String,
        reason: String,
    },
}

/// A tool call and the place of its result, as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// As the model named it. Unique within its session.
    pub id: String,
    pub tool: String,
    pub place: ToolPlace,
    /// As the model wrote them; a string where they are no JSON.
    pub proposed: Value,
    /// The call may be repeated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_idempotent: bool,
    /// The tool can say how far a call came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_probe: bool,
    /// What it needs for itself while it runs (A25).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<String>,
    /// Absent as long as nobody decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    pub state: CallState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl ToolCall {
    pub const MAX_ID_BYTES: usize = 256;

    /// What it is carried out with: what a person changed the arguments to, or what the model wrote.
    pub fn effective(&self) -> &Value {
        match &self.decision {
            Some(Decision::Approved { arguments: Some(arguments), .. }) => arguments,
            Some(
                Decision::Approved { arguments: None, .. } | Decision::Allowed | Decision::Denied { .. },
            )
            | None => &self.proposed,
        }
    }

    pub const fn outcome(&self) -> Option<&CallOutcome> {
        match &self.state {
            CallState::Closed(outcome) => Some(outcome),
            CallState::Waiting(_) | CallState::Started { .. } => None,
        }
    }

    pub const fn is_closed(&self) -> bool {
        self.outcome().is_some()
    }
}

text_enum! {
    StepPhase {
        /// The model is asked.
        Asking = "asking",
        /// It has answered; its calls are under way.
        Acting = "acting",
        /// It answered, and every call has its outcome; or it gave no answer, and the run went on without.
        Closed = "closed",
    }
}

/// A step as it stands in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub session_id: SessionId,
    pub number: u32,
    pub run: u32,
    pub phase: StepPhase,
    /// The messages that the model was first shown with this step, in their order.
    pub messages: Vec<SessionMessageId>,
    /// Words of Warren's own to the model, such as a warning that it goes in circles.
    pub notices: Vec<String>,
    /// How often the model was asked.
    pub attempt: u32,
    /// How often in a row the model that is asked now gave no usable answer. A crash of Warren's own does not count.
    pub failed_attempts: u32,
    /// The epoch of the lease under which the latest attempt was begun; absent once it has ended.
    pub asked_under: Option<u64>,
    /// Which of the agent's models is asked: 0 is the first, others are its fallbacks.
    pub model_index: u32,
    /// The provider's name for an answer that can be taken up again after a cut (A12).
    pub resume_token: Option<Value>,
    /// The hash of what the model was asked with besides the conversation: instructions, tools, parameters (A19).
    pub request_head: Option<String>,
    /// Who answered.
    pub origin: Option<ModelOrigin>,
    pub blocks: Vec<Block>,
    pub calls: Vec<ToolCall>,
    pub stop_reason: Option<StopReason>,
    /// Of every attempt together.
    pub usage: TokenUsage,
    pub cost_micros: u64,
    /// The session's state after this step, where the step changed it.
    pub state: Option<BTreeMap<String, Value>>,
    /// Which entries of the session's stream held which piece of the answer, in their order (A62).
    pub deltas: Vec<DeltaMark>,
    pub started_at: Timestamp,
    pub answered_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// An entry of the stream that held a piece of an answer: from where the entry before it ended to this byte of the block.
/// Written `[sequence, block, end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u32, u32)", into = "(u64, u32, u32)")]
pub struct DeltaMark {
    pub sequence: u64,
    pub block: u32,
    pub end: u32,
}

impl From<(u64, u32, u32)> for DeltaMark {
    fn from((sequence, block, end): (u64, u32, u32)) -> Self {
        Self { sequence, block, end }
    }
}

impl From<DeltaMark> for (u64, u32, u32) {
    fn from(mark: DeltaMark) -> Self {
        (mark.sequence, mark.block, mark.end)
    }
}

impl Step {
    pub fn call(&self, id: &str) -> Option<&ToolCall> {
        self.calls.iter().find(|call| call.id == id)
    }
}
