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
    fn usage(&self) -> Option<TokenUsage> {
        Some(self.usage).filter(|usage| usage.total() > 0)
    }

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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warren_model::session::ModelOrigin;

    use super::*;
    use crate::ModelAnswer;
    use crate::builder::AnswerLimits;

    /// What becomes of chunks; nothing where they end without an answer.
    fn read(chunks: &[Value]) -> Result<Option<ModelAnswer>, ModelError> {
        let model: warren_model::session::ModelName = "chat/x".parse().unwrap();
        let origin = ModelOrigin { model: model.clone(), account: String::new() };
        let request = warren_model::session::ModelRequest {
            model,
            system: String::new(),
            turns: Vec::new(),
            tools: Default::default(),
            max_output_tokens: None,
            effort: None,
            output_schema: None,
            extra: serde_json::Map::new(),
        };
        let mut reader = Reader::new(AnswerBuilder::new(origin, &request, AnswerLimits::default()));
        let mut out = VecDeque::new();
        for chunk in chunks {
            let data = chunk.as_str().map_or_else(|| chunk.to_string(), str::to_owned);
            reader.event(&ServerEvent { data, ..ServerEvent::default() }, &mut out)?;
        }
        out.extend(reader.at_end());
        Ok(out.into_iter().find_map(|event| match event {
            AnswerEvent::Done(answer) => Some(*answer),
            _ => None,
        }))
    }

    fn calls(pieces: &[Value]) -> Vec<(String, String, Result<Value, String>)> {
        let of =
            |delta: Value, reason: Value| json!({ "choices": [{ "delta": delta, "finish_reason": reason }] });
        let mut chunks: Vec<Value> =
            pieces.iter().map(|piece| of(json!({ "tool_calls": [piece] }), Value::Null)).collect();
        chunks.push(of(json!({}), json!("tool_calls")));
        let answer = read(&chunks).unwrap().unwrap();
        answer.calls.into_iter().map(|call| (call.id, call.tool, call.arguments)).collect()
    }

    // A10: bad input
    #[test]
    fn calls_are_told_apart_however_a_server_numbers_them() {
        let piece = |index: Value, id: &str, name: &str, arguments: &str| {
            let mut piece = json!({ "function": { "arguments": arguments } });
            if !index.is_null() {
                piece["index"] = index;
            }
            if !id.is_empty() {
                piece["id"] = json!(id);
            }
            if !name.is_empty() {
                piece["function"]["name"] = json!(name);
            }
            piece
        };
        let none = || Value::Null;
        let expected = [
            ("a".to_owned(), "one".to_owned(), Ok(json!({ "x": 1 }))),
            ("b".to_owned(), "two".to_owned(), Ok(json!({}))),
        ];
        for (what, pieces) in [
            (
                "as OpenAI",
                vec![
                    piece(json!(0), "a", "one", ""),
                    piece(json!(0), "", "", "{\"x\":"),
                    piece(json!(0), "", "", "1}"),
                    piece(json!(1), "b", "two", "{}"),
                ],
            ),
            (
                "ids repeated",
                vec![
                    piece(json!(0), "a", "one", "{\"x\":"),
                    piece(json!(0), "a", "one", "1}"),
                    piece(json!(1), "b", "two", "{}"),
                ],
            ),
            (
                "no index",
                vec![
                    piece(none(), "a", "one", "{\"x\":"),
                    piece(none(), "", "", "1}"),
                    piece(none(), "b", "two", "{}"),
                ],
            ),
            (
                "all numbered 0",
                vec![piece(json!(0), "a", "one", "{\"x\":1}"), piece(json!(0), "b", "two", "{}")],
            ),
            (
                "the index late",
                vec![
                    piece(none(), "a", "one", "{\"x\":"),
                    piece(json!(0), "", "", "1}"),
                    piece(json!(1), "b", "two", "{}"),
                ],
            ),
            (
                "the name late",
                vec![
                    piece(json!(0), "a", "", "{\"x\":"),
                    piece(json!(0), "", "one", "1}"),
                    piece(json!(1), "b", "two", "{}"),
                ],
            ),
        ] {
            assert_eq!(calls(&pieces), expected, "{what}");
        }
        // The same id twice is two calls, where both have their index.
        let twice = calls(&[piece(json!(0), "a", "one", "{}"), piece(json!(1), "a", "one", "{}")]);
        assert_eq!((twice[0].0.as_str(), twice[1].0.as_str()), ("a", "a_2"));
    }

    // A11
    #[test]
    fn an_answer_without_a_finish_reason_is_truncated_and_one_without_done_is_not() {
        let chunk =
            |reason: Value| json!({ "choices": [{ "delta": { "content": "x" }, "finish_reason": reason }] });
        assert_eq!(read(&[chunk(Value::Null)]).unwrap(), None);
        assert!(read(&[chunk(Value::Null), json!("[DONE]")]).unwrap_err().may_be_retried());
        assert_eq!(read(&[chunk(json!("stop"))]).unwrap().unwrap().text(), "x");
    }
}
