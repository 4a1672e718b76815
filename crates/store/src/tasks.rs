//! Tasks: what was asked of a workspace and what came of it.

use warren_model::{Principal, Task, TaskId, TaskState, Timestamp, WorkspaceId};

use crate::{Error, Page};

/// Which tasks are listed, the youngest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    pub workspace_id: WorkspaceId,
    pub context_id: Option<String>,
    pub state: Option<TaskState>,
    /// Only what this one asked for.
    pub author: Option<Principal>,
    /// Only those that changed at or after this.
    pub updated_since: Option<Timestamp>,
    /// Only those older than this one.
    pub before: Option<TaskId>,
    pub limit: u32,
}

impl TaskQuery {
    pub fn of(workspace_id: WorkspaceId, limit: u32) -> Self {
        Self {
            workspace_id,
            context_id: None,
            state: None,
            author: None,
            updated_since: None,
            before: None,
            limit,
        }
    }
}

/// Where a list in order of change goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskMark {
    pub updated_at: Timestamp,
    pub id: TaskId,
}

pub trait TaskReads {
    fn task(&mut self, id: TaskId) -> Result<Option<Task>, Error>;
    /// The last changed first, behind a mark; `before` of the query is not looked at.
    fn changed_tasks(
        &mut self,
        query: &TaskQuery,
        behind: Option<TaskMark>,
    ) -> Result<Page<Task, TaskMark>, Error>;
    fn tasks(&mut self, query: &TaskQuery) -> Result<Page<Task, TaskId>, Error>;
    /// How many there are, however many a page holds.
    fn count_tasks(&mut self, query: &TaskQuery) -> Result<u64, Error>;
}

pub trait TaskWrites {
    fn insert_task(&mut self, task: &Task) -> Result<(), Error>;
    /// Compare-and-set, as for workspaces. Returns the new version.
    fn update_task(&mut self, task: &Task, expected_version: u64) -> Result<u64, Error>;
    /// Deletes tasks that ended before this moment, with what hangs on them, at most `limit`. Returns how many.
    fn prune_tasks(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
