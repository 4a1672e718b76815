//! Carriers of the sweeps: each runs by itself, is started again when it panics, and tells how its last run went.
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

pub use board::{LastRun, SweepOutcome, SweepReport};

pub(crate) use board::Board;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use warren_model::{AuditAction, AuditTargetKind, ErrorCode};
use warren_rules::access::Action;
use warren_rules::lifecycle::sweeps::Sweep;
use warren_rules::outbound::backoff::Backoff;
use warren_store::Due;

use crate::Actor;
use crate::{Error, Fleet, Identity};

/// How soon a sweep that panicked is tried again.
const AFTER_PANIC: Backoff = Backoff { first_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0.2 };

/// What one run of a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Workspaces, or leftovers, that were due.
    pub(crate) looked_at: u64,
    /// Of these, the ones about which something was done.
    pub(crate) acted_on: u64,
    /// Of these, the ones that could not be dealt with.
    pub(crate) failed: u64,
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

impl Fleet {
    pub(crate) fn start_sweeps(&self) {
        if !self.0.parts.terms.sweeps_unasked {
            return;
        }
        for sweep in Sweep::ALL {
            let fleet = self.clone();
            self.context().spawn(tracing::Span::none(), async move { fleet.keep_sweeping(*sweep).await });
        }
    }

    /// The sweeps of this process, with their last runs.
    pub fn sweeps(&self, who: &Identity) -> Result<Vec<SweepReport>, Error> {
        who.may_in_own_org(Action::Operate)?;
        Ok(self.0.sweeps.reports())
    }

    /// Runs a sweep now and tells how it went.
    pub async fn run_sweep(&self, who: &Identity, name: &str) -> Result<SweepReport, Error> {
        who.may_in_own_org(Action::Operate)?;
        let sweep = Sweep::parse(name).ok_or_else(|| Error::new(ErrorCode::SweepNotFound))?;
        self.note_asked(who, sweep).await;
        Ok(self.sweep_once(sweep, Occasion::Asked).await)
    }

    /// A sweep that an operator asks for is not refused for want of an entry: it may be what mends the database's host.
    async fn note_asked(&self, who: &Identity, sweep: Sweep) {
        let (action, kind) = (AuditAction::SweepRun, AuditTargetKind::Sweep);
        let entry = Actor::of(who).did(self.clock().now(), action, kind, sweep.as_str(), json!({}));
        if let Err(error) = self.store().write(move |tx| tx.append_audit(&entry).map_err(Error::from)).await {
            tracing::warn!(%error, sweep = sweep.as_str(), "that a sweep was asked for could not be recorded");
        }
    }

    async fn keep_sweeping(&self, sweep: Sweep) {
        if sweep == Sweep::Images && !self.0.parts.terms.watches_images {
            return;
        }
        if sweep.runs_at_start() {
            self.sweep_once(sweep, Occasion::Interval).await;
        }
        loop {
            let wait = match self.0.sweeps.panics_in_a_row(sweep) {
                0 => Duration::from_millis(sweep.interval_ms()),
                panics => Duration::from_millis(AFTER_PANIC.delay_ms(panics - 1, self.entropy().fraction())),
            };
            tokio::select! {
                () = self.context().stopping().cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            self.sweep_once(sweep, Occasion::Interval).await;
        }
    }

    /// One run, in a task of its own: a panic in it ends that task and is told, not this one.
    async fn sweep_once(&self, sweep: Sweep, occasion: Occasion) -> SweepReport {
        let _turn = self.0.sweeps.turn(sweep).await;
        let started_at = self.clock().now();
        let fleet = self.clone();
        let run = async move {
            let mut tally = Tally::default();
            let ran = fleet.run(sweep, occasion, &mut tally).await;
            (ran, tally)
        };
        let outcome = match self.context().spawn(tracing::Span::none(), run).await {
            Ok((ran, tally)) => Self::outcome_of(sweep, ran, tally),
            Err(stopped) if stopped.is_cancelled() => return self.0.sweeps.report(sweep),
            Err(_) => {
                tracing::error!(sweep = sweep.as_str(), "a sweep panicked; it is started again");
                SweepOutcome::Panicked
            }
        };
        self.0.sweeps.note(sweep, started_at, self.clock().now(), outcome);
        self.0.sweeps.report(sweep)
    }

    async fn run(&self, sweep: Sweep, occasion: Occasion, tally: &mut Tally) -> Result<Ran, Error> {
        match sweep {
            Sweep::Liveness => self.sweep_due(sweep, Due::Liveness, tally).await,
            Sweep::Stalls => self.sweep_due(sweep, Due::Stall, tally).await,
            Sweep::Provisioning => self.sweep_due(sweep, Due::Provision, tally).await,
            Sweep::Mending => self.sweep_due(sweep, Due::Mending, tally).await,
            Sweep::Hibernation => self.sweep_due(sweep, Due::Idleness, tally).await,
            Sweep::Probes => self.sweep_due(sweep, Due::Probe, tally).await,
            Sweep::Health => self.sweep_health(tally).await,
            Sweep::Images => {
                self.sweep_images(occasion, tally).await;
                Ok(Ran::Done)
            }
            // Restarts go on in the background, and the rows tell who is on its way up, so that the lease need not be
            // held for longer than the look.
            Sweep::CatchingUp => self.catch_up(tally).await.map(|()| Ran::Done),
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
        let report = self.registry().reap_once(&live).await;
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
