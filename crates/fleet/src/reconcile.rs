//! The carrier of `rules::reconcile`: one worker per workspace at a time, asked again after each step.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use warren_model::{Mending, Principal, Workspace, WorkspaceId};
use warren_rules::lifecycle::reconcile::{Opened, Step, judge_open, next_step};
use warren_rules::lifecycle::residents::is_started;
use warren_rules::lifecycle::startup::{self, StartAction};
use warren_rules::lifecycle::{self, Signal};
use warren_store::WorkspaceQuery;
use warren_workspace::registry::{Declaration, LostPolicy};

use crate::lifecycle::{Particulars, apply_signal};
use crate::{Error, Fleet};

/// How many rows a pass over all workspaces reads at a time.
const PAGE: u32 = 500;

/// Workspaces that a worker is busy with.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    /// `true` when the worker was asked to look again.
    busy: Mutex<HashMap<WorkspaceId, bool>>,
    /// Told whenever a worker is done.
    done: Notify,
}

impl UnderWay {
    /// Whether the caller is to work; otherwise the one at work looks again.
    fn begin(&self, id: WorkspaceId) -> bool {
        match self.busy().entry(id) {
            Entry::Occupied(mut again) => {
                again.insert(true);
                false
            }
            Entry::Vacant(free) => {
                free.insert(false);
                true
            }
        }
    }

    /// Whether the work is over; `false` when somebody asked for another look meanwhile.
    fn finish(&self, id: WorkspaceId) -> bool {
        let mut busy = self.busy();
        if busy.get_mut(&id).is_some_and(std::mem::take) {
            return false;
        }
        busy.remove(&id);
        drop(busy);
        self.done.notify_waiters();
        true
    }

    /// Waits until no worker is busy with it.
    pub(crate) async fn idle(&self, id: WorkspaceId) {
        loop {
            let mut done = std::pin::pin!(self.done.notified());
            // Before the look, so that an end between the two is not missed.
            done.as_mut().enable();
            if !self.is_busy(id) {
                return;
            }
            done.await;
        }
    }

