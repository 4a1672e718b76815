//! Webhooks and channels.

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// Somebody outside who is to be told of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhook {
    #[schema(max_length = 128)]
    pub name: String,
    /// Where each event is posted to. A public http or https address, unless the config opens a private range.
    pub url: String,
    /// Kinds of events, such as `workspace.status.changed`. Absent or empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub events: Vec<String>,
    /// Only what happens in this workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// A secret that the receiver has already: `whsec_` and 24 to 64 bytes in base64. Absent: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    pub id: String,
    pub name: String,
    pub url: String,
    /// Empty: all.
    pub events: Vec<String>,
    pub workspace_id: Option<String>,
    pub is_active: bool,
    pub created_at: String,
    pub created_by: crate::Principal,
}

/// A webhook with its secret, in the one moment in which it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreatedWebhook {
    pub webhook: Webhook,
    /// What each call is signed with, as Standard Webhooks says.
    pub secret: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookPage {
    pub items: Vec<Webhook>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchWebhook {
    /// `false` stops it: what is owed waits, and what happens meanwhile is not told.
    pub is_active: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookCallState {
    Queued,
    Delivered,
    /// Given up; it can be asked for again.
    Dead,
}

/// One event that is, or was, owed to a webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookCall {
    /// What `webhook-id` says, in every attempt.
    pub id: String,
    /// The event's number in the log.
    pub seq: u64,
    pub event: String,
    pub state: WebhookCallState,
    pub attempts: u32,
    pub next_attempt_at: Option<String>,
    /// What the receiver answered last.
    pub last_status: Option<u32>,
    /// A stable word for what went wrong last.
    pub last_error: Option<String>,
    pub created_at: String,
    pub ended_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookCallPage {
    pub items: Vec<WebhookCall>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A door for messages from another system to a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateChannel {
    #[schema(max_length = 128)]
    pub name: String,
    /// A secret that the sender has already: `whsec_` and 24 to 64 bytes in base64. Absent: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Channel {
    pub id: String,
    pub workspace_id: String,
    pub name: String,
    /// Where signed messages are posted to.
    pub path: String,
    pub created_at: String,
    pub created_by: crate::Principal,
}

/// A channel with its secret, in the one moment in which it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreatedChannel {
    pub channel: Channel,
    pub secret: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelList {
    pub items: Vec<Channel>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A message that came through a channel and is in the workspace's queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReceivedHook {
    pub task_id: String,
    /// It came before, and nothing was done a second time.
    pub is_repeat: bool,
}
