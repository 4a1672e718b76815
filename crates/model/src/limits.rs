//! The limits that hold everywhere, with their defaults. Each is a knob; none is silent.

use serde::{Deserialize, Serialize};

pub const MIB: u64 = 1 << 20;

/// Limits of one Warren. The config tree's `[limits]` table has these names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes in a JSON request body.
    pub max_body_bytes: u64,
    /// Rows in one page of a list.
    pub max_page_size: u32,
    /// Tokens one owner may hold.
    pub max_tokens_per_owner: u32,
    /// Workspaces of one org that are not removed.
    pub max_workspaces_per_org: u32,
    /// Bytes in the value of a secret.
    pub max_secret_bytes: u64,
    /// Secrets of one org, and of one workspace.
    pub max_secrets_per_owner: u32,
    /// Templates of one org.
    pub max_templates_per_org: u32,
    /// Bytes of a bundle, with the files in it.
    pub max_bundle_bytes: u64,
    /// Webhooks of one org, and channels of one workspace.
    pub max_webhooks_per_org: u32,
    /// Schedules of one org.
    pub max_schedules_per_org: u32,
    /// Schedules of one workspace.
    pub max_schedules_per_workspace: u32,
    /// The shortest time between two slots of a schedule, in seconds.
    pub min_schedule_interval_seconds: u32,
    /// Slots of one schedule that are caught up with after they were missed, and runs of it that may wait for the one
    /// before.
    pub max_schedule_catch_up: u32,
    /// What is remembered in one place: by one workspace, one team, or the org.
    pub max_memories_per_place: u32,
    /// Bytes of one value that is remembered.
    pub max_memory_bytes: u64,
    /// Questions of one workspace that wait for a person.
    pub max_pending_approvals: u32,
    /// Bytes of one file that goes with a message.
    pub max_attachment_bytes: u64,
    /// Bytes of all files that go with one message.
    pub max_attachments_bytes: u64,
    /// Bytes of all files in one workspace that came with messages and are still there.
    pub max_uploads_bytes: u64,
    /// Requests a minute of one `user` token, and of one agent; a minute's worth may come at once. Operators are not limited. 0: nobody is.
    pub max_requests_per_minute: u32,
    /// Event streams (SSE and WebSocket) open at once.
    pub max_event_streams: u32,
    /// Connections open at once.
    pub max_connections: u32,
    /// Milliseconds a connection may take to send its next request head, waiting for it included.
    pub header_timeout_ms: u64,
    /// Milliseconds a client may take to send a JSON body, or the next piece of an upload.
    pub body_timeout_ms: u64,
    /// Milliseconds a client may take none of what is sent to it.
    pub stall_timeout_ms: u64,
    /// Milliseconds a shutdown waits for requests in flight.
    pub shutdown_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 2 * MIB,
            max_page_size: 500,
            max_tokens_per_owner: 100,
            max_workspaces_per_org: 100_000,
            max_secret_bytes: 64 << 10,
            max_secrets_per_owner: 100,
            max_templates_per_org: 1_000,
            max_bundle_bytes: 32 * MIB,
            max_webhooks_per_org: 100,
            max_schedules_per_org: 10_000,
            max_schedules_per_workspace: 100,
            min_schedule_interval_seconds: 10,
            max_schedule_catch_up: 100,
            max_memories_per_place: 10_000,
            max_memory_bytes: 64 << 10,
            max_pending_approvals: 100,
            max_attachment_bytes: 25 * MIB,
            max_attachments_bytes: 50 * MIB,
            max_uploads_bytes: 1_024 * MIB,
            max_requests_per_minute: 6_000,
            max_event_streams: 2_000,
            max_connections: 4_096,
            header_timeout_ms: 8_000,
            body_timeout_ms: 8_000,
            stall_timeout_ms: 30_000,
            shutdown_timeout_ms: 10_000,
        }
    }
}