    pub(crate) fn is_busy(&self, id: WorkspaceId) -> bool {
        self.busy().contains_key(&id)
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<WorkspaceId, bool>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
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
        if self.context().is_stopping() || !self.0.under_way.begin(id) {
            return;
        }
        let fleet = self.clone();
        self.context().spawn(tracing::Span::none(), async move {
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
            if self.context().is_stopping() {
                return Ok(());
            }
            let step = next_step(&row);
            // Its own carrier is with its box, and finds it by the sweep `catching_up`.
            if step != Step::Rest && self.is_elsewhere(id).await? {
                return Ok(());
            }
            match step {
                Step::Rest => return Ok(()),
                Step::Open { closes_first } => {
                    if closes_first {
                        self.dismiss_resident(id);
                        self.close_here(id).await?;
                    }
                    self.carry_out_open(&row, &by).await?;
                }
                Step::Close => {
                    self.dismiss_resident(id);
                    self.close_here(id).await?;
                    self.mark_observed(&row).await?;
                }
                Step::Restart => {
                    self.signal(id, Signal::Restart, &by, None).await?;
                }
                Step::Destroy => {
                    self.dismiss_resident(id);
                    self.carry_out_removal(&row).await?;
                }
                Step::Erase => self.erase(id).await?,
                Step::Settle => self.mark_observed(&row).await?,
            }
        }
    }

    /// What another replica made may be unknown here: then nothing of it is open.
    async fn close_here(&self, id: WorkspaceId) -> Result<(), Error> {
        if self.registry().describe(id).is_some() {
            self.registry().close(id).await?;
        }
        Ok(())
    }

    async fn carry_out_open(&self, row: &Workspace, by: &Principal) -> Result<(), Error> {
        let declared = self.declare(row);
        if declared.is_ok() {
            self.prepare_place(row).await?;
        }
        let opened = match declared {
            Ok(()) => self.registry().acquire(row.id).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let (signal, reason) = match opened {
            Ok(()) => (Signal::PlaceReady, None),
            Err(error) if self.context().is_stopping() => return Err(error.into()),
            Err(error) => {
                tracing::warn!(workspace.id = %row.id, %error, "a workspace could not be opened");
                (Signal::PlaceFailed, Some(error.to_string()))
            }
        };
        self.signal_opened(row, signal, reason, by).await?;
        if signal == Signal::PlaceReady {
            self.attend_resident(row);
        }
        Ok(())
    }

    /// Fetches what the place needs and is no part of its boot: an image that is slow to come is not the workspace's fault,
    /// and takes nothing of its time (F4). What cannot be fetched, the open finds out and tells.
    async fn prepare_place(&self, row: &Workspace) -> Result<(), Error> {
        let config = &row.spec.provider;
        if self.registry().is_prepared(config).await.unwrap_or(true) {
            return Ok(());
        }
        self.set_boot_clock(row, lifecycle::hold_boot_clock).await?;
        if let Err(error) = self.registry().prepare(config).await {
            tracing::debug!(workspace.id = %row.id, %error, "what a place needs could not be fetched");
        }
        let (now, fleet_wide) = (self.clock().now(), self.0.parts.terms.provision_timeout_ms);
        self.set_boot_clock(row, move |row| lifecycle::start_boot_clock(row, fleet_wide, now)).await
    }

    async fn set_boot_clock(
        &self,
        booting: &Workspace,
        set: impl Fn(&mut Workspace) + Send + Sync + Clone + 'static,
    ) -> Result<(), Error> {
        let (id, generation) = (booting.id, booting.generation);
        self.write_with_retries(true, move |tx| {
            let Some(known) = tx.workspace(id)? else { return Ok(()) };
            let mut row = known.clone();
            if row.generation == generation {
                set(&mut row);
            }
            if row != known {
                tx.update_workspace(&row, row.version)?;
            }
            Ok(())
        })
        .await
    }

    /// Tells how an open went, of the generation that was read before it. What changed meanwhile is opened again.
    async fn signal_opened(
        &self,
        opened: &Workspace,
        signal: Signal,
        reason: Option<String>,
        by: &Principal,
    ) -> Result<(), Error> {
        let (id, generation) = (opened.id, opened.generation);
        let (moment, particulars) = (self.moment(by), Particulars { reason, is_forced: false });
        self.write_with_retries(true, move |tx| {
            let Some(known) = tx.workspace(id)? else { return Ok(()) };
            let mut row = known.clone();
            row.observed_generation = row.observed_generation.max(generation);
            match judge_open(row.generation, generation) {
                Opened::AsWanted => apply_signal(tx, &mut row, signal, &moment, &particulars)?,
                Opened::Outdated => {}
            }
            if row != known {
                tx.update_workspace(&row, row.version)?;
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn mark_observed(&self, seen: &Workspace) -> Result<(), Error> {
        let (id, generation) = (seen.id, seen.generation);
        self.write_with_retries(true, move |tx| {
            let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
            row.observed_generation = row.observed_generation.max(generation);
            if row.generation == generation {
                row.mending = Mending::default();
            }
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
            // The reaper knows them by their ids alone, and leaves what is theirs.
            let page = self.context().listed(page);
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
        if action != StartAction::Nothing && self.is_elsewhere(row.id).await? {
            let _ = self.declare(row);
            return Ok(());
        }
        match action {
            StartAction::Nothing => {}
            // All are declared before the reaper's first pass: what it does not know, it may take for a leftover.
            // A provider that is not here today: the workspace says so and is not lost.
            action @ (StartAction::Keep | StartAction::Settle | StartAction::Reconcile) => {
                match self.declare(row) {
                    Ok(()) if action == StartAction::Reconcile => self.reconcile_in_background(row.id),
                    Ok(()) if action == StartAction::Settle => self.mark_observed(row).await?,
                    Ok(()) if is_started(&row.spec, row.status) => self.attend_resident(row),
                    Ok(()) => {}
                    Err(error) => {
                        self.signal(row.id, Signal::PlaceFailed, by, Some(error.to_string())).await?;
                    }
                }
            }
            StartAction::MarkLost => {
                let reason =
                    "Its files lived in memory and ended with the process; remove it or create a new one.";
                self.signal(row.id, Signal::PlaceFailed, by, Some(reason.to_owned())).await?;
            }
            StartAction::FinishRemoval => self.reconcile_in_background(row.id),
        }
        Ok(())
    }
}
