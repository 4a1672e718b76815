//! Schedules and their runs in SQL.

use warren_model::{
    MissedPolicy, OrgId, OverlapPolicy, Principal, RunCause, RunState, Schedule, ScheduleId, ScheduleRun,
    ScheduleRunId, Timestamp, Timing, WorkspaceId,
};
use warren_store::{Batch, Error, Page, ScheduleQuery, ScheduleReads, ScheduleRunQuery, ScheduleWrites};

use crate::row::{Columns, read_count, read_id};
use crate::select::{Select, page_size};
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, workspace_id, name, cron, time_zone, every_seconds, prompt, jitter_seconds, missed, overlap, \
         is_paused, next_slot, next_at, created_by, created_at, updated_at, version"
    };
}
/// The order in which `read_run` takes them.
macro_rules! run_columns {
    () => {
        "id, schedule_id, org_id, workspace_id, slot, last_slot, slots, cause, state, reason, task_id, asked_by, \
         attempts, lease_until, created_at, ended_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM schedules WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM schedules");
const COUNT: &str = "SELECT count(*) FROM schedules WHERE org_id = $1";
const COUNT_OF: &str = "SELECT count(*) FROM schedules WHERE workspace_id = $1";
const NEXT_DUE: &str = "SELECT min(next_at) FROM schedules WHERE next_at IS NOT NULL";
const NEXT_LEASE: &str =
    "SELECT min(lease_until) FROM schedule_runs WHERE ended_at IS NULL AND state = 'claimed'";
const INSERT: &str = concat!(
    "INSERT INTO schedules (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) \
     ON CONFLICT (workspace_id, name) DO NOTHING"
);
const UPDATE: &str = "UPDATE schedules SET cron = $1, time_zone = $2, every_seconds = $3, prompt = $4, \
     jitter_seconds = $5, missed = $6, overlap = $7, is_paused = $8, next_slot = $9, next_at = $10, \
     updated_at = $11, version = $12 WHERE id = $13 AND version = $14";
const POSTPONE: &str =
    "UPDATE schedules SET next_at = $1 WHERE id = $2 AND version = $3 AND next_at IS NOT NULL";
const DELETE: &str = "DELETE FROM schedules WHERE id = $1";
const GET_RUN: &str = concat!("SELECT ", run_columns!(), " FROM schedule_runs WHERE id = $1");
const LIST_RUNS: &str = concat!("SELECT ", run_columns!(), " FROM schedule_runs");
const UNFINISHED: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM schedule_runs WHERE ended_at IS NULL AND state = 'claimed' AND lease_until <= $1 \
     ORDER BY lease_until, id LIMIT $2"
);
/// Ids sort by time, and are text or UUIDs that sort as text does.
const WAITING: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM schedule_runs AS run WHERE ended_at IS NULL AND state = 'waiting' AND NOT EXISTS (\
       SELECT 1 FROM schedule_runs AS older WHERE older.schedule_id = run.schedule_id AND older.ended_at IS NULL \
       AND older.state = 'waiting' AND older.id < run.id) ORDER BY id LIMIT $1"
);
const INSERT_RUN: &str = concat!(
    "INSERT INTO schedule_runs (",
    run_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
     ON CONFLICT (schedule_id, slot) DO NOTHING"
);
const UPDATE_RUN: &str = "UPDATE schedule_runs SET state = $1, reason = $2, task_id = $3, attempts = $4, \
     lease_until = $5, ended_at = $6 WHERE id = $7 AND state = $8 AND attempts = $9";
const PRUNE_RUNS: &str = "DELETE FROM schedule_runs WHERE id IN (\
     SELECT id FROM schedule_runs WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)";

