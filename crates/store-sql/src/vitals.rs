//! Reports of runtimes in SQL, and the deadlines that sweeps look for.

use warren_model::{Outcomes, Registration, RuntimeState, Timestamp, Vitals, WorkspaceId};
use warren_store::{Batch, Due, Error, RegistrationReads, RegistrationWrites, VitalsReads, VitalsWrites};

use crate::row::{Columns, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

macro_rules! columns {
    () => {
        "workspace_id, error_rate, sample_error, active_tasks, \"current_task\", uptime_s, runtime_state, displaced, \
         idle_timeout_seconds, last_heartbeat_at, last_progress_at, last_task_at, liveness_deadline, stall_deadline, \
         idle_deadline, outcomes, last_outcome_at, probe_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM vitals WHERE workspace_id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM vitals");
const PUT: &str = concat!(
    "INSERT INTO vitals (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) \
     ON CONFLICT (workspace_id) DO UPDATE SET error_rate = excluded.error_rate, \
       sample_error = excluded.sample_error, active_tasks = excluded.active_tasks, \
       \"current_task\" = excluded.\"current_task\", uptime_s = excluded.uptime_s, \
       runtime_state = excluded.runtime_state, displaced = excluded.displaced, \
       idle_timeout_seconds = excluded.idle_timeout_seconds, last_heartbeat_at = excluded.last_heartbeat_at, \
       last_progress_at = excluded.last_progress_at, last_task_at = excluded.last_task_at, \
       liveness_deadline = excluded.liveness_deadline, stall_deadline = excluded.stall_deadline, \
       idle_deadline = excluded.idle_deadline, \
       outcomes = excluded.outcomes, last_outcome_at = excluded.last_outcome_at, probe_at = excluded.probe_at"
);
const REGISTRATION: &str = "SELECT workspace_id, boots, registered_at, version, agent_card FROM registrations \
     WHERE workspace_id = $1";
const PUT_REGISTRATION: &str = "INSERT INTO registrations (workspace_id, boots, registered_at, version, agent_card) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id) DO UPDATE SET boots = excluded.boots, \
     registered_at = excluded.registered_at, version = excluded.version, agent_card = excluded.agent_card";

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
        let found = self.first("vitals", GET, &[id.into()], read)?;
        Ok(found.map(|(_, vitals)| vitals).unwrap_or_default())
    }

    fn vitals_of(&mut self, ids: &[WorkspaceId]) -> Result<Batch<(WorkspaceId, Vitals)>, Error> {
        if ids.is_empty() {
            return Ok(Batch { rows: Vec::new(), unreadable: Vec::new() });
        }
        let mut select = Select::new(LIST);
        select.and_any_of("workspace_id", ids.iter().copied());
        let (sql, values) = select.all();
        self.sorted("vitals", &sql, &values, read)
    }

    fn due(&mut self, what: Due, now: Timestamp, limit: u32) -> Result<Vec<WorkspaceId>, Error> {
        let values = [now.into(), Value::Int(Some(i64::from(limit)))];
        self.rows("vitals", due_sql(what), &values, read_id)
    }
}

impl VitalsWrites for Transaction<'_> {
    fn hold_vitals(&mut self, id: WorkspaceId) -> Result<Vitals, Error> {
        let keeps_row = self.keeps_row();
        if keeps_row.is_empty() {
            return self.vitals(id);
        }
        let found = self.first("vitals", &format!("{GET}{keeps_row}"), &[id.into()], read)?;
        Ok(found.map(|(_, vitals)| vitals).unwrap_or_default())
    }

    fn put_vitals(&mut self, id: WorkspaceId, vitals: &Vitals) -> Result<(), Error> {
        let (displaced, outcomes) = (json(&vitals.displaced)?, vitals.outcomes.signs());
        let values = [
            id.into(),
            Value::Real(vitals.error_rate),
            vitals.sample_error.as_deref().into(),
            Value::Int(Some(i64::from(vitals.active_tasks))),
            vitals.current_task.as_deref().into(),
            Value::optional_count(vitals.uptime_s)?,
            vitals.runtime_state.as_str().into(),
            Value::Json(Some(&displaced)),
            Value::Int(vitals.idle_timeout_seconds.map(i64::from)),
            vitals.last_heartbeat_at.into(),
            vitals.last_progress_at.into(),
            vitals.last_task_at.into(),
            vitals.liveness_deadline.into(),
            vitals.stall_deadline.into(),
            vitals.idle_deadline.into(),
            outcomes.as_str().into(),
            vitals.outcomes.last_at.into(),
            vitals.probe_at.into(),
        ];
        self.execute(PUT, &values).map(drop)
    }
}

impl RegistrationReads for Transaction<'_> {
    fn registration(&mut self, id: WorkspaceId) -> Result<Option<Registration>, Error> {
        self.first("registrations", REGISTRATION, &[id.into()], |row| {
            Ok(Registration {
                workspace_id: row.id()?,
                boots: row.count()?,
                registered_at: row.time()?,
                version: row.optional_text()?.map(str::to_owned),
                agent_card: row.optional_json()?,
            })
        })
    }
}

impl RegistrationWrites for Transaction<'_> {
    fn put_registration(&mut self, registration: &Registration) -> Result<(), Error> {
        let card = registration.agent_card.as_ref().map(json).transpose()?;
        let values = [
            registration.workspace_id.into(),
            Value::count(registration.boots)?,
            registration.registered_at.into(),
            registration.version.as_deref().into(),
            Value::Json(card.as_deref()),
        ];
        self.execute(PUT_REGISTRATION, &values).map(drop)
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|problem| Error::Refused(format!("a value cannot be written as JSON: {problem}")))
}

fn read(row: &mut Columns<'_>) -> Result<(WorkspaceId, Vitals), Error> {
    let id = row.id()?;
    let mut vitals = Vitals {
        error_rate: row.real()?,
        sample_error: row.optional_text()?.map(str::to_owned),
        active_tasks: row.small_count()?,
        current_task: row.optional_text()?.map(str::to_owned),
        uptime_s: row.optional_count()?,
        runtime_state: RuntimeState::from_report(row.text()?),
        displaced: row.json()?,
        idle_timeout_seconds: row.optional_small_count()?,
        last_heartbeat_at: row.optional_time()?,
        last_progress_at: row.optional_time()?,
        last_task_at: row.optional_time()?,
        liveness_deadline: row.optional_time()?,
        stall_deadline: row.optional_time()?,
        idle_deadline: row.optional_time()?,
        outcomes: Outcomes::default(),
        probe_at: None,
    };
    let recent = Outcomes::from_signs(row.text()?);
    vitals.outcomes.recent = recent.ok_or_else(|| row.corrupt("outcomes that cannot be read"))?;
    vitals.outcomes.last_at = row.optional_time()?;
    vitals.probe_at = row.optional_time()?;
    Ok((id, vitals))
}
