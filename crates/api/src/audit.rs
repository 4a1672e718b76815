use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// What something was done to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditTarget {
    /// `workspace`, `token`, `secret` or `secret_key`.
    pub kind: String,
    pub id: String,
}

/// Who did what to which. Nothing here changes once it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub at: String,
    pub org_id: String,
    /// `kind:id`
    pub principal: String,
    /// The token that was used; absent where Warren itself acts.
    pub token_id: Option<String>,
    pub token_prefix: Option<String>,
    /// Such as `workspace.removed`; a word never changes its meaning.
    pub action: String,
    pub target: AuditTarget,
    /// `done` or `refused`
    pub outcome: String,
    pub request_id: Option<String>,
    /// Names and counts; never a secret.
    #[schema(value_type = Object)]
    pub details: serde_json::Value,
    /// Of the entry before; zeros for the first.
    pub previous_hash: String,
    /// SHA-256 over everything above, in the encoding that the guide describes.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    pub items: Vec<AuditEntry>,
    pub next_cursor: Option<String>,
    /// Numbers of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// The end of the log. Noted elsewhere, it shows later whether the log was cut or written anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditHead {
    /// 0 for an empty log.
    pub seq: u64,
    pub hash: String,
}
