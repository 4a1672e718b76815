use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// How a run of a sweep ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SweepOutcome {
    Done {
        /// What was due.
        looked_at: u64,
        /// About how many something was done.
        acted_on: u64,
        /// How many could not be dealt with.
        failed: u64,
    },
    /// Another replica is at it.
    Elsewhere {
        owner: String,
    },
    /// Another replica took it over. The counts are of this process, until then.
    TakenOver {
        owner: String,
        looked_at: u64,
        acted_on: u64,
        failed: u64,
    },
    /// The run as a whole failed. The counts are of what was done before.
    Failed {
        code: String,
        #[serde(default)]
        looked_at: u64,
        #[serde(default)]
        acted_on: u64,
        #[serde(default)]
        failed: u64,
    },
    Panicked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SweepRun {
    pub started_at: String,
    pub finished_at: String,
    pub outcome: SweepOutcome,
}

/// A sweep, as this process runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sweep {
    pub name: String,
    /// What it does.
    pub meaning: String,
    pub interval_ms: u64,
    /// Absent before the first.
    pub last_run: Option<SweepRun>,
    pub runs: u64,
    pub acted_on: u64,
    pub failures: u64,
    pub panics: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SweepList {
    pub items: Vec<Sweep>,
}
