//! The chunks of an answer of Chat Completions, read tolerantly: compatible servers add `reasoning_content`, repeat ids,
//! leave out indexes, and end without `[DONE]`. What is not tolerated is an answer without a `finish_reason`.

use std::collections::VecDeque;

use serde_json::Value;
use warren_model::session::{StopReason, TokenUsage};
use warren_outbound::ServerEvent;

use super::super::stream::{error_of, stream_error};
use super::super::{Life, WireReader, number, text};
use crate::builder::{AnswerBuilder, garbled};
use crate::{AnswerEvent, ModelError};

/// Calls that have begun and have no name yet count too.
const MAX_SLOTS: usize = 256;

pub(crate) struct Reader {
    builder: AnswerBuilder,
    text: Option<u32>,
    reasoning: Option<u32>,
    slots: Vec<Slot>,
    usage: TokenUsage,
    stop_reason: Option<StopReason>,
    has_refused: bool,
}

/// A call that is being written.
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    /// Absent as long as it has no name.
    block: Option<u32>,
    /// Arguments that came before the name.
    early: String,
}

impl Reader {
    pub(crate) fn new(builder: AnswerBuilder) -> Self {
        Self {
            builder,
            text: None,
            reasoning: None,
            slots: Vec::new(),
            usage: TokenUsage::default(),
            stop_reason: None,
            has_refused: false,
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        for name in ["reasoning_content", "reasoning"] {
            let words = text(delta, name);
            if !words.is_empty() {
                out.push_back(self.builder.reasoning(&mut self.reasoning, words)?);
                break;
            }
        }
        for name in ["content", "refusal"] {
            let words = text(delta, name);
            if !words.is_empty() {
                self.has_refused |= name == "refusal";
                out.push_back(self.builder.text(&mut self.text, words)?);
            }
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, out)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &Value, out: &mut VecDeque<AnswerEvent>) -> Result<(), ModelError> {
        let index = call.get("index").and_then(Value::as_u64);
        let (id, function) = (text(call, "id"), &call["function"]);
        let at = self.slot(index, id, text(function, "name"))?;
        let slot = &mut self.slots[at];
        let arguments = text(function, "arguments");
        if slot.block.is_none() && !slot.name.is_empty() {
            let (block, event) = self.builder.begin_call(&slot.id, &slot.name)?;
            slot.block = Some(block);
            out.push_back(event);
            let early = std::mem::take(&mut slot.early);
            if !early.is_empty() {
                out.push_back(self.builder.arguments(block, &early)?);
            }
        }
        match slot.block {
            Some(block) if !arguments.is_empty() => out.push_back(self.builder.arguments(block, arguments)?),
            Some(_) => {}
            None if slot.early.len() + arguments.len() > 1 << 20 => {
                return Err(garbled("arguments of a call without a name"));
            }
            None => slot.early.push_str(arguments),
        }
        Ok(())
    }

    /// Which call a piece belongs to. An index that comes again with another id is another call: some number all 0.
    fn slot(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, ModelError> {
        let is_other = |slot: &Slot| !id.is_empty() && !slot.id.is_empty() && slot.id != id;
        let found = match index {
            Some(_) => self.slots.iter().rposition(|slot| slot.index == index && !is_other(slot)),
            None if id.is_empty() => self.slots.len().checked_sub(1),
            None => self.slots.iter().rposition(|slot| slot.id == id),
        };
        // The index may come late, with the second piece of a call.
        let found = found.or_else(|| {
            let at = self.slots.len().checked_sub(1)?;
            let last = &self.slots[at];
            let continues = last.index.is_none() && !is_other(last) && (id.is_empty() || last.id == id);
            (continues && name.is_empty()).then_some(at)
        });
        let Some(at) = found else {
            if self.slots.len() >= MAX_SLOTS {
                return Err(garbled("too many calls"));
            }
            self.slots.push(Slot {
                index,
                id: id.to_owned(),
                name: name.to_owned(),
                block: None,
                early: String::new(),
            });
            return Ok(self.slots.len() - 1);
        };
        let slot = &mut self.slots[at];
        slot.index = slot.index.or(index);
        if slot.block.is_none() {
            if slot.id.is_empty() {
                id.clone_into(&mut slot.id);
            }
            if slot.name.is_empty() {
                name.clone_into(&mut slot.name);
            }
        }
        Ok(at)
    }

    fn count(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        self.usage = TokenUsage {
            input_tokens: number(usage, "prompt_tokens"),
            cached_input_tokens: number(&usage["prompt_tokens_details"], "cached_tokens"),
            cache_write_tokens: 0,
            output_tokens: number(usage, "completion_tokens"),
            reasoning_tokens: number(&usage["completion_tokens_details"], "reasoning_tokens"),
        };
    }

    fn finish(&mut self) -> Option<AnswerEvent> {
        let reason = self.stop_reason?;
        let reason = match reason {
            StopReason::EndTurn if self.builder.has_calls() => StopReason::ToolUse,
            StopReason::EndTurn if self.has_refused => StopReason::Refusal,
            other => other,
        };
        Some(self.builder.finish(reason, self.usage))
    }
}

impl WireReader for Reader {
    fn event(&mut self, event: &ServerEvent, out: &mut VecDeque<AnswerEvent>) -> Result<Life, ModelError> {
        if event.data.trim() == "[DONE]" {
            out.push_back(self.finish().ok_or_else(ModelError::truncated)?);
            return Ok(Life::Content);
        }
        if event.event.as_deref() == Some("ping") {
            return Ok(Life::Ping);
        }
        let data: Value = serde_json::from_str(&event.data).map_err(|_| garbled("a chunk is no JSON"))?;
        if data.get("error").is_some_and(|error| !error.is_null()) {
            let (kind, message) = error_of(&data);
            return Err(stream_error(&kind, &message));
        }
        self.count(&data["usage"]);
        let Some(choice) = data["choices"].as_array().and_then(|choices| choices.first()) else {
            return Ok(if data["usage"].is_object() { Life::Content } else { Life::Ping });
        };
        self.delta(&choice["delta"], out)?;
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.stop_reason = Some(match reason {
                "stop" => StopReason::EndTurn,
                "length" => StopReason::MaxTokens,
                "tool_calls" | "function_call" => StopReason::ToolUse,
                "content_filter" => StopReason::ContentFilter,
                _ => StopReason::Other,
            });
        }
        let says = |value: &Value| value.as_object().is_some_and(|fields| !fields.is_empty());
        let is_life = says(&choice["delta"]) || choice["finish_reason"].is_string();
        Ok(if is_life { Life::Content } else { Life::Ping })
    }

    fn at_end(&mut self) -> Option<AnswerEvent> {
        self.finish()
    }
}
