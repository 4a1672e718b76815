//! The carrier of `rules::reconcile`: one worker per workspace at a time, asked again after each step.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use warren_model::{ErrorCode, Principal, Workspace, WorkspaceId};
use warren_rules::lifecycle::Signal;
use warren_rules::reconcile::{Step, next_step};
use warren_rules::startup::{self, StartAction};
use warren_store::WorkspaceQuery;
use warren_workspace::registry::{Declaration, LostPolicy};

use crate::{Error, Fleet};

/// How many rows a pass over all workspaces reads at a time.
const PAGE: u32 = 500;
/// How often leftovers are looked for: removals that failed, places that nobody owns.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);

/// Workspaces that a worker is busy with; `true` when it was asked to look again.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<HashMap<WorkspaceId, bool>>);

impl UnderWay {
    /// Whether the caller is to work; otherwise the one at work looks again.
    fn begin(&self, id: WorkspaceId) -> bool {
        let mut busy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match busy.get_mut(&id) {
            Some(again) => {
                *again = true;
                false
            }
            None => {
                busy.insert(id, false);
                true
            }
        }
    }

    /// Whether the work is over; `false` when somebody asked for another look meanwhile.
    fn finish(&self, id: WorkspaceId) -> bool {
        let mut busy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match busy.get_mut(&id) {
            Some(again) if *again => {
                *again = false;
                false
            }
            _ => {
                busy.remove(&id);
                true
            }
        }
    }
}

impl Fleet {
    /// Makes the registry know a workspace; nothing is opened.
    pub(crate) fn declare(&self, row: &Workspace) -> Result<(), warren_workspace::Error> {
        let declaration = Declaration {
            config: row.spec.provider.clone(),
            capabilities: row.spec.capabilities,
            reference: row.reference.clone(),
            on_lost: LostPolicy::Fail,
        };
        self.registry().declare(row.id, declaration)
    }

    /// Starts a worker for this workspace, unless one is at it: then that one looks again.
    pub(crate) fn reconcile_in_background(&self, id: WorkspaceId) {
        if self.0.stopping.is_cancelled() || !self.0.under_way.begin(id) {
            return;
        }
        let fleet = self.clone();
        self.0.tasks.spawn(async move {
            loop {
                if let Err(error) = fleet.reconcile(id).await {
                    tracing::warn!(workspace.id = %id, %error, "a workspace could not be brought to what is wanted");
                }
                if fleet.0.under_way.finish(id) {
                    return;
                }
            }
        });
    }

    async fn reconcile(&self, id: WorkspaceId) -> Result<(), Error> {
        let by = Principal::system("reconciler");
        loop {
            let row = self.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
            let Some(row) = row else { return Ok(()) };
            match next_step(&row) {
                Step::Rest => return Ok(()),
                Step::Open => self.carry_out_open(&row, &by).await?,
                Step::Close => {
                    self.registry().close(id).await?;
                    self.mark_observed(&row).await?;
                }
                Step::Destroy => {
                    self.declare(&row)?;
                    self.registry().destroy(id).await?;
                    self.forget_reference(id).await?;
                }
            }
        }
    }

    async fn carry_out_open(&self, row: &Workspace, by: &Principal) -> Result<(), Error> {
        let opened = match self.declare(row) {
            Ok(()) => self.registry().acquire(row.id).await.map(|_| ()),
            Err(error) => Err(error),
        };
        match opened {
            Ok(()) => self.signal(row.id, Signal::PlaceReady, by, None).await?,
            Err(error) if self.0.stopping.is_cancelled() => return Err(error.into()),
            Err(error) => {
                tracing::warn!(workspace.id = %row.id, %error, "a workspace could not be opened");
                self.signal(row.id, Signal::PlaceFailed, by, Some(error.to_string())).await?
            }
        };
        Ok(())
    }

    async fn mark_observed(&self, seen: &Workspace) -> Result<(), Error> {
        let (id, generation) = (seen.id, seen.generation);
        self.write_with_retries(true, move |tx| {
            let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
            row.observed_generation = row.observed_generation.max(generation);
            tx.update_workspace(&row, row.version)?;
            Ok(())
        })
        .await
    }

    async fn forget_reference(&self, id: WorkspaceId) -> Result<(), Error> {
        self.write_with_retries(true, move |tx| {
            let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
            row.reference = None;
            row.observed_generation = row.generation;
            tx.update_workspace(&row, row.version)?;
            Ok(())
        })
        .await
    }

    /// Reads every row once and does what `rules::startup` says.
    pub(crate) async fn take_up_workspaces(&self) -> Result<(), Error> {
        let by = Principal::system("reconciler");
        let mut query = WorkspaceQuery { includes_removed: true, ..WorkspaceQuery::all(PAGE) };
        loop {
            let asked = query.clone();
            let page = self.store().read(move |tx| tx.workspaces(&asked).map_err(Error::from)).await?;
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
        match startup::plan(row) {
            StartAction::Nothing => {}
            // Both are declared before the reaper's first pass: what it does not know, it may take for a leftover.
            // A provider that is not here today: the workspace says so and is not lost.
            action @ (StartAction::Keep | StartAction::Reconcile) => match self.declare(row) {
                Ok(()) if action == StartAction::Reconcile => self.reconcile_in_background(row.id),
                Ok(()) => {}
                Err(error) => {
                    self.signal(row.id, Signal::PlaceFailed, by, Some(error.to_string())).await?;
                }
            },
            StartAction::MarkLost => {
                let reason =
                    "Its files lived in memory and ended with the process; remove it or create a new one.";
                self.signal(row.id, Signal::PlaceFailed, by, Some(reason.to_owned())).await?;
            }
            StartAction::FinishRemoval => self.reconcile_in_background(row.id),
        }
        Ok(())
    }

    /// Finishes what was left: places without an owner, removals that failed at first.
    pub(crate) async fn keep_house(&self) {
        let mut ticks = tokio::time::interval(HOUSEKEEPING_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.0.stopping.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let report = self.registry().reap_once(&BTreeSet::new()).await;
            for problem in &report.problems {
                tracing::warn!(problem, "the reaper could not remove something; it tries again");
            }
            if let Err(error) = self.retry_removals().await
                && error.code != ErrorCode::PlatformUnavailable
            {
                tracing::warn!(%error, "removals could not be looked through");
            }
        }
    }

    async fn retry_removals(&self) -> Result<(), Error> {
        let mut query = WorkspaceQuery {
            includes_removed: true,
            statuses: vec![warren_model::Status::Removed],
            ..WorkspaceQuery::all(PAGE)
        };
        loop {
            let asked = query.clone();
            let page = self.store().read(move |tx| tx.workspaces(&asked).map_err(Error::from)).await?;
            for row in page.rows.iter().filter(|row| row.reference.is_some()) {
                self.reconcile_in_background(row.id);
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(()),
            }
        }
    }
}
