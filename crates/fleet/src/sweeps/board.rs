//! How the last run of each sweep, and of each loop that is looked after like one, went, for operators. Nothing depends on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warren_model::{ErrorCode, Timestamp};
use warren_rules::lifecycle::sweeps::Sweep;

use super::supervised::{BackgroundLoop, Supervised};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweepOutcome {
    Done {
        looked_at: u64,
        acted_on: u64,
        failed: u64,
    },
    /// Another replica ran it.
    Elsewhere {
        owner: String,
    },
    /// Another replica took it over. The counts are of this one, until then.
    TakenOver {
        owner: String,
        looked_at: u64,
        acted_on: u64,
        failed: u64,
    },
    /// The run as a whole failed. The counts are of what was done before.
    Failed {
        code: ErrorCode,
        looked_at: u64,
        acted_on: u64,
        failed: u64,
    },
    Panicked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepReport {
    pub name: &'static str,
    pub meaning: &'static str,
    pub interval_ms: u64,
    /// Of this process; absent before the first.
    pub last_run: Option<LastRun>,
    pub runs: u64,
    /// About how many workspaces something was done, since this process started.
    pub acted_on: u64,
    pub failures: u64,
    pub panics: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRun {
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
    pub outcome: SweepOutcome,
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    /// By the names of sweeps and loops.
    records: Mutex<BTreeMap<&'static str, Record>>,
    turns: Mutex<BTreeMap<&'static str, Arc<tokio::sync::Mutex<()>>>>,
    loops: Mutex<Vec<Supervised>>,
}

#[derive(Debug, Clone, Default)]
struct Record {
    last_run: Option<LastRun>,
    runs: u64,
    acted_on: u64,
    failures: u64,
    panics: u64,
    panics_in_a_row: u32,
}

impl Board {
    /// Held for one run. A lease tells processes apart, not two runs of one: the first to end would give back what the
    /// other works under.
    pub(crate) async fn turn(&self, name: &'static str) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(name).or_default())
        };
        turn.lock_owned().await
    }

    pub(crate) fn note(
        &self,
        name: &'static str,
        started_at: Timestamp,
        finished_at: Timestamp,
        outcome: SweepOutcome,
    ) {
        let mut records = self.records();
        let record = records.entry(name).or_default();
        record.runs += 1;
        record.panics_in_a_row = match &outcome {
            SweepOutcome::Panicked => record.panics_in_a_row.saturating_add(1),
            SweepOutcome::Done { .. }
            | SweepOutcome::Elsewhere { .. }
            | SweepOutcome::TakenOver { .. }
            | SweepOutcome::Failed { .. } => 0,
        };
        match &outcome {
            SweepOutcome::Done { acted_on, failed, .. }
            | SweepOutcome::TakenOver { acted_on, failed, .. } => {
                record.acted_on += acted_on;
                record.failures += failed;
            }
            SweepOutcome::Elsewhere { .. } => {}
            SweepOutcome::Failed { acted_on, failed, .. } => {
                record.acted_on += acted_on;
                record.failures += failed + 1;
            }
            SweepOutcome::Panicked => record.panics += 1,
        }
        record.last_run = Some(LastRun { started_at, finished_at, outcome });
    }

    pub(crate) fn panics_in_a_row(&self, name: &str) -> u32 {
        self.records().get(name).map_or(0, |record| record.panics_in_a_row)
    }

    /// A loop of another service stands on the board from now on.
    pub(crate) fn add(&self, one: Supervised) {
        self.loops().push(one);
    }

    pub(crate) fn loop_named(&self, name: &str) -> Option<Supervised> {
        self.loops().iter().find(|one| one.work.name() == name).cloned()
    }

    pub(crate) fn reports(&self) -> Vec<SweepReport> {
        let loops = self.loops().clone();
        let sweeps = Sweep::ALL.iter().map(|sweep| self.report(*sweep));
        sweeps.chain(loops.iter().map(|one| self.report_loop(&*one.work))).collect()
    }

    pub(crate) fn report(&self, sweep: Sweep) -> SweepReport {
        self.report_of(sweep.as_str(), sweep.meaning(), sweep.interval_ms())
    }

    pub(crate) fn report_loop(&self, work: &dyn BackgroundLoop) -> SweepReport {
        let interval_ms = u64::try_from(work.interval().as_millis()).unwrap_or(u64::MAX);
        self.report_of(work.name(), work.meaning(), interval_ms)
    }

    fn report_of(&self, name: &'static str, meaning: &'static str, interval_ms: u64) -> SweepReport {
        let record = self.records().get(name).cloned().unwrap_or_default();
        SweepReport {
            name,
            meaning,
            interval_ms,
            last_run: record.last_run,
            runs: record.runs,
            acted_on: record.acted_on,
            failures: record.failures,
            panics: record.panics,
        }
    }

    fn loops(&self) -> MutexGuard<'_, Vec<Supervised>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<&'static str, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
