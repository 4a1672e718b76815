//! Reports of runtimes in SQL, and the deadlines that sweeps look for.

use warren_model::{Outcomes, RuntimeState, Timestamp, Vitals, WorkspaceId};
use warren_store::{Batch, Due, Error, VitalsReads, VitalsWrites};

use crate::row::{Columns, read_id};
use crate::select::Select;
use crate::stored::{Codec, Json};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    VITALS: Vitals in "vitals" {
        error_rate, sample_error, active_tasks, current_task, uptime_s, runtime_state: ReportedState, displaced: Json,
        idle_timeout_seconds, last_heartbeat_at, last_progress_at, last_task_at, liveness_deadline, stall_deadline,
        idle_deadline, outcomes: OutcomeColumns [outcomes, last_outcome_at], probe_at,
    }
}

static GET: Statement = Statement::new(|| format!("{} WHERE workspace_id = $1", *LIST));
static LIST: Statement = Statement::new(|| format!("SELECT workspace_id, {} FROM vitals", VITALS.columns()));
static PUT: Statement = Statement::new(|| VITALS.put_with(&["workspace_id"], &["workspace_id"]));

/// Each has its index, so that a sweep over many workspaces reads only what is due.
const fn due_sql(what: Due) -> &'static str {
    match what {
        Due::Liveness => {
            "SELECT workspace_id FROM vitals WHERE liveness_deadline <= $1 ORDER BY liveness_deadline LIMIT $2"
        }
        Due::Stall => {
            "SELECT workspace_id FROM vitals WHERE stall_deadline <= $1 ORDER BY stall_deadline LIMIT $2"
        }
        Due::Probe => "SELECT workspace_id FROM vitals WHERE probe_at <= $1 ORDER BY probe_at LIMIT $2",
        Due::Idleness => {
            "SELECT workspace_id FROM vitals WHERE idle_deadline <= $1 ORDER BY idle_deadline LIMIT $2"
        }
        Due::Provision => {
            "SELECT id FROM workspaces WHERE provision_deadline <= $1 ORDER BY provision_deadline LIMIT $2"
        }
        Due::Mending => "SELECT id FROM workspaces WHERE mend_next_at <= $1 ORDER BY mend_next_at LIMIT $2",
    }
}

impl VitalsReads for Transaction<'_> {
    fn vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error> {
        let found = self.first("vitals", &GET, &[id.into()], read)?;
        Ok(found.map(|(_, vitals)| vitals).unwrap_or_default())
    }

    fn vitals_of(&mut self, ids: &[WorkspaceId]) -> Result<Batch<(WorkspaceId, Vitals)>, Error> {
        if ids.is_empty() {
            return Ok(Batch { rows: Vec::new(), unreadable: Vec::new() });
        }
        let mut select = Select::new(&LIST);
        select.and_any_of("workspace_id", ids.iter().copied());
        let (sql, values) = select.all();
        self.batch("vitals", &sql, &values, read)
    }

    fn due(&mut self, what: Due, now: Timestamp, limit: u32) -> Result<Vec<WorkspaceId>, Error> {
        let values = [now.into(), Value::Int(Some(i64::from(limit)))];
        self.rows("vitals", due_sql(what), &values, read_id)
    }
}

impl VitalsWrites for Transaction<'_> {
    fn hold_vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error> {
        let row_lock = self.row_lock();
        if row_lock.is_empty() {
            return self.vitals(id);
        }
        let found = self.first(VITALS.name, &format!("{}{row_lock}", *GET), &[id.into()], read)?;
        Ok(found.map(|(_, vitals)| vitals).unwrap_or_default())
    }

    fn put_vitals(&mut self, id: WorkspaceId, vitals: &Vitals) -> Result<(), Error> {
        let mut values = VITALS.values(vitals)?;
        values.push(id.into());
        self.execute(&PUT, &values).map(drop)
    }
}

fn read(row: &mut Columns<'_>) -> Result<(WorkspaceId, Vitals), Error> {
    Ok((row.id()?, (VITALS.read)(row)?))
}

/// A state that a runtime made up is kept as it was reported.
struct ReportedState;

impl Codec<RuntimeState> for ReportedState {
    fn write<'a>(state: &'a RuntimeState, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(state.as_str().into());
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<RuntimeState, Error> {
        Ok(RuntimeState::from_report(row.text()?))
    }
}

struct OutcomeColumns;

impl Codec<Outcomes> for OutcomeColumns {
    fn write<'a>(outcomes: &'a Outcomes, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.extend([outcomes.signs().into(), outcomes.last_at.into()]);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Outcomes, Error> {
        let recent = Outcomes::from_signs(row.text()?);
        let recent = recent.ok_or_else(|| row.corrupt("outcomes that cannot be read"))?;
        Ok(Outcomes { recent, last_at: row.optional_time()? })
    }
}
