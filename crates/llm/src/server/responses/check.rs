//! What a request may be.

use serde_json::{Value, json};

use super::super::problem::Problem;
use super::{encrypted, summary_of};
use crate::parameters::Parameters;
use crate::scripted::{Conversation, SeenCall};

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

pub(in crate::server) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|one| one.is_ascii_alphanumeric() || matches!(one, b'_' | b'-'))
}

/// Names of the functions that are offered. `of` finds a function in a tool.
pub(in crate::server) fn check_tools(
    body: &Value,
    of: impl Fn(&Value) -> &Value,
) -> Result<Vec<String>, Problem> {
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

pub(in crate::server) fn check(body: &Value) -> Result<Conversation, Problem> {
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
                    if next.is_none_or(|next| next == "function_call_output") {
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
