//! What a request will take, before it is sent: four bytes a token. What a provider tells afterwards is better.

use std::sync::Arc;

use serde_json::Value;
use warren_model::session::{
    Block, CallOutcome, ContextOrigin, ContextShare, ModelRequest, TokenUsage, Turn,
};
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

/// What a request and so much of its answer have taken, where the provider did not come to count it.
pub fn usage_of_broken(request: &ModelRequest, answer_bytes: usize) -> TokenUsage {
    TokenUsage {
        input_tokens: input_tokens(request),
        output_tokens: tokens(answer_bytes),
        ..TokenUsage::default()
    }
}

/// What a model was shown, by where it came from: the tokens that were counted in all, shared out by length (A19).
pub fn shares(request: &ModelRequest, read_tokens: Option<u64>) -> Vec<ContextShare> {
    let bytes = bytes_by_origin(request);
    let all = bytes.iter().map(|(_, bytes)| *bytes as u64).sum::<u64>().max(1);
    let mut shares: Vec<_> = bytes
        .into_iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(origin, bytes)| {
            let bytes = bytes as u64;
            let part = |read: u64| u128::from(read) * u128::from(bytes) / u128::from(all);
            let tokens = read_tokens.map(|read| u64::try_from(part(read)).unwrap_or(u64::MAX));
            ContextShare { origin, bytes, tokens }
        })
        .collect();
    // What rounding left over is the largest part's, so that they add up.
    let told: u64 = shares.iter().filter_map(|share| share.tokens).sum();
    let rest = read_tokens.unwrap_or(0).saturating_sub(told);
    if let Some(largest) = shares.iter_mut().max_by_key(|share| share.bytes) {
        largest.tokens = largest.tokens.map(|tokens| tokens + rest);
    }
    shares
}

pub(crate) fn request_bytes(request: &ModelRequest) -> usize {
    bytes_by_origin(request).iter().map(|(_, bytes)| bytes).sum()
}

fn bytes_by_origin(request: &ModelRequest) -> [(ContextOrigin, usize); 5] {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + json_bytes(&tool.input_schema));
    let schema = request.output_schema.as_ref().map_or(0, json_bytes);
    let said = |by_user: bool| {
        let of_side = request.turns.iter().filter(move |turn| matches!(***turn, Turn::User(_)) == by_user);
        of_side.map(turn_bytes).sum::<usize>()
    };
    [
        (ContextOrigin::System, request.system.len() + schema),
        (ContextOrigin::Tools, tools.sum()),
        (ContextOrigin::User, said(true)),
        (ContextOrigin::Assistant, said(false)),
        (ContextOrigin::Results, request.turns.iter().map(result_bytes).sum()),
    ]
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

#[cfg(test)]
mod tests {
    use warren_model::session::ModelName;

    use super::*;

    fn request() -> ModelRequest {
        let text = |words: &str| Part::text(words.to_owned());
        ModelRequest {
            model: "scripted/tour".parse::<ModelName>().unwrap(),
            system: "s".repeat(100),
            turns: vec![
                Arc::new(Turn::User(vec![text(&"u".repeat(60))])),
                Arc::new(Turn::Assistant {
                    origin: None,
                    blocks: vec![Block::Text { text: "a".repeat(40) }],
                    calls: Vec::new(),
                }),
            ],
            tools: Arc::from([]),
            max_output_tokens: None,
            effort: None,
            output_schema: None,
            extra: serde_json::Map::new(),
        }
    }

    // A19
    #[test]
    fn what_was_read_is_shared_out_and_adds_up() {
        let found = shares(&request(), Some(101));
        let told: Vec<_> = found.iter().map(|one| (one.origin.as_str(), one.bytes, one.tokens)).collect();
        let expected = [("system", 100, Some(51)), ("user", 60, Some(30)), ("assistant", 40, Some(20))];
        assert_eq!(told, expected);
        assert!(shares(&request(), None).iter().all(|one| one.tokens.is_none()));
    }

    // A12
    #[test]
    fn an_answer_that_nobody_counted_is_counted_by_its_length() {
        let usage = usage_of_broken(&request(), 10);
        assert_eq!((usage.input_tokens, usage.output_tokens), (50, 3));
    }
}
