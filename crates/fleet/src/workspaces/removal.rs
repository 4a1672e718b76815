//! Removing a subtree as a durable intent (F8): marked first, then stopped, then its files.

use tokio::sync::broadcast;
use warren_model::{AuditAction, AuditDetails, Desired, ErrorCode, Status, Workspace, WorkspaceId};
use warren_rules::lifecycle::Signal;
pub use warren_rules::lifecycle::reconcile::RemovalCounts;
use warren_rules::lifecycle::reconcile::removal_counts;
use warren_service::{Action, Actor, Error, Identity};
use warren_store::WriteTx;

use super::ancestry::subtree;
use super::{Workspaces, check_version, live_row};
use crate::lifecycle::{SignalOptions, TxInputs, apply_signal};

/// How a removal stands when its caller is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    pub workspace: Workspace,
    pub counts: RemovalCounts,
}

/// How the removal of all below a workspace stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Collapse {
    pub workspace: Workspace,
    /// Of those below it.
    pub counts: RemovalCounts,
}

impl Workspaces {
    /// Removes a workspace and all below it. The intent is durable before anything is stopped; what is left when the
    /// caller is answered, or when Warren dies, is finished later. Removing twice is fine, and tries again.
    #[tracing::instrument(name = "fleet.workspaces.remove", skip_all, fields(workspace.id = %id))]
    pub async fn remove(
        &self,
        who: &Identity,
        id: WorkspaceId,
        expected_version: Option<u64>,
        is_purged: bool,
    ) -> Result<Removal, Error> {
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let marked = self
            .context
            .write_with_retries(expected_version.is_none(), move |tx| {
                let root = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                check_version(&root, expected_version)?;
                let rows = subtree(tx, root, true)?;
                rows.into_iter()
                    .map(|row| mark_removed(tx, row, is_purged, &inputs, &actor))
                    .collect::<Result<Vec<_>, _>>()
            })
            .await?;
        let ids: Vec<_> = marked.iter().map(|row| row.id).collect();
        self.begin_removal(&ids);
        let workspace = marked.into_iter().next().ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let counts = self.wait_for_removal(&ids).await?;
        Ok(Removal { workspace, counts })
    }

    /// Removes all below a workspace (F9), as `remove` does; the workspace itself stays.
    #[tracing::instrument(name = "fleet.workspaces.collapse", skip_all, fields(workspace.id = %id))]
    pub async fn collapse(
        &self,
        who: &Identity,
        id: WorkspaceId,
        is_purged: bool,
    ) -> Result<Collapse, Error> {
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let (workspace, marked) = self
            .context
            .write_with_retries(true, move |tx| {
                let root = live_row(tx, id)?;
                let below = subtree(tx, root.clone(), true)?.into_iter().skip(1);
                let marked: Result<Vec<_>, _> =
                    below.map(|row| mark_removed(tx, row, is_purged, &inputs, &actor)).collect();
                Ok((root, marked?))
            })
            .await?;
        let ids: Vec<_> = marked.iter().map(|row| row.id).collect();
        self.begin_removal(&ids);
        Ok(Collapse { workspace, counts: self.wait_for_removal(&ids).await? })
    }

    /// Workspaces that were removed through this process, from now on.
    pub fn removals(&self) -> broadcast::Receiver<WorkspaceId> {
        self.removed.subscribe()
    }

    fn begin_removal(&self, ids: &[WorkspaceId]) {
        for id in ids {
            let _ = self.removed.send(*id);
            self.reconciler.run_in_background(*id);
        }
    }

    async fn wait_for_removal(&self, ids: &[WorkspaceId]) -> Result<RemovalCounts, Error> {
        let finished = async {
            for id in ids {
                self.reconciler.idle(*id).await;
            }
        };
        // Whether they are done is told by their rows, not by how long this waited.
        let _ = tokio::time::timeout(self.config.removal_patience, finished).await;
        let asked = ids.to_vec();
        let rows: Vec<Option<Workspace>> = self
            .context
            .store()
            .read(move |tx| asked.iter().map(|id| tx.workspace(*id).map_err(Error::from)).collect())
            .await?;
        let is_busy = ids.iter().map(|id| self.reconciler.is_busy(*id));
        Ok(removal_counts(rows.iter().map(Option::as_ref).zip(is_busy)))
    }
}

/// Writes the intent into a row; one that is removed already stays as it is.
fn mark_removed(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    is_purged: bool,
    inputs: &TxInputs,
    actor: &Actor,
) -> Result<Workspace, Error> {
    let known = row.clone();
    row.is_purged |= is_purged;
    if row.status != Status::Removed {
        row.spec.desired = Desired::Removed;
        row.raise_generation();
        apply_signal(tx, &mut row, Signal::Remove, inputs, &SignalOptions::default())?;
        let secrets = tx.delete_secrets_of(row.id)?;
        let name = row.name.as_str().to_owned();
        let details = AuditDetails::WorkspaceRemoved { name, secrets, is_purged };
        let action = AuditAction::WorkspaceRemoved;
        tx.append_audit(&actor.did_to_workspace(inputs.now, action, row.id, &details))?;
    }
    if row != known {
        row.version = tx.update_workspace(&row, row.version)?;
    }
    Ok(row)
}
