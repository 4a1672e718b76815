//! What a model was asked with besides the conversation, kept once for each time it changed (A19).
//!
//! A step names its head by hash; the turns are built again from the steps, which never change.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warren_model::fingerprint;
use warren_model::session::{ModelName, ModelRequest, ToolOffer};

/// Half of a SHA-256: it stands in every step.
const HASH_CHARACTERS: usize = 32;

/// A head as it is written for the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredHead {
    pub(crate) hash: String,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    model: ModelName,
    system: String,
    tools: Vec<Tool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effort: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    extra: serde_json::Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Tool {
    name: String,
    description: String,
    input_schema: Value,
}

/// Everything of a request but its turns.
pub(crate) fn head_of(request: &ModelRequest) -> Option<StoredHead> {
    // Every field by name, so that a new one is not forgotten here.
    let ModelRequest { model, system, turns: _, tools, max_output_tokens, effort, output_schema, extra } =
        request.clone();
    let tool = |offer: &ToolOffer| Tool {
        name: offer.name.clone(),
        description: offer.description.clone(),
        input_schema: offer.input_schema.clone(),
    };
    let tools = tools.iter().map(tool).collect();
    let head = Head { model, system, tools, max_output_tokens, effort, output_schema, extra };
    let value = serde_json::to_value(head).ok()?;
    let hash: String = fingerprint(&value).chars().take(HASH_CHARACTERS).collect();
    Some(StoredHead { hash, bytes: value.to_string().into_bytes() })
}

/// A request with this head, and with the turns of another. Nothing if it cannot be read.
pub(crate) fn with_head(request: ModelRequest, bytes: &[u8]) -> Option<ModelRequest> {
    let Head { model, system, tools, max_output_tokens, effort, output_schema, extra } =
        serde_json::from_slice(bytes).ok()?;
    let offer = |tool: Tool| ToolOffer {
        name: tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
    };
    let tools = tools.into_iter().map(offer).collect();
    let turns = request.turns;
    Some(ModelRequest { model, system, turns, tools, max_output_tokens, effort, output_schema, extra })
}
