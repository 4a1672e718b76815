//! An answer, streamed and whole.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use warren_model::session::{StopReason, TokenUsage};

use super::super::Answer;
use super::super::chat::CREATED;
use super::super::frames::{Frame, json_answer, play};
use super::super::problem::Problem;
use super::super::state::State;
use super::encrypted;
use crate::providers::Wire;
use crate::scripted::{Piece, Plan};

/// The calls of a plan, with their arguments whole.
pub(in crate::server) fn calls(plan: &Plan) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for piece in &plan.pieces {
        match piece {
            Piece::Call { id, tool } => calls.push((id.clone(), tool.clone(), String::new())),
            Piece::Arguments(text) => {
                if let Some((_, _, arguments)) = calls.last_mut() {
                    arguments.push_str(text);
                }
            }
            Piece::Reasoning(_) | Piece::Text(_) => {}
        }
    }
    calls
}

/// An answer in all its forms.
#[derive(Debug, Clone)]
pub(in crate::server) struct Rendered {
    pub(in crate::server) frames: Vec<Frame>,
    pub(in crate::server) whole: Value,
    pub(in crate::server) queued: Value,
}

/// An output item in the making.
struct Item {
    kind: &'static str,
    id: String,
    text: String,
    call: Option<(String, String)>,
}

impl Item {
    fn json(&self, is_done: bool) -> Value {
        let status = if is_done { "completed" } else { "in_progress" };
        match (&self.call, self.kind) {
            (Some((call_id, tool)), _) => {
                let arguments = if is_done { self.text.as_str() } else { "" };
                json!({
                    "type": "function_call", "id": self.id, "call_id": call_id, "name": tool,
                    "arguments": arguments, "status": status,
                })
            }
            (None, "reasoning") => {
                let mut item = json!({ "type": "reasoning", "id": self.id, "summary": [] });
                if is_done {
                    item["summary"] = json!([{ "type": "summary_text", "text": self.text }]);
                    item["encrypted_content"] = json!(encrypted(&self.text));
                }
                item
            }
            (None, _) => {
                let content = if is_done { json!([self.part()]) } else { json!([]) };
                json!({ "type": "message", "id": self.id, "role": "assistant", "status": status, "content": content })
            }
        }
    }

    fn part(&self) -> Value {
        json!({ "type": "output_text", "text": self.text, "annotations": [] })
    }
}

impl Rendered {
    pub(in crate::server) fn new(body: &Value, id: &str, plan: &Plan) -> Self {
        let mut writer = Writer { frames: Vec::new(), output: Vec::new(), open: None, id };
        let empty = head(body, id, "in_progress");
        writer.push(json!({ "type": "response.created", "response": empty }), false);
        writer.push(json!({ "type": "response.in_progress", "response": empty }), false);
        for piece in &plan.pieces {
            writer.piece(piece);
        }
        writer.end_item();
        let (status, reason) = match plan.stop_reason {
            StopReason::MaxTokens | StopReason::ContextWindow => ("incomplete", Some("max_output_tokens")),
            StopReason::ContentFilter => ("incomplete", Some("content_filter")),
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::PauseTurn
            | StopReason::Refusal
            | StopReason::Other => ("completed", None),
        };
        let mut whole = head(body, id, status);
        whole["output"] = Value::Array(std::mem::take(&mut writer.output));
        whole["usage"] = usage(&plan.usage);
        if let Some(reason) = reason {
            whole["incomplete_details"] = json!({ "reason": reason });
        }
        writer.push(json!({ "type": format!("response.{status}"), "response": whole }), false);
        Self { frames: writer.frames, whole, queued: head(body, id, "queued") }
    }
}

fn head(body: &Value, id: &str, status: &str) -> Value {
    json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": CREATED, "status": status,
        "background": body["background"] == json!(true), "error": null, "incomplete_details": null,
        "instructions": body["instructions"], "metadata": {}, "model": body["model"], "output": [],
        "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [], "top_p": null,
        "usage": null,
    })
}

fn usage(usage: &TokenUsage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input_tokens, "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
        "total_tokens": usage.total(),
    })
}

struct Writer<'a> {
    frames: Vec<Frame>,
    output: Vec<Value>,
    open: Option<Item>,
    id: &'a str,
}

