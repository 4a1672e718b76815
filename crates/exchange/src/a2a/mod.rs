//! A2A 1.0 as it is spoken: the types on the wire, their checks, and the way between them and Warren's own nouns.
//!
//! ```text
//!   client ──▶ wire ──check──▶ model::Message ──▶ row ──▶ model::Message ──▶ wire ──▶ agent
//!          ◀── wire ◀───────── model::Task    ◀── row ◀── model::TaskUpdate ◀── wire ◀──
//! ```
//!
//! Both sides of Warren use these types: the server that clients speak to, and the client that speaks to agents. They
//! follow ProtoJSON: names in camelCase (snake_case is read too), enums by name (or number), absent and null are one,
//! unknown fields are left aside, so that a newer peer can be understood.
//!
//! The types are our own and not those of an A2A library, for three reasons: an error names the field by its path, text
//! passes through without being decoded and encoded again, and no second clock comes in with them.

mod check;
mod convert;
mod error;
mod feed;
mod metadata;
mod modes;
mod requests;
mod scalar;
mod wire;

pub use check::{Incoming, check_send, checked_history_length};
pub use convert::{
    artifact_from, artifact_to, bare_answer, message_from, message_shown, message_to, state_from, state_to,
    stream_of, task_to,
};
pub use error::{ErrorKind, ProtocolError};
pub use feed::Feed;
pub use metadata::{AUTHOR, REQUEST, author_of, is_reserved, strip_reserved};
pub use modes::{check_input_modes, names_types};
pub use requests::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, PushConfigRequest,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest,
};
pub use wire::{
    Artifact, ArtifactUpdate, AuthenticationInfo, Message, Part, PartContent, PushConfig, Role, StatusUpdate,
    StreamResponse, Task, TaskState, TaskStatus,
};

/// The version of the protocol that Warren speaks, to clients and to agents.
pub const VERSION: &str = "1.0";
pub const VERSION_HEADER: &str = "a2a-version";
/// The media type of the HTTP+JSON binding.
pub const MEDIA_TYPE: &str = "application/a2a+json";
/// Where a card is found beneath an agent's own URL.
pub const CARD_PATH: &str = "/.well-known/agent-card.json";
pub const JSON_RPC: &str = "JSONRPC";
pub const HTTP_JSON: &str = "HTTP+JSON";

/// Whether a request or an agent of this version can be understood: the same major version.
///
/// A request without a version is one of 0.3, says the protocol, and that is not spoken here.
pub fn is_supported_version(version: &str) -> bool {
    let mut numbers = version.split('.');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.next() == Some("1") && numbers.clone().count() <= 2 && numbers.all(is_number)
}

#[cfg(test)]
mod tests;
