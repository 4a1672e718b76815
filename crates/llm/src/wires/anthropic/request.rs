//! A request for Anthropic Messages.
//!
//! - Every `tool_result` stands in the message after its `tool_use`, before any text.
//! - The prefix that does not change is marked for the cache: tools, system, and the last two turns of the user, which
//!   makes the four marks that a request may have. The last turn but one is what the request before was cached up to.

use serde_json::{Map, Value, json};
use warren_model::session::{Block, ModelOrigin, ModelRequest, Turn};

use super::super::{Dialect, WireBody, add_extra, call_order, own, tool_name};
use crate::parameters::{Effort, Parameters};
use crate::turns::{Side, UserPart, arguments_object, result_text, sides};

/// The version that takes no sampling parameters any more.
pub(crate) const VERSION_2026: &str = "2026-10-21";
pub(crate) const VERSION_2023: &str = "2023-06-01";
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

const EMPTY_TURN: &str = "(no text)";
const GO_ON: &str = "Continue.";

pub(crate) fn body(request: &ModelRequest, origin: &ModelOrigin, dialect: Dialect<'_>) -> WireBody {
    let parameters = Parameters::of(&request.model.model);
    let mut notes = Vec::new();
    let mut messages = messages(request, origin);
    mark_turns(&mut messages);
    let max_tokens = request.max_output_tokens.unwrap_or(parameters.max_output_tokens);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model.model));
    body.insert("max_tokens".to_owned(), json!(max_tokens));
    body.insert("stream".to_owned(), json!(true));
    if !request.system.trim().is_empty() {
        let system = json!([{ "type": "text", "text": request.system, "cache_control": ephemeral() }]);
        body.insert("system".to_owned(), system);
    }
    add_tools(&mut body, request);
    add_effort(&mut body, request, &parameters, &messages, &mut notes);
    add_schema(&mut body, request, dialect, &mut notes);
    body.insert("messages".to_owned(), Value::Array(messages));
    let mut refused = parameters.refuses.to_vec();
    if dialect.version >= VERSION_2026 {
        refused.extend(SAMPLING);
    }
    add_extra(&mut body, &request.extra, &refused, &mut notes);
    WireBody { body: Value::Object(body), notes }
}

fn ephemeral() -> Value {
    json!({ "type": "ephemeral" })
}