impl Writer<'_> {
    fn push(&mut self, mut data: Value, is_piece: bool) {
        data["sequence_number"] = json!(self.frames.len());
        let frame = Frame::named(&data);
        self.frames.push(if is_piece { frame.piece() } else { frame });
    }

    fn index(&self) -> usize {
        self.output.len()
    }

    fn piece(&mut self, piece: &Piece) {
        let (kind, text) = match piece {
            Piece::Reasoning(text) => ("reasoning", text),
            Piece::Text(text) => ("message", text),
            Piece::Call { id, tool } => {
                self.end_item();
                return self.begin_item("function_call", Some((id.clone(), tool.clone())));
            }
            Piece::Arguments(text) => ("function_call", text),
        };
        if self.open.as_ref().is_none_or(|item| item.kind != kind) {
            self.end_item();
            self.begin_item(kind, None);
        }
        let index = self.index();
        let Some(item) = &mut self.open else { return };
        item.text.push_str(text);
        let id = item.id.clone();
        let data = match kind {
            "reasoning" => json!({
                "type": "response.reasoning_summary_text.delta", "item_id": id, "output_index": index,
                "summary_index": 0, "delta": text,
            }),
            "message" => json!({
                "type": "response.output_text.delta", "item_id": id, "output_index": index,
                "content_index": 0, "delta": text, "logprobs": [],
            }),
            _ => json!({
                "type": "response.function_call_arguments.delta", "item_id": id, "output_index": index,
                "delta": text,
            }),
        };
        self.push(data, true);
    }

    fn begin_item(&mut self, kind: &'static str, call: Option<(String, String)>) {
        let index = self.index();
        let prefix = match kind {
            "reasoning" => "rs",
            "message" => "msg",
            _ => "fc",
        };
        let id = format!("{prefix}_{}_{index}", self.id);
        let item = Item { kind, id: id.clone(), text: String::new(), call };
        let added =
            json!({ "type": "response.output_item.added", "output_index": index, "item": item.json(false) });
        self.push(added, false);
        match kind {
            "message" => {
                let part = json!({
                    "type": "response.content_part.added", "item_id": id, "output_index": index,
                    "content_index": 0, "part": item.part(),
                });
                self.push(part, false);
            }
            "reasoning" => {
                let part = json!({
                    "type": "response.reasoning_summary_part.added", "item_id": id, "output_index": index,
                    "summary_index": 0, "part": { "type": "summary_text", "text": "" },
                });
                self.push(part, false);
            }
            _ => {}
        }
        self.open = Some(item);
    }

    fn end_item(&mut self) {
        let Some(item) = self.open.take() else { return };
        let (index, id) = (self.index(), &item.id);
        match item.kind {
            "message" => {
                self.push(
                    json!({
                        "type": "response.output_text.done", "item_id": id, "output_index": index,
                        "content_index": 0, "text": item.text, "logprobs": [],
                    }),
                    false,
                );
                self.push(
                    json!({
                        "type": "response.content_part.done", "item_id": id, "output_index": index,
                        "content_index": 0, "part": item.part(),
                    }),
                    false,
                );
            }
            "reasoning" => {
                self.push(
                    json!({
                        "type": "response.reasoning_summary_text.done", "item_id": id, "output_index": index,
                        "summary_index": 0, "text": item.text,
                    }),
                    false,
                );
                self.push(
                    json!({
                        "type": "response.reasoning_summary_part.done", "item_id": id, "output_index": index,
                        "summary_index": 0, "part": { "type": "summary_text", "text": item.text },
                    }),
                    false,
                );
            }
            _ => {
                let name = item.call.as_ref().map(|(_, tool)| tool.clone());
                self.push(
                    json!({
                        "type": "response.function_call_arguments.done", "item_id": id, "output_index": index,
                        "arguments": item.text, "name": name,
                    }),
                    false,
                );
            }
        }
        let done = item.json(true);
        self.push(json!({ "type": "response.output_item.done", "output_index": index, "item": done }), false);
        self.output.push(done);
    }
}

/// An answer that was kept, whole or from an event on. What went wrong the first time does not go wrong again.
pub(in crate::server) fn retrieve(state: &State, id: &str, query: &str) -> Result<Answer, Problem> {
    let missing =
        || Problem::new(404, "invalid_request_error", format!("Response with id '{id}' not found."));
    let kept = state.kept(id).ok_or_else(missing)?;
    let value = |name: &str| {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.into_iter().find(|(one, _)| one == name).map(|(_, value)| value.into_owned())
    };
    if value("stream").as_deref() != Some("true") {
        return Ok(json_answer(StatusCode::OK, &kept.whole));
    }
    let skipped = match value("starting_after") {
        None => 0,
        Some(after) => {
            let after: usize = after.parse().map_err(|_| Problem::bad("Invalid 'starting_after'."))?;
            after.saturating_add(1)
        }
    };
    let frames = kept.frames.into_iter().skip(skipped).collect();
    let plan = Plan {
        pieces: Vec::new(),
        delay: Duration::ZERO,
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::default(),
        fault: None,
    };
    Ok(play(Wire::Responses, frames, plan))
}
