//! Schedules and their runs in SQL.

use warren_model::{
    MissedPolicy, OrgId, OverlapPolicy, Principal, RunState, Schedule, ScheduleId, ScheduleRun,
    ScheduleRunId, Timestamp, Timing, WorkspaceId,
};
use warren_store::{Batch, Error, Page, ScheduleQuery, ScheduleReads, ScheduleRunQuery, ScheduleWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::{Select, page_size};
use crate::stored::{Codec, Plain, Stored};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    /// What a newer Warren may have written otherwise is replaced, and the row says so: it is listed, and does not fire.
    SCHEDULES: Schedule in "schedules" {
        id, org_id, workspace_id, name, created_by: Lenient, created_at, version;
        timing: TimingColumns [cron, time_zone, every_seconds], prompt, jitter_seconds: Lenient, missed: Lenient,
        overlap: Lenient, is_paused, next_slot, next_at, updated_at, unreadable: FirstProblem [],
    }
}
table! {
    RUNS: ScheduleRun in "schedule_runs" {
        id, schedule_id, org_id, workspace_id, slot, last_slot, slots, cause, asked_by, created_at;
        state, reason, task_id, attempts, lease_until, ended_at,
    }
}

static GET: Statement = Statement::new(|| SCHEDULES.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| SCHEDULES.select(""));
const COUNT: &str = "SELECT count(*) FROM schedules WHERE org_id = $1";
const COUNT_OF: &str = "SELECT count(*) FROM schedules WHERE workspace_id = $1";
const NEXT_DUE: &str = "SELECT min(next_at) FROM schedules WHERE next_at IS NOT NULL";
const NEXT_LEASE: &str =
    "SELECT min(lease_until) FROM schedule_runs WHERE ended_at IS NULL AND state = 'claimed'";
static INSERT: Statement = Statement::new(|| SCHEDULES.insert("ON CONFLICT (workspace_id, name) DO NOTHING"));
static UPDATE: Statement = Statement::new(|| SCHEDULES.update_versioned(&["id", "version"]));
const POSTPONE: &str =
    "UPDATE schedules SET next_at = $1 WHERE id = $2 AND version = $3 AND next_at IS NOT NULL";
const DELETE: &str = "DELETE FROM schedules WHERE id = $1";
static GET_RUN: Statement = Statement::new(|| RUNS.select("WHERE id = $1"));
static LIST_RUNS: Statement = Statement::new(|| RUNS.select(""));
static UNFINISHED: Statement = Statement::new(|| {
    RUNS.select(
    "WHERE ended_at IS NULL AND state = 'claimed' AND lease_until <= $1 ORDER BY lease_until, id LIMIT $2",
)
});
/// Ids sort by time, and are text or UUIDs that sort as text does.
static WAITING: Statement = Statement::new(|| {
    RUNS.select(
    "AS run WHERE ended_at IS NULL AND state = 'waiting' AND NOT EXISTS (\
       SELECT 1 FROM schedule_runs AS older WHERE older.schedule_id = run.schedule_id AND older.ended_at IS NULL \
       AND older.state = 'waiting' AND older.id < run.id) ORDER BY id LIMIT $1",
)
});
static INSERT_RUN: Statement = Statement::new(|| RUNS.insert("ON CONFLICT (schedule_id, slot) DO NOTHING"));
static UPDATE_RUN: Statement = Statement::new(|| RUNS.update(&["id", "state", "attempts"]));
const PRUNE_RUNS: &str = "DELETE FROM schedule_runs WHERE id IN (\
     SELECT id FROM schedule_runs WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)";

