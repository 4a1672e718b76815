//! Taking up what an earlier process left.

use warren_model::{Principal, Workspace};
use warren_rules::lifecycle::Signal;
use warren_rules::lifecycle::residents::is_started;
use warren_rules::lifecycle::startup::{self, StartAction};
use warren_service::Error;
use warren_store::WorkspaceQuery;

use super::Reconciler;

/// How many rows a pass over all workspaces reads at a time.
const PAGE: u32 = 500;

impl Reconciler {
    /// Reads every row once and does what `rules::startup` says.
    pub(crate) async fn take_up_all(&self) -> Result<(), Error> {
        let by = Principal::system("reconciler");
        let mut query = WorkspaceQuery { includes_removed: true, ..WorkspaceQuery::all(PAGE) };
        loop {
            let asked = query.clone();
            let page =
                self.parts.context.store().read(move |tx| tx.workspaces(&asked).map_err(Error::from)).await?;
            // The reaper knows them by their ids alone, and leaves what is theirs.
            let page = self.parts.context.listed(page);
            for row in &page.rows {
                self.take_up(row, &by).await?;
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn take_up(&self, row: &Workspace, by: &Principal) -> Result<(), Error> {
        let action = startup::plan(row);
        // Declared all the same: the reaper is to know it.
        if action != StartAction::Nothing && self.parts.replicas.is_elsewhere(row.id).await? {
            let _ = self.parts.replicas.declare(row);
            return Ok(());
        }
        match action {
            StartAction::Nothing => {}
            // All are declared before the reaper's first pass: what it does not know, it may take for a leftover.
            // A provider that is not here today: the workspace says so and is not lost.
            action @ (StartAction::Keep | StartAction::Settle | StartAction::Reconcile) => {
                match self.parts.replicas.declare(row) {
                    Ok(()) if action == StartAction::Reconcile => self.run_in_background(row.id),
                    Ok(()) if action == StartAction::Settle => self.mark_observed(row).await?,
                    Ok(()) if is_started(&row.spec, row.status) => self.parts.residents.attend(row),
                    Ok(()) => {}
                    Err(error) => {
                        self.parts
                            .signals
                            .send(row.id, Signal::PlaceFailed, by, Some(error.to_string()))
                            .await?;
                    }
                }
            }
            StartAction::MarkLost => {
                let reason =
                    "Its files lived in memory and ended with the process; remove it or create a new one.";
                self.parts.signals.send(row.id, Signal::PlaceFailed, by, Some(reason.to_owned())).await?;
            }
            StartAction::FinishRemoval => self.run_in_background(row.id),
        }
        Ok(())
    }
}
