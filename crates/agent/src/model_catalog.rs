//! The models that agents can be run by, as people may know them.

use std::sync::Arc;

use warren_fleet::Fleet;
use warren_model::WorkspaceId;
use warren_service::{Action, Error, Identity};

use crate::models::{KnownModels, ModelCaller, Models};

/// Tells which models can be asked. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelCatalog {
    fleet: Fleet,
    models: Arc<dyn Models>,
}

impl ModelCatalog {
    pub(crate) fn new(fleet: Fleet, models: Arc<dyn Models>) -> Self {
        Self { fleet, models }
    }

    /// The providers, and whether the caller's org, or this workspace, has a key for each. No key is told.
    pub async fn list(
        &self,
        who: &Identity,
        workspace_id: Option<WorkspaceId>,
    ) -> Result<KnownModels, Error> {
        let org_id = match workspace_id {
            Some(id) => self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?.org_id,
            None => {
                who.may_in_own_org(Action::ReadWorkspaces)?;
                who.token.org_id
            }
        };
        self.models.known(ModelCaller { org_id, workspace_id }).await
    }
}
