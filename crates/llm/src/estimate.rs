//! What a request will take, before it is sent: four bytes a token. What a provider tells afterwards is better.

use std::sync::Arc;

use serde_json::Value;
use warren_model::session::{Block, CallOutcome, ModelRequest, Turn};
use warren_model::{Content, Part};

use crate::turns::result_text;

const BYTES_PER_TOKEN: usize = 4;
/// An image is billed by its size in pixels, which is not known here; this is a large one.
const IMAGE_BYTES: usize = 1_600 * BYTES_PER_TOKEN;

/// Tokens that a request has, about.
pub fn input_tokens(request: &ModelRequest) -> u64 {
    tokens(request_bytes(request))
}

pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

pub(crate) fn request_bytes(request: &ModelRequest) -> usize {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + json_bytes(&tool.input_schema));
    let schema = request.output_schema.as_ref().map_or(0, json_bytes);
    let turns = request.turns.iter().map(|turn| turn_bytes(turn) + result_bytes(turn));
    request.system.len() + schema + tools.sum::<usize>() + turns.sum::<usize>()
}

/// How long a value is when it is written, without writing it.
fn json_bytes(value: &Value) -> usize {
    let mut counted = Counted(0);
    // Nothing can fail here.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn result_bytes(turn: &Arc<Turn>) -> usize {
    match &**turn {
        Turn::User(_) => 0,
        Turn::Assistant { calls, .. } => calls.iter().map(|call| outcome_bytes(&call.outcome)).sum(),
    }
}

/// Of the usual outcomes without writing them.
fn outcome_bytes(outcome: &CallOutcome) -> usize {
    match outcome {
        CallOutcome::Done { result } | CallOutcome::Failed { result } => match &result.value {
            Value::String(text) => text.len(),
            other => json_bytes(other),
        },
        CallOutcome::Denied { .. } | CallOutcome::Unknown { .. } => result_text(outcome).text.len(),
    }
}

fn turn_bytes(turn: &Arc<Turn>) -> usize {
    match &**turn {
        Turn::User(parts) => parts.iter().map(part_bytes).sum(),
        Turn::Assistant { blocks, calls, .. } => {
            let blocks = blocks.iter().map(|block| match block {
                Block::Text { text } => text.len(),
                Block::Reasoning { text, opaque } => match opaque {
                    Some(opaque) => json_bytes(&opaque.data),
                    None => text.len(),
                },
                Block::Call { .. } => 0,
                Block::Other { opaque } => json_bytes(&opaque.data),
            });
            let calls = calls.iter().map(|call| call.tool.len() + json_bytes(&call.arguments));
            blocks.sum::<usize>() + calls.sum::<usize>()
        }
    }
}

fn part_bytes(part: &Part) -> usize {
    let is_image = part.media_type.as_deref().is_some_and(|media_type| media_type.starts_with("image/"));
    match &part.content {
        Content::Text(text) => text.len(),
        Content::Raw(_) | Content::Url(_) if is_image => IMAGE_BYTES,
        Content::Raw(text) | Content::Url(text) => text.len(),
        Content::Data(data) => json_bytes(data),
    }
}
