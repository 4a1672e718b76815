use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// What went wrong (RFC 9457). Match on `code`; the sentences may change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where the code is explained, relative to the server.
    #[serde(rename = "type")]
    pub kind: String,
    /// A fixed sentence for the code.
    pub title: String,
    pub status: u16,
    /// Stable; see the error reference.
    pub code: String,
    /// What it was about in this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do about it.
    pub remedy: String,
    /// Variables that must be set first, where that is what is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<crate::MissingEnv>,
    /// The agent keeps its own session: nothing was queued for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_session: Option<bool>,
    /// Finds the log lines of this request.
    pub request_id: String,
}
