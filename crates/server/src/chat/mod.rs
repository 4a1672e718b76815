//! The AI SDK's UI message stream, version 1, in the dialects of its majors 5, 6 and 7 (A61, S31).
//!
//! ```text
//!   entries of a session's stream ─▶ chunks: one run of a session is one assistant message
//!   POST of a chat client ─▶ request: what is new in it, and nothing of the history it tells
//! ```
//!
//! Both are pure. A client dies on a chunk type that it does not know, so that each major gets only its own.

mod chunks;
#[cfg(test)]
mod properties;
mod request;

pub(crate) use chunks::{ChunkWriter, Ending};
pub(crate) use request::{ChatRequest, NewInChat, ToolOutput, UiDecision};

use serde::Deserialize;
use utoipa::ToSchema;
use warren_model::SessionId;

/// The major version of npm `ai` that a client is built with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, ToSchema)]
pub(crate) enum AiMajor {
    #[serde(rename = "5")]
    V5,
    /// What it gets, 7 understands too.
    #[default]
    #[serde(rename = "6")]
    V6,
    #[serde(rename = "7")]
    V7,
}

/// The id of the assistant message that stands for a run.
pub(crate) fn message_id(session: SessionId, run: u32) -> String {
    format!("{session}.{run}")
}

/// The run for which an assistant message of this session stands.
pub(crate) fn run_of_message_id(session: SessionId, id: &str) -> Option<u32> {
    let run = id.strip_prefix(&session.to_string())?.strip_prefix('.')?;
    run.parse().ok().filter(|run| *run > 0 && message_id(session, *run) == id)
}
