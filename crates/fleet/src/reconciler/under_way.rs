//! Which workspaces a worker is busy with: one at a time for each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use warren_model::WorkspaceId;

/// Workspaces that a worker is busy with.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    /// `true` when the worker was asked to look again.
    busy: Mutex<HashMap<WorkspaceId, bool>>,
    /// Told whenever a worker is done.
    done: Notify,
}

impl UnderWay {
    /// Whether the caller is to work; otherwise the one at work looks again.
    pub(super) fn begin(&self, id: WorkspaceId) -> bool {
        match self.busy().entry(id) {
            Entry::Occupied(mut again) => {
                again.insert(true);
                false
            }
            Entry::Vacant(free) => {
                free.insert(false);
                true
            }
        }
    }

    /// Whether the work is over; `false` when somebody asked for another look meanwhile.
    pub(super) fn finish(&self, id: WorkspaceId) -> bool {
        let mut busy = self.busy();
        if busy.get_mut(&id).is_some_and(std::mem::take) {
            return false;
        }
        busy.remove(&id);
        drop(busy);
        self.done.notify_waiters();
        true
    }

    /// Waits until no worker is busy with it.
    pub(crate) async fn idle(&self, id: WorkspaceId) {
        loop {
            let mut done = std::pin::pin!(self.done.notified());
            // Before the look, so that an end between the two is not missed.
            done.as_mut().enable();
            if !self.is_busy(id) {
                return;
            }
            done.await;
        }
    }

    pub(crate) fn is_busy(&self, id: WorkspaceId) -> bool {
        self.busy().contains_key(&id)
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<WorkspaceId, bool>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
