//! What a request may be.

use std::collections::HashSet;

use http::HeaderMap;
use serde_json::{Value, json};

use super::super::problem::Problem;
use super::signature;
use crate::scripted::{Conversation, SeenCall};
use crate::wires::anthropic::request::{VERSION_2023, VERSION_2026};

const FIELDS: [&str; 19] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "metadata",
    "stop_sequences",
    "thinking",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "output_config",
    "output_format",
    "diagnostics",
    "cache_control",
    "inference_geo",
];
/// Taken by the older version alone.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];
const MAX_CACHE_MARKS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Version {
    V2023,
    V2026,
}

pub(in crate::server) fn version(headers: &HeaderMap) -> Result<Version, Problem> {
    match headers.get("anthropic-version").and_then(|value| value.to_str().ok()) {
        Some(VERSION_2023) => Ok(Version::V2023),
        Some(VERSION_2026) => Ok(Version::V2026),
        Some(other) => Err(Problem::bad(format!("anthropic-version: \"{other}\" is not a valid version"))),
        None => Err(Problem::bad("anthropic-version: header is required")),
    }
}

pub(in crate::server) fn check(body: &Value, version: Version) -> Result<Conversation, Problem> {
    let fields = body.as_object().ok_or_else(|| Problem::bad("the body is not an object"))?;
    for name in fields.keys() {
        let is_known = FIELDS.contains(&name.as_str());
        let is_sampling = SAMPLING.contains(&name.as_str());
        if is_sampling && version == Version::V2026 {
            return Err(Problem::bad(format!("{name}: is not supported by this version")));
        }
        if !is_known && !is_sampling {
            return Err(Problem::bad(format!("{name}: Extra inputs are not permitted")));
        }
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(Problem::bad("model: Field required"));
    }
    let max_tokens = body["max_tokens"].as_u64().filter(|max| *max > 0);
    let max_tokens = max_tokens.ok_or_else(|| Problem::bad("max_tokens: Field required"))?;
    if count_marks(body) > MAX_CACHE_MARKS {
        return Err(Problem::bad("A maximum of 4 blocks with cache_control may be provided"));
    }
    let offered = check_tools(body)?;
    let mut conversation = Conversation { system: system_text(&body["system"])?, ..Conversation::default() };
    let has_tools = !offered.is_empty();
    conversation.offered = offered;
    let messages = Messages::read(&body["messages"], has_tools)?;
    check_thinking(body, max_tokens, messages.list)?;
    if version == Version::V2026 && messages.ends_with_words() {
        return Err(Problem::bad("the conversation must end with a user message: no assistant prefill"));
    }
    messages.tell(&mut conversation);
    Ok(conversation)
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_marks).sum(),
        Value::Object(fields) => {
            let here = usize::from(fields.get("cache_control").is_some_and(Value::is_object));
            // What a model wrote or a tool wants is not looked into.
            let inner = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "input" | "input_schema"));
            here + inner.map(|(_, value)| count_marks(value)).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn check_tools(body: &Value) -> Result<Vec<String>, Problem> {
    let mut names: Vec<String> = Vec::new();
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_name(name, 128) {
            return Err(Problem::bad(format!(
                "tools.{at}.name: String should match '^[a-zA-Z0-9_-]{{1,128}}$'"
            )));
        }
        let is_theirs = tool["type"].as_str().is_some_and(|kind| kind != "custom");
        if !is_theirs && !tool["input_schema"].is_object() {
            return Err(Problem::bad(format!("tools.{at}.input_schema: Field required")));
        }
        if names.iter().any(|other| other == name) {
            return Err(Problem::bad("tools: Tool names must be unique."));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn is_name(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len())
        && text.bytes().all(|one| one.is_ascii_alphanumeric() || matches!(one, b'_' | b'-'))
}

fn system_text(system: &Value) -> Result<String, Problem> {
    match system {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            if texts.len() != blocks.len() || texts.iter().any(|text| text.is_empty()) {
                return Err(Problem::bad("system: text content blocks must be non-empty"));
            }
            Ok(texts.join("\n"))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(Problem::bad("system: expected a string or a list"))
        }
    }
}

fn check_thinking(body: &Value, max_tokens: u64, messages: &[Value]) -> Result<(), Problem> {
    if body["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1_024 || budget >= max_tokens {
        return Err(Problem::bad("thinking.budget_tokens: expected 1024 or more, and less than max_tokens"));
    }
    let last = messages.iter().rev().find(|message| message["role"] == "assistant");
    let blocks = last.and_then(|message| message["content"].as_array());
    let Some(blocks) = blocks else { return Ok(()) };
    let has_calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let thinks = |block: &Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    if has_calls && !blocks.first().is_some_and(thinks) {
        return Err(Problem::bad("Expected `thinking` or `redacted_thinking`, but found `tool_use`."));
    }
    Ok(())
}

/// Messages that have been checked.
struct Messages<'a> {
    list: &'a [Value],
}

