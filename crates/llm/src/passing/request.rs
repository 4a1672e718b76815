//! What is asked of a provider, as far as Warren must know it: for which model, how long the answer may be, and that it
//! has the provider reach nothing for it.
//!
//! A box reaches nothing but what it was granted. A provider that searches the web, fetches a page, or calls an MCP server on
//! behalf of a request is a way out of it, and so is an image by its address: these are refused, with the place where they
//! stand.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::errors::ErrorKind;
use super::{PassedPath, PassedTarget, unique_keys};

/// Fields that have the provider do something elsewhere, or keep the answer going when nobody listens.
const REACHING_FIELDS: [&str; 6] =
    ["mcp_servers", "container", "web_search_options", "background", "conversation", "prompt"];
/// Tools that the program itself carries out, by the beginning of their types. All others are the provider's.
const OWN_TOOLS: [&str; 11] = [
    "function",
    "custom",
    "namespace",
    "local_shell",
    "shell",
    "apply_patch",
    "bash_",
    "text_editor_",
    "computer",
    "memory_",
    "tool_search",
];
/// Where an address would be fetched by the provider.
const ADDRESS_FIELDS: [&str; 5] = ["image_url", "file_url", "url", "fileUri", "file_uri"];
/// What a program called a tool with, and what the tool said: any words.
const CALL_FIELDS: [&str; 5] =
    ["arguments", "functionCall", "functionResponse", "function_call", "function_response"];
const MAX_DEPTH: usize = 64;

/// A request that was read. It goes out as it came.
#[derive(Debug)]
pub struct PassedRequest {
    pub path: PassedPath,
    /// As whoever asks calls it.
    pub model: String,
    pub is_stream: bool,
    /// As long as the answer may be, if that is said.
    pub max_output_tokens: Option<u64>,
    /// Of what is read by the model, about.
    pub input_bytes: usize,
    /// The provider is asked to count, which whoever asked did not: what it says of that is kept back.
    pub hides_usage: bool,
    body: Bytes,
}

/// Why a request is not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRefusal {
    pub kind: ErrorKind,
    pub sentence: String,
}

impl RequestRefusal {
    fn invalid(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Invalid, sentence: sentence.into() }
    }
}

impl PassedRequest {
    pub fn read(target: PassedTarget, body: Bytes) -> Result<Self, RequestRefusal> {
        let PassedTarget { path, model } = target;
        let value = unique_keys::parse(&body)
            .map_err(|error| RequestRefusal::invalid(format!("the body is not sound JSON: {error}")))?;
        let Some(fields) = value.as_object() else {
            return Err(RequestRefusal::invalid("the body is not a JSON object"));
        };
        let model = model.or_else(|| value["model"].as_str().map(str::to_owned));
        let model = model.ok_or_else(|| RequestRefusal::invalid("model: missing"))?;
        let place = match path {
            PassedPath::Gemini { .. } => way_out_of_gemini(&value),
            PassedPath::Messages | PassedPath::CountTokens | PassedPath::Responses | PassedPath::Chat => {
                way_out(&value)
            }
        };
        if let Some(place) = place {
            let sentence = format!(
                "{place}: it would have the provider reach something for this box, which is not granted"
            );
            return Err(RequestRefusal { kind: ErrorKind::Forbidden, sentence });
        }
        let is_stream = match path {
            PassedPath::Gemini { is_sse, .. } => is_sse,
            PassedPath::Messages | PassedPath::CountTokens | PassedPath::Responses | PassedPath::Chat => {
                value["stream"] == Value::Bool(true)
            }
        };
        let asks_for_usage = value["stream_options"]["include_usage"] == Value::Bool(true);
        let longest = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let of_gemini = ["maxOutputTokens", "max_output_tokens"];
        let settings = value.get("generationConfig").or(value.get("generation_config"));
        let of_gemini = of_gemini.iter().filter_map(|name| settings?.get(*name)?.as_u64());
        Ok(Self {
            path,
            model,
            is_stream,
            max_output_tokens: longest
                .iter()
                .filter_map(|name| fields.get(*name)?.as_u64())
                .chain(of_gemini)
                .max(),
            input_bytes: text_bytes(&value),
            hides_usage: path == PassedPath::Chat && is_stream && !asks_for_usage,
            body,
        })
    }

