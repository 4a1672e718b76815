//! What a client may say by A2A beyond what any message must be: sizes and names are checked where messages are
//! accepted, for all who send some.

use serde_json::{Map, Value, json};
use warren_model::Message as Said;

use super::convert::message_from;
use super::error::ProtocolError;
use super::metadata::{REQUEST, strip_reserved};
use super::requests::SendMessageRequest;
use super::wire::{PushConfig, Role};

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
pub fn check_send(request: SendMessageRequest) -> Result<Incoming, ProtocolError> {
    let SendMessageRequest { message, configuration, mut metadata } = request;
    let configuration = configuration.unwrap_or_default();
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
    let not_blank = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (context_id, task_id) = (not_blank(&message.context_id), not_blank(&message.task_id));
    let mut said = message_from(message);
    strip_reserved(&mut said.metadata);
    strip_reserved(&mut metadata);
    keep_request(&mut said, metadata, &configuration.accepted_output_modes);
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
fn keep_request(said: &mut Said, metadata: Map<String, Value>, modes: &[String]) {
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

/// How much of the history is wanted: absent is all of it, 0 none.
pub fn checked_history_length(length: Option<i64>, field: &str) -> Result<Option<usize>, ProtocolError> {
    let invalid = |_| ProtocolError::invalid(format!("{field}: expected 0 or more"));
    length.map(|length| usize::try_from(length).map_err(invalid)).transpose()
}
