//! What agents say goes to others, and the secrets of their workspaces do not go along (F32).
//!
//! It is masked before it is written, told or copied, whatever way it came: by a call, by a runtime that asks, or as a
//! notice to people.

use std::sync::Arc;

use warren_fleet::Error;
use warren_model::{Delivery, OrgId, Part, TaskUpdate, Workspace, WorkspaceId};
use warren_rules::messages::agent_words;
use warren_rules::text::redaction::Redactor;

use crate::Exchange;

/// Whose agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Voice {
    pub(crate) org_id: OrgId,
    pub(crate) workspace_id: WorkspaceId,
}

impl Voice {
    pub(crate) fn of(delivery: &Delivery) -> Self {
        Self { org_id: delivery.org_id, workspace_id: delivery.workspace_id }
    }
}

impl Exchange {
    /// Of an agent that works on a message. A workspace without secrets pays for one look.
    pub(crate) async fn mask_words(&self, of: Voice, updates: &mut [TaskUpdate]) -> Result<(), Error> {
        if agent_words::say_something(updates)
            && let Some(known) = self.known_to(of).await?
        {
            agent_words::mask_updates(updates, &known);
        }
        Ok(())
    }

    /// Of an agent that speaks of its own accord.
    pub(crate) async fn mask_notice(&self, of: &Workspace, parts: &mut [Part]) -> Result<(), Error> {
        if let Some(known) = self.known_to(Voice { org_id: of.org_id, workspace_id: of.id }).await? {
            agent_words::mask_parts(parts, &known);
        }
        Ok(())
    }

    async fn known_to(&self, Voice { org_id, workspace_id }: Voice) -> Result<Option<Arc<Redactor>>, Error> {
        let secrets =
            self.store().glance(move |tx| tx.secrets_for(org_id, workspace_id).map_err(Error::from));
        Ok(self.fleet().redactors().from_rows(workspace_id, secrets.await?))
    }
}
