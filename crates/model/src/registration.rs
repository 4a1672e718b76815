//! A runtime that made itself known.

use crate::{Timestamp, WorkspaceId};

/// The last registration of a workspace's runtime (F10).
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    pub workspace_id: WorkspaceId,
    /// How often one registered: each boot is one.
    pub boots: u64,
    pub registered_at: Timestamp,
    /// What the runtime says its version is.
    pub version: Option<String>,
    /// How the agent describes itself, as it was sent.
    pub agent_card: Option<serde_json::Value>,
}

impl Registration {
    pub const MAX_CARD_BYTES: usize = 256 << 10;
    pub const MAX_VERSION_BYTES: usize = 128;
}
