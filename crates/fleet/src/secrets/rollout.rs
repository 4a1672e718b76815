//! The carrier of `rules::secrets::roll_out`: what a change of secrets reaches is restarted a few at a time (F33).
//!
//! Who is behind stands in the rows. If this process dies, the next start brings up what is behind anyway.

use std::collections::BTreeMap;

use warren_model::{OrgId, Runtime, Status, Vitals, Workspace, WorkspaceId};
use warren_rules::secrets::{Pace, roll_out};
use warren_store::WorkspaceQuery;
use warren_workspace::shell::ProcessState;

use crate::{Error, Fleet};

/// Rows read at a time.
const PAGE: u32 = 500;

impl Fleet {
    pub(super) fn roll_out_in_background(&self, org_id: OrgId) {
        let fleet = self.clone();
        self.0.tasks.spawn(async move {
            if let Err(error) = fleet.roll_out(org_id).await {
                tracing::warn!(%error, "a change of secrets could not be rolled out; workspaces that are behind restart with the next change or start");
            }
        });
    }

    async fn roll_out(&self, org_id: OrgId) -> Result<(), Error> {
        // One that is still behind after its restart has a trouble of its own, and is not restarted again for this.
        let mut tried: BTreeMap<WorkspaceId, u64> = BTreeMap::new();
        loop {
            let (rows, vitals) = self.rows_that_are_up(org_id).await?;
            let is_due = |row: &&Workspace| tried.get(&row.id) != Some(&row.generation);
            let tasks = |row: &Workspace| vitals.get(&row.id).map_or(0, |vitals| vitals.active_tasks);
            let plan = roll_out(rows.iter().filter(is_due).map(|row| (row, tasks(row))), Pace::default());
            if plan.restart.is_empty() || self.0.stopping.is_cancelled() {
                return Ok(());
            }
            let mut restarting = Vec::new();
            for row in rows.iter().filter(|row| plan.restart.contains(&row.id)) {
                tried.insert(row.id, row.generation);
                if self.holds_old_values(row).await {
                    self.reconcile_in_background(row.id);
                    restarting.push(row.id);
                } else {
                    self.mark_observed(row).await?;
                }
            }
            for id in restarting {
                self.0.under_way.idle(id).await;
            }
        }
    }

    /// Whether something there was started with the values of before and still runs. An agent of its own surely was;
    /// commands get the values of the moment, so that only processes in the background hold old ones.
    async fn holds_old_values(&self, row: &Workspace) -> bool {
        if row.spec.runtime != Runtime::Hosted {
            return true;
        }
        let is_open = self.registry().describe(row.id).is_some_and(|known| known.opened_at.is_some());
        if !is_open {
            return false;
        }
        let listed = self.registry().with(row.id, |workspace| async move {
            match workspace.shell() {
                Some(shell) => shell.list().await,
                None => Ok(Vec::new()),
            }
        });
        match listed.await {
            Ok(processes) => processes.iter().any(|process| process.state == ProcessState::Running),
            // What cannot be asked is brought up anew.
            Err(_) => true,
        }
    }

    async fn rows_that_are_up(
        &self,
        org_id: OrgId,
    ) -> Result<(Vec<Workspace>, BTreeMap<WorkspaceId, Vitals>), Error> {
        let mut query = WorkspaceQuery {
            org_id: Some(org_id),
            statuses: vec![Status::AwaitingAgent, Status::Online, Status::Degraded, Status::Offline],
            ..WorkspaceQuery::all(PAGE)
        };
        let mut rows = Vec::new();
        loop {
            let asked = query.clone();
            let page = self.store().read(move |tx| tx.workspaces(&asked).map_err(Error::from)).await?;
            rows.extend(page.rows.into_iter().filter(|row| row.observed_generation < row.generation));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let vitals = self.vitals_of(&rows).await?;
        Ok((rows, vitals))
    }
}
