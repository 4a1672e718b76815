//! The carrier of `rules::secrets::roll_out`: what a change of secrets reaches is restarted a few at a time (F33).
//!
//! Who is behind stands in the rows. If this process dies, the next start brings up what is behind, and before that the
//! sweep `catching_up` of any replica.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use warren_model::{OrgId, Runtime, Vitals, Workspace, WorkspaceId};
use warren_rules::replicas::takes_up;
use warren_rules::secrets::{Background, Pace, holds_old_values, roll_out};
use warren_store::WorkspaceQuery;
use warren_workspace::shell::ProcessState;

use crate::{Error, Fleet};

/// Rows read at a time.
const PAGE: u32 = 500;

impl Fleet {
    pub(super) fn roll_out_in_background(&self, org_id: OrgId) {
        let fleet = self.clone();
        self.0.tasks.spawn(async move {
            fleet.0.rolling_out.fetch_add(1, Ordering::SeqCst);
            let rolled_out = fleet.roll_out(org_id).await;
            fleet.0.rolling_out.fetch_sub(1, Ordering::SeqCst);
            if let Err(error) = rolled_out {
                tracing::warn!(%error, "a change of secrets could not be rolled out; the sweep `catching_up` goes on with it");
            }
        });
    }

    /// Whoever is behind, whatever made it so: a change whose carrier died, or one that another process made. Answers how
    /// many were looked at, and how many brought up.
    pub(crate) async fn catch_up(&self) -> Result<(u64, u64), Error> {
        let (rows, vitals) = self.rows_behind(None).await?;
        for row in &rows {
            if takes_up(row, self.replica().standing(row.id).await?) {
                self.reconcile_in_background(row.id);
            }
        }
        if self.0.rolling_out.load(Ordering::SeqCst) > 0 {
            // Somebody brings them up already, and knows more: what a secret does not concern need not restart.
            return Ok((rows.len() as u64, 0));
        }
        let mut restarted = 0;
        let tasks = |row: &Workspace| vitals.get(&row.id).map_or(0, |vitals| vitals.active_tasks);
        let plan = roll_out(rows.iter().map(|row| (row, tasks(row))), Pace::default());
        for row in rows.iter().filter(|row| plan.restart.contains(&row.id)) {
            let is_open = self.registry().describe(row.id).is_some_and(|known| known.opened_at.is_some());
            // What it is behind of is not known here, so that whatever runs is brought up anew.
            if is_open || row.spec.runtime != Runtime::Hosted {
                self.reconcile_in_background(row.id);
            } else {
                self.mark_observed(row).await?;
            }
            restarted += 1;
        }
        Ok((rows.len() as u64, restarted))
    }

    /// Answers whether it is being restarted; otherwise nothing there holds what was before.
    async fn bring_up(&self, row: &Workspace) -> Result<bool, Error> {
        let restarts = self.holds_old_values(row).await;
        if restarts {
            self.reconcile_in_background(row.id);
        } else {
            self.mark_observed(row).await?;
        }
        Ok(restarts)
    }

    async fn roll_out(&self, org_id: OrgId) -> Result<(), Error> {
        // One that is still behind after its restart has a trouble of its own, and is not restarted again for this.
        let mut tried: BTreeMap<WorkspaceId, u64> = BTreeMap::new();
        loop {
            let (rows, vitals) = self.rows_behind(Some(org_id)).await?;
            let is_due = |row: &&Workspace| tried.get(&row.id) != Some(&row.generation);
            let tasks = |row: &Workspace| vitals.get(&row.id).map_or(0, |vitals| vitals.active_tasks);
            let plan = roll_out(rows.iter().filter(is_due).map(|row| (row, tasks(row))), Pace::default());
            if plan.restart.is_empty() || self.0.stopping.is_cancelled() {
                return Ok(());
            }
            let mut restarting = Vec::new();
            for row in rows.iter().filter(|row| plan.restart.contains(&row.id)) {
                tried.insert(row.id, row.generation);
                if self.bring_up(row).await? {
                    restarting.push(row.id);
                }
            }
            for id in restarting {
                self.0.under_way.idle(id).await;
            }
        }
    }

    async fn holds_old_values(&self, row: &Workspace) -> bool {
        let background = match self.registry().describe(row.id) {
            _ if row.spec.runtime != Runtime::Hosted => Background::Unknown,
            Some(known) if known.opened_at.is_some() => self.background_of(row.id).await,
            Some(_) | None => Background::NotOpen,
        };
        holds_old_values(row.spec.runtime, background)
    }

    async fn background_of(&self, id: WorkspaceId) -> Background {
        let listed = self.registry().with(id, |workspace| async move {
            match workspace.shell() {
                Some(shell) => shell.list().await,
                None => Ok(Vec::new()),
            }
        });
        match listed.await {
            Ok(processes) => {
                let running = processes.iter().filter(|process| process.state == ProcessState::Running);
                Background::Running(running.count())
            }
            Err(_) => Background::Unknown,
        }
    }

    async fn rows_behind(
        &self,
        org_id: Option<OrgId>,
    ) -> Result<(Vec<Workspace>, BTreeMap<WorkspaceId, Vitals>), Error> {
        let mut query = WorkspaceQuery {
            org_id,
            // Those on their way up count too: they take a place. Those that rest, or go, are somebody's work still.
            is_behind: true,
            includes_removed: true,
            ..WorkspaceQuery::all(PAGE)
        };
        let mut rows = Vec::new();
        loop {
            let asked = query.clone();
            let page = self.store().read(move |tx| tx.workspaces(&asked).map_err(Error::from)).await?;
            for row in page.rows {
                // What another replica has, it brings up itself.
                if !self.is_elsewhere(row.id).await? {
                    rows.push(row);
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let vitals = self.vitals_of(&rows).await?;
        Ok((rows, vitals))
    }
}
