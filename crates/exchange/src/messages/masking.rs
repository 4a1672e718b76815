//! What agents say goes to others, and the secrets of their workspaces do not go along (F32).
//!
//! It is masked before it is written, told or copied, whatever way it came: by a call, by a runtime that asks, or as a
//! notice to people.

use std::sync::Arc;

use warren_model::{Delivery, OrgId, Part, TaskUpdate, Workspace, WorkspaceId};
use warren_rules::messages::agent_words;
use warren_service::{Context, Error, Redactor, Redactors};

/// The agent of a workspace, as the one who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentRef {
    pub(crate) org_id: OrgId,
    pub(crate) workspace_id: WorkspaceId,
}

impl AgentRef {
    pub(crate) fn of(delivery: &Delivery) -> Self {
        Self { org_id: delivery.org_id, workspace_id: delivery.workspace_id }
    }
}

/// Masks what agents say.
#[derive(Debug, Clone)]
pub(crate) struct Masking {
    context: Context,
    redactors: Redactors,
}

impl Masking {
    pub(crate) fn new(context: Context, redactors: Redactors) -> Self {
        Self { context, redactors }
    }

    /// Of an agent that works on a message. A workspace without secrets pays for one look.
    pub(crate) async fn mask_updates(&self, of: AgentRef, updates: &mut [TaskUpdate]) -> Result<(), Error> {
        if agent_words::say_something(updates)
            && let Some(known) = self.known_to(of).await?
        {
            agent_words::mask_updates(updates, &known);
        }
        Ok(())
    }

    /// Of an agent that speaks of its own accord.
    pub(crate) async fn mask_notice(&self, of: &Workspace, parts: &mut [Part]) -> Result<(), Error> {
        if let Some(known) = self.known_to(AgentRef { org_id: of.org_id, workspace_id: of.id }).await? {
            agent_words::mask_parts(parts, &known);
        }
        Ok(())
    }

    async fn known_to(
        &self,
        AgentRef { org_id, workspace_id }: AgentRef,
    ) -> Result<Option<Arc<Redactor>>, Error> {
        let secrets = self
            .context
            .store()
            .read_few(move |tx| tx.secrets_for(org_id, workspace_id).map_err(Error::from));
        Ok(self.redactors.from_rows(workspace_id, secrets.await?))
    }
}
