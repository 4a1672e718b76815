use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::Principal;

/// With whom something is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Nobody: the workspace's own.
    Local,
    /// The workspace's parent and all below it.
    Team,
    /// Every workspace of the org.
    Org,
}

/// Something to be remembered, in place of what is there under its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Credentials in it are masked before it is written.
    pub value: String,
    /// Forgotten after so long; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<u32>,
    /// The task in which it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub task_id: Option<String>,
    /// Only if this is still the version that is there; 0: only if nothing is. Absent: the last write counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Memory {
    #[schema(format = "uuid")]
    pub id: String,
    pub scope: MemoryScope,
    pub key: String,
    pub value: String,
    /// Also the ETag.
    pub version: u64,
    /// How many credentials were masked in it.
    pub masked: u32,
    /// Who wrote it last.
    pub author: Principal,
    /// The workspace through which it was written last.
    #[schema(format = "uuid")]
    pub workspace_id: String,
    #[schema(format = "uuid")]
    pub task_id: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub expires_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryPage {
    pub items: Vec<Memory>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// What a search found, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundMemories {
    pub items: Vec<Memory>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
