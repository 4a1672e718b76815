//! OpenAI Responses, as a server.

use http::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;
use warren_model::fingerprint;
use warren_model::session::{StopReason, TokenUsage};

use super::Answer;
use super::chat::CREATED;
use super::frames::{Frame, json_answer, play};
use super::problem::Problem;
use super::state::State;
use crate::parameters::Parameters;
use crate::providers::Wire;
use crate::scripted::{Conversation, Piece, Plan, SeenCall};

const FIELDS: [&str; 29] = [
    "model",
    "input",
    "instructions",
    "stream",
    "stream_options",
    "store",
    "background",
    "include",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "max_tool_calls",
    "temperature",
    "top_p",
    "top_logprobs",
    "reasoning",
    "text",
    "truncation",
    "metadata",
    "user",
    "service_tier",
    "previous_response_id",
    "conversation",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "client_metadata",
];
const MIN_OUTPUT_TOKENS: u64 = 16;

pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|one| one.is_ascii_alphanumeric() || matches!(one, b'_' | b'-'))
}

/// Names of the functions that are offered. `of` finds a function in a tool.
pub(super) fn check_tools(body: &Value, of: impl Fn(&Value) -> &Value) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        if tool["type"].as_str().is_none_or(str::is_empty) {
            return Err(Problem::bad(format!("Missing required parameter: 'tools[{at}].type'.")));
        }
        if tool["type"] != "function" {
            continue;
        }
        let name = of(tool)["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            return Err(Problem::bad(format!(
                "Invalid 'tools[{at}].name': expected a string that matches '^[a-zA-Z0-9_-]+$'."
            )));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

pub(super) fn check(body: &Value) -> Result<Conversation, Problem> {
    let fields = body.as_object().ok_or_else(|| Problem::bad("the body is not an object"))?;
    let model = body["model"].as_str().unwrap_or_default();
    if model.is_empty() {
        return Err(Problem::bad("Missing required parameter: 'model'."));
    }
    let refuses = Parameters::of(model).refuses;
    for name in fields.keys() {
        if !FIELDS.contains(&name.as_str()) {
            return Err(Problem::bad(format!("Unknown parameter: '{name}'.")));
        }
        if refuses.contains(&name.as_str()) {
            return Err(Problem::bad(format!(
                "Unsupported parameter: '{name}' is not supported with this model."
            )));
        }
    }
    if body["background"] == json!(true) && body["store"] == json!(false) {
        return Err(Problem::bad("background responses must be stored: 'store' must be true"));
    }
    if body["max_output_tokens"].as_u64().is_some_and(|max| max < MIN_OUTPUT_TOKENS) {
        return Err(Problem::bad("Invalid 'max_output_tokens': integer below minimum value (16)."));
    }
    let mut conversation = Conversation {
        system: body["instructions"].as_str().unwrap_or_default().to_owned(),
        offered: check_tools(body, |tool| tool)?,
        bytes: body.to_string().len(),
        ..Conversation::default()
    };
    match &body["input"] {
        Value::String(text) if !text.is_empty() => conversation.user_says(text),
        Value::Array(items) if !items.is_empty() => Items::default().read(items, &mut conversation)?,
        _ => return Err(Problem::bad("Missing required parameter: 'input'.")),
    }
    Ok(conversation)
}

/// Reads items, one answer after the other.
#[derive(Default)]
struct Items {
    /// Calls of the answer that is being read.
    calls: Vec<SeenCall>,
    is_answer: bool,
    /// Calls without an output so far.
    open: Vec<String>,
}

impl Items {
    fn read(mut self, items: &[Value], conversation: &mut Conversation) -> Result<(), Problem> {
        for (at, item) in items.iter().enumerate() {
            let kind = item["type"].as_str().unwrap_or("message");
            match kind {
                "message" => self.message(item, at, conversation)?,
                "function_call" => self.call(item, at, conversation)?,
                "function_call_output" => self.output(item, conversation)?,
                "reasoning" => {
                    let words = summary_of(item);
                    if item["encrypted_content"] != json!(encrypted(&words)) {
                        return Err(Problem::bad("The encrypted content could not be verified."));
                    }
                    let next = items.get(at + 1).map(|next| next["type"].as_str().unwrap_or("message"));
                    if !next.is_some_and(|next| next != "function_call_output") {
                        let id = item["id"].as_str().unwrap_or_default();
                        return Err(Problem::bad(format!(
                            "Item '{id}' of type 'reasoning' was provided without its required following item."
                        )));
                    }
                    self.is_answer = true;
                }
                "item_reference" => {
                    return Err(Problem::new(404, "invalid_request_error", "Item not found."));
                }
                // Tools that the provider runs, and other clients' own.
                _ => self.is_answer = true,
            }
        }
        self.end_answer(conversation);
        match self.open.first() {
            Some(id) => Err(Problem::bad(format!("No tool output found for function call {id}."))),
            None => Ok(()),
        }
    }

