//! How the last run of each sweep went, for operators. Nothing depends on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warren_model::{ErrorCode, Timestamp};
use warren_rules::lifecycle::sweeps::Sweep;

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
    records: Mutex<BTreeMap<Sweep, Record>>,
    turns: Mutex<BTreeMap<Sweep, Arc<tokio::sync::Mutex<()>>>>,
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
    pub(crate) async fn turn(&self, sweep: Sweep) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(sweep).or_default())
        };
        turn.lock_owned().await
    }

    pub(crate) fn note(
        &self,
        sweep: Sweep,
        started_at: Timestamp,
        finished_at: Timestamp,
        outcome: SweepOutcome,
    ) {
        let mut records = self.records();
        let record = records.entry(sweep).or_default();
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

    pub(crate) fn panics_in_a_row(&self, sweep: Sweep) -> u32 {
        self.records().get(&sweep).map_or(0, |record| record.panics_in_a_row)
    }

    pub(crate) fn reports(&self) -> Vec<SweepReport> {
        Sweep::ALL.iter().map(|sweep| self.report(*sweep)).collect()
    }

    pub(crate) fn report(&self, sweep: Sweep) -> SweepReport {
        let record = self.records().get(&sweep).cloned().unwrap_or_default();
        SweepReport {
            name: sweep.as_str(),
            meaning: sweep.meaning(),
            interval_ms: sweep.interval_ms(),
            last_run: record.last_run,
            runs: record.runs,
            acted_on: record.acted_on,
            failures: record.failures,
            panics: record.panics,
        }
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<Sweep, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
