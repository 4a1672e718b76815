//! What is known about the runtime of a workspace from its reports.
//!
//! Kept apart from the workspace itself: reports come every few seconds and change nothing that anybody asked for, so
//! they neither raise the workspace's version nor rewrite its row.

use serde::{Deserialize, Serialize};

use crate::{Timestamp, truncate_utf8};

/// What a runtime says of itself beyond being alive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RuntimeState {
    #[default]
    Well,
    Wedged,
    /// A word of its own that Warren keeps and does not interpret.
    Other(String),
}

impl RuntimeState {
    pub const MAX_BYTES: usize = 64;

    pub fn from_report(text: &str) -> Self {
        match text {
            "" => Self::Well,
            "wedged" => Self::Wedged,
            other => Self::Other(truncate_utf8(other, Self::MAX_BYTES).replace('\0', "\u{fffd}")),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Well => "",
            Self::Wedged => "wedged",
            Self::Other(word) => word,
        }
    }
}

/// What a runtime takes over from Warren (F17). Stored as JSON with the workspace, so that a restart forgets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Displaced {
    /// It fires its own schedule; Warren only moves it on.
    pub scheduler: bool,
    /// It answers "busy" itself; Warren queues nothing for it.
    pub session: bool,
    /// Warren infers nothing from its numbers (F13).
    pub status_mgmt: bool,
    /// It takes a message id once: what may have been lost can be sent again (X11).
    pub deduplication: bool,
}

/// What a runtime said, field by field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RuntimeReport {
    pub error_rate: Option<f64>,
    /// Empty: there is none any more.
    pub sample_error: Option<String>,
    pub active_tasks: Option<u32>,
    /// Empty: none.
    pub current_task: Option<String>,
    pub uptime_s: Option<u64>,
    pub last_progress_at: Option<Timestamp>,
    pub runtime_state: Option<RuntimeState>,
    pub displaced: Displacement,
    /// 0: back to Warren's own default.
    pub idle_timeout_seconds: Option<u32>,
}

impl RuntimeReport {
    /// What it says in the runtime's own words, which may hold a secret.
    pub fn words(&mut self) -> impl Iterator<Item = &mut String> {
        let state = self.runtime_state.as_mut().and_then(|state| match state {
            RuntimeState::Other(word) => Some(word),
            RuntimeState::Well | RuntimeState::Wedged => None,
        });
        let texts = self.sample_error.iter_mut().chain(&mut self.current_task).chain(state);
        texts.filter(|text| !text.is_empty())
    }

    /// Leaves its words unsaid; its numbers count.
    pub fn forget_words(&mut self) {
        (self.sample_error, self.current_task) = (None, None);
        self.runtime_state.take_if(|state| matches!(state, RuntimeState::Other(_)));
    }
}

/// Which switches a runtime sets (F17); the others stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Displacement {
    pub scheduler: Option<bool>,
    pub session: Option<bool>,
    pub status_mgmt: Option<bool>,
    pub deduplication: Option<bool>,
}

impl Displacement {
    /// The switches after a report.
    pub fn applied_to(self, known: Displaced) -> Displaced {
        Displaced {
            scheduler: self.scheduler.unwrap_or(known.scheduler),
            session: self.session.unwrap_or(known.session),
            status_mgmt: self.status_mgmt.unwrap_or(known.status_mgmt),
            deduplication: self.deduplication.unwrap_or(known.deduplication),
        }
    }
}

/// Something in a report that Warren did not take as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportDoubt {
    /// A time of the runtime lies so far ahead that its clock must be wrong; it was taken as now.
    ClockAhead { seconds: i64 },
    /// A number that cannot be: it was left out.
    OutOfRange { field: &'static str, expected: &'static str },
}

impl ReportDoubt {
    pub fn sentence(self) -> String {
        match self {
            Self::ClockAhead { seconds } => {
                format!(
                    "last_progress_at lies {seconds} s in the future and was taken as now; check the clock"
                )
            }
            Self::OutOfRange { field, expected } => format!("{field}: expected {expected}; it was left out"),
        }
    }
}

/// How one piece of work ended that Warren handed to a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkOutcome {
    Succeeded,
    Failed,
}

/// How the last pieces of work ended that Warren handed to a runtime, oldest first (F13). Counted by Warren itself,
/// whatever the runtime says of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcomes {
    pub recent: Vec<WorkOutcome>,
    /// When the last of them ended.
    pub last_at: Option<Timestamp>,
}

impl Outcomes {
    /// One sign for each, `+` or `-`, as it is stored.
    pub fn signs(&self) -> String {
        let sign = |outcome: &WorkOutcome| match outcome {
            WorkOutcome::Succeeded => '+',
            WorkOutcome::Failed => '-',
        };
        self.recent.iter().map(sign).collect()
    }

    /// Reads what `signs` wrote.
    pub fn from_signs(signs: &str) -> Option<Vec<WorkOutcome>> {
        let outcome = |sign| match sign {
            '+' => Some(WorkOutcome::Succeeded),
            '-' => Some(WorkOutcome::Failed),
            _ => None,
        };
        signs.chars().map(outcome).collect()
    }

    pub fn failures(&self) -> usize {
        self.recent.iter().filter(|outcome| **outcome == WorkOutcome::Failed).count()
    }
}

/// The record of a runtime's reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vitals {
    /// Of its recent work, the part that failed: 0 to 1.
    pub error_rate: f64,
    /// One of the errors behind the rate.
    pub sample_error: Option<String>,
    pub active_tasks: u32,
    pub current_task: Option<String>,
    pub uptime_s: Option<u64>,
    pub runtime_state: RuntimeState,
    pub displaced: Displaced,
    /// How long its work may show no progress; absent: Warren's own default.
    pub idle_timeout_seconds: Option<u32>,
    pub last_heartbeat_at: Option<Timestamp>,
    /// What Warren saw itself of its work.
    pub outcomes: Outcomes,
    /// When work in flight last moved, or began.
    pub last_progress_at: Option<Timestamp>,
    /// When it last had a task: idleness is counted from here, never from a heartbeat (F7).
    pub last_task_at: Option<Timestamp>,
    /// Silent past this: offline (F16).
    pub liveness_deadline: Option<Timestamp>,
    /// Work in flight without progress past this: stalled (F14).
    pub stall_deadline: Option<Timestamp>,
    /// When the runtime is to be probed, since it was found stalled (F14).
    pub probe_at: Option<Timestamp>,
    /// Without a task past this: asleep, if its spec says so (F7).
    pub idle_deadline: Option<Timestamp>,
}

impl Vitals {
    pub const MAX_TEXT_BYTES: usize = 1_024;
}
