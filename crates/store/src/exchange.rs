//! Tasks, the messages on their way to workspaces, and what was handed on.

use warren_model::{
    Delegation, DelegationId, DelegationState, Delivery, DeliveryId, DeliveryState, OrgId, Principal, Task,
    TaskId, TaskState, Timestamp, WorkspaceId,
};

use crate::{Batch, Error, Page};

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
    /// Compare-and-set, as for workspaces. Answers with the new version.
    fn update_task(&mut self, task: &Task, expected_version: u64) -> Result<u64, Error>;
    /// Deletes tasks that ended before this moment, with what hangs on them, at most `limit`. Answers how many.
    fn prune_tasks(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}

/// What is known of a workspace's queue as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// The turn that was claimed last.
    pub turn: u64,
    /// Not called before this, after it said that it is busy.
    pub not_before: Timestamp,
}

/// Which deliveries are listed, in the order in which they are claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryQuery {
    pub workspace_id: WorkspaceId,
    pub state: DeliveryState,
    /// Only behind this one.
    pub after: Option<DeliveryId>,
    pub limit: u32,
}

pub trait DeliveryReads {
    fn delivery(&mut self, id: DeliveryId) -> Result<Option<Delivery>, Error>;
    /// By id, which is by age.
    fn deliveries(&mut self, query: &DeliveryQuery) -> Result<Page<Delivery, DeliveryId>, Error>;
    /// The youngest delivery of a task.
    fn last_delivery_of(&mut self, task_id: TaskId) -> Result<Option<Delivery>, Error>;
    /// Those of a task that have not ended.
    fn open_deliveries_of(&mut self, task_id: TaskId) -> Result<Vec<Delivery>, Error>;
    /// How many are claimed, and how many wait (no further than `cap`).
    fn crowd(&mut self, workspace_id: WorkspaceId, cap: u64) -> Result<(u32, u64), Error>;
    /// The turn of the sender's last message that still waits.
    fn last_turn_of(&mut self, workspace_id: WorkspaceId, sender: &Principal) -> Result<Option<u64>, Error>;
    /// Those that wait, in the order in which they are claimed.
    fn waiting_order(&mut self, workspace_id: WorkspaceId, limit: u32) -> Result<Vec<DeliveryId>, Error>;
    /// How many are claimed before this one.
    fn position(&mut self, delivery: &Delivery) -> Result<u64, Error>;
    /// Workspaces for which something waits, by id, behind this one.
    fn waiting_lanes(&mut self, after: Option<WorkspaceId>, limit: u32) -> Result<Vec<WorkspaceId>, Error>;
    /// What is due at `now`, the longest overdue first.
    fn due_deliveries(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Delivery>, Error>;
}

pub trait DeliveryWrites {
    /// The lane of a workspace; nobody else changes it, and so nobody else claims there, until this transaction ends.
    fn hold_lane(&mut self, workspace_id: WorkspaceId) -> Result<Lane, Error>;
    fn put_lane(&mut self, workspace_id: WorkspaceId, lane: Lane) -> Result<(), Error>;
    fn insert_delivery(&mut self, delivery: &Delivery) -> Result<(), Error>;
    /// The next that waits, may be tried by `ready_by` and has not expired at `now`; with the lane held, nobody else gets
    /// the same.
    fn next_waiting(
        &mut self,
        workspace_id: WorkspaceId,
        ready_by: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Delivery>, Error>;
    /// Compare-and-set: only if the row is still in `state` and at this many `attempts`; otherwise `Error::Conflict`.
    fn update_delivery(
        &mut self,
        delivery: &Delivery,
        state: DeliveryState,
        attempts: u32,
    ) -> Result<(), Error>;
}

/// A message that was accepted before, under a key of its sender (X16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    pub sender: Principal,
    pub key: String,
    /// Of what was asked: the same key for something else is an error.
    pub fingerprint: String,
    pub task_id: TaskId,
    pub delivery_id: DeliveryId,
    pub at: Timestamp,
}

pub trait RepeatReads {
    fn repeat(&mut self, sender: &Principal, key: &str) -> Result<Option<Repeat>, Error>;
}

pub trait RepeatWrites {
    /// Takes a key that nobody has, or that counts no more since it is from this moment or before. Answers whether this
    /// call did it: of two at once, one gets `true`.
    fn insert_repeat(&mut self, repeat: &Repeat, forgotten: Timestamp) -> Result<bool, Error>;
    /// Forgets those before this moment, at most `limit`. Answers how many.
    fn prune_repeats(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}

/// Which delegations are listed, the youngest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationQuery {
    /// Who handed on.
    pub from: WorkspaceId,
    pub org_id: OrgId,
    pub state: Option<DelegationState>,
    pub before: Option<DelegationId>,
    pub limit: u32,
}

pub trait DelegationReads {
    fn delegation(&mut self, id: DelegationId) -> Result<Option<Delegation>, Error>;
    fn delegation_of_task(&mut self, task_id: TaskId) -> Result<Option<Delegation>, Error>;
    /// Those that were handed on out of a task and have not ended.
    fn open_delegations_from(&mut self, parent_task: TaskId) -> Result<Vec<Delegation>, Error>;
    fn delegations(&mut self, query: &DelegationQuery) -> Result<Page<Delegation, DelegationId>, Error>;
}

pub trait DelegationWrites {
    fn insert_delegation(&mut self, delegation: &Delegation) -> Result<(), Error>;
    /// Compare-and-set by state: only if it is still the one named; otherwise `Error::Conflict`.
    fn update_delegation(&mut self, delegation: &Delegation, known: DelegationState) -> Result<(), Error>;
}
