//! Deleting what is left of removed workspaces.

use warren_model::event::WorkspaceRemovalFailed;
use warren_model::{ChannelId, ErrorCode, Mending, Principal, Workspace, WorkspaceId};
use warren_rules::lifecycle::reconcile::next_mending;
use warren_service::{Error, Sealer};

use super::Reconciler;
use crate::lifecycle::{LOOK_AGAIN_MS, event_of};

impl Reconciler {
    /// Deletes what is left of a removed workspace. What cannot be stopped keeps its files, and says so in its row.
    pub(super) async fn carry_out_removal(&self, row: &Workspace) -> Result<(), Error> {
        let destroyed = match self.parts.replicas.declare(row) {
            Ok(()) => self.parts.registry.destroy(row.id).await,
            Err(error) => Err(error),
        };
        let failure = destroyed.err().map(|error| error.to_string());
        let (id, inputs) = (row.id, self.parts.signals.inputs(&Principal::system("reconciler")));
        let is_done = failure.is_none();
        self.parts
            .context
            .write_with_retries(true, move |tx| {
                let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
                match &failure {
                    None => {
                        row.reference = None;
                        row.observed_generation = row.generation;
                        // A purge has a step to go; should this process die before it, the sweep looks again.
                        let next_at = row.is_purged.then(|| inputs.now.plus_ms(LOOK_AGAIN_MS));
                        row.mending = Mending { attempts: 0, next_at };
                    }
                    Some(reason) => {
                        let attempts = row.mending.attempts.saturating_add(1);
                        let data = WorkspaceRemovalFailed { attempts, reason: reason.clone() };
                        tx.append_event(&event_of(&row, &inputs.by, inputs.now, data))?;
                        let next_at = Some(next_mending(attempts, inputs.now));
                        row.mending = Mending { attempts, next_at };
                    }
                }
                tx.update_workspace(&row, row.version)?;
                Ok(())
            })
            .await?;
        if is_done { Ok(()) } else { Err(Error::new(ErrorCode::WorkspaceNotReady)) }
    }

    /// Erases the rows of a removed workspace of which nothing is left. Events and the audit log stay. While messages to it
    /// are on their way, nothing is erased: whoever asked is told first, and this is tried again then. Returns whether the
    /// rows are gone.
    pub(super) async fn erase(&self, id: WorkspaceId) -> Result<bool, Error> {
        let is_erased = self
            .parts
            .context
            .store()
            .write(move |tx| {
                if tx.crowd(id, 1)? != (0, 0) {
                    return Ok(false);
                }
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
                Ok::<_, Error>(true)
            })
            .await?;
        if is_erased {
            let _ = self.parts.registry.forget(id);
        }
        Ok(is_erased)
    }
}
