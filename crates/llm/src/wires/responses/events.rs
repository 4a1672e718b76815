//! The events of an answer of OpenAI Responses.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};
use warren_model::session::{StopReason, TokenUsage};
use warren_outbound::ServerEvent;

use super::super::stream::stream_error;
use super::super::{Life, ResumePoint, WireReader, number, text};
use crate::builder::{AnswerBuilder, garbled};
use crate::{AnswerEvent, ModelError};

/// Places that the provider may name; what the answer may hold is the builder's to say.
const MAX_PLACES: usize = 4_096;

pub(crate) struct Reader {
    builder: AnswerBuilder,
    is_background: bool,
    response_id: Option<String>,
    /// Of the last event that was read.
    sequence: Option<u64>,
    /// By output index and content index.
    texts: HashMap<(u64, u64), Option<u32>>,
    reasonings: HashMap<u64, Reasoning>,
    calls: HashMap<u64, u32>,
    has_refused: bool,
    usage: TokenUsage,
}

#[derive(Default)]
struct Reasoning {
    block: Option<u32>,
    part: Option<u64>,
}

impl Reader {
    pub(crate) fn new(builder: AnswerBuilder, is_background: bool) -> Self {
        Self {
            builder,
            is_background,
            response_id: None,
            sequence: None,
            texts: HashMap::new(),
            reasonings: HashMap::new(),
            calls: HashMap::new(),
            has_refused: false,
            usage: TokenUsage::default(),
        }
    }

    fn created(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) {
        let id = text(&data["response"], "id");
        if self.response_id.is_some() || id.is_empty() {
            return;
        }
        self.response_id = Some(id.to_owned());
        if let Some(token) = self.token() {
            out.push_back(AnswerEvent::Resumable(token));
        }
    }

    fn token(&self) -> Option<Value> {
        let ResumePoint { response_id, sequence } = self.resume_point()?;
        Some(json!({ "response_id": response_id, "sequence": sequence }))
    }

    fn say(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        let place = (number(data, "output_index"), number(data, "content_index"));
        let words = text(data, "delta");
        if words.is_empty() {
            return Ok(());
        }
        room(self.texts.len())?;
        let block = self.texts.entry(place).or_default();
        out.push_back(self.builder.text(block, words)?);
        Ok(())
    }

    fn reason(
        &mut self,
        data: &Value,
        part: &str,
        out: &mut VecDeque<AnswerEvent>,
    ) -> Result<(), ModelError> {
        let words = text(data, "delta");
        if words.is_empty() {
            return Ok(());
        }
        room(self.reasonings.len())?;
        let reasoning = self.reasonings.entry(number(data, "output_index")).or_default();
        let part = number(data, part);
        let is_new_part = reasoning.part.replace(part).is_some_and(|before| before != part);
        if is_new_part {
            out.push_back(self.builder.reasoning(&mut reasoning.block, "\n\n")?);
        }
        out.push_back(self.builder.reasoning(&mut reasoning.block, words)?);
        Ok(())
    }

