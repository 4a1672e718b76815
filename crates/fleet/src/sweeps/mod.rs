//! The sweeps: each runs by itself, is started again when it panics, and tells how its last run went.
//!
//! ```text
//!   every interval ──▶ anything due? ──no──▶ note it in memory; nothing is written
//!                          │ yes
//!                          ▼
//!                   take the lease ──taken by another replica──▶ leave it to them
//!                          │
//!                          ▼
//!            per batch, one transaction: keep the lease (renewed in time; lost: stop), load, plan, apply
//! ```
//!
//! An error in one workspace costs that workspace its turn and nobody else's; an error in one sweep costs no other
//! sweep anything (F21). A replica that was taken over cannot write late: its fence is checked in the transaction (F22).

mod board;
mod due;
mod health;
mod images;
mod lease;
mod old;
mod supervised;

pub use board::{LastRun, SweepOutcome, SweepReport};
pub use supervised::BackgroundLoop;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use warren_model::Backoff;
use warren_model::{AuditAction, AuditDetails, AuditTargetKind, ErrorCode};
use warren_rules::lifecycle::sweeps::Sweep;
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::Due;
use warren_workspace::Registry;

use crate::Config;
use crate::lifecycle::Signals;
use crate::reconciler::Reconciler;
use crate::replicas::Replicas;
use crate::runtimes::Probes;
use crate::secrets::Rollout;
use board::Board;
use images::ImageWatcher;
use lease::SweepLeases;

/// How soon a sweep that panicked is tried again.
const AFTER_PANIC: Backoff = Backoff { first_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0.2 };

/// What one run of a sweep, or of a loop that is looked after like one, did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Workspaces, leftovers or messages that were due.
    pub looked_at: u64,
    /// Of these, the ones about which something was done.
    pub acted_on: u64,
    /// Of these, the ones that could not be dealt with.
    pub failed: u64,
}

/// Why a sweep runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// Its time has come.
    Interval,
    /// An operator asked for it.
    Asked,
}

/// Whether a run goes on after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    /// Another replica has taken the sweep over.
    Home,
}

/// How a run ended. What it did is in its tally, also where it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ran {
    Done,
    /// Another replica is at it.
    Elsewhere {
        owner: String,
    },
    /// Another replica has taken it over; what was done until then is done.
    TakenOver {
        owner: String,
    },
}

/// What [`Sweeps`] needs.
#[derive(Debug, Clone)]
pub(crate) struct SweepParts {
    pub(crate) context: Context,
    pub(crate) config: Config,
    pub(crate) signals: Signals,
    pub(crate) registry: Registry,
    pub(crate) replicas: Replicas,
    pub(crate) reconciler: Reconciler,
    pub(crate) probes: Probes,
    pub(crate) rollout: Rollout,
}

/// Runs the sweeps. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sweeps {
    parts: Arc<SweepParts>,
    leases: SweepLeases,
    images: ImageWatcher,
    board: Arc<Board>,
}

impl Sweeps {
    pub(crate) fn new(parts: SweepParts) -> Self {
        let SweepParts { context, signals, registry, reconciler, .. } = &parts;
        Self {
            leases: SweepLeases::new(context.clone()),
            images: ImageWatcher::new(context.clone(), signals.clone(), registry.clone(), reconciler.clone()),
            board: Arc::default(),
            parts: Arc::new(parts),
        }
    }

    pub(crate) fn start(&self) {
        if !self.parts.config.sweeps_unasked {
            return;
        }
        for sweep in Sweep::ALL {
            let sweeps = self.clone();
            let span = tracing::info_span!("fleet.sweeps", sweep = sweep.as_str());
            self.parts.context.spawn(span, async move { sweeps.keep_sweeping(*sweep).await });
        }
    }

    /// The sweeps of this process, for its metrics.
    pub fn reports(&self) -> Vec<SweepReport> {
        self.board.reports()
    }

