use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// A fact that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Global, ascending.
    pub seq: u64,
    /// RFC 3339.
    pub at: String,
    /// `domain.subject.action`; see the reference.
    pub kind: String,
    pub workspace_id: Option<String>,
    pub principal: crate::Principal,
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

/// A fact that is told and not stored: it has no sequence, and whoever was not there missed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveEvent {
    /// RFC 3339.
    pub at: String,
    pub kind: String,
    pub workspace_id: Option<String>,
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

/// One frame of a stream, as SSE `data:` or a WebSocket text message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventFrame {
    Event {
        event: Event,
    },
    /// Only for who asks with `live=true`.
    Live {
        event: LiveEvent,
    },
    /// Events after what was asked for are no longer kept; the stream goes on from `oldest`.
    Truncated {
        after: u64,
        oldest: u64,
    },
    /// Everything up to `seq` was sent; what follows happens now.
    CaughtUp {
        seq: u64,
    },
    /// The reader was too slow for the live feed; it goes on from `after`, and nothing is left out.
    Lagged {
        after: u64,
    },
    /// The stream ends; `code` says why. Connect again with `after` set to the last sequence seen.
    Closing {
        code: String,
        after: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    pub items: Vec<Event>,
    /// Pass as `after` to go on.
    pub next_after: u64,
    /// Whether the end of the log was reached.
    pub is_last: bool,
    /// Numbers of events of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