    fn end_answer(&mut self, conversation: &mut Conversation) {
        if std::mem::take(&mut self.is_answer) {
            conversation.answered(std::mem::take(&mut self.calls));
        }
    }

    fn message(&mut self, item: &Value, at: usize, conversation: &mut Conversation) -> Result<(), Problem> {
        let role = item["role"].as_str().unwrap_or_default();
        let is_answer = role == "assistant";
        if !matches!(role, "user" | "assistant" | "system" | "developer") {
            return Err(Problem::bad(format!("Invalid value: 'input[{at}].role'.")));
        }
        let text = match &item["content"] {
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Array(parts) if !parts.is_empty() => {
                for part in parts {
                    let fits = match part["type"].as_str() {
                        Some("output_text" | "refusal") => is_answer,
                        Some("input_text" | "input_image" | "input_file" | "input_audio") => !is_answer,
                        Some(_) | None => false,
                    };
                    if !fits {
                        return Err(Problem::bad(format!("Invalid value: 'input[{at}].content[].type'.")));
                    }
                }
                parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
            _ => return Err(Problem::bad(format!("Invalid 'input[{at}].content': empty content."))),
        };
        if is_answer {
            self.is_answer = true;
            return Ok(());
        }
        if let Some(id) = self.open.first() {
            return Err(Problem::bad(format!("No tool output found for function call {id}.")));
        }
        self.end_answer(conversation);
        if role == "user" {
            conversation.user_says(&text);
        } else {
            conversation.system.push_str(&text);
        }
        Ok(())
    }

    fn call(&mut self, item: &Value, at: usize, conversation: &mut Conversation) -> Result<(), Problem> {
        let id = item["call_id"].as_str().unwrap_or_default();
        let name = item["name"].as_str().unwrap_or_default();
        // A call after a result is of the next answer.
        if self.calls.iter().any(|call| !self.open.contains(&call.id)) {
            self.end_answer(conversation);
        }
        let known = self.calls.iter().chain(&conversation.calls).any(|call| call.id == id);
        if id.is_empty() || id.len() > 64 || known || !is_name(name) || !item["arguments"].is_string() {
            return Err(Problem::bad(format!("Invalid 'input[{at}]': function_call {id}")));
        }
        self.is_answer = true;
        self.open.push(id.to_owned());
        self.calls.push(SeenCall { id: id.to_owned(), tool: name.to_owned(), ..SeenCall::default() });
        Ok(())
    }

    fn output(&mut self, item: &Value, conversation: &mut Conversation) -> Result<(), Problem> {
        let id = item["call_id"].as_str().unwrap_or_default();
        let Some(place) = self.open.iter().position(|one| one == id) else {
            return Err(Problem::bad(format!(
                "No tool call found for function call output with call_id {id}."
            )));
        };
        self.open.remove(place);
        let result = match &item["output"] {
            Value::String(text) => text.clone(),
            Value::Array(_) => item["output"].to_string(),
            _ => return Err(Problem::bad("Missing required parameter: 'output'.")),
        };
        let call = self.calls.iter_mut().chain(&mut conversation.calls).rev().find(|call| call.id == id);
        if let Some(call) = call {
            call.is_error = result.starts_with("This call was not carried out");
            call.result = result;
        }
        Ok(())
    }
}

fn summary_of(item: &Value) -> String {
    let parts = item["summary"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// What stands for reasoning that only the provider can read.
fn encrypted(words: &str) -> String {
    format!("enc_{}", fingerprint(&json!(words)))
}

/// The calls of a plan, with their arguments whole.
pub(super) fn calls(plan: &Plan) -> Vec<(String, String, String)> {
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
pub(super) struct Rendered {
    pub(super) frames: Vec<Frame>,
    pub(super) whole: Value,
    pub(super) queued: Value,
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
    pub(super) fn new(body: &Value, id: &str, plan: &Plan) -> Self {
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
pub(super) fn retrieve(state: &State, id: &str, query: &str) -> Result<Answer, Problem> {
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
