//! Messages sent at set times (X40): when, what, and what became of each time.
//!
//! ```text
//!   run   claimed ─▶ fired (a task) | failed
//!            ▲
//!   waiting ─┘        (overlap `queue`: until the task before it has ended)
//!   skipped           (with a reason; one row may stand for many slots)
//! ```
//!
//! A *slot* is a moment at which a schedule is to fire. It is the moment that its cron or interval names, without the
//! jitter, so that the same slot has the same name in every process.

use crate::text_enum::text_enum;
use crate::{OrgId, Principal, ScheduleId, ScheduleRunId, TaskId, Timestamp, WorkspaceId};

/// When a schedule fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timing {
    /// Five fields, or six with seconds in front; by the wall clock of a time zone.
    Cron { expression: String, time_zone: String },
    /// Every so many seconds since the schedule was made. Days have no say in it, nor have time zones.
    Every { seconds: u32 },
}

text_enum! {
    /// What becomes of slots that passed while nobody could fire them.
    MissedPolicy {
        /// None of them fires.
        Skip = "skip",
        /// The last one fires, for all.
        Once = "once",
        /// Each fires, up to a limit; the oldest are given up first.
        All = "all",
    }
}

text_enum! {
    /// What becomes of a slot while the task of the one before is not over.
    OverlapPolicy {
        Skip = "skip",
        /// It fires when that task is over.
        Queue = "queue",
        /// It fires all the same.
        Allow = "allow",
    }
}

/// A schedule as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub id: ScheduleId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    /// One workspace has a name once.
    pub name: String,
    pub timing: Timing,
    /// What is said to the agent.
    pub prompt: String,
    /// Each slot fires up to so much later; how much is decided by schedule and slot alone.
    pub jitter_seconds: u32,
    pub missed: MissedPolicy,
    pub overlap: OverlapPolicy,
    pub is_paused: bool,
    /// The next slot; absent while it is paused, or when there is none any more.
    pub next_slot: Option<Timestamp>,
    /// When the next slot fires: the slot and its jitter.
    pub next_at: Option<Timestamp>,
    pub created_by: Principal,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Raised by every write.
    pub version: u64,
    /// What of it this Warren cannot read, as after a downgrade. What stands in its place is never written back, and the
    /// schedule does not fire. Not stored.
    pub unreadable: Option<String>,
}

impl Schedule {
    pub const MAX_NAME_CHARACTERS: usize = 100;
    pub const MAX_PROMPT_BYTES: usize = 256 << 10;
    pub const MAX_CRON_BYTES: usize = 200;

    /// Who speaks when it fires: never a person (X4).
    pub fn principal(&self) -> Principal {
        Principal::schedule(self.id)
    }
}

text_enum! {
    /// What was done to a schedule.
    ScheduleChange {
        Created = "created",
        Changed = "changed",
        Paused = "paused",
        Resumed = "resumed",
        Removed = "removed",
        /// It cannot be read now; it is looked at again in a while.
        SetAside = "set_aside",
        /// It was paused, since this Warren does not understand when it is to fire.
        Unreadable = "unreadable",
        /// It was paused, since its workspace is gone.
        Stopped = "stopped",
        /// It was paused, since the token that it was made with was revoked.
        Revoked = "revoked",
    }
}

text_enum! {
    /// Why there is a run.
    RunCause {
        /// Its time had come.
        Slot = "slot",
        /// Its time had passed while nobody could fire it.
        Missed = "missed",
        /// Somebody asked for it.
        Manual = "manual",
    }
}

text_enum! {
    RunState {
        /// To be fired; whoever holds the lease is at it.
        Claimed = "claimed",
        /// Until the task of the run before has ended.
        Waiting = "waiting",
        Fired = "fired",
        Skipped = "skipped",
        Failed = "failed",
    }
}

impl RunState {
    /// Nothing more will happen to it.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Claimed | Self::Waiting => false,
            Self::Fired | Self::Skipped | Self::Failed => true,
        }
    }
}

text_enum! {
    /// Why slots did not fire (X42).
    SkipReason {
        /// They passed while nobody could fire them, and the schedule says to skip those.
        Missed = "missed",
        /// They passed while nobody could fire them; a later one fired for all.
        Coalesced = "coalesced",
        /// More passed than are caught up with.
        CatchUpLimit = "catch_up_limit",
        /// The task of the run before was not over.
        Overlap = "overlap",
        /// As many runs as may wait were waiting.
        QueueFull = "queue_full",
        WorkspacePaused = "workspace_paused",
        /// The runtime fires its own schedule (F17).
        OwnScheduler = "own_scheduler",
    }
}

/// One firing of a schedule, or the record of slots that did not fire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRun {
    /// Also the idempotency key of what is sent.
    pub id: ScheduleRunId,
    pub schedule_id: ScheduleId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    /// The slot, or the first of several; absent where somebody asked for the run.
    pub slot: Option<Timestamp>,
    /// The last slot that this row stands for, where it is not the only one.
    pub last_slot: Option<Timestamp>,
    /// How many slots this row stands for.
    pub slots: u32,
    pub cause: RunCause,
    pub state: RunState,
    /// Why it was skipped or failed, as a stable word.
    pub reason: Option<String>,
    pub task_id: Option<TaskId>,
    /// Who asked for it; absent where time did.
    pub asked_by: Option<Principal>,
    /// How often somebody tried to fire it.
    pub attempts: u32,
    /// Nobody else fires it before this; absent once it is over.
    pub lease_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}
