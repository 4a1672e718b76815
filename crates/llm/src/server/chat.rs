//! Chat Completions, as a server.

use serde_json::{Value, json};
use warren_model::session::StopReason;

use super::frames::Frame;
use super::problem::Problem;
use crate::parameters::Parameters;
use crate::scripted::{Conversation, Piece, Plan, SeenCall};

const FIELDS: [&str; 36] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "n",
    "stop",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "response_format",
    "seed",
    "user",
    "reasoning_effort",
    "store",
    "metadata",
    "service_tier",
    "modalities",
    "audio",
    "prediction",
    "verbosity",
    "web_search_options",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "functions",
    "function_call",
    "extra_body",
];
/// A script has no clock.
pub(super) const CREATED: u64 = 1_767_225_600;

pub(super) fn check(body: &Value) -> Result<Conversation, Problem> {
    let fields = body.as_object().ok_or_else(|| Problem::bad("the body is not an object"))?;
    let model = body["model"].as_str().unwrap_or_default();
    if model.is_empty() {
        return Err(Problem::bad("you must provide a model parameter"));
    }
    let parameters = Parameters::of(model);
    for name in fields.keys() {
        if !FIELDS.contains(&name.as_str()) {
            return Err(Problem::bad(format!("Unrecognized request argument supplied: {name}")));
        }
        let is_old = name == "max_tokens" && parameters.chat_max_tokens == "max_completion_tokens";
        let is_old = is_old && !parameters.refuses.is_empty();
        if parameters.refuses.contains(&name.as_str()) || is_old {
            return Err(Problem::bad(format!(
                "Unsupported parameter: '{name}' is not supported with this model."
            )));
        }
    }
    if fields.contains_key("stream_options") && body["stream"] != json!(true) {
        return Err(Problem::bad("The 'stream_options' parameter is only allowed when 'stream' is enabled."));
    }
    let offered = super::responses::check_tools(body, |tool| &tool["function"])?;
    let mut conversation = Conversation { offered, ..Conversation::default() };
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if messages.is_empty() {
        return Err(Problem::bad("[] is too short - 'messages'"));
    }
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !open.is_empty() && role != "tool" {
            return Err(unanswered(&open));
        }
        match role {
            "system" | "developer" => conversation.system.push_str(&content(message, at)?),
            "user" => {
                let said = content(message, at)?;
                conversation.user_says(&said);
            }
            "assistant" => open = take_answer(message, at, &mut conversation)?,
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(place) = open.iter().position(|one| one == id) else {
                    return Err(Problem::bad(format!(
                        "messages with role 'tool' must be a response to a preceding message with 'tool_calls': {id}"
                    )));
                };
                open.remove(place);
                let result = text_of(&message["content"])
                    .ok_or_else(|| Problem::bad(format!("messages.[{at}].content: expected a string")))?;
                if let Some(call) = conversation.calls.iter_mut().rev().find(|call| call.id == id) {
                    call.is_error = result.starts_with("This call was not carried out");
                    call.result = result;
                }
            }
            other => return Err(Problem::bad(format!("Invalid value: '{other}' - 'messages.[{at}].role'"))),
        }
    }
    if open.is_empty() { Ok(conversation) } else { Err(unanswered(&open)) }
}

fn unanswered(open: &[String]) -> Problem {
    Problem::bad(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
}

fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn content(message: &Value, at: usize) -> Result<String, Problem> {
    let empty = || Problem::bad(format!("messages.[{at}].content: expected a string or a list, not empty"));
    let is_empty = match &message["content"] {
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    };
    if is_empty {
        return Err(empty());
    }
    text_of(&message["content"]).ok_or_else(empty)
}

fn take_answer(message: &Value, at: usize, conversation: &mut Conversation) -> Result<Vec<String>, Problem> {
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let says = text_of(&message["content"]).is_some_and(|text| !text.is_empty());
    if !says && calls.is_empty() {
        return Err(Problem::bad(format!("messages.[{at}].content: expected a string, got null or nothing")));
    }
    let mut ids: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        let function = &call["function"];
        let is_sound = !id.is_empty()
            && id.len() <= 64
            && super::responses::is_name(function["name"].as_str().unwrap_or_default())
            && function["arguments"].is_string();
        let is_known = ids.iter().any(|one| one == id) || conversation.calls.iter().any(|one| one.id == id);
        if !is_sound || is_known {
            return Err(Problem::bad(format!("Invalid 'messages[{at}].tool_calls': {id}")));
        }
        ids.push(id.to_owned());
        seen.push(SeenCall {
            id: id.to_owned(),
            tool: function["name"].as_str().unwrap_or_default().to_owned(),
            ..SeenCall::default()
        });
    }
    conversation.answered(seen);
    Ok(ids)
}

fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn
        | StopReason::StopSequence
        | StopReason::PauseTurn
        | StopReason::Refusal
        | StopReason::Other => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        StopReason::ContentFilter => "content_filter",
    }
}

fn usage(plan: &Plan) -> Value {
    let usage = &plan.usage;
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total(),
        "prompt_tokens_details": { "cached_tokens": usage.cached_input_tokens },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
    })
}

fn chunk(body: &Value, id: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": CREATED,
        "model": body["model"], "choices": choices,
    })
}

pub(super) fn frames(body: &Value, id: &str, plan: &Plan) -> Vec<Frame> {
    let of = |delta: Value, reason: Option<&str>| {
        chunk(body, id, &json!([{ "index": 0, "delta": delta, "finish_reason": reason }]))
    };
    let mut frames = vec![Frame::unnamed(&of(json!({ "role": "assistant", "content": "" }), None))];
    let mut calls = 0;
    for piece in &plan.pieces {
        let delta = match piece {
            Piece::Reasoning(text) => json!({ "reasoning_content": text }),
            Piece::Text(text) => json!({ "content": text }),
            Piece::Call { id, tool } => {
                calls += 1;
                let function = json!({ "name": tool, "arguments": "" });
                let call = json!({ "index": calls - 1, "id": id, "type": "function", "function": function });
                json!({ "tool_calls": [call] })
            }
            Piece::Arguments(text) => {
                json!({ "tool_calls": [{ "index": calls - 1, "function": { "arguments": text } }] })
            }
        };
        frames.push(Frame::unnamed(&of(delta, None)).piece());
    }
    frames.push(Frame::unnamed(&of(json!({}), Some(finish_reason(plan.stop_reason)))));
    if body["stream_options"]["include_usage"] == json!(true) {
        let mut last = chunk(body, id, &json!([]));
        last["usage"] = usage(plan);
        frames.push(Frame::unnamed(&last));
    }
    frames.push(Frame { event: None, data: "[DONE]".to_owned(), is_piece: false });
    frames
}

pub(super) fn whole(body: &Value, id: &str, plan: &Plan) -> Value {
    let said: String = plan
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Reasoning(_) | Piece::Call { .. } | Piece::Arguments(_) => None,
        })
        .collect();
    let calls: Vec<Value> = super::responses::calls(plan)
        .into_iter()
        .map(|(id, tool, arguments)| {
            json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": arguments } })
        })
        .collect();
    let mut message = json!({ "role": "assistant", "content": said, "refusal": null });
    if said.is_empty() {
        message["content"] = Value::Null;
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({
        "index": 0, "message": message, "finish_reason": finish_reason(plan.stop_reason), "logprobs": null,
    });
    json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": CREATED, "model": body["model"],
        "choices": [choice], "usage": usage(plan),
    })
}
