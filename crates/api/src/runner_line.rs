//! How a runner speaks to Warren where there is no network: one JSON document per line, on its output and input.
//!
//! ```text
//!          ◀── the join token ──           the first line, as it is
//!   runner ── RunnerRequest ──▶ Warren     what an HTTP request would say, to the same routes
//!          ◀── RunnerAnswer ──             with the id of the request; others are ignored
//! ```
//!
//! Lines that begin with `{"stream":` carry byte streams (`warren-line`). What carries the doors of a box alone asks nothing;
//! its first line is [`DOORS_ARE_OPEN`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line on either side. A runner keeps what it sends below it; Warren ends a line that is longer.
pub const MAX_RUNNER_LINE_BYTES: usize = 4 << 20;

/// Said by what carries the doors of a box, once programs can connect to them.
pub const DOORS_ARE_OPEN: &str = r#"{"doors":"open"}"#;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerRequest {
    pub id: u64,
    pub method: String,
    /// Below `/api/v1/`, with its query.
    pub path: String,
    /// The credential, as it would stand behind `Bearer`.
    pub token: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

/// Without the credential, and without what agents say.
impl std::fmt::Debug for RunnerRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, method, path, .. } = self;
        f.debug_struct("RunnerRequest")
            .field("id", id)
            .field("method", method)
            .field("path", path)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerAnswer {
    pub id: u64,
    pub status: u16,
    /// The document of the answer, or a problem.
    #[serde(default)]
    pub body: Value,
}