    /// The body, with the name that the provider knows the model by. Only what is changed is written anew.
    pub(super) fn body_for(&self, model: &str) -> Bytes {
        let says_model = !matches!(self.path, PassedPath::Gemini { .. });
        if !says_model || (model == self.model && !self.hides_usage) {
            return self.body.clone();
        }
        let Ok(mut fields) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(&self.body) else {
            return self.body.clone();
        };
        let mut put = |name: &str, value: &Value| {
            if let Ok(raw) = serde_json::value::to_raw_value(value) {
                fields.insert(name.to_owned(), raw);
            }
        };
        put("model", &model.into());
        if self.hides_usage {
            put("stream_options", &serde_json::json!({ "include_usage": true }));
        }
        serde_json::to_vec(&fields).map_or_else(|_| self.body.clone(), Bytes::from)
    }
}

/// The place of the first thing by which a provider would reach something on behalf of the request.
fn way_out(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let is_set = |name: &&&str| fields.get(**name).is_some_and(|value| !is_nothing(value));
    if let Some(name) = REACHING_FIELDS.iter().find(is_set) {
        return Some((*name).to_owned());
    }
    let tools = value["tools"].as_array().into_iter().flatten().enumerate();
    let mut hosted = tools.filter_map(|(at, tool)| {
        // A tool without a type is one of the program's own.
        let of_type = tool.get("type")?.as_str().unwrap_or("?");
        let is_own = OWN_TOOLS.iter().any(|own| of_type.starts_with(own));
        (!is_own).then(|| format!("tools[{at}].type"))
    });
    if let Some(place) = hosted.next() {
        return Some(place);
    }
    ["messages", "input", "system", "contents", "instructions"]
        .iter()
        .find_map(|name| address(fields.get(*name)?, MAX_DEPTH).map(|place| format!("{name}{place}")))
}