impl<'a> Messages<'a> {
    fn read(messages: &'a Value, has_tools: bool) -> Result<Self, Problem> {
        let list = messages.as_array().map(Vec::as_slice).unwrap_or_default();
        if list.first().is_none_or(|first| first["role"] != "user") {
            return Err(Problem::bad("messages: first message must use the \"user\" role"));
        }
        let mut seen: HashSet<String> = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for (at, message) in list.iter().enumerate() {
            let blocks = blocks_of(message, at)?;
            let is_user = match message["role"].as_str() {
                Some("user") => true,
                Some("assistant") => false,
                // Words of the system between the turns, which Claude Code sends; nobody waits for an answer to them.
                Some("system") if at > 0 && blocks.iter().all(|block| block["type"] == "text") => continue,
                _ => return Err(Problem::bad(format!("messages.{at}.role: expected user or assistant"))),
            };
            let results = results_of(&blocks, at, is_user)?;
            for id in &results {
                if !open.contains(id) {
                    return Err(Problem::bad(format!(
                        "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                         `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )));
                }
            }
            if let Some(id) = open.iter().find(|id| !results.contains(id)) {
                return Err(Problem::bad(format!(
                    "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
                )));
            }
            open = calls_of(&blocks, at)?;
            if !open.is_empty() && !has_tools {
                return Err(Problem::bad("requests with `tool_use` blocks must define tools"));
            }
            if let Some(id) = open.iter().find(|id| !seen.insert((*id).clone())) {
                return Err(Problem::bad(format!("messages: `tool_use` ids must be unique: {id}")));
            }
        }
        if let Some(id) = open.first() {
            return Err(Problem::bad(format!(
                "messages: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
            )));
        }
        Ok(Self { list })
    }

    fn ends_with_words(&self) -> bool {
        let Some(last) = self.list.last().filter(|last| last["role"] == "assistant") else { return false };
        let plain =
            |block: &Value| matches!(block["type"].as_str(), Some("text" | "thinking" | "redacted_thinking"));
        last["content"].as_array().is_none_or(|blocks| blocks.iter().all(plain))
    }

    fn tell(&self, conversation: &mut Conversation) {
        for message in self.list {
            let blocks = blocks_of(message, 0).unwrap_or_default();
            if message["role"] == "system" {
                continue;
            }
            if message["role"] == "assistant" {
                let calls = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| SeenCall {
                    id: block["id"].as_str().unwrap_or_default().to_owned(),
                    tool: block["name"].as_str().unwrap_or_default().to_owned(),
                    ..SeenCall::default()
                });
                conversation.answered(calls.collect());
                continue;
            }
            for block in blocks.iter().filter(|block| block["type"] == "tool_result") {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if let Some(call) = conversation.calls.iter_mut().rev().find(|call| call.id == id) {
                    call.result = words(&block["content"]);
                    call.is_error = block["is_error"] == json!(true);
                }
            }
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            if !texts.is_empty() {
                conversation.user_says(&texts.join("\n"));
            }
        }
    }
}

fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn blocks_of(message: &Value, at: usize) -> Result<Vec<Value>, Problem> {
    match &message["content"] {
        Value::String(text) if text.is_empty() => {
            Err(Problem::bad(format!("messages.{at}: all messages must have non-empty content")))
        }
        Value::String(text) => Ok(vec![json!({ "type": "text", "text": text })]),
        Value::Array(blocks) if !blocks.is_empty() => {
            let is_blank = |block: &&Value| {
                block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
            };
            if blocks.iter().any(|block| is_blank(&block)) {
                return Err(Problem::bad(format!(
                    "messages.{at}: text content blocks must contain non-whitespace text"
                )));
            }
            Ok(blocks.clone())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_) => {
            Err(Problem::bad(format!("messages.{at}: all messages must have non-empty content")))
        }
    }
}

/// Ids of a message's results, which stand before everything else in it.
fn results_of(blocks: &[Value], at: usize, is_user: bool) -> Result<Vec<String>, Problem> {
    let mut ids: Vec<String> = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let kind = block["type"].as_str().unwrap_or_default();
        let is_allowed = match kind {
            "text" => true,
            "tool_result" | "image" | "document" | "search_result" | "container_upload" => is_user,
            // Tools that the provider runs have many types.
            "thinking" | "redacted_thinking" | "tool_use" | "server_tool_use" | "mcp_tool_use" => !is_user,
            other => other.ends_with("_tool_result") && !is_user,
        };
        if !is_allowed {
            return Err(Problem::bad(format!("messages.{at}.content.{place}: unexpected type `{kind}`")));
        }
        if kind == "tool_result" {
            if ids.len() != place {
                return Err(Problem::bad(format!("messages.{at}: `tool_result` blocks must come first")));
            }
            let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
            if ids.contains(&id) {
                return Err(Problem::bad(format!("messages.{at}: two `tool_result` blocks for {id}")));
            }
            ids.push(id);
        }
    }
    Ok(ids)
}

fn calls_of(blocks: &[Value], at: usize) -> Result<Vec<String>, Problem> {
    let mut ids = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let wrong = |what: &str| Err(Problem::bad(format!("messages.{at}.content.{place}.{what}")));
        match block["type"].as_str() {
            Some("tool_use") => {
                let id = block["id"].as_str().unwrap_or_default();
                if !is_name(id, 256) {
                    return wrong("id: String should match pattern '^[a-zA-Z0-9_-]+$'");
                }
                if !is_name(block["name"].as_str().unwrap_or_default(), 200) {
                    return wrong("name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'");
                }
                if !block["input"].is_object() {
                    return wrong("input: Input should be a valid dictionary");
                }
                ids.push(id.to_owned());
            }
            Some("thinking") => {
                let thought = block["thinking"].as_str().unwrap_or_default();
                if block["signature"] != json!(signature(thought)) {
                    return wrong("signature: Invalid `signature` in `thinking` block");
                }
                if block.get("cache_control").is_some() {
                    return wrong("cache_control: thinking blocks cannot be marked");
                }
            }
            Some(_) | None => {}
        }
    }
    Ok(ids)
}