fn add_tools(body: &mut Map<String, Value>, request: &ModelRequest) {
    let offer = |tool: &warren_model::session::ToolOffer| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema });
    let mut tools: Vec<Value> = request.tools.iter().map(offer).collect();
    if tools.is_empty() {
        // A conversation with calls needs tools, also where none may be called any more.
        let mut names: Vec<String> = Vec::new();
        for turn in &request.turns {
            let Turn::Assistant { calls, .. } = &**turn else { continue };
            for name in calls.iter().map(|call| tool_name(&call.tool)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        if names.is_empty() {
            return;
        }
        tools = names
            .iter()
            .map(|name| {
                let description = "Not available any more.";
                json!({ "name": name, "description": description, "input_schema": { "type": "object" } })
            })
            .collect();
        body.insert("tool_choice".to_owned(), json!({ "type": "none" }));
    }
    if let Some(Value::Object(last)) = tools.last_mut() {
        last.insert("cache_control".to_owned(), ephemeral());
    }
    body.insert("tools".to_owned(), Value::Array(tools));
}

fn add_effort(
    body: &mut Map<String, Value>,
    request: &ModelRequest,
    parameters: &Parameters,
    messages: &[Value],
    notes: &mut Vec<String>,
) {
    let Some(effort) = request.effort.as_deref() else { return };
    match parameters.effort {
        Effort::OutputConfig => {
            body.insert("output_config".to_owned(), json!({ "effort": effort }));
        }
        Effort::ThinkingBudget if can_think(messages) => {
            let max = number_of(body, "max_tokens");
            let wanted = match effort {
                "minimal" | "low" => 2_048,
                "medium" => 8_192,
                _ => 24_576,
            };
            // Thinking is a part of what may be written, and has at least 1,024 tokens.
            let budget = wanted.min(max / 2);
            if budget >= 1_024 {
                let thinking = json!({ "type": "enabled", "budget_tokens": budget });
                body.insert("thinking".to_owned(), thinking);
            }
        }
        Effort::ThinkingBudget => notes.push(
            "`effort` was not sent: the conversation goes on after tool calls of another model".to_owned(),
        ),
        Effort::Reasoning | Effort::None => {
            notes.push("`effort` was not sent: the model refuses it".to_owned());
        }
    }
}

fn number_of(body: &Map<String, Value>, name: &str) -> u64 {
    body.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// A model that thinks wants the last answer with calls to begin with its thinking.
fn can_think(messages: &[Value]) -> bool {
    let last = messages.iter().rev().find(|message| message["role"] == "assistant");
    let Some(blocks) = last.and_then(|message| message["content"].as_array()) else { return true };
    let has_calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let thinks = |block: &Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    !has_calls || blocks.first().is_some_and(thinks)
}

fn add_schema(
    body: &mut Map<String, Value>,
    request: &ModelRequest,
    dialect: Dialect<'_>,
    notes: &mut Vec<String>,
) {
    let Some(schema) = &request.output_schema else { return };
    if dialect.version < VERSION_2026 {
        notes.push("`output_schema` was not sent: this version of the API has none".to_owned());
        return;
    }
    let format = json!({ "type": "json_schema", "schema": schema });
    let config = body.entry("output_config").or_insert_with(|| json!({}));
    config["format"] = format;
}

/// Sides take turns, and none is empty.
fn messages(request: &ModelRequest, origin: &ModelOrigin) -> Vec<Value> {
    let mut messages = Vec::new();
    for side in sides(request) {
        match side {
            Side::User(parts) => push(&mut messages, "user", parts.iter().map(user_block).collect()),
            Side::Assistant { turn, call_ids } => {
                let Turn::Assistant { blocks, calls, .. } = turn else { continue };
                push(&mut messages, "assistant", assistant_blocks(turn, &call_ids, origin));
                let results = call_order(blocks, calls.len()).into_iter().map(|at| {
                    let result = result_text(&calls[at].outcome);
                    let mut block = json!({
                        "type": "tool_result", "tool_use_id": call_ids[at], "content": result.text,
                    });
                    if result.is_error {
                        block["is_error"] = json!(true);
                    }
                    block
                });
                push(&mut messages, "user", results.collect());
            }
        }
    }
    let ends_with_words = messages.last().is_some_and(|message: &Value| {
        let plain =
            |block: &Value| matches!(block["type"].as_str(), Some("text" | "thinking" | "redacted_thinking"));
        message["role"] == "assistant"
            && message["content"].as_array().is_some_and(|blocks| blocks.iter().all(plain))
    });
    if ends_with_words {
        push(&mut messages, "user", vec![json!({ "type": "text", "text": GO_ON })]);
    }
    messages
}

fn push(messages: &mut Vec<Value>, role: &str, mut blocks: Vec<Value>) {
    if blocks.is_empty() {
        return;
    }
    if let Some(last) = messages.last_mut()
        && last["role"] == role
        && let Some(content) = last["content"].as_array_mut()
    {
        content.append(&mut blocks);
        return;
    }
    messages.push(json!({ "role": role, "content": blocks }));
}

fn assistant_blocks(turn: &Turn, call_ids: &[String], origin: &ModelOrigin) -> Vec<Value> {
    let Turn::Assistant { blocks, calls, .. } = turn else { return Vec::new() };
    let tool_use = |at: usize| {
        json!({
            "type": "tool_use",
            "id": call_ids[at],
            "name": tool_name(&calls[at].tool),
            "input": arguments_object(&calls[at].arguments),
        })
    };
    let mut written: Vec<usize> = Vec::new();
    let mut content = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => content.push(json!({ "type": "text", "text": text })),
            Block::Reasoning { opaque, .. } => {
                content.extend(opaque.as_ref().and_then(|opaque| own(opaque, origin)).cloned());
            }
            Block::Other { opaque } => content.extend(own(opaque, origin).cloned()),
            Block::Call { index } => {
                let at = *index as usize;
                if at < calls.len() && !written.contains(&at) {
                    written.push(at);
                    content.push(tool_use(at));
                }
            }
        }
    }
    let rest = (0..calls.len()).filter(|at| !written.contains(at));
    content.extend(rest.map(tool_use));
    // Nothing but thinking is no turn.
    let is_thinking =
        |block: &Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    if content.iter().all(is_thinking) {
        content.clear();
    }
    content
}

fn user_block(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) if text.trim().is_empty() => json!({ "type": "text", "text": EMPTY_TURN }),
        UserPart::Text(text) => json!({ "type": "text", "text": text }),
        UserPart::Image { media_type, data } => {
            let source = json!({ "type": "base64", "media_type": media_type, "data": data });
            json!({ "type": "image", "source": source })
        }
        UserPart::ImageUrl(url) => json!({ "type": "image", "source": { "type": "url", "url": url } }),
        UserPart::File { media_type, filename, data } => {
            let source = json!({ "type": "base64", "media_type": media_type, "data": data });
            json!({ "type": "document", "source": source, "title": filename })
        }
        UserPart::FileUrl { url, filename } => {
            json!({ "type": "document", "source": { "type": "url", "url": url }, "title": filename })
        }
    }
}

/// Marks the last block of the last two turns of the user.
fn mark_turns(messages: &mut [Value]) {
    let of_user = messages.iter_mut().rev().filter(|message| message["role"] == "user").take(2);
    for message in of_user {
        if let Some(Value::Object(block)) =
            message["content"].as_array_mut().and_then(|blocks| blocks.last_mut())
        {
            block.insert("cache_control".to_owned(), ephemeral());
        }
    }
}
