//! What a client may send. Nothing is cut to size: what is too much is refused, and says by how much (X5).

use serde_json::{Map, Value, json};
use warren_model::{ErrorCode, Limits, Message as Said};

use super::convert::message_from;
use super::error::{ErrorKind, ProtocolError};
use super::metadata::{REQUEST, strip_reserved};
use super::requests::SendMessageRequest;
use super::wire::{Message, Part, PartContent, PushConfig, Role};

pub const MAX_CONTEXT_ID_BYTES: usize = 128;
/// Extensions and references of one message, each.
const MAX_NAMES: usize = 100;
const MAX_NAME_BYTES: usize = 2_048;

/// A request that is fit to be sent on.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    pub message: Said,
    pub context_id: Option<String>,
    /// The task that the message goes on with, as the client named it.
    pub task_id: Option<String>,
    pub history_length: Option<usize>,
    pub returns_immediately: bool,
    pub push_config: Option<PushConfig>,
}

/// Checks a request to send a message and turns it into Warren's nouns.
pub fn check_send(request: SendMessageRequest, limits: &Limits) -> Result<Incoming, ProtocolError> {
    let SendMessageRequest { message, configuration, mut metadata } = request;
    let configuration = configuration.unwrap_or_default();
    check_message(&message, limits)?;
    let context_id = message.context_id.clone().filter(|id| !id.is_empty());
    if let Some(id) = &context_id {
        checked_context_id(id, "message.contextId")?;
    }
    let task_id = message.task_id.clone().filter(|id| !id.is_empty());
    let mut said = message_from(message);
    strip_reserved(&mut said.metadata);
    strip_reserved(&mut metadata);
    keep_request(&mut said, metadata, configuration.accepted_output_modes);
    Ok(Incoming {
        message: said,
        context_id,
        task_id,
        history_length: checked_history_length(configuration.history_length, "configuration.historyLength")?,
        returns_immediately: configuration.return_immediately.unwrap_or_default(),
        push_config: configuration.task_push_notification_config,
    })
}

/// What came beside the message goes with it to the agent.
fn keep_request(said: &mut Said, metadata: Map<String, Value>, modes: Vec<String>) {
    let mut kept = Map::new();
    if !metadata.is_empty() {
        kept.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if !modes.is_empty() {
        kept.insert("acceptedOutputModes".to_owned(), json!(modes));
    }
    if !kept.is_empty() {
        said.metadata.insert(REQUEST.to_owned(), Value::Object(kept));
    }
}

fn check_message(message: &Message, limits: &Limits) -> Result<(), ProtocolError> {
    checked_name(&message.message_id, Said::MAX_ID_BYTES, "message.messageId")?;
    match message.role {
        Role::User => {}
        // Otherwise a client could put words into the agent's mouth (X4).
        Role::Agent | Role::Unspecified => {
            return Err(ProtocolError::invalid("message.role: a message to an agent has the role ROLE_USER"));
        }
    }
    if message.parts.is_empty() {
        return Err(ProtocolError::invalid("message.parts: expected at least one part"));
    }
    check_names(&message.extensions, "message.extensions")?;
    check_names(&message.reference_task_ids, "message.referenceTaskIds")?;
    let max_parts = usize::try_from(limits.max_message_parts).unwrap_or(usize::MAX);
    if message.parts.len() > max_parts {
        let count = message.parts.len();
        return Err(too_large(&format!(
            "message.parts: {count} parts, and the limit is {max_parts} (`limits.max_message_parts`)"
        )));
    }
    check_text(&message.parts, limits)
}

/// All text counts, not that of the first part alone (X5).
fn check_text(parts: &[Part], limits: &Limits) -> Result<(), ProtocolError> {
    let bytes: usize = parts
        .iter()
        .map(|part| match &part.content {
            PartContent::Text(text) => text.len(),
            PartContent::Raw(_) | PartContent::Url(_) | PartContent::Data(_) => 0,
        })
        .sum();
    let max = limits.max_message_text_bytes;
    if u64::try_from(bytes).unwrap_or(u64::MAX) > max {
        return Err(too_large(&format!(
            "message.parts: {bytes} bytes of text in all, and the limit is {max} (`limits.max_message_text_bytes`)"
        )));
    }
    Ok(())
}

fn too_large(message: &str) -> ProtocolError {
    ProtocolError::new(ErrorKind::Warren(ErrorCode::PayloadTooLarge), message)
}

fn check_names(names: &[String], field: &str) -> Result<(), ProtocolError> {
    if names.len() > MAX_NAMES {
        return Err(ProtocolError::invalid(format!("{field}: at most {MAX_NAMES}")));
    }
    names
        .iter()
        .enumerate()
        .try_for_each(|(at, name)| checked_name(name, MAX_NAME_BYTES, &format!("{field}[{at}]")))
}

/// A name that goes into rows, headers and logs: not empty, not long, and of one line (sec/A07).
fn checked_name(name: &str, max_bytes: usize, field: &str) -> Result<(), ProtocolError> {
    let words = if name.trim().is_empty() {
        "expected text".to_owned()
    } else if name.len() > max_bytes {
        format!("at most {max_bytes} bytes")
    } else if name.chars().any(char::is_control) {
        "control characters are not taken".to_owned()
    } else {
        return Ok(());
    };
    Err(ProtocolError::invalid(format!("{field}: {words}")))
}

pub fn checked_context_id(id: &str, field: &str) -> Result<(), ProtocolError> {
    checked_name(id, MAX_CONTEXT_ID_BYTES, field)
}

/// How much of the history is wanted: absent is all of it, 0 none.
pub fn checked_history_length(length: Option<i64>, field: &str) -> Result<Option<usize>, ProtocolError> {
    length
        .map(|length| {
            usize::try_from(length)
                .map_err(|_| ProtocolError::invalid(format!("{field}: expected 0 or more")))
        })
        .transpose()
}
