//! The MCP endpoints: one JSON-RPC message there, and what it is answered with.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use super::{Client, Error, Frames, failure, read_json};

const BOTH: &str = "application/json, text/event-stream";
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LABEL: HeaderName = HeaderName::from_static("mcp-session-id");
/// Where a message of the current revision says which revision it is.
const OWN_VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// What was agreed on when an older client began; nothing for the current revision, whose messages stand alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpAgreement {
    pub protocol_version: Option<String>,
    /// Tells apart the clients that share a token.
    pub label: Option<String>,
}

/// The messages that a message is answered with; none for a notification. Dropped before its end, it cancels the call.
pub struct McpAnswer {
    /// What the server gives an older client to name itself by, in the answer to `initialize`.
    pub label: Option<String>,
    pub messages: BoxStream<'static, Result<Value, Error>>,
}

impl std::fmt::Debug for McpAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpAnswer").field("label", &self.label).finish_non_exhaustive()
    }
}

impl Client {
    /// Sends a message to the endpoint of a workspace, or to that of the platform.
    pub async fn mcp(
        &self,
        workspace_id: Option<&str>,
        message: &Value,
        agreed: &McpAgreement,
    ) -> Result<McpAnswer, Error> {
        let request = match workspace_id {
            Some(id) => self.request_to(Method::POST, &["mcp", "workspaces"], &[id]),
            None => self.request_to(Method::POST, &["mcp"], &[]),
        };
        let mut request = request.header(ACCEPT, BOTH).json(message);
        for (name, value) in headers(message, agreed) {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| Error::from_send(&self.base, error))?;
        answer(response).await
    }
}

async fn answer(response: Response) -> Result<McpAnswer, Error> {
    let text = |name: &HeaderName| {
        response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let label = text(&LABEL);
    let media_type = text(&CONTENT_TYPE).unwrap_or_default();
    let messages = if response.status() == StatusCode::ACCEPTED {
        stream::empty().boxed()
    } else if media_type.starts_with("application/json") {
        // Also with a status of failure: the protocol's own errors have one.
        let message = read_json::<Value>(response).await?;
        stream::iter([Ok(message)]).boxed()
    } else if response.status().is_success() && media_type.starts_with("text/event-stream") {
        Frames::<Value>::of(response, None).boxed()
    } else {
        return Err(failure(response).await);
    };
    Ok(McpAnswer { label, messages })
}

/// What the protocol wants said in the head too, for those who look no further.
fn headers(message: &Value, agreed: &McpAgreement) -> Vec<(HeaderName, HeaderValue)> {
    let method = message["method"].as_str().unwrap_or_default();
    let own = message.pointer(OWN_VERSION).and_then(Value::as_str);
    let mut headers = Vec::new();
    let mut add = |name, text: &str| headers.extend(header_value(text).map(|value| (name, value)));
    match own {
        Some(version) => {
            add(VERSION, version);
            add(METHOD, method);
            let named = match method {
                "tools/call" | "prompts/get" => message.pointer("/params/name"),
                "resources/read" => message.pointer("/params/uri"),
                _ => None,
            };
            if let Some(name) = named.and_then(Value::as_str) {
                add(NAME, name);
            }
        }
        None if method == "initialize" => {}
        None => {
            if let Some(version) = &agreed.protocol_version {
                add(VERSION, version);
            }
            if let Some(label) = &agreed.label {
                add(LABEL, label);
            }
        }
    }
    headers
}

/// The text, or what the protocol writes for a text that no header can carry.
fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && !looks_encoded && text.trim() == text {
        HeaderValue::from_str(text).ok()
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", BASE64_STANDARD.encode(text))).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(message: &Value, agreed: &McpAgreement) -> Vec<(String, String)> {
        let headers = headers(message, agreed);
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    // S30
    #[test]
    fn a_message_that_says_its_revision_says_so_in_the_head_too() {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let call = json!({ "method": "tools/call", "params": { "name": "workspace_ls", "_meta": meta } });
        let agreed = McpAgreement { protocol_version: Some("2025-11-25".into()), label: Some("x".into()) };
        let expected = [
            pair("mcp-protocol-version", "2026-07-28"),
            pair("mcp-method", "tools/call"),
            pair("mcp-name", "workspace_ls"),
        ];
        assert_eq!(told(&call, &agreed), expected);
        let read = json!({ "method": "resources/read", "params": { "uri": "ä", "_meta": meta } });
        assert_eq!(told(&read, &agreed)[2], pair("mcp-name", "=?base64?w6Q=?="));
    }

    // S30
    #[test]
    fn an_older_message_carries_what_was_agreed_on() {
        let agreed = McpAgreement { protocol_version: Some("2025-11-25".into()), label: Some("x".into()) };
        assert_eq!(told(&json!({ "method": "initialize", "params": {} }), &agreed), []);
        let expected = [pair("mcp-protocol-version", "2025-11-25"), pair("mcp-session-id", "x")];
        assert_eq!(told(&json!({ "method": "tools/list" }), &agreed), expected);
    }
}
