//! A request for OpenAI Responses.
//!
//! Nothing is kept by the provider (`store: false`): the conversation is Warren's, and reasoning comes back encrypted. Only
//! an answer that is to be taken up again after a cut (`background`) has to be kept there.

use serde_json::{Map, Value, json};
use warren_model::session::{Block, ModelOrigin, ModelRequest, Turn};

use super::super::{Dialect, WireBody, add_extra, call_order, own, tool_name};
use crate::parameters::{Effort, Parameters};
use crate::turns::{Side, UserPart, arguments_object, result_text, sides};

/// Less is refused.
const MIN_OUTPUT_TOKENS: u32 = 16;

pub(crate) fn body(request: &ModelRequest, origin: &ModelOrigin, dialect: Dialect<'_>) -> WireBody {
    let parameters = Parameters::of(&request.model.model);
    let mut notes = Vec::new();
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", json!(request.model.model));
    set("stream", json!(true));
    set("store", json!(dialect.background));
    if dialect.background {
        set("background", json!(true));
    }
    set("input", Value::Array(input(request, origin)));
    if !request.system.trim().is_empty() {
        set("instructions", json!(request.system));
    }
    if !request.tools.is_empty() {
        let offer = |tool: &warren_model::session::ToolOffer| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.input_schema, "strict": false,
            })
        };
        set("tools", request.tools.iter().map(offer).collect());
    }
    if let Some(max) = request.max_output_tokens {
        set("max_output_tokens", json!(max.max(MIN_OUTPUT_TOKENS)));
    }
    if parameters.effort == Effort::Reasoning {
        set("include", json!(["reasoning.encrypted_content"]));
        let mut reasoning = json!({ "summary": "auto" });
        if let Some(effort) = &request.effort {
            reasoning["effort"] = json!(effort);
        }
        set("reasoning", reasoning);
    } else if request.effort.is_some() {
        notes.push("`effort` was not sent: the model refuses it".to_owned());
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({ "type": "json_schema", "name": "answer", "schema": schema, "strict": false });
        set("text", json!({ "format": format }));
    }
    add_extra(&mut body, &request.extra, parameters.refuses, &mut notes);
    WireBody { body: Value::Object(body), notes }
}

fn input(request: &ModelRequest, origin: &ModelOrigin) -> Vec<Value> {
    let mut items = Vec::new();
    for side in sides(request) {
        match side {
            Side::User(parts) => {
                let content: Vec<Value> = parts.iter().map(user_content).collect();
                items.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            Side::Assistant { turn, call_ids } => {
                let Turn::Assistant { blocks, calls, .. } = turn else { continue };
                items.append(&mut answer_items(turn, &call_ids, origin));
                items.extend(call_order(blocks, calls.len()).into_iter().map(|at| {
                    let output = result_text(&calls[at].outcome).text;
                    json!({ "type": "function_call_output", "call_id": call_ids[at], "output": output })
                }));
            }
        }
    }
    items
}

fn answer_items(turn: &Turn, call_ids: &[String], origin: &ModelOrigin) -> Vec<Value> {
    let Turn::Assistant { blocks, calls, .. } = turn else { return Vec::new() };
    let call = |at: usize| {
        json!({
            "type": "function_call",
            "call_id": call_ids[at],
            "name": tool_name(&calls[at].tool),
            "arguments": arguments_object(&calls[at].arguments).to_string(),
        })
    };
    let mut written: Vec<usize> = Vec::new();
    let mut items: Vec<Value> = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => {
                let content = json!([{ "type": "output_text", "text": text }]);
                items.push(json!({ "type": "message", "role": "assistant", "content": content }));
            }
            Block::Reasoning { opaque, .. } => {
                items.extend(opaque.as_ref().and_then(|opaque| own(opaque, origin)).cloned());
            }
            Block::Other { opaque } => items.extend(own(opaque, origin).cloned()),
            Block::Call { index } => {
                let at = *index as usize;
                if at < calls.len() && !written.contains(&at) {
                    written.push(at);
                    items.push(call(at));
                }
            }
        }
    }
    items.extend((0..calls.len()).filter(|at| !written.contains(at)).map(call));
    // Reasoning is refused without what it led to.
    while items.last().is_some_and(|item| item["type"] == "reasoning") {
        items.pop();
    }
    items
}

fn user_content(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({ "type": "input_text", "text": text }),
        UserPart::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{data}");
            json!({ "type": "input_image", "image_url": url, "detail": "auto" })
        }
        UserPart::ImageUrl(url) => json!({ "type": "input_image", "image_url": url, "detail": "auto" }),
        UserPart::File { media_type, filename, data } => {
            let data = format!("data:{media_type};base64,{data}");
            json!({ "type": "input_file", "filename": filename, "file_data": data })
        }
        UserPart::FileUrl { url, filename: _ } => json!({ "type": "input_file", "file_url": url }),
    }
}
