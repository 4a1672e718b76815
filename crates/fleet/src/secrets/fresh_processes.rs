//! Processes that were started after a change of secrets and before it was rolled out: they have the new values already,
//! and nothing is gained by ending them (F33).
//!
//! Only a workspace that is behind has entries here, and the roll-out that looks at it takes them all. What is missing
//! counts as old: a restart too many is the safe side.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warren_model::WorkspaceId;
use warren_workspace::shell::ProcessId;

/// The generation whose secrets each of them was started with.
#[derive(Debug, Default)]
pub(crate) struct FreshProcesses(Mutex<HashMap<WorkspaceId, HashMap<ProcessId, u64>>>);

impl FreshProcesses {
    pub(super) fn note(&self, id: WorkspaceId, process: ProcessId, generation: u64) {
        self.lock().entry(id).or_default().insert(process, generation);
    }

    pub(super) fn take(&self, id: WorkspaceId) -> HashMap<ProcessId, u64> {
        self.lock().remove(&id).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkspaceId, HashMap<ProcessId, u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
