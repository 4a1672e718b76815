use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// A tool that a model can be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON Schema of its arguments.
    #[schema(value_type = Object)]
    pub input_schema: serde_json::Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolCatalog {
    pub tools: Vec<Tool>,
    /// A fragment for the system prompt.
    pub system_prompt: String,
}

/// A refusal by policy, in words a model can act on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolRefusal {
    pub kind: String,
    pub message: String,
    /// What would be allowed.
    pub allowed: String,
}

/// What a tool answered. Exactly one of the two is present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub result: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<ToolRefusal>,
}
