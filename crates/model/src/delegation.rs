//! Work that one workspace handed to another, and who may talk to whom.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::{DelegationId, OrgId, TaskId, Timestamp, WorkspaceId};

text_enum! {
    /// How a delegation is (X20).
    DelegationState {
        /// Written down, not yet on its way.
        Pending = "pending",
        /// Waits for the other side to be free.
        Queued = "queued",
        /// The other side has it.
        Dispatched = "dispatched",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
        Expired = "expired",
    }
}

impl DelegationState {
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Expired => true,
            Self::Pending | Self::Queued | Self::Dispatched => false,
        }
    }
}

/// A delegation as it stands in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegation {
    pub id: DelegationId,
    pub org_id: OrgId,
    pub from: WorkspaceId,
    pub to: WorkspaceId,
    /// What the other side works on.
    pub task_id: TaskId,
    /// The work out of which it was handed on.
    pub parent_task: Option<TaskId>,
    pub state: DelegationState,
    /// The result is sent to the delegator as a message of its own; otherwise it asks (X21).
    pub is_told: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

text_enum! {
    /// Whom a workspace talks to unless it says more.
    PeerCircle {
        Nobody = "nobody",
        /// Siblings, ancestors and descendants.
        Family = "family",
        /// Everybody of its org.
        Org = "org",
    }
}

/// Whom a workspace may talk to (X3). Stored with its spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeerPolicy {
    pub circle: PeerCircle,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<WorkspaceId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<WorkspaceId>,
}

impl PeerPolicy {
    pub const MAX_NAMED: usize = 1_000;
}

impl Default for PeerPolicy {
    fn default() -> Self {
        Self { circle: PeerCircle::Family, allow: Vec::new(), deny: Vec::new() }
    }
}
