//! Whom a workspace may talk to, as its owner says (X3). Who may talk to whom in the end is decided by `rules`.

use warren_model::event::WorkspaceSpecChanged;
use warren_model::{AuditAction, AuditDetails, PeerPolicy, Workspace, WorkspaceId};
use warren_service::{Action, Actor, Error, Identity};

use super::requests::check_peer_policy;
use super::{Workspaces, live_row};
use crate::lifecycle::event_of;

impl Workspaces {
    #[tracing::instrument(name = "fleet.workspaces.set_peer_policy", skip_all, fields(workspace.id = %id))]
    pub async fn set_peer_policy(
        &self,
        who: &Identity,
        id: WorkspaceId,
        policy: PeerPolicy,
    ) -> Result<Workspace, Error> {
        check_peer_policy(&policy)?;
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let policy = (policy != PeerPolicy::default()).then_some(policy);
        self.context
            .write_with_retries(true, move |tx| {
                let mut row = live_row(tx, id)?;
                if row.spec.peers == policy {
                    return Ok(row);
                }
                row.spec.peers.clone_from(&policy);
                row.updated_at = inputs.now;
                let data =
                    WorkspaceSpecChanged { fields: vec!["peers".to_owned()], generation: row.generation };
                let event = event_of(&row, &inputs.by, inputs.now, data);
                tx.append_event(&event)?;
                let (action, details) =
                    (AuditAction::WorkspaceChanged, AuditDetails::Event(event.data.clone()));
                tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                row.version = tx.update_workspace(&row, row.version)?;
                Ok(row)
            })
            .await
    }
}
