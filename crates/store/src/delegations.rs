//! Delegations: tasks that one workspace gave to another.

use warren_model::{Delegation, DelegationId, DelegationState, OrgId, TaskId, WorkspaceId};

use crate::{Error, Page};

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
