//! Delegations in SQL.

use warren_model::{Delegation, DelegationId, DelegationState, TaskId};
use warren_store::{DelegationQuery, DelegationReads, DelegationWrites, Error, Page};

use crate::row::{Columns, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, from_workspace, to_workspace, task_id, parent_task, state, is_told, created_at, updated_at, ended_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM delegations WHERE id = $1");
const OF_TASK: &str = concat!("SELECT ", columns!(), " FROM delegations WHERE task_id = $1");
const OPEN_FROM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM delegations WHERE parent_task = $1 AND state IN ('pending', 'queued', 'dispatched') ORDER BY id"
);
const LIST: &str = concat!("SELECT ", columns!(), " FROM delegations");
const INSERT: &str = concat!(
    "INSERT INTO delegations (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
);
const UPDATE: &str = "UPDATE delegations SET state = $1, is_told = $2, updated_at = $3, ended_at = $4 WHERE id = $5 AND state = $6";

impl DelegationReads for Transaction<'_> {
    fn delegation(&mut self, id: DelegationId) -> Result<Option<Delegation>, Error> {
        self.first("delegations", GET, &[id.into()], read)
    }

    fn delegation_of_task(&mut self, task_id: TaskId) -> Result<Option<Delegation>, Error> {
        self.first("delegations", OF_TASK, &[task_id.into()], read)
    }

    fn open_delegations_from(&mut self, parent_task: TaskId) -> Result<Vec<Delegation>, Error> {
        self.rows("delegations", OPEN_FROM, &[parent_task.into()], read)
    }

    fn delegations(&mut self, query: &DelegationQuery) -> Result<Page<Delegation, DelegationId>, Error> {
        let mut select = Select::new(LIST);
        select.and_value("from_workspace =", query.from);
        select.and_value("org_id =", query.org_id);
        if let Some(state) = query.state {
            select.and_value("state =", state.as_str());
        }
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        self.page("delegations", &select, query.limit, read, read_id)
    }
}

impl DelegationWrites for Transaction<'_> {
    fn insert_delegation(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let values = [
            delegation.id.into(),
            delegation.org_id.into(),
            delegation.from.into(),
            delegation.to.into(),
            delegation.task_id.into(),
            delegation.parent_task.into(),
            delegation.state.as_str().into(),
            Value::Bool(delegation.is_told),
            delegation.created_at.into(),
            delegation.updated_at.into(),
            delegation.ended_at.into(),
        ];
        self.execute(INSERT, &values).map(drop)
    }

    fn update_delegation(&mut self, delegation: &Delegation, known: DelegationState) -> Result<(), Error> {
        let values = [
            delegation.state.as_str().into(),
            Value::Bool(delegation.is_told),
            delegation.updated_at.into(),
            delegation.ended_at.into(),
            delegation.id.into(),
            known.as_str().into(),
        ];
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }
}

fn read(row: &mut Columns<'_>) -> Result<Delegation, Error> {
    Ok(Delegation {
        id: row.id()?,
        org_id: row.id()?,
        from: row.id()?,
        to: row.id()?,
        task_id: row.id()?,
        parent_task: row.optional_id()?,
        state: row.word(DelegationState::parse)?,
        is_told: row.bool()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}
