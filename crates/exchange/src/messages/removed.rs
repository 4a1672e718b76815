//! The end of what was asked of a workspace that was removed: at once, and told to whoever asked (X20).
//!
//! ```text
//!   removed ─▶ event ─▶ wake_queue ─▶ claim: removed ─▶ every open delivery fails ─▶ the fleet may erase the rows
//! ```
//!
//! A lost event is made up for by the look over all queues; until everything has ended, the rows of a workspace that is to
//! be erased stay.

use warren_model::{DeliveryState, ErrorCode, WorkspaceId};
use warren_rules::messages::dispatch::DeliveryEvent;
use warren_service::Error;
use warren_store::DeliveryQuery;

use super::{Deliveries, DeliveryReport};

const AT_A_TIME: u32 = 200;

impl Deliveries {
    /// Ends what waits for a removed workspace, and what its agent has in hand.
    pub(super) async fn end_removed(&self, id: WorkspaceId) -> Result<(), Error> {
        for state in [DeliveryState::Queued, DeliveryState::Claimed] {
            let mut after = None;
            loop {
                let query = DeliveryQuery { workspace_id: id, state, after, limit: AT_A_TIME };
                let store = self.0.context.store();
                let page = store.read(move |tx| tx.deliveries(&query).map_err(Error::from)).await?;
                let next = page.next;
                for delivery in self.0.context.listed(page).rows {
                    let report = DeliveryReport::of_warren(&delivery, DeliveryEvent::WorkspaceRemoved);
                    match self.settle(report).await {
                        // A task that cannot be read is not the others' business.
                        Err(error) if error.code == ErrorCode::DatabaseDamaged => {
                            tracing::warn!(delivery.id = %delivery.id, %error, "a message to a removed workspace could not be ended");
                        }
                        settled => drop(settled?),
                    }
                }
                match next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
        }
        self.0.lanes.set_waiting(id, false);
        self.0.fleet.lifecycle.work_ended(id);
        Ok(())
    }
}
