//! What the fleet is told about workspaces, as messages and deliveries show it.

use tracing::info_span;
use warren_fleet::Fleet;
use warren_model::{Principal, WorkspaceId};
use warren_service::Context;

/// Tells the fleet, in the background.
#[derive(Debug, Clone)]
pub(super) struct WorkspaceSignals {
    context: Context,
    fleet: Fleet,
}

impl WorkspaceSignals {
    pub(super) fn new(context: Context, fleet: Fleet) -> Self {
        Self { context, fleet }
    }

    /// A message came for a workspace that sleeps (F7).
    pub(super) fn wake(&self, id: WorkspaceId, by: &Principal) {
        let (fleet, by) = (self.fleet.clone(), by.clone());
        let span = info_span!("exchange.messages.wake_workspace", workspace.id = %id);
        self.context.spawn(span, async move {
            if let Err(error) = fleet.lifecycle.wake_for_message(id, &by).await {
                tracing::warn!(%error, "a workspace could not be woken for its message");
            }
        });
    }

    /// Too much of its work fails (F13).
    pub(super) fn report_failing(&self, id: WorkspaceId) {
        let fleet = self.fleet.clone();
        let span = info_span!("exchange.messages.report_failing", workspace.id = %id);
        self.context.spawn(span, async move {
            if let Err(error) = fleet.lifecycle.found_failing(id).await {
                tracing::warn!(%error, "a failing workspace could not be marked; its next report does it");
            }
        });
    }

    /// Its box is dead, as a delivery found out (X13).
    pub(super) fn report_gone(&self, id: WorkspaceId) {
        let fleet = self.fleet.clone();
        let span = info_span!("exchange.messages.report_gone", workspace.id = %id);
        self.context.spawn(span, async move {
            if let Err(error) = fleet.lifecycle.found_gone(id).await {
                tracing::warn!(%error, "a dead workspace could not be marked");
            }
        });
    }
}
