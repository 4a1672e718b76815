//! Agents as people store them.

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::Principal;

/// One version of a stored agent. It never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StoredAgent {
    pub name: String,
    /// Of the content: the same content is the same version.
    pub hash: String,
    /// With the defaults filled in.
    #[schema(value_type = Object)]
    pub definition: serde_json::Value,
    /// When this content was stored first.
    pub created_at: String,
    pub created_by: Principal,
}

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentSummary {
    pub name: String,
    /// Of the version that the name stands for now.
    pub hash: String,
    /// `provider/name`.
    pub model: String,
    pub description: String,
    pub created_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPage {
    pub items: Vec<AgentSummary>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Names of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
