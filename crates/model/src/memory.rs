//! What agents remember: text under a key, in a place that a workspace, a team or an org shares (X50).

use std::fmt;

use crate::text_enum::text_enum;
use crate::{MemoryId, OrgId, Principal, TaskId, Timestamp, WorkspaceId};

text_enum! {
    /// With whom something is shared.
    MemoryScope {
        /// Nobody: the workspace's own.
        Local = "local",
        /// A workspace and all below it.
        Team = "team",
        /// Every workspace of the org.
        Org = "org",
    }
}

/// Where something is remembered. Written `scope:id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryPlace {
    /// Of this workspace.
    Local(WorkspaceId),
    /// Of the team that this workspace leads.
    Team(WorkspaceId),
    Org(OrgId),
}

impl MemoryPlace {
    pub const fn scope(self) -> MemoryScope {
        match self {
            Self::Local(_) => MemoryScope::Local,
            Self::Team(_) => MemoryScope::Team,
            Self::Org(_) => MemoryScope::Org,
        }
    }

    /// The workspace with which it ends.
    pub const fn workspace_id(self) -> Option<WorkspaceId> {
        match self {
            Self::Local(id) | Self::Team(id) => Some(id),
            Self::Org(_) => None,
        }
    }

    /// Reads the `scope:id` form back.
    pub fn parse(text: &str) -> Option<Self> {
        let (scope, id) = text.split_once(':')?;
        match MemoryScope::parse(scope)? {
            MemoryScope::Local => Some(Self::Local(id.parse().ok()?)),
            MemoryScope::Team => Some(Self::Team(id.parse().ok()?)),
            MemoryScope::Org => Some(Self::Org(id.parse().ok()?)),
        }
    }
}

impl fmt::Display for MemoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(id) | Self::Team(id) => write!(f, "{}:{id}", self.scope()),
            Self::Org(id) => write!(f, "{}:{id}", self.scope()),
        }
    }
}

/// Something remembered. Secrets were masked before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    pub id: MemoryId,
    pub org_id: OrgId,
    pub place: MemoryPlace,
    /// Its own within its place.
    pub key: String,
    pub value: String,
    /// What it is found by: the words of key and value, in one spelling.
    pub words: String,
    /// How many credentials were masked in it.
    pub masked: u32,
    /// Who wrote it last.
    pub author: Principal,
    /// The workspace through which it was written last.
    pub workspace_id: WorkspaceId,
    /// The work in which it was written, where the author said so.
    pub task_id: Option<TaskId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Forgotten from then on; absent: never.
    pub expires_at: Option<Timestamp>,
    /// Raised by every write.
    pub version: u64,
}

impl Memory {
    pub const MAX_KEY_CHARACTERS: usize = 200;

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}
