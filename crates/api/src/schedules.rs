use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::Principal;

/// What becomes of slots that passed while nobody could fire them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissedPolicy {
    /// None of them fires.
    Skip,
    /// The last one fires, for all.
    Once,
    /// Each fires, up to a limit; the oldest are given up first.
    All,
}

/// What becomes of a slot while the task of the one before is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverlapPolicy {
    Skip,
    /// It fires when that task is over.
    Queue,
    /// It fires all the same.
    Allow,
}

/// A schedule to be made: by `cron`, or every so many seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    /// Its own within the workspace.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Five fields, or six with seconds in front; either this or `every_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    /// Of the IANA database, such as `Europe/Zurich`; absent: UTC. Only with `cron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// What is said to the agent.
    pub prompt: String,
    /// Each slot fires up to so much later. Absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_seconds: Option<u32>,
    /// Absent: `once`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedPolicy>,
    /// Absent: `skip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapPolicy>,
}

/// Absent means unchanged. A new `cron` or `every_seconds` takes the place of whichever was there; a `time_zone` alone
/// moves a cron to another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatchSchedule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapPolicy>,
}

/// Messages sent to a workspace at set times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    #[schema(format = "uuid")]
    pub id: String,
    #[schema(format = "uuid")]
    pub workspace_id: String,
    pub name: String,
    pub cron: Option<String>,
    /// Present with `cron`.
    pub time_zone: Option<String>,
    pub every_seconds: Option<u32>,
    pub prompt: String,
    pub jitter_seconds: u32,
    pub missed: MissedPolicy,
    pub overlap: OverlapPolicy,
    pub is_paused: bool,
    /// The next slots, without jitter; none while it is paused.
    pub upcoming: Vec<String>,
    /// When the next one fires, jitter included.
    pub next_at: Option<String>,
    pub created_by: Principal,
    pub created_at: String,
    pub updated_at: String,
    /// Also the ETag.
    pub version: u64,
    /// Present when it is broken: what of it this version of Warren cannot read. It does not fire, and what is shown in
    /// that place is not what was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SchedulePage {
    pub items: Vec<Schedule>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// When a schedule would fire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreviewSchedule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// How many slots; 10 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub count: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SchedulePreview {
    pub slots: Vec<String>,
}

/// Why there is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunCause {
    /// Its time had come.
    Slot,
    /// Its time had passed while nobody could fire it.
    Missed,
    /// Somebody asked for it.
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Being fired.
    Claimed,
    /// Until the task of the run before has ended.
    Waiting,
    Fired,
    Skipped,
    Failed,
}

/// One firing of a schedule, or the record of slots that did not fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleRun {
    #[schema(format = "uuid")]
    pub id: String,
    #[schema(format = "uuid")]
    pub schedule_id: String,
    /// The slot, or the first of several; absent where somebody asked for the run.
    pub slot: Option<String>,
    /// The last of several.
    pub last_slot: Option<String>,
    /// How many slots this stands for; 10000 where there were more.
    pub slots: u32,
    pub cause: RunCause,
    pub state: RunState,
    /// Why it was skipped or failed, as a stable word.
    pub reason: Option<String>,
    #[schema(format = "uuid")]
    pub task_id: Option<String>,
    pub asked_by: Option<Principal>,
    pub attempts: u32,
    pub created_at: String,
    pub ended_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleRunPage {
    pub items: Vec<ScheduleRun>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
