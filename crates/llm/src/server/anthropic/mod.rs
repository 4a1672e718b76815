//! Anthropic Messages, as a server.

mod check;
mod render;

use serde_json::json;
use warren_model::fingerprint;

pub(super) use check::{check, version};
pub(super) use render::{frames, whole};

/// What stands for the provider's signature of a thought.
fn signature(thought: &str) -> String {
    format!("sig_{}", fingerprint(&json!(thought)))
}
