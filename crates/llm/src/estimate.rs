//! What a request will take, before it is sent: four bytes a token. What a provider tells afterwards is better.

use warren_model::session::{Block, ModelRequest, Turn};
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
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    let schema = request.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
    request.system.len() + schema + tools.sum::<usize>() + request.turns.iter().map(turn_bytes).sum::<usize>()
}

fn turn_bytes(turn: &Turn) -> usize {
    match turn {
        Turn::User(parts) => parts.iter().map(part_bytes).sum(),
        Turn::Assistant { blocks, calls, .. } => {
            let blocks = blocks.iter().map(|block| match block {
                Block::Text { text } => text.len(),
                Block::Reasoning { text, opaque } => match opaque {
                    Some(opaque) => opaque.data.to_string().len(),
                    None => text.len(),
                },
                Block::Call { .. } => 0,
                Block::Other { opaque } => opaque.data.to_string().len(),
            });
            let calls = calls.iter().map(|call| {
                let arguments = call.arguments.to_string().len();
                call.tool.len() + arguments + result_text(&call.outcome).text.len()
            });
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
        Content::Data(data) => data.to_string().len(),
    }
}
