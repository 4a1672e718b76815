//! Ways out and in for other systems (X52): webhooks that tell what happened, and channels through which messages come.

use crate::text_enum::text_enum;
use crate::{ChannelId, EventKind, OrgId, Principal, Timestamp, WebhookCallId, WebhookId, WorkspaceId};

text_enum! {
    /// How the other side speaks.
    Network {
        /// Standard Webhooks: JSON over HTTP, signed with a shared secret.
        Webhook = "webhook",
    }
}

/// Somebody who is told of events.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    pub id: WebhookId,
    pub org_id: OrgId,
    pub name: String,
    pub network: Network,
    pub url: String,
    /// Which events; empty: all.
    pub kinds: Vec<EventKind>,
    /// Only of this workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Events up to this one are not owed: they happened before.
    pub since: u64,
    /// Nothing is owed while it is stopped, and what was owed waits.
    pub is_active: bool,
    pub created_at: Timestamp,
    pub created_by: Principal,
}

impl Webhook {
    pub const MAX_NAME_BYTES: usize = 128;
    pub const MAX_KINDS: usize = 64;
}

text_enum! {
    /// Why a webhook was stopped.
    WebhookStopReason {
        /// Somebody asked for it.
        Asked = "asked",
        /// Its receiver says that it is gone.
        Gone = "gone",
        /// The token that it was made with was revoked.
        Revoked = "revoked",
    }
}

text_enum! {
    /// Where a call stands. It ends once.
    WebhookCallState {
        Queued = "queued",
        Delivered = "delivered",
        /// Given up; it can be asked for again.
        Dead = "dead",
    }
}

/// One event that is owed to one webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookCall {
    /// The same through all attempts, so that the receiver knows it again.
    pub id: WebhookCallId,
    pub webhook_id: WebhookId,
    pub seq: u64,
    pub kind: EventKind,
    /// What is sent, to the byte.
    pub body: String,
    pub state: WebhookCallState,
    pub attempts: u32,
    /// When to try; while an attempt is under way, when it counts as lost.
    pub due_at: Option<Timestamp>,
    /// What the other side answered last.
    pub last_status: Option<u32>,
    /// A stable word for what went wrong last.
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// A door through which another system sends messages to a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub id: ChannelId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    pub name: String,
    pub network: Network,
    pub created_at: Timestamp,
    pub created_by: Principal,
}
