//! Deliveries: messages on their way to workspaces, each workspace with a queue of its own.

use warren_model::{Delivery, DeliveryId, DeliveryState, Principal, TaskId, Timestamp, WorkspaceId};

use crate::{Batch, Error, Page};

/// What is known of a workspace's queue as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// The turn that was claimed last.
    pub turn: u64,
    /// Not called before this, after it said that it is busy.
    pub not_before: Timestamp,
}

/// All queues together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueTotals {
    pub queued: u64,
    pub claimed: u64,
    /// When the oldest that is queued was sent.
    pub oldest_queued_at: Option<Timestamp>,
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
    /// Of all workspaces, for whoever watches over them.
    fn queue_totals(&mut self) -> Result<QueueTotals, Error>;
    /// The turn of the sender's last message that still waits.
    fn last_turn_of(&mut self, workspace_id: WorkspaceId, sender: &Principal) -> Result<Option<u64>, Error>;
    /// Those that wait, in the order in which they are claimed.
    fn waiting_order(&mut self, workspace_id: WorkspaceId, limit: u32) -> Result<Vec<DeliveryId>, Error>;
    /// How many are claimed before this one.
    fn position(&mut self, delivery: &Delivery) -> Result<u64, Error>;
    /// Workspaces for which something waits, by id, behind this one.
    fn waiting_queues(&mut self, after: Option<WorkspaceId>, limit: u32) -> Result<Vec<WorkspaceId>, Error>;
    /// What is due at `now`, the longest overdue first.
    fn due_deliveries(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Delivery>, Error>;
}

pub trait DeliveryWrites {
    /// Locks the queue of a workspace: nobody else changes it, and so nobody else claims there, until this transaction ends.
    fn lock_queue(&mut self, workspace_id: WorkspaceId) -> Result<QueueState, Error>;
    fn put_queue_state(&mut self, workspace_id: WorkspaceId, queue_state: QueueState) -> Result<(), Error>;
    fn insert_delivery(&mut self, delivery: &Delivery) -> Result<(), Error>;
    /// The next that waits, may be tried by `ready_by` and has not expired at `now`; with the queue locked, nobody else gets
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
