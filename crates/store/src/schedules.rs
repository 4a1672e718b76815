//! Schedules and their runs (X40 to X42). A slot belongs to whoever writes its run first; nobody else can.

use warren_model::{
    OrgId, RunState, Schedule, ScheduleId, ScheduleRun, ScheduleRunId, Timestamp, WorkspaceId,
};

use crate::{Batch, Error, Page};

/// Schedules in order of creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleQuery {
    pub org_id: Option<OrgId>,
    pub workspace_id: Option<WorkspaceId>,
    pub after: Option<ScheduleId>,
    pub limit: u32,
}

/// Runs of one schedule, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRunQuery {
    pub schedule_id: ScheduleId,
    /// Only those that are older than this one.
    pub before: Option<ScheduleRunId>,
    pub limit: u32,
}

pub trait ScheduleReads {
    fn schedule(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error>;
    fn schedules(&mut self, query: &ScheduleQuery) -> Result<Page<Schedule, ScheduleId>, Error>;
    fn count_schedules(&mut self, org_id: OrgId) -> Result<u64, Error>;
    fn count_schedules_of(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error>;
    /// Those whose time has come, the longest overdue first. What cannot be read of one is told by the row itself.
    fn due_schedules(&mut self, now: Timestamp, limit: u32) -> Result<Vec<Schedule>, Error>;
    /// When the next one is due, and when the next claim on a run ends: whichever comes first.
    fn next_schedule_moment(&mut self) -> Result<Option<Timestamp>, Error>;
    fn schedule_run(&mut self, id: ScheduleRunId) -> Result<Option<ScheduleRun>, Error>;
    fn schedule_runs(&mut self, query: &ScheduleRunQuery) -> Result<Page<ScheduleRun, ScheduleRunId>, Error>;
    /// The newest runs of a schedule that have this state; runs of one schedule sort by when they were made.
    fn schedule_runs_in(
        &mut self,
        schedule_id: ScheduleId,
        state: RunState,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error>;
    /// Runs to be fired whose claim has ended at `now`.
    fn unfinished_runs(&mut self, now: Timestamp, limit: u32) -> Result<Batch<ScheduleRun>, Error>;
    /// The oldest run of each schedule that waits for the one before.
    fn waiting_runs(&mut self, limit: u32) -> Result<Batch<ScheduleRun>, Error>;
}

pub trait ScheduleWrites {
    /// `AlreadyExists` where the workspace has one by this name.
    fn insert_schedule(&mut self, schedule: &Schedule) -> Result<(), Error>;
    /// Compare-and-set, as for workspaces. A schedule keeps its id, its workspace, its maker and its name.
    fn update_schedule(&mut self, schedule: &Schedule, expected_version: u64) -> Result<u64, Error>;
    /// Looks at one again at `next_at`, and leaves all else of it as it is: also what this Warren cannot read.
    /// Compare-and-set by its version, which stays.
    fn postpone_schedule(&mut self, id: ScheduleId, version: u64, next_at: Timestamp) -> Result<bool, Error>;
    /// With its runs. Returns whether there was one.
    fn delete_schedule(&mut self, id: ScheduleId) -> Result<bool, Error>;
    /// Returns whether the slot was free: of many that claim it, one gets `true` (X41).
    fn insert_schedule_run(&mut self, run: &ScheduleRun) -> Result<bool, Error>;
    /// Writes a run that is still as it was read: in `expected` state, at `expected_attempts`. Returns whether it was.
    fn update_schedule_run(
        &mut self,
        run: &ScheduleRun,
        expected: RunState,
        expected_attempts: u32,
    ) -> Result<bool, Error>;
    /// Deletes runs that ended before this moment, at most `limit`. Returns how many.
    fn prune_schedule_runs(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
