//! What happens in a session: its steps with their calls, what the model was shown, and the entries of its stream.

use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::MessagePart;

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionCallOutcome {
    /// `done`, `failed`, `denied` or `unknown` (begun, and nobody knows how it ended).
    pub kind: String,
    /// What the model is told.
    pub result: Value,
    /// How long the whole result is, where `result` is only its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_bytes: Option<u64>,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCallDecision {
    /// `allowed` (by the policies), `approved` or `denied`.
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The note, or the reason of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionCall {
    /// As the model named it. Unique within its session.
    pub id: String,
    pub tool: String,
    /// Who carries it out: `workspace`, `session`, `client`, `person` or `unknown`.
    pub place: String,
    /// As the model wrote them; a string where they are no JSON.
    pub proposed: Value,
    /// What it is carried out with: what a person changed the arguments to, or what the model wrote.
    pub arguments: Value,
    /// Absent as long as nobody decided.
    pub decision: Option<SessionCallDecision>,
    /// `waiting`, `started` or `closed`.
    pub state: String,
    /// What it waits for: `turn`, `approval`, `client` or `answer`.
    pub waits_for: Option<String>,
    #[schema(format = "uuid")]
    pub approval_id: Option<String>,
    pub outcome: Option<SessionCallOutcome>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
}

/// Tokens, as the provider told them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    /// Everything that was read, from the cache or not.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_tokens: u64,
    /// Everything that was written, reasoning included.
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
}

/// A part of what a model answered. What only its provider understands is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnswerBlock {
    Text { text: String },
    Reasoning { text: String },
    Call { call_id: String },
}

/// One call of the model with the tool calls that it asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStep {
    pub number: u32,
    /// The session in which it was taken: this one, or the one it was branched from.
    #[schema(format = "uuid")]
    pub session_id: String,
    pub run: u32,
    /// `asking`, `acting` or `closed`.
    pub phase: String,
    /// How often the model was asked.
    pub attempt: u32,
    /// Who answered, `provider/name`.
    pub model: Option<String>,
    /// The messages that the model was first shown with this step.
    pub messages: Vec<String>,
    pub blocks: Vec<AnswerBlock>,
    pub calls: Vec<SessionCall>,
    pub stop_reason: Option<String>,
    pub usage: TokenUsage,
    /// Millionths of the currency's unit.
    pub cost_micros: u64,
    pub started_at: String,
    pub answered_at: Option<String>,
    pub ended_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStepPage {
    pub items: Vec<SessionStep>,
    /// Pass as `after` for the next page; absent on the last.
    pub next_after: Option<u32>,
}

/// A place to go back to, or to branch from: the end of a step. It is a number; nothing is copied for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checkpoint {
    pub step: u32,
    /// The session in which the step was taken: this one, or one that it was branched from.
    pub session_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointPage {
    pub items: Vec<Checkpoint>,
    /// Pass as `after` for the next page; absent on the last.
    pub next_after: Option<u32>,
}

/// What one side said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ContextTurn {
    User { parts: Vec<MessagePart> },
    Assistant { blocks: Vec<AnswerBlock>, calls: Vec<ContextCall> },
}

/// A call with its outcome, as the model is shown it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContextCall {
    pub id: String,
    pub tool: String,
    pub arguments: Value,
    pub outcome: SessionCallOutcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContextTool {
    pub name: String,
    pub description: String,
    #[schema(value_type = Object)]
    pub input_schema: Value,
}

/// What the model was shown for a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepContext {
    pub model: String,
    pub system: String,
    pub turns: Vec<ContextTurn>,
    pub tools: Vec<ContextTool>,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<String>,
    pub output_schema: Option<Value>,
    /// The provider's own.
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
    /// What took how much of it.
    #[serde(default)]
    #[schema(required = true)]
    pub shares: Vec<ContextShare>,
    /// What the provider counted, over every attempt; absent where the step has no answer yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// False where the step has no answer yet: this is what the model would be asked with now.
    #[serde(default)]
    #[schema(required = true)]
    pub was_asked: bool,
}

/// How much of what a model was shown comes from one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextShare {
    pub origin: ContextOrigin,
    pub bytes: u64,
    /// Of the tokens that the provider counted in all, in proportion to the bytes: no provider tells them apart. Absent
    /// where it has not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextOrigin {
    /// Instructions, and what the last answer has to look like.
    System,
    /// What the tools are.
    Tools,
    /// What people and other agents said.
    User,
    /// What the model said before.
    Assistant,
    /// What calls gave.
    Results,
}

/// One entry of a session's stream.
///
/// `type` is one of `run_started`, `message_delivered`, `step_started`, `step_reset`, `text_delta`, `reasoning_delta`,
/// `call_delta`, `step_answered`, `call_proposed`, `approval_requested`, `call_decided`, `call_offered`, `call_started`,
/// `call_output`, `call_ended`, `step_ended`, `state_changed`, `suspended`, `resumed`, `rewound`,
/// `interrupted`, `run_ended`. Other
/// fields belong to the type. A stream that must end before its reader wants it to says `closing` with a `code`, without
/// a sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionEntry {
    /// From 1; resume behind it.
    #[serde(default)]
    #[schema(required = true)]
    pub sequence: u64,
    #[serde(default)]
    #[schema(required = true)]
    pub at: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(flatten)]
    pub fields: BTreeMap<String, Value>,
}