impl ScheduleReads for Transaction<'_> {
    fn schedule(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error> {
        self.first("schedules", GET, &[id.into()], read)
    }

    fn schedules(&mut self, query: &ScheduleQuery) -> Result<Page<Schedule, ScheduleId>, Error> {
        let mut select = Select::new(LIST);
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
        self.page("schedules", &select, query.limit, read, read_id)
    }

    fn count_schedules(&mut self, org_id: OrgId) -> Result<u64, Error> {
        Ok(self.first("schedules", COUNT, &[org_id.into()], read_count)?.unwrap_or(0))
    }

    fn count_schedules_of(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        Ok(self.first("schedules", COUNT_OF, &[workspace_id.into()], read_count)?.unwrap_or(0))
    }

    fn due_schedules(&mut self, now: Timestamp, limit: u32) -> Result<Vec<Schedule>, Error> {
        let mut select = Select::new(LIST);
        select.and("next_at IS NOT NULL");
        select.and_value("next_at <=", now);
        let (sql, values) = select.page("next_at, id", limit);
        let mut rows = self.rows("schedules", &sql, &values, read)?;
        rows.truncate(page_size(limit) as usize);
        Ok(rows)
    }

    fn next_schedule_moment(&mut self) -> Result<Option<Timestamp>, Error> {
        let due = self.first("schedules", NEXT_DUE, &[], read_optional_time)?.flatten();
        let lease = self.first("schedule_runs", NEXT_LEASE, &[], read_optional_time)?.flatten();
        Ok(due.into_iter().chain(lease).min())
    }

    fn schedule_run(&mut self, id: ScheduleRunId) -> Result<Option<ScheduleRun>, Error> {
        self.first("schedule_runs", GET_RUN, &[id.into()], read_run)
    }

    fn schedule_runs(&mut self, query: &ScheduleRunQuery) -> Result<Page<ScheduleRun, ScheduleRunId>, Error> {
        let mut select = Select::new(LIST_RUNS);
        select.and_value("schedule_id =", query.schedule_id);
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        self.page("schedule_runs", &select, query.limit, read_run, read_id)
    }

    fn schedule_runs_in(
        &mut self,
        schedule_id: ScheduleId,
        state: RunState,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error> {
        let mut select = Select::new(LIST_RUNS);
        select.and_value("schedule_id =", schedule_id);
        select.and_value("state =", state.as_str());
        let (sql, values) = select.page("id DESC", limit);
        let mut rows = self.rows("schedule_runs", &sql, &values, read_run)?;
        rows.truncate(page_size(limit) as usize);
        Ok(rows)
    }

    fn unfinished_runs(&mut self, now: Timestamp, limit: u32) -> Result<Batch<ScheduleRun>, Error> {
        self.readable("schedule_runs", UNFINISHED, &[now.into()], limit, read_run)
    }

    fn waiting_runs(&mut self, limit: u32) -> Result<Batch<ScheduleRun>, Error> {
        self.readable("schedule_runs", WAITING, &[], limit, read_run)
    }
}

impl ScheduleWrites for Transaction<'_> {
    fn insert_schedule(&mut self, schedule: &Schedule) -> Result<(), Error> {
        let created_by = schedule.created_by.to_string();
        let [cron, time_zone, every, prompt, jitter, missed, overlap, paused, slot, at, updated, version] =
            changeable(schedule, schedule.version)?;
        let values = [
            schedule.id.into(),
            schedule.org_id.into(),
            schedule.workspace_id.into(),
            schedule.name.as_str().into(),
            cron,
            time_zone,
            every,
            prompt,
            jitter,
            missed,
            overlap,
            paused,
            slot,
            at,
            created_by.as_str().into(),
            schedule.created_at.into(),
            updated,
            version,
        ];
        match self.execute(INSERT, &values)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn update_schedule(&mut self, schedule: &Schedule, expected_version: u64) -> Result<u64, Error> {
        let version = expected_version
            .checked_add(1)
            .ok_or_else(|| Error::Refused("the version cannot grow further".into()))?;
        let mut values = [Value::count(expected_version)?; 14];
        values[..12].copy_from_slice(&changeable(schedule, version)?);
        values[12] = schedule.id.into();
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    fn postpone_schedule(&mut self, id: ScheduleId, version: u64, next_at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(POSTPONE, &[next_at.into(), id.into(), Value::count(version)?])? > 0)
    }

    fn delete_schedule(&mut self, id: ScheduleId) -> Result<bool, Error> {
        Ok(self.execute(DELETE, &[id.into()])? > 0)
    }

    fn insert_schedule_run(&mut self, run: &ScheduleRun) -> Result<bool, Error> {
        let asked_by = run.asked_by.as_ref().map(ToString::to_string);
        let values = [
            run.id.into(),
            run.schedule_id.into(),
            run.org_id.into(),
            run.workspace_id.into(),
            run.slot.into(),
            run.last_slot.into(),
            Value::Int(Some(i64::from(run.slots))),
            run.cause.as_str().into(),
            run.state.as_str().into(),
            run.reason.as_deref().into(),
            run.task_id.into(),
            asked_by.as_deref().into(),
            Value::Int(Some(i64::from(run.attempts))),
            run.lease_until.into(),
            run.created_at.into(),
            run.ended_at.into(),
        ];
        Ok(self.execute(INSERT_RUN, &values)? > 0)
    }

    fn update_schedule_run(
        &mut self,
        run: &ScheduleRun,
        expected: RunState,
        expected_attempts: u32,
    ) -> Result<bool, Error> {
        let values = [
            run.state.as_str().into(),
            run.reason.as_deref().into(),
            run.task_id.into(),
            Value::Int(Some(i64::from(run.attempts))),
            run.lease_until.into(),
            run.ended_at.into(),
            run.id.into(),
            expected.as_str().into(),
            Value::Int(Some(i64::from(expected_attempts))),
        ];
        Ok(self.execute(UPDATE_RUN, &values)? > 0)
    }

    fn prune_schedule_runs(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE_RUNS, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }
}

/// What a write may change, in the order of `UPDATE`.
fn changeable(schedule: &Schedule, version: u64) -> Result<[Value<'_>; 12], Error> {
    let (cron, time_zone, every) = match &schedule.timing {
        Timing::Cron { expression, time_zone } => (Some(expression.as_str()), Some(time_zone.as_str()), None),
        Timing::Every { seconds } => (None, None, Some(i64::from(*seconds))),
    };
    Ok([
        cron.into(),
        time_zone.into(),
        Value::Int(every),
        schedule.prompt.as_str().into(),
        Value::Int(Some(i64::from(schedule.jitter_seconds))),
        schedule.missed.as_str().into(),
        schedule.overlap.as_str().into(),
        Value::Bool(schedule.is_paused),
        schedule.next_slot.into(),
        schedule.next_at.into(),
        schedule.updated_at.into(),
        Value::count(version)?,
    ])
}

/// What a newer Warren may have written otherwise is replaced, and the row says so: it is listed, and does not fire.
fn read(row: &mut Columns<'_>) -> Result<Schedule, Error> {
    let mut lenient = Lenient::default();
    Ok(Schedule {
        id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        name: row.text()?.to_owned(),
        timing: lenient.or(read_timing(row), || Timing::Every { seconds: 0 })?,
        prompt: row.text()?.to_owned(),
        jitter_seconds: lenient.or(row.small_count(), || 0)?,
        missed: lenient.or(row.word(MissedPolicy::parse), || MissedPolicy::Skip)?,
        overlap: lenient.or(row.word(OverlapPolicy::parse), || OverlapPolicy::Skip)?,
        is_paused: row.bool()?,
        next_slot: row.optional_time()?,
        next_at: row.optional_time()?,
        created_by: lenient.or(row.word(Principal::parse), || Principal::system("unknown"))?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.count()?,
        unreadable: lenient.problem,
    })
}

/// Keeps the first problem of a row, and goes on.
#[derive(Default)]
struct Lenient {
    problem: Option<String>,
}

impl Lenient {
    fn or<T>(&mut self, read: Result<T, Error>, instead: fn() -> T) -> Result<T, Error> {
        match read {
            Err(Error::Corrupt(problem)) => {
                self.problem.get_or_insert(problem);
                Ok(instead())
            }
            other => other,
        }
    }
}

fn read_optional_time(row: &mut Columns<'_>) -> Result<Option<Timestamp>, Error> {
    row.optional_time()
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

fn read_run(row: &mut Columns<'_>) -> Result<ScheduleRun, Error> {
    Ok(ScheduleRun {
        id: row.id()?,
        schedule_id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        slot: row.optional_time()?,
        last_slot: row.optional_time()?,
        slots: row.small_count()?,
        cause: row.word(RunCause::parse)?,
        state: row.word(RunState::parse)?,
        reason: row.optional_text()?.map(str::to_owned),
        task_id: row.optional_id()?,
        asked_by: row.optional_text()?.and_then(Principal::parse),
        attempts: row.small_count()?,
        lease_until: row.optional_time()?,
        created_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}
