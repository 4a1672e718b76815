//! Tells the owner's record of workspaces that are lost for good.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::Inner;
use super::slot::{Slot, SlotState};

/// A record that takes longer to answer is told again at the next use: nobody waits for it.
const TELL_LIMIT: Duration = Duration::from_secs(5);

/// Tells of a loss that was not told yet. Two at once tell it twice, which the sink has to bear.
pub(super) async fn tell(inner: Arc<Inner>, slot: Arc<Slot>) {
    let Some(error) = slot.lock().untold_loss() else { return };
    match timeout(TELL_LIMIT, inner.losses.lost(slot.id, &error)).await {
        Ok(Ok(())) => {
            if let SlotState::Failed { error: current, is_told, .. } = &mut slot.lock().life
                && *current == error
            {
                *is_told = true;
            }
        }
        Ok(Err(problem)) => {
            tracing::warn!(event = "workspace.loss.untold", workspace.id = %slot.id, error = %problem,
                "the loss of a workspace could not be recorded; its next use tries again");
        }
        Err(_) => {
            tracing::warn!(event = "workspace.loss.untold", workspace.id = %slot.id,
                "the loss of a workspace was not recorded in time; its next use tries again");
        }
    }
}
