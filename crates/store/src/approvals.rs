//! Questions that only a person may decide (X51).

use warren_model::{Approval, ApprovalId, ApprovalState, OrgId, SessionId, Timestamp, WorkspaceId};

use crate::{Batch, Error, Page};

/// The newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuery {
    pub org_id: Option<OrgId>,
    pub workspace_id: Option<WorkspaceId>,
    pub state: Option<ApprovalState>,
    /// Only those that are older than this one.
    pub before: Option<ApprovalId>,
    pub limit: u32,
}

pub trait ApprovalReads {
    fn approval(&mut self, id: ApprovalId) -> Result<Option<Approval>, Error>;
    fn approvals(&mut self, query: &ApprovalQuery) -> Result<Page<Approval, ApprovalId>, Error>;
    fn count_pending_approvals(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error>;
    /// Those about tool calls of a session that nobody decided, oldest first.
    fn pending_approvals_of(&mut self, session_id: SessionId) -> Result<Vec<Approval>, Error>;
    /// Those that nobody decided in time.
    fn late_approvals(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Approval>, Error>;
}

pub trait ApprovalWrites {
    fn insert_approval(&mut self, approval: &Approval) -> Result<(), Error>;
    /// Writes the answer to a question that is still pending, or that it is void. Returns whether it was pending: of two
    /// that decide, one gets `true`.
    fn settle_approval(&mut self, approval: &Approval) -> Result<bool, Error>;
    /// Deletes those that were over before this moment, at most `limit`. Returns how many.
    fn prune_approvals(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
