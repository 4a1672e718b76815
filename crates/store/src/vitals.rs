//! What runtimes report, and the deadlines that follow from it.

use warren_model::{Timestamp, Vitals, WorkspaceId};

use crate::{Batch, Error};

/// A deadline that a sweep looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing was heard for too long.
    Liveness,
    /// Work in flight shows no progress.
    Stall,
    /// The runtime is to be probed.
    Probe,
    /// No task for so long that it may sleep.
    Idleness,
    /// Provisioning took too long.
    Provision,
    /// Something is to be tried again.
    Mending,
}

impl Due {
    pub const ALL: [Self; 6] =
        [Self::Liveness, Self::Stall, Self::Probe, Self::Idleness, Self::Provision, Self::Mending];
}

pub trait VitalsReads {
    /// What is known from reports; of one that never reported, the default.
    fn vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error>;
    /// Of many at once; those that never reported are not in it.
    fn vitals_of(&mut self, ids: &[WorkspaceId]) -> Result<Batch<(WorkspaceId, Vitals)>, Error>;
    /// Workspaces whose deadline is `now` or earlier, the longest overdue first.
    fn due(&mut self, what: Due, now: Timestamp, limit: u32) -> Result<Vec<WorkspaceId>, Error>;
}

pub trait VitalsWrites {
    /// As `vitals`, and nobody else changes them until this transaction ends.
    fn hold_vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error>;
    fn put_vitals(&mut self, id: WorkspaceId, vitals: &Vitals) -> Result<(), Error>;
}
