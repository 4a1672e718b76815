//! Delegations in SQL.

use warren_model::{Delegation, DelegationId, DelegationState, TaskId};
use warren_store::{DelegationQuery, DelegationReads, DelegationWrites, Error, Page};

use crate::row::read_id;
use crate::select::Select;
use crate::table::{Statement, table};
use crate::transaction::Transaction;

table! {
    DELEGATIONS: Delegation in "delegations" {
        id, org_id, from [from_workspace], to [to_workspace], task_id, parent_task, created_at;
        state, is_told, updated_at, ended_at,
    }
}

static GET: Statement = Statement::new(|| DELEGATIONS.select("WHERE id = $1"));
static OF_TASK: Statement = Statement::new(|| DELEGATIONS.select("WHERE task_id = $1"));
static OPEN_FROM: Statement = Statement::new(|| {
    DELEGATIONS.select("WHERE parent_task = $1 AND state IN ('pending', 'queued', 'dispatched') ORDER BY id")
});
static LIST: Statement = Statement::new(|| DELEGATIONS.select(""));
static INSERT: Statement = Statement::new(|| DELEGATIONS.insert(""));
static UPDATE: Statement = Statement::new(|| DELEGATIONS.update(&["id", "state"]));

impl DelegationReads for Transaction<'_> {
    fn delegation(&mut self, id: DelegationId) -> Result<Option<Delegation>, Error> {
        DELEGATIONS.first(self, &GET, &[id.into()])
    }

    fn delegation_of_task(&mut self, task_id: TaskId) -> Result<Option<Delegation>, Error> {
        DELEGATIONS.first(self, &OF_TASK, &[task_id.into()])
    }

    fn open_delegations_from(&mut self, parent_task: TaskId) -> Result<Vec<Delegation>, Error> {
        DELEGATIONS.rows(self, &OPEN_FROM, &[parent_task.into()])
    }

    fn delegations(&mut self, query: &DelegationQuery) -> Result<Page<Delegation, DelegationId>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("from_workspace =", query.from);
        select.and_value("org_id =", query.org_id);
        if let Some(state) = query.state {
            select.and_value("state =", state.as_str());
        }
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        DELEGATIONS.page(self, &select, query.limit, read_id)
    }
}

impl DelegationWrites for Transaction<'_> {
    fn insert_delegation(&mut self, delegation: &Delegation) -> Result<(), Error> {
        self.execute(&INSERT, &DELEGATIONS.values(delegation)?).map(drop)
    }

    fn update_delegation(&mut self, delegation: &Delegation, known: DelegationState) -> Result<(), Error> {
        let mut values = DELEGATIONS.changes(delegation)?;
        values.extend([delegation.id.into(), known.as_str().into()]);
        match self.execute(&UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }
}
