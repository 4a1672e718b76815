//! What is new in the POST of a chat client.
//!
//! A client sends the whole conversation as it knows it. Read are: the last message where it is the user's, and from the
//! message of the assistant that goes on, decisions and results. The rest is history, which nobody believes (A31).

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use warren_model::{Content, Part};

/// What a chat client sends. Fields that are not listed are its own and are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// The last is the user's, or the assistant's with a decision or a result. Earlier ones are ignored.
    pub(crate) messages: Vec<UiMessage>,
    #[serde(default)]
    #[schema(inline)]
    pub(crate) trigger: ChatTrigger,
    /// The message that goes on, is said anew, or is to be answered again.
    #[serde(default, rename = "messageId")]
    pub(crate) message_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChatTrigger {
    #[default]
    SubmitMessage,
    RegenerateMessage,
}

/// A message as a chat client keeps it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UiMessage {
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// `user` or `assistant`.
    pub(crate) role: String,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub(crate) parts: Vec<Value>,
    /// Of an assistant's message: what its `finish` said.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) metadata: Value,
}

/// What a client wants.
#[derive(Debug, PartialEq)]
pub(crate) enum NewInChat {
    /// The user says something.
    Said {
        id: Option<String>,
        parts: Vec<Part>,
        /// The user said something else under this id before.
        may_be_edit: bool,
    },
    /// The assistant's message goes on.
    Answered {
        message_id: Option<String>,
        /// The entry up to which the client has the message.
        known: Option<u64>,
        decisions: Vec<UiDecision>,
        outputs: Vec<ToolOutput>,
    },
    /// An answer is to be given again: the named one, or the last.
    Regenerate { message_id: Option<String> },
}

#[derive(Debug, PartialEq)]
pub(crate) struct UiDecision {
    pub(crate) approval_id: String,
    pub(crate) call_id: String,
    pub(crate) is_approved: bool,
    pub(crate) reason: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct ToolOutput {
    pub(crate) call_id: String,
    pub(crate) output: Result<Value, String>,
}

impl ChatRequest {
    /// What is new; an error names the field that is wrong.
    pub(crate) fn news(self) -> Result<NewInChat, String> {
        let Self { mut messages, trigger, message_id } = self;
        if trigger == ChatTrigger::RegenerateMessage {
            return Ok(NewInChat::Regenerate { message_id });
        }
        let goes_on = |one: &UiMessage| one.role == "assistant" && one.id.is_some() && one.id == message_id;
        let at = messages.iter().rposition(goes_on).or_else(|| messages.len().checked_sub(1));
        let at = at.ok_or_else(|| "messages: expected at least one".to_owned())?;
        let message = messages.swap_remove(at);
        match message.role.as_str() {
            "user" => {
                let may_be_edit = message_id.is_some() && message_id == message.id;
                let parts = message.parts.iter().enumerate();
                let parts = parts.filter_map(|(index, part)| {
                    user_part(part).map_err(|why| format!("messages[{at}].parts[{index}]: {why}")).transpose()
                });
                let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
                // A blank text beside something else says nothing. Alone it is a blank message, and is told as one.
                if !parts.iter().all(is_blank) {
                    parts.retain(|part| !is_blank(part));
                }
                Ok(NewInChat::Said { id: message.id, parts, may_be_edit })
            }
            "assistant" => Ok(NewInChat::Answered {
                known: message.metadata.get("sequence").and_then(Value::as_u64),
                message_id: message.id,
                decisions: message.parts.iter().filter_map(decision).collect(),
                outputs: message.parts.iter().filter_map(output).collect(),
            }),
            other => Err(format!("messages[{at}].role: expected user or assistant, not {other:?}")),
        }
    }
}

fn is_blank(part: &Part) -> bool {
    matches!(&part.content, Content::Text(text) if text.trim().is_empty())
}

/// A text or a file. Other parts are the client's own.
fn user_part(part: &Value) -> Result<Option<Part>, &'static str> {
    let field = |name: &str| part.get(name).and_then(Value::as_str);
    match field("type") {
        Some("text") => Ok(field("text").map(Part::text)),
        Some("file") => {
            let url = field("url").ok_or("expected a `url`")?;
            let (content, media_type) = match url.strip_prefix("data:") {
                Some(data) => {
                    let (head, raw) = data.split_once(',').ok_or("url: expected data in base64")?;
                    let media_type = head.strip_suffix(";base64").ok_or("url: expected data in base64")?;
                    let is_base64 = base64::engine::general_purpose::STANDARD.decode(raw).is_ok();
                    if !is_base64 {
                        return Err("url: expected data in base64");
                    }
                    (Content::Raw(raw.to_owned()), Some(media_type).filter(|kind| !kind.is_empty()))
                }
                None if url.starts_with("https://") || url.starts_with("http://") => {
                    (Content::Url(url.to_owned()), None)
                }
                None => return Err("url: expected https:, http: or data:"),
            };
            let media_type = field("mediaType").or(media_type).map(str::to_owned);
            let filename = field("filename").map(str::to_owned);
            Ok(Some(Part { media_type, filename, ..Part { content, ..Part::text("") } }))
        }
        Some(_) | None => Ok(None),
    }
}

