//! Gemini's `generateContent` and `streamGenerateContent`, as a server.

use serde_json::{Value, json};
use warren_model::session::StopReason;

use super::frames::Frame;
use super::problem::Problem;
use crate::scripted::{Conversation, Piece, Plan, SeenCall};

/// The API takes its fields in either spelling.
fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    match &value[camel] {
        Value::Null => &value[snake],
        found => found,
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn check(body: &Value) -> Result<Conversation, Problem> {
    let contents = body["contents"].as_array().filter(|contents| !contents.is_empty());
    let contents =
        contents.ok_or_else(|| Problem::bad("GenerateContentRequest.contents: contents is not specified"))?;
    let system = field(body, "systemInstruction", "system_instruction");
    let mut conversation = Conversation { system: texts(&system["parts"]), ..Conversation::default() };
    for tool in items(&body["tools"]) {
        let declared = items(field(tool, "functionDeclarations", "function_declarations"));
        conversation.offered.extend(declared.filter_map(|one| one["name"].as_str()).map(str::to_owned));
    }
    for (at, content) in contents.iter().enumerate() {
        let parts = content["parts"].as_array().filter(|parts| !parts.is_empty());
        let parts = parts.ok_or_else(|| {
            Problem::bad(format!(
                "GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty"
            ))
        })?;
        match content["role"].as_str().unwrap_or("user") {
            "model" => conversation.answered(calls(parts, conversation.calls.len())),
            "user" | "function" => take_user(parts, &mut conversation),
            other => {
                return Err(Problem::bad(format!("contents[{at}].role: `{other}` is not user or model")));
            }
        }
    }
    Ok(conversation)
}

/// Calls have no ids on this wire: they are told apart by their places.
fn calls(parts: &[Value], before: usize) -> Vec<SeenCall> {
    let named = parts.iter().filter_map(|part| field(part, "functionCall", "function_call")["name"].as_str());
    let seen = |(at, tool): (usize, &str)| SeenCall {
        id: format!("call_{}", before + at),
        tool: tool.to_owned(),
        ..SeenCall::default()
    };
    named.enumerate().map(seen).collect()
}

fn take_user(parts: &[Value], conversation: &mut Conversation) {
    for part in parts {
        let answered = field(part, "functionResponse", "function_response");
        let Some(tool) = answered["name"].as_str() else { continue };
        let open = conversation.calls.iter_mut().find(|call| call.tool == tool && call.result.is_empty());
        if let Some(call) = open {
            let response = &answered["response"];
            call.is_error = response.get("error").is_some();
            call.result = response["output"].as_str().map_or_else(|| response.to_string(), str::to_owned);
        }
    }
    let said = parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
    if !said.is_empty() {
        conversation.user_says(&said);
    }
}

fn texts(parts: &Value) -> String {
    items(parts).filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn
        | StopReason::StopSequence
        | StopReason::PauseTurn
        | StopReason::ToolUse
        | StopReason::Other => "STOP",
        StopReason::MaxTokens | StopReason::ContextWindow => "MAX_TOKENS",
        StopReason::Refusal | StopReason::ContentFilter => "SAFETY",
    }
}

fn chunk(model: &str, id: &str, plan: &Plan, parts: &Value, is_last: bool) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if is_last {
        candidate["finishReason"] = json!(finish_reason(plan.stop_reason));
    }
    let usage = &plan.usage;
    json!({
        "candidates": [candidate], "modelVersion": model, "responseId": id,
        "usageMetadata": {
            "promptTokenCount": usage.input_tokens,
            "cachedContentTokenCount": usage.cached_input_tokens,
            "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens.min(usage.output_tokens),
            "thoughtsTokenCount": usage.reasoning_tokens,
            "totalTokenCount": usage.total(),
        },
    })
}

/// Texts as they come; a call comes whole.
fn parts(plan: &Plan) -> Vec<Value> {
    let texts = plan.pieces.iter().filter_map(|piece| match piece {
        Piece::Reasoning(text) => Some(json!({ "text": text, "thought": true })),
        Piece::Text(text) => Some(json!({ "text": text })),
        Piece::Call { .. } | Piece::Arguments(_) => None,
    });
    let calls = super::responses::calls(plan).into_iter().map(|(_, tool, arguments)| {
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_else(|_| json!({}));
        json!({ "functionCall": { "name": tool, "args": arguments } })
    });
    texts.chain(calls).collect()
}

pub(super) fn frames(model: &str, id: &str, plan: &Plan) -> Vec<Frame> {
    let pieces = parts(plan).into_iter();
    let mut frames: Vec<_> =
        pieces.map(|part| Frame::unnamed(&chunk(model, id, plan, &json!([part]), false)).piece()).collect();
    frames.push(Frame::unnamed(&chunk(model, id, plan, &json!([{ "text": "" }]), true)));
    frames
}

pub(super) fn whole(model: &str, id: &str, plan: &Plan) -> Value {
    chunk(model, id, plan, &parts(plan).into(), true)
}
