//! Restarts what a change of secrets reaches, a few at a time, as `rules::secrets::roll_out` decides (F33).
//!
//! Who is behind, and whether of secrets alone, stands in the rows. If this process dies, the next start goes on with it,
//! and before that the sweep `catching_up` of any replica.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warren_model::{BehindOf, OrgId, Vitals, Workspace, WorkspaceId};
use warren_rules::access::secrets::{
    Background, Behind, BringUp, Pace, bring_up, holds_old_values, known_background, roll_out,
};
use warren_rules::lifecycle::replicas::takes_up;
use warren_service::{Context, Error};
use warren_store::WorkspaceQuery;
use warren_workspace::Registry;
use warren_workspace::shell::{ProcessInfo, ProcessState};

use super::FreshProcesses;
use crate::reconciler::Reconciler;
use crate::replicas::Replicas;
use crate::sweeps::Tally;

/// Rows read at a time.
const PAGE: u32 = 500;

/// What [`Rollout`] needs.
#[derive(Debug, Clone)]
pub(crate) struct RolloutParts {
    pub(crate) context: Context,
    pub(crate) registry: Registry,
    pub(crate) replicas: Replicas,
    pub(crate) reconciler: Reconciler,
    pub(crate) fresh_processes: Arc<FreshProcesses>,
}

/// Brings workspaces up to changed secrets. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Rollout {
    parts: RolloutParts,
    /// Changes that are being rolled out.
    under_way: Arc<AtomicUsize>,
}

impl Rollout {
    pub(crate) fn new(parts: RolloutParts) -> Self {
        Self { parts, under_way: Arc::default() }
    }

    pub(super) fn run_in_background(&self, org_id: OrgId) {
        let rollout = self.clone();
        self.parts.context.spawn(tracing::info_span!("fleet.rollout.run"), async move {
            rollout.under_way.fetch_add(1, Ordering::SeqCst);
            let rolled_out = rollout.run(org_id).await;
            rollout.under_way.fetch_sub(1, Ordering::SeqCst);
            if let Err(error) = rolled_out {
                tracing::warn!(%error, "a change of secrets could not be rolled out; the sweep `catching_up` goes on with it");
            }
        });
    }

    /// Whoever is behind, whatever made it so: a change whose process died, or one that another process made. Counts
    /// how many were looked at, and how many brought up.
    pub(crate) async fn catch_up(&self, tally: &mut Tally) -> Result<(), Error> {
        let (rows, vitals) = self.rows_behind(None).await?;
        tally.looked_at = rows.len() as u64;
        for row in &rows {
            if takes_up(row, self.parts.replicas.standing(row.id).await?) {
                self.parts.reconciler.run_in_background(row.id);
            }
        }
        if self.under_way.load(Ordering::SeqCst) > 0 {
            // Somebody brings them up already, a few at a time.
            return Ok(());
        }
        let tasks = |row: &Workspace| vitals.get(&row.id).map_or(0, |vitals| vitals.active_tasks);
        let all = rows.iter().map(|row| (row, tasks(row)));
        let plan = roll_out(all, &BTreeMap::new(), Pace::default());
        for row in rows.iter().filter(|row| plan.restart.contains(&row.id)) {
            tally.acted_on += u64::from(self.bring_up(row).await?);
        }
        Ok(())
    }

    /// Returns true if it is being restarted.
    async fn bring_up(&self, row: &Workspace) -> Result<bool, Error> {
        match bring_up(row.spec.runtime, self.behind(row).await) {
            BringUp::Restart => {
                self.parts.reconciler.run_in_background(row.id);
                Ok(true)
            }
            BringUp::Note => self.parts.reconciler.mark_observed(row).await.map(|()| false),
        }
    }

    async fn run(&self, org_id: OrgId) -> Result<(), Error> {
        let mut tried: BTreeMap<WorkspaceId, u64> = BTreeMap::new();
        loop {
            let (rows, vitals) = self.rows_behind(Some(org_id)).await?;
            let tasks = |row: &Workspace| vitals.get(&row.id).map_or(0, |vitals| vitals.active_tasks);
            let plan = roll_out(rows.iter().map(|row| (row, tasks(row))), &tried, Pace::default());
            if plan.restart.is_empty() || self.parts.context.is_stopping() {
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
                self.parts.reconciler.idle(id).await;
            }
        }
    }

    async fn behind(&self, row: &Workspace) -> Behind {
        match row.behind_of() {
            Some(BehindOf::Secrets) => Behind::OfSecrets(self.background_of(row).await),
            Some(BehindOf::Change) | None => Behind::OfSomething { is_open: self.is_open(row.id) },
        }
    }

    fn is_open(&self, id: WorkspaceId) -> bool {
        self.parts.registry.describe(id).is_some_and(|known| known.opened_at.is_some())
    }

    async fn background_of(&self, row: &Workspace) -> Background {
        let id = row.id;
        if let Some(known) = known_background(&row.spec, self.is_open(id)) {
            return known;
        }
        let listed = self.parts.registry.with(id, |workspace| async move {
            match workspace.shell() {
                Some(shell) => shell.list().await,
                None => Ok(Vec::new()),
            }
        });
        match listed.await {
            Ok(processes) => {
                // Read after the list: what was started before it is in here.
                let started_with = self.parts.fresh_processes.take(id);
                let holds_old = |process: &&ProcessInfo| {
                    process.state == ProcessState::Running
                        && holds_old_values(started_with.get(&process.id).copied(), row.generation)
                };
                Background::Running(processes.iter().filter(holds_old).count())
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
            let page =
                self.parts.context.store().read(move |tx| tx.workspaces(&asked).map_err(Error::from)).await?;
            for row in page.rows {
                // What another replica has, it brings up itself.
                if !self.parts.replicas.is_elsewhere(row.id).await? {
                    rows.push(row);
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let found =
            self.parts.context.store().read(move |tx| tx.vitals_of(&ids).map_err(Error::from)).await?;
        let vitals = self.parts.context.readable(found).into_iter().collect();
        Ok((rows, vitals))
    }
}
