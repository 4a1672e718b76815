//! Checks whether open workspaces are really there, used or not (F20).

use futures_util::StreamExt;
use futures_util::stream;
use warren_model::WorkspaceId;

use super::slot::SlotState;
use super::{Lease, Registry};
use crate::Presence;

impl Registry {
    /// Checks one workspace. One that is not open here is `Unknown`; one that is gone is opened again by its next use.
    pub async fn check_presence(&self, id: WorkspaceId) -> Presence {
        match self.open_lease(id) {
            Some(lease) => self.check_lease(id, lease).await,
            None => Presence::Unknown,
        }
    }

    /// Checks all that are open here, `at_once` of them at a time.
    pub async fn check_presence_of_open(&self, at_once: usize) -> Vec<(WorkspaceId, Presence)> {
        let ids = self.inner.slots().into_iter().map(|slot| slot.id);
        let open = ids.filter_map(|id| Some((id, self.open_lease(id)?)));
        let checks = open.map(|(id, lease)| async move { (id, self.check_lease(id, lease).await) });
        stream::iter(checks.collect::<Vec<_>>()).buffer_unordered(at_once.max(1)).collect().await
    }

    /// The ids of all workspaces that are open here.
    pub fn open_ids(&self) -> Vec<WorkspaceId> {
        let ids = self.inner.slots().into_iter().map(|slot| slot.id);
        ids.filter(|id| self.open_lease(*id).is_some()).collect()
    }

    async fn check_lease(&self, id: WorkspaceId, lease: Lease) -> Presence {
        let presence = lease.workspace.presence().await;
        if let Presence::Gone(detail) = presence {
            self.report_eviction(id, &lease, detail);
        }
        presence
    }

    fn open_lease(&self, id: WorkspaceId) -> Option<Lease> {
        let slot = self.slot(id).ok()?;
        match &slot.lock().life {
            SlotState::Open(lease) => Some(lease.clone()),
            SlotState::Unopened
            | SlotState::Opening { .. }
            | SlotState::Evicted
            | SlotState::Failed { .. }
            | SlotState::Closing { .. }
            | SlotState::Closed => None,
        }
    }
}
