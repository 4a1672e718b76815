//! Which workspaces this process has open or is opening, so that the reaper leaves them alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warren_model::WorkspaceId;

use super::reaper::BoxUse;

#[derive(Debug, Clone, Default)]
pub(super) struct OpenBoxes {
    entries: Arc<Mutex<BTreeMap<WorkspaceId, BoxUse>>>,
}

/// A box that is being made or looked for. Dropped before it is open, the workspace counts as not open.
#[derive(Debug)]
pub(super) struct Opening {
    boxes: OpenBoxes,
    workspace: WorkspaceId,
    is_open: bool,
}

impl OpenBoxes {
    pub(super) fn begin(&self, workspace: WorkspaceId) -> Opening {
        self.entries().insert(workspace, BoxUse::Opening);
        Opening { boxes: self.clone(), workspace, is_open: false }
    }

    pub(super) fn snapshot(&self) -> BTreeMap<WorkspaceId, BoxUse> {
        self.entries().clone()
    }

    /// Unless another container has taken its place.
    pub(super) fn release(&self, workspace: WorkspaceId, container: &str) {
        let mut entries = self.entries();
        if matches!(entries.get(&workspace), Some(BoxUse::Open(id)) if id == container) {
            entries.remove(&workspace);
        }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<WorkspaceId, BoxUse>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opening {
    pub(super) fn finish(mut self, container: &str) {
        self.is_open = true;
        self.boxes.entries().insert(self.workspace, BoxUse::Open(container.to_owned()));
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if !self.is_open {
            let mut entries = self.boxes.entries();
            if entries.get(&self.workspace) == Some(&BoxUse::Opening) {
                entries.remove(&self.workspace);
            }
        }
    }
}