impl ScheduleReads for Transaction<'_> {
    fn schedule(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error> {
        SCHEDULES.first(self, &GET, &[id.into()])
    }

    fn schedules(&mut self, query: &ScheduleQuery) -> Result<Page<Schedule, ScheduleId>, Error> {
        let mut select = Select::new(&LIST);
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        if let Some(workspace_id) = query.workspace_id {
            select.and_value("workspace_id =", workspace_id);
        }
        if let Some(after) = query.after {
            select.and_value("id >", after);
        }
        let select = select.page("id", query.limit);
        SCHEDULES.page(self, &select, query.limit, read_id)
    }

    fn count_schedules(&mut self, org_id: OrgId) -> Result<u64, Error> {
        Ok(self.first("schedules", COUNT, &[org_id.into()], read_count)?.unwrap_or(0))
    }

    fn count_schedules_of(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        Ok(self.first("schedules", COUNT_OF, &[workspace_id.into()], read_count)?.unwrap_or(0))
    }

    fn due_schedules(&mut self, now: Timestamp, limit: u32) -> Result<Vec<Schedule>, Error> {
        let mut select = Select::new(&LIST);
        select.and("next_at IS NOT NULL");
        select.and_value("next_at <=", now);
        let (sql, values) = select.page("next_at, id", limit);
        let mut rows = SCHEDULES.rows(self, &sql, &values)?;
        rows.truncate(page_size(limit) as usize);
        Ok(rows)
    }

    fn next_schedule_moment(&mut self) -> Result<Option<Timestamp>, Error> {
        let due = self.first("schedules", NEXT_DUE, &[], read_optional_time)?.flatten();
        let lease = self.first("schedule_runs", NEXT_LEASE, &[], read_optional_time)?.flatten();
        Ok(due.into_iter().chain(lease).min())
    }

    fn schedule_run(&mut self, id: ScheduleRunId) -> Result<Option<ScheduleRun>, Error> {
        RUNS.first(self, &GET_RUN, &[id.into()])
    }

    fn schedule_runs(&mut self, query: &ScheduleRunQuery) -> Result<Page<ScheduleRun, ScheduleRunId>, Error> {
        let mut select = Select::new(&LIST_RUNS);
        select.and_value("schedule_id =", query.schedule_id);
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        RUNS.page(self, &select, query.limit, read_id)
    }

    fn schedule_runs_in(
        &mut self,
        schedule_id: ScheduleId,
        state: RunState,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error> {
        let mut select = Select::new(&LIST_RUNS);
        select.and_value("schedule_id =", schedule_id);
        select.and_value("state =", state.as_str());
        let (sql, values) = select.page("id DESC", limit);
        let mut rows = RUNS.rows(self, &sql, &values)?;
        rows.truncate(page_size(limit) as usize);
        Ok(rows)
    }

    fn unfinished_runs(&mut self, now: Timestamp, limit: u32) -> Result<Batch<ScheduleRun>, Error> {
        RUNS.readable(self, &UNFINISHED, &[now.into()], limit)
    }

    fn waiting_runs(&mut self, limit: u32) -> Result<Batch<ScheduleRun>, Error> {
        RUNS.readable(self, &WAITING, &[], limit)
    }
}

impl ScheduleWrites for Transaction<'_> {
    fn insert_schedule(&mut self, schedule: &Schedule) -> Result<(), Error> {
        match self.execute(&INSERT, &SCHEDULES.values(schedule)?)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_schedule(&mut self, schedule: &Schedule, expected_version: u64) -> Result<u64, Error> {
        let changes = SCHEDULES.changes(schedule)?;
        self.update_versioned(&UPDATE, changes, [schedule.id.into()], expected_version)
    }

    fn postpone_schedule(&mut self, id: ScheduleId, version: u64, next_at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(POSTPONE, &[next_at.into(), id.into(), Value::count(version)?])? > 0)
    }

    fn delete_schedule(&mut self, id: ScheduleId) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[id.into()])? > 0)
    }

    fn insert_schedule_run(&mut self, run: &ScheduleRun) -> Result<bool, Error> {
        Ok(self.execute(&INSERT_RUN, &RUNS.values(run)?)? > 0)
    }

    fn update_schedule_run(
        &mut self,
        run: &ScheduleRun,
        expected: RunState,
        expected_attempts: u32,
    ) -> Result<bool, Error> {
        let mut values = RUNS.changes(run)?;
        values.extend([run.id.into(), expected.as_str().into(), Value::count(expected_attempts.into())?]);
        Ok(self.execute(&UPDATE_RUN, &values)? > 0)
    }

    fn prune_schedule_runs(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE_RUNS, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }
}

fn read_optional_time(row: &mut Columns<'_>) -> Result<Option<Timestamp>, Error> {
    row.optional_time()
}

/// What takes the place of a value that cannot be read.
trait Replaced {
    fn replacement() -> Self;
}

impl Replaced for MissedPolicy {
    fn replacement() -> Self {
        Self::Skip
    }
}
impl Replaced for OverlapPolicy {
    fn replacement() -> Self {
        Self::Skip
    }
}
impl Replaced for u32 {
    fn replacement() -> Self {
        0
    }
}
impl Replaced for Principal {
    fn replacement() -> Self {
        Self::system("unknown")
    }
}

/// Reads what can be read, and notes what cannot.
struct Lenient;

impl<T: Stored + Replaced> Codec<T> for Lenient {
    fn write<'a>(field: &'a T, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        Plain::write(field, values)
    }

    fn read(row: &mut Columns<'_>) -> Result<T, Error> {
        let end = row.position() + 1;
        let field = T::read(row);
        row.or_note(field, end, T::replacement)
    }
}

/// A cron and its time zone, or a number of seconds.
struct TimingColumns;

impl Codec<Timing> for TimingColumns {
    fn write<'a>(timing: &'a Timing, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.extend(match timing {
            Timing::Cron { expression, time_zone } => {
                [expression.as_str().into(), time_zone.as_str().into(), Value::Int(None)]
            }
            Timing::Every { seconds } => {
                [None::<&str>.into(), None::<&str>.into(), Value::Int(Some((*seconds).into()))]
            }
        });
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Timing, Error> {
        let end = row.position() + 3;
        let timing = read_timing(row);
        row.or_note(timing, end, || Timing::Every { seconds: 0 })
    }
}

fn read_timing(row: &mut Columns<'_>) -> Result<Timing, Error> {
    let (cron, time_zone, every) = (row.optional_text()?, row.optional_text()?, row.optional_small_count()?);
    match (cron, time_zone, every) {
        (Some(cron), Some(zone), None) => {
            Ok(Timing::Cron { expression: cron.to_owned(), time_zone: zone.to_owned() })
        }
        (None, None, Some(seconds)) => Ok(Timing::Every { seconds }),
        _ => Err(row.corrupt("neither a cron nor an interval")),
    }
}

/// The first thing in the row that could not be read. It is in no column.
struct FirstProblem;

impl Codec<Option<String>> for FirstProblem {
    fn write<'a>(_: &'a Option<String>, _: &mut Vec<Value<'a>>) -> Result<(), Error> {
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Option<String>, Error> {
        Ok(row.take_problem())
    }
}
