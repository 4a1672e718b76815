//! Brings workspaces to what is wanted of them, as `rules::reconcile` decides: one worker per workspace at a time, which asks
//! again after each step.

mod of_others;
mod removal;
mod startup;
mod under_way;

use std::sync::Arc;

use warren_model::{ErrorCode, Mending, Principal, Workspace, WorkspaceId};
use warren_rules::lifecycle::reconcile::{Opened, Step, judge_open, next_step};
use warren_rules::lifecycle::residents::{is_run_by_warren, is_started};
use warren_rules::lifecycle::{self, Signal};
use warren_service::{Context, Error};
use warren_workspace::Registry;

use crate::Config;
use crate::lifecycle::{SignalOptions, Signals, apply_signal};
use crate::replicas::Replicas;
use crate::residents::Residents;
use under_way::UnderWay;

/// What the reconciler carries out with.
#[derive(Debug, Clone)]
pub(crate) struct ReconcilerParts {
    pub(crate) context: Context,
    pub(crate) config: Config,
    pub(crate) signals: Signals,
    pub(crate) registry: Registry,
    pub(crate) replicas: Replicas,
    pub(crate) residents: Residents,
}

/// Brings workspaces to what is wanted of them. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Reconciler {
    parts: Arc<ReconcilerParts>,
    under_way: Arc<UnderWay>,
}

impl Reconciler {
    pub(crate) fn new(parts: ReconcilerParts) -> Self {
        Self { parts: Arc::new(parts), under_way: Arc::default() }
    }

    /// Waits until no worker is busy with a workspace.
    pub(crate) async fn idle(&self, id: WorkspaceId) {
        self.under_way.idle(id).await;
    }

    pub(crate) fn is_busy(&self, id: WorkspaceId) -> bool {
        self.under_way.is_busy(id)
    }

    /// Looks at all that changed, and returns the first of them: the one that was asked about.
    pub(crate) fn run_all(&self, changed: Vec<Workspace>) -> Result<Workspace, Error> {
        for row in &changed {
            self.run_in_background(row.id);
        }
        changed.into_iter().next().ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))
    }

    /// Starts a worker for this workspace, unless one is at it: then that one looks again.
    pub(crate) fn run_in_background(&self, id: WorkspaceId) {
        if self.parts.context.is_stopping() || !self.under_way.begin(id) {
            return;
        }
        let reconciler = self.clone();
        let span = tracing::info_span!("fleet.reconciler.run", workspace.id = %id);
        self.parts.context.spawn(span, async move {
            loop {
                if let Err(error) = reconciler.run(id).await {
                    tracing::warn!(workspace.id = %id, %error, "a workspace could not be brought to what is wanted");
                }
                if reconciler.under_way.finish(id) {
                    return;
                }
            }
        });
    }

    async fn run(&self, id: WorkspaceId) -> Result<(), Error> {
        let by = Principal::system("reconciler");
        loop {
            let row =
                self.parts.context.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
            let Some(row) = row else { return Ok(()) };
            if self.parts.context.is_stopping() {
                return Ok(());
            }
            let step = next_step(&row);
            // The replica that has the box finds it by the sweep `catching_up`.
            if step != Step::Rest && self.parts.replicas.is_elsewhere(id).await? {
                return self.parts.replicas.leave_to_others(id).await;
            }
            match step {
                Step::Rest => return Ok(()),
                Step::Open { closes_first } => {
                    if closes_first {
                        self.parts.residents.dismiss(id);
                        self.close_here(id).await?;
                    }
                    self.carry_out_open(&row, &by).await?;
                }
                Step::Close => {
                    self.parts.residents.dismiss(id);
                    self.close_here(id).await?;
                    self.mark_observed(&row).await?;
                }
                Step::Restart => {
                    self.parts.signals.send(id, Signal::Restart, &by, None).await?;
                }
                Step::Destroy => {
                    self.parts.residents.dismiss(id);
                    self.carry_out_removal(&row).await?;
                }
                Step::Erase => {
                    if !self.erase(id).await? {
                        return Ok(());
                    }
                }
                Step::Settle => self.mark_observed(&row).await?,
            }
        }
    }

    /// What another replica made may be unknown here: then nothing of it is open.
    async fn close_here(&self, id: WorkspaceId) -> Result<(), Error> {
        if self.parts.registry.describe(id).is_some() {
            self.parts.registry.close(id).await?;
        }
        Ok(())
    }

    async fn carry_out_open(&self, row: &Workspace, by: &Principal) -> Result<(), Error> {
        let declared = self.parts.replicas.declare(row);
        if declared.is_ok() {
            self.prepare_place(row).await?;
        }
        let opened = match declared {
            Ok(()) => self.parts.registry.acquire(row.id).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let (signal, reason) = match opened {
            Ok(()) => (Signal::PlaceReady, None),
            Err(error) if self.parts.context.is_stopping() => return Err(error.into()),
            // Another replica was faster: it is no failure, and not ours any more.
            Err(error) if error.code() == ErrorCode::WorkspaceElsewhere => return Ok(()),
            Err(error) => {
                tracing::warn!(workspace.id = %row.id, %error, "a workspace could not be opened");
                (Signal::PlaceFailed, Some(error.to_string()))
            }
        };
        self.signal_opened(row, signal, reason, by).await?;
        if signal == Signal::PlaceReady {
            self.parts.residents.attend(row);
        }
        Ok(())
    }

    /// What carries the doors of a box comes and goes with them. The runner of a resident agent carries them always.
    pub(crate) async fn attend_doors(&self, row: &Workspace) {
        if is_run_by_warren(&row.spec) || !matches!(self.parts.replicas.is_elsewhere(row.id).await, Ok(false))
        {
            return;
        }
        if is_started(&row.spec, row.status) {
            self.parts.residents.attend(row);
        } else {
            self.parts.residents.dismiss(row.id);
        }
    }

    /// Fetches what the place needs and is no part of its boot: an image that is slow to come is not the workspace's fault,
    /// and takes nothing of its time (F4). What cannot be fetched, the open finds out and tells.
    async fn prepare_place(&self, row: &Workspace) -> Result<(), Error> {
        let config = &row.spec.provider;
        if self.parts.registry.is_prepared(config).await.unwrap_or(true) {
            return Ok(());
        }
        self.set_boot_clock(row, lifecycle::hold_boot_clock).await?;
        if let Err(error) = self.parts.registry.prepare(config).await {
            tracing::debug!(workspace.id = %row.id, %error, "what a place needs could not be fetched");
        }
        let (now, fleet_wide) = (self.parts.context.now(), self.parts.config.provision_timeout_ms);
        self.set_boot_clock(row, move |row| lifecycle::start_boot_clock(row, fleet_wide, now)).await
    }

    async fn set_boot_clock(
        &self,
        booting: &Workspace,
        set: impl Fn(&mut Workspace) + Send + Sync + Clone + 'static,
    ) -> Result<(), Error> {
        let (id, generation) = (booting.id, booting.generation);
        self.parts
            .context
            .write_with_retries(true, move |tx| {
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
        let (inputs, options) = (self.parts.signals.inputs(by), SignalOptions { reason, is_forced: false });
        self.parts
            .context
            .write_with_retries(true, move |tx| {
                let Some(known) = tx.workspace(id)? else { return Ok(()) };
                let mut row = known.clone();
                row.observed_generation = row.observed_generation.max(generation);
                match judge_open(row.generation, generation) {
                    Opened::AsWanted => apply_signal(tx, &mut row, signal, &inputs, &options)?,
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
        self.parts
            .context
            .write_with_retries(true, move |tx| {
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
}
