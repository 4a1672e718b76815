//! The events of an answer of Anthropic Messages.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};
use warren_model::session::{StopReason, TokenUsage};
use warren_outbound::ServerEvent;

use super::super::stream::{error_of, stream_error};
use super::super::{Life, WireReader, number, text};
use crate::builder::{AnswerBuilder, garbled};
use crate::{AnswerEvent, ModelError};

pub(crate) struct Reader {
    builder: AnswerBuilder,
    /// By the index that the provider gives them.
    open: HashMap<u64, Open>,
    usage: TokenUsage,
    stop_reason: Option<StopReason>,
}

enum Open {
    Text(Option<u32>),
    Thinking {
        block: Option<u32>,
        text: String,
        signature: String,
    },
    Call {
        block: u32,
        input: Value,
        has_deltas: bool,
    },
    /// Something that only the provider understands, with the text of its input.
    Other {
        block: Value,
        input: String,
    },
    /// Nothing more comes of it.
    Whole,
}

impl Reader {
    pub(crate) fn new(builder: AnswerBuilder) -> Self {
        Self { builder, open: HashMap::new(), usage: TokenUsage::default(), stop_reason: None }
    }

    fn begin(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        let block = &data["content_block"];
        let open = match text(block, "type") {
            "text" => {
                let mut at = None;
                if !text(block, "text").is_empty() {
                    out.push_back(self.builder.text(&mut at, text(block, "text"))?);
                }
                Open::Text(at)
            }
            "thinking" => Open::Thinking {
                block: None,
                text: text(block, "thinking").to_owned(),
                signature: text(block, "signature").to_owned(),
            },
            "redacted_thinking" => {
                self.builder.seal_reasoning(&mut None, block.clone())?;
                Open::Whole
            }
            "tool_use" => {
                let (at, event) = self.builder.begin_call(text(block, "id"), text(block, "name"))?;
                out.push_back(event);
                Open::Call { block: at, input: block["input"].clone(), has_deltas: false }
            }
            _ => Open::Other { block: block.clone(), input: String::new() },
        };
        // As many as the builder takes, and not more through indexes that it never sees.
        if self.open.len() > 4_096 {
            return Err(garbled("too many blocks"));
        }
        self.open.insert(number(data, "index"), open);
        Ok(())
    }

    fn delta(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        let delta = &data["delta"];
        let index = number(data, "index");
        let open = self.open.get_mut(&index).ok_or_else(|| garbled("a piece of no block"))?;
        match (text(delta, "type"), open) {
            ("text_delta", Open::Text(at)) => {
                let words = text(delta, "text");
                if !words.is_empty() {
                    out.push_back(self.builder.text(at, words)?);
                }
            }
            ("thinking_delta", Open::Thinking { block, text: thought, .. }) => {
                let words = text(delta, "thinking");
                thought.push_str(words);
                if !words.is_empty() {
                    out.push_back(self.builder.reasoning(block, words)?);
                }
            }
            ("signature_delta", Open::Thinking { signature, .. }) => {
                signature.push_str(text(delta, "signature"));
                if signature.len() > 1 << 20 {
                    return Err(garbled("a signature without end"));
                }
            }
            ("input_json_delta", Open::Call { block, has_deltas, .. }) => {
                let words = text(delta, "partial_json");
                if !words.is_empty() {
                    *has_deltas = true;
                    out.push_back(self.builder.arguments(*block, words)?);
                }
            }
            ("input_json_delta", Open::Other { input, .. }) => {
                input.push_str(text(delta, "partial_json"));
                if input.len() > 4 << 20 {
                    return Err(garbled("an input without end"));
                }
            }
            // Citations, and what is yet to be invented.
            _ => {}
        }
        Ok(())
    }

    fn end_block(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        match self.open.remove(&number(data, "index")) {
            None | Some(Open::Text(_) | Open::Whole) => {}
            Some(Open::Thinking { mut block, text, signature }) => {
                if !signature.is_empty() {
                    let sealed = json!({ "type": "thinking", "thinking": text, "signature": signature });
                    self.builder.seal_reasoning(&mut block, sealed)?;
                }
            }
            Some(Open::Call { block, input, has_deltas }) => {
                let has_input = input.as_object().is_some_and(|input| !input.is_empty());
                if !has_deltas && has_input {
                    out.push_back(self.builder.arguments(block, &input.to_string())?);
                }
            }
            Some(Open::Other { mut block, input }) => {
                if let Ok(input) = serde_json::from_str::<Value>(&input) {
                    block["input"] = input;
                }
                self.builder.other(block)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, usage: &Value) {
        if usage.get("input_tokens").is_some_and(Value::is_number) {
            self.usage.cached_input_tokens = number(usage, "cache_read_input_tokens");
            self.usage.cache_write_tokens = number(usage, "cache_creation_input_tokens");
            self.usage.input_tokens = number(usage, "input_tokens")
                .saturating_add(self.usage.cached_input_tokens)
                .saturating_add(self.usage.cache_write_tokens);
        }
        if usage.get("output_tokens").is_some_and(Value::is_number) {
            self.usage.output_tokens = number(usage, "output_tokens");
        }
        if let Some(details) = usage.get("output_tokens_details") {
            self.usage.reasoning_tokens =
                number(details, "thinking_tokens").max(number(details, "reasoning_tokens"));
        }
    }
}

impl WireReader for Reader {
    fn usage(&self) -> Option<TokenUsage> {
        Some(self.usage).filter(|usage| usage.total() > 0)
    }

    fn event(&mut self, event: &ServerEvent, out: &mut VecDeque<AnswerEvent>) -> Result<Life, ModelError> {
        let data: Value = serde_json::from_str(&event.data).map_err(|_| garbled("an event is no JSON"))?;
        match text(&data, "type") {
            "ping" => return Ok(Life::Ping),
            "message_start" => self.count(&data["message"]["usage"]),
            "content_block_start" => self.begin(&data, out)?,
            "content_block_delta" => self.delta(&data, out)?,
            "content_block_stop" => self.end_block(&data, out)?,
            "message_delta" => {
                self.count(&data["usage"]);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(stop_reason(reason));
                }
            }
            "message_stop" => {
                let reason = self.stop_reason.ok_or_else(ModelError::truncated)?;
                out.push_back(self.builder.finish(reason, self.usage));
            }
            "error" => {
                let (kind, message) = error_of(&data);
                return Err(stream_error(&kind, &message));
            }
            // Names that are not known are to be skipped.
            _ => return Ok(Life::Ping),
        }
        Ok(Life::Content)
    }
}

fn stop_reason(text: &str) -> StopReason {
    match text {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::PauseTurn,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other,
    }
}