    fn item_added(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        let item = &data["item"];
        if text(item, "type") == "function_call" {
            self.begin_call(number(data, "output_index"), item, out)?;
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        index: u64,
        item: &Value,
        out: &mut VecDeque<AnswerEvent>,
    ) -> Result<u32, ModelError> {
        if let Some(block) = self.calls.get(&index) {
            return Ok(*block);
        }
        let (block, event) = self.builder.begin_call(text(item, "call_id"), text(item, "name"))?;
        self.calls.insert(index, block);
        out.push_back(event);
        Ok(block)
    }

    fn item_done(&mut self, data: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        let (item, index) = (&data["item"], number(data, "output_index"));
        match text(item, "type") {
            "function_call" => {
                let block = self.begin_call(index, item, out)?;
                out.extend(self.builder.whole_arguments(block, text(item, "arguments"))?);
            }
            "message" => {
                // Whatever came without its pieces.
                for (at, content) in item["content"].as_array().into_iter().flatten().enumerate() {
                    let said = match text(content, "type") {
                        "refusal" => {
                            self.has_refused = true;
                            text(content, "refusal")
                        }
                        _ => text(content, "text"),
                    };
                    let place = (index, at as u64);
                    if !self.texts.contains_key(&place) && !said.is_empty() {
                        room(self.texts.len())?;
                        out.push_back(self.builder.text(self.texts.entry(place).or_default(), said)?);
                    }
                }
            }
            "reasoning" => {
                if item["encrypted_content"].is_string() {
                    room(self.reasonings.len())?;
                    let reasoning = self.reasonings.entry(index).or_default();
                    self.builder.seal_reasoning(&mut reasoning.block, item.clone())?;
                }
            }
            "" => return Err(garbled("an item without a type")),
            _ => self.builder.other(item.clone())?,
        }
        Ok(())
    }

    fn end(&mut self, data: &Value, is_complete: bool, out: &mut VecDeque<AnswerEvent>) {
        let response = &data["response"];
        let stop_reason = if !is_complete {
            match text(&response["incomplete_details"], "reason") {
                "max_output_tokens" => StopReason::MaxTokens,
                "content_filter" => StopReason::ContentFilter,
                _ => StopReason::Other,
            }
        } else if self.builder.has_calls() {
            StopReason::ToolUse
        } else if self.has_refused {
            StopReason::Refusal
        } else {
            StopReason::EndTurn
        };
        self.builder.resume_token = self.token();
        out.push_back(self.builder.finish(stop_reason, self.usage));
    }

    /// Told with the end of an answer, also of one that failed.
    fn count(&mut self, usage: &Value) {
        if usage.is_object() {
            self.usage = TokenUsage {
                input_tokens: number(usage, "input_tokens"),
                cached_input_tokens: number(&usage["input_tokens_details"], "cached_tokens"),
                cache_write_tokens: number(&usage["input_tokens_details"], "cache_write_tokens"),
                output_tokens: number(usage, "output_tokens"),
                reasoning_tokens: number(&usage["output_tokens_details"], "reasoning_tokens"),
            };
        }
    }
}

impl WireReader for Reader {
    fn usage(&self) -> Option<TokenUsage> {
        Some(self.usage).filter(|usage| usage.total() > 0)
    }

    fn event(&mut self, event: &ServerEvent, out: &mut VecDeque<AnswerEvent>) -> Result<Life, ModelError> {
        // Not of this wire, but compatible servers close with it.
        if event.data == "[DONE]" {
            return Ok(Life::Ping);
        }
        let data: Value = serde_json::from_str(&event.data).map_err(|_| garbled("an event is no JSON"))?;
        if let Some(sequence) = data.get("sequence_number").and_then(Value::as_u64) {
            // Read already, before the answer was cut.
            if self.is_background && self.sequence.is_some_and(|last| sequence <= last) {
                return Ok(Life::Ping);
            }
            self.sequence = Some(sequence);
        }
        self.count(&data["response"]["usage"]);
        match text(&data, "type") {
            "response.created" | "response.queued" | "response.in_progress" => self.created(&data, out),
            "response.output_item.added" => self.item_added(&data, out)?,
            "response.output_item.done" => self.item_done(&data, out)?,
            "response.output_text.delta" => self.say(&data, out)?,
            "response.refusal.delta" => {
                self.has_refused = true;
                self.say(&data, out)?;
            }
            "response.reasoning_summary_text.delta" => self.reason(&data, "summary_index", out)?,
            "response.reasoning_text.delta" => self.reason(&data, "content_index", out)?,
            "response.function_call_arguments.delta" => {
                let block = self.calls.get(&number(&data, "output_index"));
                let block = *block.ok_or_else(|| garbled("arguments without a call"))?;
                out.push_back(self.builder.arguments(block, text(&data, "delta"))?);
            }
            "response.completed" => self.end(&data, true, out),
            "response.incomplete" => self.end(&data, false, out),
            "response.failed" => {
                let error = &data["response"]["error"];
                return Err(stream_error(text(error, "code"), text(error, "message")));
            }
            "error" => {
                let error = data.get("error").filter(|error| error.is_object()).unwrap_or(&data);
                let kind = match text(error, "code") {
                    "" => text(error, "type"),
                    code => code,
                };
                return Err(stream_error(kind, text(error, "message")));
            }
            "ping" | "keepalive" => return Ok(Life::Ping),
            // Sixty-four names, and more to come.
            _ => {}
        }
        Ok(Life::Content)
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        let response_id = self.response_id.clone().filter(|_| self.is_background)?;
        Some(ResumePoint { response_id, sequence: self.sequence.unwrap_or(0) })
    }
}

fn room(places: usize) -> Result<(), ModelError> {
    if places >= MAX_PLACES { Err(garbled("too many places")) } else { Ok(()) }
}
