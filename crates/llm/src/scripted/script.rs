//! The format of a script, read strictly.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warren_model::session::{StopReason, TokenUsage};
use warren_model::{DocumentError, parse_yaml, read_document};

/// What a scripted model answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Those with a condition are tried first, in their order. Of those without, the first is the first answer of a
    /// conversation, the second is the second, and so on.
    #[serde(default)]
    pub turns: Vec<ScriptTurn>,
    /// Answers where no turn does. Absent: an error is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<ScriptTurn>,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptTurn {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// `{last_user}` and `{last_result}` stand for what was said last and what the last tool gave, `{conversation}` for a
    /// word that tells this conversation from every other, and from itself a turn later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ScriptCall>,
    /// Absent: counted as four bytes a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptUsage>,
    /// Absent: `tool_use` with calls, `end_turn` without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// Characters of one piece of the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_characters: Option<usize>,
    /// Milliseconds before each piece.
    pub delay_ms: u64,
    /// Comes before the answer, as often as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// When a turn answers. Everything that is named must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// The user spoke last, and said this; case does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_contains: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_contains: Option<String>,
    /// The last answer called this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_of: Option<String>,
    /// Some result of the last answer's calls (of `result_of`, where that is named) contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_contains: Option<String>,
    /// Some (true) or none (false) of those calls failed, was denied or is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_failed: Option<bool>,
    /// The tool was called before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_called: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_offered: Option<String>,
    /// So many answers were given since the user last spoke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    pub tool: String,
    /// In its texts the same is filled in as in the answer's.
    #[serde(default = "no_arguments")]
    pub arguments: Value,
    /// The text of the arguments as it is, to try what is no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
    /// Absent: made from the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

fn no_arguments() -> Value {
    serde_json::json!({})
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptUsage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
}

impl From<ScriptUsage> for TokenUsage {
    fn from(usage: ScriptUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: FaultKind,
    /// How often, before the turn answers.
    #[serde(default = "once")]
    pub times: u32,
    /// Pieces of the answer that come before it.
    #[serde(default)]
    pub after_chunks: usize,
    /// Of `status`.
    #[serde(default = "internal_error")]
    pub status: u16,
    /// The type of the error, in the words of the wire. Of `error`, and of `status` where it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
}

const fn once() -> u32 {
    1
}

const fn internal_error() -> u16 {
    500
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// An error instead of an answer.
    Status,
    /// An error in mid-stream.
    Error,
    /// The connection ends.
    Cut,
    /// The stream ends in good order, without its closing event.
    Truncated,
    /// Something that is not of the wire.
    Garbage,
    /// Pings for ever.
    Pings,
    /// Nothing more comes, and the connection stays.
    Silence,
    /// Not even the head of an answer comes.
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("the script cannot be read: {0}")]
    Document(#[from] DocumentError),
    #[error("the script has no turn and no `otherwise`")]
    Empty,
    #[error("{place}: a turn answers with `text`, `reasoning` or `calls`")]
    SaysNothing { place: String },
    #[error("{place}: `arguments` must be an object; use `raw_arguments` for anything else")]
    Arguments { place: String },
    #[error("otherwise: `when` has no meaning here")]
    ConditionalOtherwise,
}

impl Script {
    /// Reads YAML, which JSON is a part of.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let script: Self = read_document(parse_yaml(text)?)?;
        if script.turns.is_empty() && script.otherwise.is_none() {
            return Err(ScriptError::Empty);
        }
        if script.otherwise.as_ref().is_some_and(|turn| turn.when.is_some()) {
            return Err(ScriptError::ConditionalOtherwise);
        }
        let named = script.turns.iter().enumerate().map(|(at, turn)| (format!("turns[{at}]"), turn));
        let last = script.otherwise.iter().map(|turn| ("otherwise".to_owned(), turn));
        for (place, turn) in named.chain(last) {
            let says_nothing = turn.text.is_none() && turn.reasoning.is_none() && turn.calls.is_empty();
            if says_nothing && turn.fault.is_none() {
                return Err(ScriptError::SaysNothing { place });
            }
            let is_wrong = |call: &ScriptCall| !call.arguments.is_object();
            if let Some(at) = turn.calls.iter().position(is_wrong) {
                return Err(ScriptError::Arguments { place: format!("{place}.calls[{at}]") });
            }
        }
        Ok(script)
    }
}