    /// The sweeps of this process, with their last runs.
    pub fn list(&self, who: &Identity) -> Result<Vec<SweepReport>, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        Ok(self.board.reports())
    }

    /// Runs a sweep now and tells how it went.
    #[tracing::instrument(name = "fleet.sweeps.run", skip_all, fields(sweep = name))]
    pub async fn run(&self, who: &Identity, name: &str) -> Result<SweepReport, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        if let Some(sweep) = Sweep::parse(name) {
            self.note_asked(who, sweep.as_str()).await;
            return Ok(self.sweep_once(sweep, Occasion::Asked).await);
        }
        let one = self.board.loop_named(name).ok_or_else(|| Error::new(ErrorCode::SweepNotFound))?;
        self.note_asked(who, one.work.name()).await;
        Ok(self.run_loop_once(&one).await)
    }

    /// A sweep that an operator asks for is not refused for want of an entry: it may be what mends the database's host.
    async fn note_asked(&self, who: &Identity, name: &'static str) {
        let (action, kind) = (AuditAction::SweepRun, AuditTargetKind::Sweep);
        let now = self.parts.context.now();
        let entry = Actor::of(who).did(now, action, kind, name, &AuditDetails::None);
        if let Err(error) =
            self.parts.context.store().write(move |tx| tx.append_audit(&entry).map_err(Error::from)).await
        {
            tracing::warn!(%error, sweep = name, "that a sweep was asked for could not be recorded");
        }
    }

    async fn keep_sweeping(&self, sweep: Sweep) {
        if sweep == Sweep::Images && !self.parts.config.watches_images {
            return;
        }
        if sweep.runs_at_start() {
            self.sweep_once(sweep, Occasion::Interval).await;
        }
        loop {
            let wait = match self.board.panics_in_a_row(sweep.as_str()) {
                0 => Duration::from_millis(sweep.interval_ms()),
                panics => Duration::from_millis(
                    AFTER_PANIC.delay_ms(panics - 1, self.parts.context.entropy().fraction()),
                ),
            };
            tokio::select! {
                () = self.parts.context.stopping().cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            self.sweep_once(sweep, Occasion::Interval).await;
        }
    }

    /// One run, in a task of its own: a panic in it ends that task and is told, not this one.
    async fn sweep_once(&self, sweep: Sweep, occasion: Occasion) -> SweepReport {
        let _turn = self.board.turn(sweep.as_str()).await;
        let started_at = self.parts.context.now();
        let sweeps = self.clone();
        let run = async move {
            let mut tally = Tally::default();
            let ran = sweeps.run_one(sweep, occasion, &mut tally).await;
            (ran, tally)
        };
        let outcome = match self
            .parts
            .context
            .spawn(tracing::info_span!("fleet.sweeps.run_once", sweep = sweep.as_str()), run)
            .await
        {
            Ok((ran, tally)) => Self::outcome_of(sweep, ran, tally),
            Err(stopped) if stopped.is_cancelled() => return self.board.report(sweep),
            Err(_) => {
                tracing::error!(sweep = sweep.as_str(), "a sweep panicked; it is started again");
                SweepOutcome::Panicked
            }
        };
        self.board.note(sweep.as_str(), started_at, self.parts.context.now(), outcome);
        self.board.report(sweep)
    }

    async fn run_one(&self, sweep: Sweep, occasion: Occasion, tally: &mut Tally) -> Result<Ran, Error> {
        match sweep {
            Sweep::Liveness => self.sweep_due(sweep, Due::Liveness, tally).await,
            Sweep::Stalls => self.sweep_due(sweep, Due::Stall, tally).await,
            Sweep::Provisioning => self.sweep_due(sweep, Due::Provision, tally).await,
            Sweep::Mending => self.sweep_due(sweep, Due::Mending, tally).await,
            Sweep::Hibernation => self.sweep_due(sweep, Due::Idleness, tally).await,
            Sweep::Probes => self.sweep_due(sweep, Due::Probe, tally).await,
            Sweep::Health => self.sweep_health(tally).await,
            Sweep::Images => {
                self.images.sweep(occasion, tally).await;
                Ok(Ran::Done)
            }
            // Restarts go on in the background, and the rows tell who is on its way up, so that the lease need not be
            // held for longer than the look.
            Sweep::CatchingUp => self.parts.rollout.catch_up(tally).await.map(|()| Ran::Done),
            Sweep::Orphans => self.sweep_orphans(tally).await,
            Sweep::Retention => self.sweep_old(tally).await,
        }
    }

    fn outcome_of(sweep: Sweep, ran: Result<Ran, Error>, tally: Tally) -> SweepOutcome {
        let Tally { looked_at, acted_on, failed } = tally;
        match ran {
            Ok(Ran::Done) => SweepOutcome::Done { looked_at, acted_on, failed },
            Ok(Ran::Elsewhere { owner }) => SweepOutcome::Elsewhere { owner },
            Ok(Ran::TakenOver { owner }) => {
                tracing::warn!(sweep = sweep.as_str(), owner, "a sweep was taken over by another replica");
                SweepOutcome::TakenOver { owner, looked_at, acted_on, failed }
            }
            Err(error) => {
                tracing::warn!(sweep = sweep.as_str(), %error, "a sweep failed; it runs again");
                SweepOutcome::Failed { code: error.code, looked_at, acted_on, failed }
            }
        }
    }

    /// Every process looks after its own host: leftovers are here or nowhere, so that no lease is needed.
    async fn sweep_orphans(&self, tally: &mut Tally) -> Result<Ran, Error> {
        let live = self.living_ids().await?;
        let report = self.parts.registry.reap_once(&live).await;
        for problem in &report.problems {
            tracing::warn!(problem, "a leftover could not be removed; it is tried again");
        }
        let (removed, failed) = (u64::from(report.removed), report.problems.len() as u64);
        *tally = Tally { looked_at: removed + failed, acted_on: removed, failed };
        Ok(Ran::Done)
    }

    /// All that any replica may have open: what is in the database and not removed.
    async fn living_ids(&self) -> Result<BTreeSet<warren_model::WorkspaceId>, Error> {
        const PAGE: u32 = 5_000;
        let (mut ids, mut after) = (BTreeSet::new(), None);
        loop {
            let page = self
                .parts
                .context
                .store()
                .read(move |tx| tx.living_workspace_ids(after, PAGE).map_err(Error::from))
                .await?;
            let is_last = page.len() < PAGE as usize;
            after = page.last().copied();
            ids.extend(page);
            if is_last {
                return Ok(ids);
            }
        }
    }
}