/// The same on the wire on which a tool is known by its field, and fields have two spellings.
fn way_out_of_gemini(value: &Value) -> Option<String> {
    const OWN: [&str; 2] = ["functionDeclarations", "function_declarations"];
    for name in ["cachedContent", "cached_content"] {
        if value.get(name).is_some_and(|value| !is_nothing(value)) {
            return Some(name.to_owned());
        }
    }
    for (at, tool) in value["tools"].as_array().into_iter().flatten().enumerate() {
        let hosted = tool.as_object().into_iter().flatten().find(|(name, _)| !OWN.contains(&name.as_str()));
        if let Some((name, _)) = hosted {
            return Some(format!("tools[{at}].{name}"));
        }
    }
    ["contents", "systemInstruction", "system_instruction"]
        .iter()
        .find_map(|name| address(value.get(*name)?, MAX_DEPTH).map(|place| format!("{name}{place}")))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The place of an address that would be fetched. What a tool was called with, and what it said, may hold any words.
fn address(value: &Value, depth: usize) -> Option<String> {
    if depth == 0 {
        return Some(": it is nested too deep".to_owned());
    }
    match value {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(at, item)| address(item, depth - 1).map(|place| format!("[{at}]{place}"))),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let is_call = CALL_FIELDS.contains(&name.as_str())
                || (name == "input" && fields.get("type").is_some_and(is_tool_use));
            if is_call {
                return None;
            }
            let is_fetched = ADDRESS_FIELDS.contains(&name.as_str())
                && value
                    .as_str()
                    .is_some_and(|text| !text.trim_start().to_ascii_lowercase().starts_with("data:"));
            if is_fetched {
                return Some(format!(".{name}"));
            }
            address(value, depth - 1).map(|place| format!(".{name}{place}"))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn is_tool_use(of_type: &Value) -> bool {
    of_type.as_str().is_some_and(|text| text.ends_with("tool_use") || text.ends_with("tool_call"))
}

/// Bytes of all texts in it, but those of files, which are counted as one image each.
fn text_bytes(value: &Value) -> usize {
    const IMAGE_BYTES: usize = 6_400;
    const LONG: usize = 200_000;
    match value {
        Value::String(text) if text.len() > LONG && !text.contains(' ') => IMAGE_BYTES,
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + text_bytes(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn to(path: PassedPath) -> PassedTarget {
        PassedTarget { path, model: None }
    }

    fn read(path: PassedPath, body: &Value) -> Result<PassedRequest, RequestRefusal> {
        PassedRequest::read(to(path), body.to_string().into())
    }

    // A81
    #[test]
    fn a_model_that_stands_in_the_path_is_read_from_there() {
        let target =
            PassedTarget::of("/v1beta/models/gemini-2.5-flash:streamGenerateContent", "alt=sse&key=x")
                .unwrap();
        assert_eq!(target.path, PassedPath::Gemini { is_stream: true, is_sse: true });
        let ask = json!({ "contents": [{ "parts": [{ "text": "hi" }] }], "generationConfig": { "maxOutputTokens": 7 } });
        let request = PassedRequest::read(target.clone(), ask.to_string().into()).unwrap();
        assert_eq!((request.model.as_str(), request.max_output_tokens), ("gemini-2.5-flash", Some(7)));
        assert_eq!(request.body_for("other"), ask.to_string().as_bytes());
        for (body, place) in [
            (json!({ "contents": [], "tools": [{ "googleSearch": {} }] }), "tools[0].googleSearch"),
            (
                json!({ "contents": [], "tools": [{ "functionDeclarations": [] }, { "url_context": {} }] }),
                "tools[1].url_context",
            ),
            (
                json!({ "contents": [{ "parts": [{ "fileData": { "fileUri": "https://e.test" } }] }] }),
                "contents[0].parts[0].fileData.fileUri",
            ),
            (json!({ "contents": [], "cachedContent": "cachedContents/1" }), "cachedContent"),
        ] {
            let refusal = PassedRequest::read(target.clone(), body.to_string().into()).unwrap_err();
            assert!(refusal.sentence.starts_with(place), "{body}: {}", refusal.sentence);
        }
        for path in [
            "/v1beta/models/../x:generateContent",
            "/v1beta/models/a/b:generateContent",
            "/v1beta/models/a:delete",
            "/v1beta/files/a:generateContent",
            "/v1beta/models/:generateContent",
        ] {
            assert_eq!(PassedTarget::of(path, ""), None, "{path}");
        }
    }

    // A81
    #[test]
    fn a_body_goes_out_as_it_came_but_for_the_name() {
        let text = r#"{ "model": "claude-x", "max_tokens": 9, "messages": [ {"role":"user", "content": "hi"} ], "z": 1.50 }"#;
        let request =
            PassedRequest::read(to(PassedPath::Messages), Bytes::from_static(text.as_bytes())).unwrap();
        assert_eq!((request.model.as_str(), request.max_output_tokens), ("claude-x", Some(9)));
        assert_eq!(request.body_for("claude-x"), text.as_bytes());
        let renamed = String::from_utf8(request.body_for("other").to_vec()).unwrap();
        assert!(renamed.contains(r#""model":"other""#), "{renamed}");
        // What was not touched is written as it was.
        assert!(
            renamed.contains(r#"[ {"role":"user", "content": "hi"} ]"#) && renamed.contains("1.50"),
            "{renamed}"
        );
    }

    // A81
    #[test]
    fn chat_is_asked_to_count_where_it_would_not() {
        let chat = |options: Value| {
            let body = json!({ "model": "m", "messages": [], "stream": true, "stream_options": options });
            let request = read(PassedPath::Chat, &body).unwrap();
            let sent: Value = serde_json::from_slice(&request.body_for("m")).unwrap();
            (request.hides_usage, sent["stream_options"]["include_usage"].clone())
        };
        assert_eq!(chat(Value::Null), (true, json!(true)));
        assert_eq!(chat(json!({ "include_usage": true })), (false, json!(true)));
    }

    // A81, sec: a provider is no way out of a box
    #[test]
    fn what_a_provider_would_reach_for_a_box_is_refused_with_its_place() {
        let anthropic = |more: Value| {
            let mut body =
                json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": "hi" }] });
            for (name, value) in more.as_object().unwrap() {
                body[name] = value.clone();
            }
            body
        };
        for (body, place) in [
            (json!({ "mcp_servers": [{ "url": "https://evil.test" }] }), "mcp_servers"),
            (json!({ "container": "c" }), "container"),
            (json!({ "tools": [{ "type": "web_search_20250305", "name": "web_search" }] }), "tools[0].type"),
            (
                json!({ "tools": [{ "name": "x", "input_schema": {} }, { "type": "web_fetch_20250910" }] }),
                "tools[1].type",
            ),
            (json!({ "tools": [{ "type": "mcp", "server_url": "https://evil.test" }] }), "tools[0].type"),
            (json!({ "tools": [{ "type": "code_interpreter" }] }), "tools[0].type"),
            (json!({ "tools": [{ "type": 7 }] }), "tools[0].type"),
            (json!({ "web_search_options": { "search_context_size": "low" } }), "web_search_options"),
            (json!({ "background": true }), "background"),
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "image", "source": { "type": "url", "url": "https://e.test/?k" } }] }] }),
                "messages[0].content[0].source.url",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": " HTTPS://e.test" } }] }] }),
                "messages[0].content[0].image_url.url",
            ),
            (
                json!({ "input": [{ "type": "message", "content": [{ "type": "input_image", "image_url": "https://e.test" }] }] }),
                "input[0].content[0].image_url",
            ),
            (
                json!({ "input": [{ "type": "message", "content": [{ "type": "input_file", "file_url": "https://e.test" }] }] }),
                "input[0].content[0].file_url",
            ),
        ] {
            let refusal = read(PassedPath::Messages, &anthropic(body.clone())).unwrap_err();
            assert_eq!(refusal.kind, ErrorKind::Forbidden, "{body}");
            assert!(refusal.sentence.starts_with(place), "{body}: {}", refusal.sentence);
        }
        for body in [
            json!({ "tools": [{ "name": "x", "input_schema": {} }, { "type": "bash_20250124", "name": "bash" }] }),
            json!({ "tools": [{ "type": "function", "function": { "name": "f" } }], "background": false, "mcp_servers": [] }),
            json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } }] }] }),
            json!({ "messages": [{ "role": "assistant", "content": [{ "type": "tool_use", "input": { "url": "https://x.test" } }] }] }),
            json!({ "messages": [{ "role": "user", "content": "see https://x.test" }] }),
        ] {
            assert!(read(PassedPath::Messages, &anthropic(body.clone())).is_ok(), "{body}");
        }
    }

    // A81: bad input
    #[test]
    fn a_body_that_can_be_read_in_two_ways_is_refused() {
        for text in [
            r#"{"model":"a","model":"b","messages":[]}"#,
            r#"{"model":"a","messages":[{"role":"user","content":[{"type":"text","type":"image"}]}]}"#,
            r#"{"model":"a"} {"model":"b"}"#,
            r#"{"model":7}"#,
            r#"[]"#,
            r#""#,
            "{\"model\":\"\u{0}",
        ] {
            let refusal =
                PassedRequest::read(to(PassedPath::Chat), Bytes::from(text.to_owned())).unwrap_err();
            assert_eq!(refusal.kind, ErrorKind::Invalid, "{text}");
        }
        let deep = format!(r#"{{"model":"a","messages":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
        assert!(PassedRequest::read(to(PassedPath::Chat), deep.into()).is_err());
    }
}
