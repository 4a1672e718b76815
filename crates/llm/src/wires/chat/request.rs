//! A request for Chat Completions.

use serde_json::{Map, Value, json};
use warren_model::session::{Block, ModelRequest, Turn};

use super::super::{WireBody, add_extra, call_order, tool_name};
use crate::parameters::{Effort, Parameters};
use crate::turns::{Side, UserPart, arguments_object, result_text, sides};

pub(crate) fn body(request: &ModelRequest) -> WireBody {
    let parameters = Parameters::of(&request.model.model);
    let mut notes = Vec::new();
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", json!(request.model.model));
    set("stream", json!(true));
    set("stream_options", json!({ "include_usage": true }));
    set("messages", Value::Array(messages(request)));
    if !request.tools.is_empty() {
        let offer = |tool: &warren_model::session::ToolOffer| {
            let function = json!({
                "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
            });
            json!({ "type": "function", "function": function })
        };
        set("tools", request.tools.iter().map(offer).collect());
    }
    if let Some(max) = request.max_output_tokens {
        set(parameters.chat_max_tokens, json!(max));
    }
    match (&request.effort, parameters.effort) {
        (None, _) => {}
        (Some(effort), Effort::Reasoning) => {
            set("reasoning_effort", json!(effort));
        }
        (Some(_), Effort::None | Effort::OutputConfig | Effort::ThinkingBudget) => {
            notes.push("`effort` was not sent: the model refuses it".to_owned());
        }
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({ "name": "answer", "schema": schema });
        set("response_format", json!({ "type": "json_schema", "json_schema": format }));
    }
    add_extra(&mut body, &request.extra, parameters.refuses, &mut notes);
    WireBody { body: Value::Object(body), notes }
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for side in sides(request) {
        match side {
            Side::User(parts) => messages.push(user_message(&parts)),
            Side::Assistant { turn, call_ids } => {
                let Turn::Assistant { blocks, calls, .. } = turn else { continue };
                let order = call_order(blocks, calls.len());
                push_answer(&mut messages, turn, &call_ids, &order);
                messages.extend(order.into_iter().map(|at| {
                    let content = result_text(&calls[at].outcome).text;
                    json!({ "role": "tool", "tool_call_id": call_ids[at], "content": content })
                }));
            }
        }
    }
    join_users(messages)
}

/// An answer that was left out leaves two messages of the user side by side.
fn join_users(messages: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        match joined.last_mut() {
            Some(last) if last["role"] == "user" && message["role"] == "user" => {
                let mut content = parts_of(&last["content"]);
                content.append(&mut parts_of(&message["content"]));
                last["content"] = Value::Array(content);
            }
            Some(_) | None => joined.push(message),
        }
    }
    joined
}

fn parts_of(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        text => vec![json!({ "type": "text", "text": text })],
    }
}

fn user_message(parts: &[UserPart]) -> Value {
    if let [UserPart::Text(text)] = parts {
        return json!({ "role": "user", "content": text });
    }
    let content = parts.iter().map(|part| match part {
        UserPart::Text(text) => json!({ "type": "text", "text": text }),
        UserPart::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{data}");
            json!({ "type": "image_url", "image_url": { "url": url } })
        }
        UserPart::ImageUrl(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
        UserPart::File { media_type, filename, data } => {
            let data = format!("data:{media_type};base64,{data}");
            json!({ "type": "file", "file": { "filename": filename, "file_data": data } })
        }
        // This wire has no address of a file.
        UserPart::FileUrl { url, filename } => {
            json!({ "type": "text", "text": format!("[A file: {filename} at {url}]") })
        }
    });
    json!({ "role": "user", "content": content.collect::<Vec<_>>() })
}

fn push_answer(messages: &mut Vec<Value>, turn: &Turn, call_ids: &[String], order: &[usize]) {
    let Turn::Assistant { blocks, calls, .. } = turn else { return };
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        Block::Text { .. } | Block::Reasoning { .. } | Block::Call { .. } | Block::Other { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    if text.is_empty() && calls.is_empty() {
        return;
    }
    // Two answers side by side are one, unless the first waits for its results.
    if let Some(last) = messages.last_mut()
        && last["role"] == "assistant"
        && calls.is_empty()
        && let Some(before) = last["content"].as_str()
    {
        last["content"] = json!(format!("{before}\n\n{text}"));
        return;
    }
    let mut message =
        json!({ "role": "assistant", "content": if text.is_empty() { Value::Null } else { json!(text) } });
    if !calls.is_empty() {
        let tool_calls = order.iter().map(|at| {
            let call = &calls[*at];
            let arguments = arguments_object(&call.arguments).to_string();
            let function = json!({ "name": tool_name(&call.tool), "arguments": arguments });
            json!({ "id": call_ids[*at], "type": "function", "function": function })
        });
        message["tool_calls"] = tool_calls.collect();
    }
    messages.push(message);
}
