//! What a model is shown, in no provider's words. A call without its result cannot be put into it (A8).

use std::sync::Arc;

use serde_json::Value;

use super::{Block, CallOutcome, ModelName, ModelOrigin};
use crate::Part;
use crate::text_enum::text_enum;

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    pub model: ModelName,
    /// Empty where there is nothing to say.
    pub system: String,
    /// Begins with a user's turn. Two of the same side may follow each other.
    /// Shared with whoever keeps the conversation: it is not copied for each question.
    pub turns: Vec<Arc<Turn>>,
    pub tools: Arc<[ToolOffer]>,
    pub max_output_tokens: Option<u32>,
    /// Where it can be chosen: `low`, `medium`, `high` …
    pub effort: Option<String>,
    /// What the answer has to look like, as a JSON schema.
    pub output_schema: Option<Value>,
    /// Provider's own parameters, added as they are.
    pub extra: serde_json::Map<String, Value>,
}

text_enum! {
    /// Where something that a model is shown comes from.
    ContextOrigin {
        /// The agent's instructions, and what its last answer has to look like.
        System = "system",
        /// What the tools are.
        Tools = "tools",
        /// What people and other agents said.
        User = "user",
        /// What the model said before.
        Assistant = "assistant",
        /// What calls gave.
        Results = "results",
    }
}

/// How much of what a model was shown comes from one origin (A19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextShare {
    pub origin: ContextOrigin,
    pub bytes: u64,
    /// Of the tokens that the provider counted in all; it does not tell them apart, so that these follow the bytes. Absent where
    /// it has not counted.
    pub tokens: Option<u64>,
}

/// What a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}

/// What one side said.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    User(Vec<Part>),
    /// An answer with its calls and their outcomes. `Block::Call` names a place in `calls`.
    Assistant {
        origin: Option<ModelOrigin>,
        blocks: Vec<Block>,
        calls: Vec<ClosedCall>,
    },
}

/// A call with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedCall {
    pub id: String,
    pub tool: String,
    /// As the model wrote them.
    pub arguments: Value,
    pub outcome: CallOutcome,
}
