//! Looks whether the boxes that are open here are really there, used or not (F20).
//!
//! Every process looks after what it has open: a box is here or nowhere, so that no lease is needed. What cannot be asked
//! is no verdict; what is gone goes through the one table. What another replica has taken over is ended here (O10).

use warren_model::{Principal, WorkspaceId};
use warren_rules::lifecycle::Signal;
use warren_service::Error;
use warren_workspace::Presence;

use super::{Ran, Sweeps, Tally};

/// Boxes asked at the same time.
const AT_ONCE: usize = 32;

impl Sweeps {
    pub(super) async fn sweep_health(&self, tally: &mut Tally) -> Result<Ran, Error> {
        self.parts.replicas.close_lost_boxes(tally).await?;
        for (id, presence) in self.parts.registry.check_presence_of_open(AT_ONCE).await {
            tally.looked_at += 1;
            match presence {
                Presence::Here => {}
                Presence::Unknown => tally.failed += 1,
                Presence::Gone(detail) => {
                    tracing::warn!(workspace.id = %id, cause = detail, "a box is gone");
                    self.tell_gone(id).await?;
                    tally.acted_on += 1;
                }
            }
        }
        Ok(Ran::Done)
    }

    async fn tell_gone(&self, id: WorkspaceId) -> Result<(), Error> {
        match self.parts.signals.send(id, Signal::BoxGone, &Principal::system("health"), None).await {
            Err(error) if error.code == warren_model::ErrorCode::WorkspaceNotFound => Ok(()),
            told => told.map(drop),
        }
    }
}
