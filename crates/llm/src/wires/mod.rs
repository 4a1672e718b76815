//! The three wires: how a request is written and how the events of an answer are read.
//!
//! Each has a `request.rs`, a plain function from a [`ModelRequest`] to JSON, and an `events.rs`, a reader that takes one
//! event after the other. Neither waits or calls: `stream.rs` does that for all three.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod responses;
mod stream;

use std::collections::VecDeque;

use serde_json::{Map, Value};
use warren_model::session::{Block, ModelOrigin, ModelRequest, Opaque, TokenUsage};
use warren_outbound::ServerEvent;

pub(crate) use stream::{Endpoint, start};

use crate::providers::Wire;
use crate::{AnswerEvent, ModelError};

/// A request as it goes out, and what was left out of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WireBody {
    pub(crate) body: Value,
    pub(crate) notes: Vec<String>,
}

/// What a provider's settings say about the form of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dialect<'a> {
    /// Of the API; empty where the wire has none.
    pub(crate) version: &'a str,
    pub(crate) background: bool,
}

pub(crate) fn body(
    wire: Wire,
    request: &ModelRequest,
    origin: &ModelOrigin,
    dialect: Dialect<'_>,
) -> WireBody {
    match wire {
        Wire::Anthropic => anthropic::request::body(request, origin, dialect),
        Wire::Responses => responses::request::body(request, origin, dialect),
        Wire::Chat => chat::request::body(request),
        Wire::Gemini | Wire::Scripted => WireBody { body: Value::Null, notes: Vec::new() },
    }
}

/// Whether an event is a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Content,
    Ping,
}

/// Reads the events of one answer.
pub(crate) trait WireReader: Send {
    /// Takes the next event. [`AnswerEvent::Done`] among what comes out is the end.
    fn event(&mut self, event: &ServerEvent, out: &mut VecDeque<AnswerEvent>) -> Result<Life, ModelError>;

    /// The stream is over, without an end having come from [`WireReader::event`]. An answer, where what came before was
    /// its end all the same.
    fn at_end(&mut self) -> Option<AnswerEvent> {
        None
    }

    /// What the provider has counted so far; nothing where it has not said.
    fn usage(&self) -> Option<TokenUsage>;

    /// From where a cut answer can be read on.
    fn resume_point(&self) -> Option<ResumePoint> {
        None
    }
}

/// An answer that goes on without us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResumePoint {
    pub(crate) response_id: String,
    /// The last event that was read.
    pub(crate) sequence: u64,
}

/// The data of an opaque block, if it may be sent to `origin` (A13).
fn own<'a>(opaque: &'a Opaque, origin: &ModelOrigin) -> Option<&'a Value> {
    (opaque.origin == *origin).then_some(&opaque.data)
}

/// The places of an answer's calls in the order in which they are to be written: as the blocks name them, each once, and
/// whatever no block names at the end.
fn call_order(blocks: &[Block], calls: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(calls);
    let named = blocks.iter().filter_map(|block| match block {
        Block::Call { index } => Some(*index as usize),
        Block::Text { .. } | Block::Reasoning { .. } | Block::Other { .. } => None,
    });
    for at in named.chain(0..calls) {
        if at < calls && !order.contains(&at) {
            order.push(at);
        }
    }
    order
}

/// A tool's name as the wires take it. What a model called may have had any name.
fn tool_name(name: &str) -> String {
    let valid = |one: char| if one.is_ascii_alphanumeric() || matches!(one, '_' | '-') { one } else { '_' };
    let name: String = name.chars().take(64).map(valid).collect();
    if name.is_empty() { "unnamed_tool".to_owned() } else { name }
}

/// Adds a caller's own parameters, without those that the request is made of and those that the model refuses.
fn add_extra(
    body: &mut Map<String, Value>,
    extra: &Map<String, Value>,
    refused: &[&str],
    notes: &mut Vec<String>,
) {
    for (name, value) in extra {
        if refused.contains(&name.as_str()) {
            notes.push(format!("`{name}` was not sent: the model refuses it"));
        } else if body.contains_key(name) || RESERVED.contains(&name.as_str()) {
            notes.push(format!("`{name}` was not sent: the request sets it"));
        } else {
            body.insert(name.clone(), value.clone());
        }
    }
}

const RESERVED: [&str; 13] = [
    "model",
    "messages",
    "input",
    "system",
    "instructions",
    "tools",
    "stream",
    "stream_options",
    "store",
    "background",
    "previous_response_id",
    "conversation",
    "n",
];

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
