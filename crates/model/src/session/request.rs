//! What a model is shown, in no provider's words. A call without its result cannot be put into it (A8).

use std::sync::Arc;

use serde_json::Value;

use super::{Block, CallOutcome, ModelName, ModelOrigin};
use crate::Part;

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
