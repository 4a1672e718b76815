//! An answer, streamed and whole.

use serde_json::{Value, json};
use warren_model::session::StopReason;

use super::super::frames::Frame;
use super::signature;
use crate::scripted::{Piece, Plan};

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn | StopReason::Other => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::PauseTurn => "pause_turn",
        StopReason::Refusal | StopReason::ContentFilter => "refusal",
        StopReason::ContextWindow => "model_context_window_exceeded",
    }
}

fn usage(plan: &Plan) -> Value {
    let usage = &plan.usage;
    let plain =
        usage.input_tokens.saturating_sub(usage.cached_input_tokens).saturating_sub(usage.cache_write_tokens);
    json!({
        "input_tokens": plain,
        "cache_read_input_tokens": usage.cached_input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    })
}

/// An answer's blocks, each with its pieces.
fn blocks(plan: &Plan) -> Vec<(Value, Vec<Value>)> {
    let mut blocks: Vec<(Value, Vec<Value>)> = Vec::new();
    for piece in &plan.pieces {
        let last = blocks.last().map(|(block, _)| block["type"].as_str().unwrap_or_default().to_owned());
        let last = last.as_deref().unwrap_or_default();
        let (start, delta) = match piece {
            Piece::Reasoning(text) => (
                (last != "thinking").then(|| json!({ "type": "thinking", "thinking": "", "signature": "" })),
                Some(json!({ "type": "thinking_delta", "thinking": text })),
            ),
            Piece::Text(text) => (
                (last != "text").then(|| json!({ "type": "text", "text": "" })),
                Some(json!({ "type": "text_delta", "text": text })),
            ),
            Piece::Call { id, tool } => {
                (Some(json!({ "type": "tool_use", "id": id, "name": tool, "input": {} })), None)
            }
            Piece::Arguments(text) => {
                (None, Some(json!({ "type": "input_json_delta", "partial_json": text })))
            }
        };
        if let Some(start) = start {
            blocks.push((start, Vec::new()));
        }
        if let (Some((_, deltas)), Some(delta)) = (blocks.last_mut(), delta) {
            deltas.push(delta);
        }
    }
    blocks
}

fn joined(deltas: &[Value], name: &str) -> String {
    deltas.iter().filter_map(|delta| delta[name].as_str()).collect()
}

fn message(body: &Value, id: &str) -> Value {
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

pub(in crate::server) fn whole(body: &Value, id: &str, plan: &Plan) -> Value {
    let content = blocks(plan).into_iter().map(|(mut block, deltas)| {
        match block["type"].as_str() {
            Some("thinking") => {
                let thought = joined(&deltas, "thinking");
                block["signature"] = json!(signature(&thought));
                block["thinking"] = json!(thought);
            }
            Some("text") => block["text"] = json!(joined(&deltas, "text")),
            _ => {
                let text = joined(&deltas, "partial_json");
                block["input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
            }
        }
        block
    });
    let mut message = message(body, id);
    message["content"] = content.collect();
    message["stop_reason"] = json!(stop_reason(plan.stop_reason));
    message["usage"] = usage(plan);
    message
}

pub(in crate::server) fn frames(body: &Value, id: &str, plan: &Plan) -> Vec<Frame> {
    let mut begun = message(body, id);
    begun["usage"] = usage(plan);
    begun["usage"]["output_tokens"] = json!(1);
    let mut frames = vec![
        Frame::named(&json!({ "type": "message_start", "message": begun })),
        Frame::named(&json!({ "type": "ping" })),
    ];
    for (index, (block, deltas)) in blocks(plan).into_iter().enumerate() {
        let is_thinking = block["type"] == "thinking";
        let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
        frames.push(Frame::named(&start));
        for delta in &deltas {
            let piece = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            frames.push(Frame::named(&piece).piece());
        }
        if is_thinking {
            let delta =
                json!({ "type": "signature_delta", "signature": signature(&joined(&deltas, "thinking")) });
            frames.push(Frame::named(
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
        frames.push(Frame::named(&json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": stop_reason(plan.stop_reason), "stop_sequence": null });
    frames.push(Frame::named(&json!({ "type": "message_delta", "delta": delta, "usage": usage(plan) })));
    frames.push(Frame::named(&json!({ "type": "message_stop" })));
    frames
}
