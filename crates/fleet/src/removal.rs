//! Removing a subtree as a durable intent (F8): marked first, then stopped, then its files.

use serde_json::json;
use warren_model::{
    AuditAction, ChannelId, Desired, ErrorCode, EventKind, Mending, Principal, Status, Workspace, WorkspaceId,
};
use warren_rules::access::Action;
use warren_rules::lifecycle::Signal;
pub use warren_rules::lifecycle::reconcile::RemovalCounts;
use warren_rules::lifecycle::reconcile::{next_mending, removal_counts};
use warren_service::Sealer;
use warren_store::WriteTx;

use crate::Actor;
use crate::lifecycle::{LOOK_AGAIN_MS, Moment, Particulars, apply_signal, event_of};
use crate::tree::subtree;
use crate::workspaces::{check_version, live_row};
use crate::{Error, Fleet, Identity};

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

impl Fleet {
    /// Removes a workspace and all below it. The intent is durable before anything is stopped; what is left when the
    /// caller is answered, or when Warren dies, is finished later. Removing twice is fine, and tries again.
    pub async fn remove_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        expected_version: Option<u64>,
        is_purged: bool,
    ) -> Result<Removal, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let marked = self
            .write_with_retries(expected_version.is_none(), move |tx| {
                let root = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                check_version(&root, expected_version)?;
                let rows = subtree(tx, root, true)?;
                rows.into_iter()
                    .map(|row| mark_removed(tx, row, is_purged, &moment, &actor))
                    .collect::<Result<Vec<_>, _>>()
            })
            .await?;
        let ids: Vec<_> = marked.iter().map(|row| row.id).collect();
        for id in &ids {
            self.reconcile_in_background(*id);
        }
        let workspace = marked.into_iter().next().ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let counts = self.wait_for_removal(&ids).await?;
        Ok(Removal { workspace, counts })
    }

    /// Removes all below a workspace (F9), as `remove_workspace` does; the workspace itself stays.
    pub async fn collapse_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        is_purged: bool,
    ) -> Result<Collapse, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let (workspace, marked) = self
            .write_with_retries(true, move |tx| {
                let root = live_row(tx, id)?;
                let below = subtree(tx, root.clone(), true)?.into_iter().skip(1);
                let marked: Result<Vec<_>, _> =
                    below.map(|row| mark_removed(tx, row, is_purged, &moment, &actor)).collect();
                Ok((root, marked?))
            })
            .await?;
        let ids: Vec<_> = marked.iter().map(|row| row.id).collect();
        for id in &ids {
            self.reconcile_in_background(*id);
        }
        Ok(Collapse { workspace, counts: self.wait_for_removal(&ids).await? })
    }

    async fn wait_for_removal(&self, ids: &[WorkspaceId]) -> Result<RemovalCounts, Error> {
        let finished = async {
            for id in ids {
                self.0.under_way.idle(*id).await;
            }
        };
        // Whether they are done is told by their rows, not by how long this waited.
        let _ = tokio::time::timeout(self.0.parts.terms.removal_patience, finished).await;
        let asked = ids.to_vec();
        let rows: Vec<Option<Workspace>> = self
            .store()
            .read(move |tx| asked.iter().map(|id| tx.workspace(*id).map_err(Error::from)).collect())
            .await?;
        let is_busy = ids.iter().map(|id| self.0.under_way.is_busy(*id));
        Ok(removal_counts(rows.iter().map(Option::as_ref).zip(is_busy)))
    }

    /// Deletes what is left of a removed workspace. What cannot be stopped keeps its files, and says so in its row.
    pub(crate) async fn carry_out_removal(&self, row: &Workspace) -> Result<(), Error> {
        let destroyed = match self.declare(row) {
            Ok(()) => self.registry().destroy(row.id).await,
            Err(error) => Err(error),
        };
        let failure = destroyed.err().map(|error| error.to_string());
        let (id, moment) = (row.id, self.moment(&Principal::system("reconciler")));
        let is_done = failure.is_none();
        self.write_with_retries(true, move |tx| {
            let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
            match &failure {
                None => {
                    row.reference = None;
                    row.observed_generation = row.generation;
                    // A purge has a step to go; should this carrier die before it, somebody looks again.
                    let next_at = row.is_purged.then(|| moment.now.plus_ms(LOOK_AGAIN_MS));
                    row.mending = Mending { attempts: 0, next_at };
                }
                Some(reason) => {
                    let data = json!({ "attempts": row.mending.attempts + 1, "reason": reason });
                    let kind = EventKind::WorkspaceRemovalFailed;
                    tx.append_event(&event_of(&row, kind, &moment.by, moment.now, data))?;
                    let attempts = row.mending.attempts.saturating_add(1);
                    let next_at = Some(next_mending(attempts, moment.now));
                    row.mending = Mending { attempts, next_at };
                }
            }
            tx.update_workspace(&row, row.version)?;
            Ok(())
        })
        .await?;
        if is_done { Ok(()) } else { Err(Error::new(ErrorCode::WorkspaceNotReady)) }
    }

    /// Erases the rows of a removed workspace of which nothing is left. Events and the audit log stay.
    pub(crate) async fn erase(&self, id: WorkspaceId) -> Result<(), Error> {
        self.store()
            .write(move |tx| {
                let channels = tx.channels_of(id)?;
                let unreadable = channels.unreadable.iter().filter_map(|row| row.id.parse().ok());
                let channels: Vec<ChannelId> =
                    channels.rows.iter().map(|channel| channel.id).chain(unreadable).collect();
                if tx.erase_workspace(id)? {
                    // Their rows go with the workspace; what they shared with others is kept elsewhere.
                    for channel in channels {
                        tx.delete_secret(Sealer::SYSTEM_SECRETS, &Sealer::system_secret_name(channel))?;
                    }
                }
                Ok::<_, Error>(())
            })
            .await?;
        let _ = self.registry().forget(id);
        Ok(())
    }
}

/// Writes the intent into a row; one that is removed already stays as it is.
fn mark_removed(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    is_purged: bool,
    moment: &Moment,
    actor: &Actor,
) -> Result<Workspace, Error> {
    let known = row.clone();
    row.is_purged |= is_purged;
    if row.status != Status::Removed {
        row.spec.desired = Desired::Removed;
        row.raise_generation();
        apply_signal(tx, &mut row, Signal::Remove, moment, &Particulars::default())?;
        let secrets = tx.delete_secrets_of(row.id)?;
        let details = json!({ "name": row.name.as_str(), "secrets": secrets, "is_purged": is_purged });
        let action = AuditAction::WorkspaceRemoved;
        tx.append_audit(&actor.did_to_workspace(moment.now, action, row.id, details))?;
    }
    if row != known {
        row.version = tx.update_workspace(&row, row.version)?;
    }
    Ok(row)
}
