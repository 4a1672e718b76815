//! What agents say goes to others, and the secrets of their workspaces do not go along (F32).
//!
//! It is masked before it is written, told or copied, whatever way it came: by a call, by a runtime that asks, or as a
//! notice to people.

use warren_fleet::Error;
use warren_model::{DeliveryId, Part, TaskUpdate, Workspace};
use warren_rules::agent_words;

use crate::Exchange;

impl Exchange {
    /// Of an agent that works on a message. A workspace without secrets pays for one look.
    pub(crate) async fn mask_words(&self, id: DeliveryId, updates: &mut [TaskUpdate]) -> Result<(), Error> {
        if !agent_words::say_something(updates) {
            return Ok(());
        }
        let known = self
            .store()
            .glance(move |tx| {
                let Some(delivery) = tx.delivery(id)? else { return Ok(None) };
                let secrets = tx.secrets_for(delivery.org_id, delivery.workspace_id)?;
                Ok::<_, Error>(Some((delivery.workspace_id, secrets)))
            })
            .await?;
        let redactor = known.and_then(|(id, secrets)| self.fleet().redactor_from(id, secrets));
        if let Some(redactor) = redactor {
            agent_words::mask_updates(updates, &redactor);
        }
        Ok(())
    }

    /// Of an agent that speaks of its own accord.
    pub(crate) async fn mask_notice(&self, of: &Workspace, parts: &mut [Part]) -> Result<(), Error> {
        let (org_id, id) = (of.org_id, of.id);
        let secrets = self.store().glance(move |tx| tx.secrets_for(org_id, id).map_err(Error::from)).await?;
        if let Some(known) = self.fleet().redactor_from(id, secrets) {
            agent_words::mask_parts(parts, &known);
        }
        Ok(())
    }
}
