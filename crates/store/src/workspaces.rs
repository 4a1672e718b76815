//! Workspaces.

use warren_model::{OrgId, Status, Workspace, WorkspaceId};

use crate::{Error, Page};

/// Workspaces in order of creation (their ids sort by time).
#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceQuery {
    pub org_id: Option<OrgId>,
    pub parent_id: Option<WorkspaceId>,
    /// Only those without a parent.
    pub is_root: bool,
    /// Empty: any status.
    pub statuses: Vec<Status>,
    /// Exact name.
    pub name: Option<String>,
    /// Whether rows with status `removed` are shown.
    pub includes_removed: bool,
    /// Only those whose generation was not brought about yet (F3).
    pub is_behind: bool,
    /// Only ids after this one.
    pub after: Option<WorkspaceId>,
    pub limit: u32,
}

impl WorkspaceQuery {
    pub fn all(limit: u32) -> Self {
        Self {
            org_id: None,
            parent_id: None,
            is_root: false,
            statuses: Vec::new(),
            name: None,
            includes_removed: false,
            is_behind: false,
            after: None,
            limit,
        }
    }
}

pub trait WorkspaceReads {
    fn workspace(&mut self, id: WorkspaceId) -> Result<Option<Workspace>, Error>;
    fn workspaces(&mut self, query: &WorkspaceQuery) -> Result<Page<Workspace, WorkspaceId>, Error>;
    /// How many workspaces of the org are not removed.
    fn count_workspaces(&mut self, org_id: OrgId) -> Result<u64, Error>;
    /// How many there are of each status, over all orgs; what there is none of may be absent.
    fn count_workspaces_by_status(&mut self) -> Result<Vec<(Status, u64)>, Error>;
    /// Ids of all that are not removed, in order.
    fn living_workspace_ids(
        &mut self,
        after: Option<WorkspaceId>,
        limit: u32,
    ) -> Result<Vec<WorkspaceId>, Error>;
}

pub trait WorkspaceWrites {
    fn insert_workspace(&mut self, workspace: &Workspace) -> Result<(), Error>;
    /// Compare-and-set: writes all columns and `version = expected_version + 1`, only if the row still has
    /// `expected_version`; otherwise `Error::Conflict`. `workspace.version` is not looked at. Returns the
    /// new version.
    fn update_workspace(&mut self, workspace: &Workspace, expected_version: u64) -> Result<u64, Error>;
    /// Compare-and-set from a row as it was read to what it is to be: writes what differs between the two and
    /// `version = from.version + 1`, only if the row still has `from.version`. Does the same as `update_workspace` for
    /// less, since an engine leaves the indexes of columns alone that are not written.
    fn change_workspace(&mut self, from: &Workspace, to: &Workspace) -> Result<u64, Error>;
    /// Erases a removed workspace with its reports and tokens; those below it become roots. Returns whether there was
    /// one. What is not removed is left alone.
    fn erase_workspace(&mut self, id: WorkspaceId) -> Result<bool, Error>;
}