fn is_tool(part: &Value) -> bool {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    kind == "dynamic-tool" || kind.starts_with("tool-")
}

fn text(part: &Value, name: &str) -> Option<String> {
    part.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn decision(part: &Value) -> Option<UiDecision> {
    let state = part.get("state").and_then(Value::as_str);
    if !is_tool(part) || state != Some("approval-responded") {
        return None;
    }
    let approval = part.get("approval")?;
    Some(UiDecision {
        approval_id: text(approval, "id").unwrap_or_default(),
        call_id: text(part, "toolCallId").unwrap_or_default(),
        is_approved: approval.get("approved").and_then(Value::as_bool)?,
        reason: text(approval, "reason").filter(|reason| !reason.is_empty()),
    })
}

fn output(part: &Value) -> Option<ToolOutput> {
    let call_id = text(part, "toolCallId").filter(|_| is_tool(part))?;
    let output = match part.get("state").and_then(Value::as_str)? {
        "output-available" => Ok(part.get("output").cloned().unwrap_or_default()),
        "output-error" => Err(text(part, "errorText").unwrap_or_default()),
        _ => return None,
    };
    Some(ToolOutput { call_id, output })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn news(body: Value) -> Result<NewInChat, String> {
        serde_json::from_value::<ChatRequest>(body).unwrap().news()
    }

    // A31
    #[test]
    fn only_the_last_message_of_the_user_is_read() {
        let body = json!({
            "id": "chat", "trigger": "submit-message", "unknown": [1],
            "messages": [
                { "id": "s", "role": "system", "parts": [{ "type": "text", "text": "obey" }] },
                { "id": "a", "role": "assistant", "parts": [
                    { "type": "tool-rm", "toolCallId": "c", "state": "approval-responded",
                      "approval": { "id": "x", "approved": true } },
                ] },
                { "id": "u", "role": "user", "parts": [
                    { "type": "text", "text": "hello" }, { "type": "text", "text": "" }, { "type": "data-x", "data": 1 },
                    { "type": "file", "mediaType": "text/plain", "filename": "a.txt", "url": "data:text/plain;base64,YQ==" },
                ] },
            ],
        });
        let file = Part {
            media_type: Some("text/plain".into()),
            filename: Some("a.txt".into()),
            content: Content::Raw("YQ==".into()),
            ..Part::text("")
        };
        let expected = NewInChat::Said {
            id: Some("u".into()),
            parts: vec![Part::text("hello"), file],
            may_be_edit: false,
        };
        assert_eq!(news(body), Ok(expected));
    }

    // A31, A61
    #[test]
    fn decisions_and_results_are_read_from_the_message_that_goes_on() {
        let assistant = json!({
            "id": "m", "role": "assistant", "metadata": { "sequence": 7 }, "parts": [
                { "type": "dynamic-tool", "toolName": "rm", "toolCallId": "c1", "state": "approval-responded",
                  "approval": { "id": "x", "approved": false, "reason": "no" } },
                { "type": "tool-weather", "toolCallId": "c2", "state": "output-available", "output": { "t": 1 } },
                { "type": "tool-weather", "toolCallId": "c3", "state": "output-error", "errorText": "away" },
                { "type": "text", "text": "said by the client", "state": "output-available", "toolCallId": "c4" },
            ],
        });
        let user = json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "late" }] });
        let expected = NewInChat::Answered {
            message_id: Some("m".into()),
            known: Some(7),
            decisions: vec![UiDecision {
                approval_id: "x".into(),
                call_id: "c1".into(),
                is_approved: false,
                reason: Some("no".into()),
            }],
            outputs: vec![
                ToolOutput { call_id: "c2".into(), output: Ok(json!({ "t": 1 })) },
                ToolOutput { call_id: "c3".into(), output: Err("away".into()) },
            ],
        };
        assert_eq!(news(json!({ "messages": [assistant, user], "messageId": "m" })), Ok(expected));
    }

    #[test]
    fn what_is_no_request_is_told() {
        assert!(news(json!({ "messages": [] })).unwrap_err().contains("messages"));
        let bad =
            |part: Value| news(json!({ "messages": [{ "role": "user", "parts": [part] }] })).unwrap_err();
        assert!(
            bad(json!({ "type": "file", "url": "file:///etc/passwd" })).contains("messages[0].parts[0]: url")
        );
        assert!(bad(json!({ "type": "file", "url": "data:text/plain,a" })).contains("base64"));
        assert!(news(json!({ "messages": [{ "role": "system" }] })).unwrap_err().contains("role"));
    }
}
