//! Questions that only a person may decide, in SQL.

use warren_model::{Approval, ApprovalId, ApprovalSubject, SessionId, Timestamp, WorkspaceId};
use warren_store::{ApprovalQuery, ApprovalReads, ApprovalWrites, Batch, Error, Page};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::stored::{Codec, Json, OptionalJson};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    APPROVALS: Approval in "approvals" {
        id, org_id, workspace_id, task_id, action, reason, context: Json, subject: SubjectColumns [session_id, subject],
        asked_by, created_at, expires_at;
        state, decided_by, decided_at, note, edited: OptionalJson,
    }
}

static GET: Statement = Statement::new(|| APPROVALS.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| APPROVALS.select(""));
const COUNT_PENDING: &str = "SELECT count(*) FROM approvals WHERE workspace_id = $1 AND state = 'pending'";
static PENDING_OF: Statement =
    Statement::new(|| APPROVALS.select("WHERE session_id = $1 AND state = 'pending' ORDER BY id"));
static LATE: Statement = Statement::new(|| {
    APPROVALS.select("WHERE state = 'pending' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2")
});
static INSERT: Statement = Statement::new(|| APPROVALS.insert(""));
static SETTLE: Statement = Statement::new(|| APPROVALS.update(&["id"]) + " AND state = 'pending'");
const PRUNE: &str = "DELETE FROM approvals WHERE id IN (\
     SELECT id FROM approvals WHERE decided_at < $1 ORDER BY decided_at LIMIT $2)";

impl ApprovalReads for Transaction<'_> {
    fn approval(&mut self, id: ApprovalId) -> Result<Option<Approval>, Error> {
        APPROVALS.first(self, &GET, &[id.into()])
    }

    fn approvals(&mut self, query: &ApprovalQuery) -> Result<Page<Approval, ApprovalId>, Error> {
        let mut select = Select::new(&LIST);
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        if let Some(workspace_id) = query.workspace_id {
            select.and_value("workspace_id =", workspace_id);
        }
        if let Some(state) = query.state {
            select.and_value("state =", state.as_str());
        }
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        let select = select.page("id DESC", query.limit);
        APPROVALS.page(self, &select, query.limit, read_id)
    }

    fn count_pending_approvals(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        Ok(self.first("approvals", COUNT_PENDING, &[workspace_id.into()], read_count)?.unwrap_or(0))
    }

    fn pending_approvals_of(&mut self, session_id: SessionId) -> Result<Vec<Approval>, Error> {
        APPROVALS.rows(self, &PENDING_OF, &[session_id.into()])
    }

    fn late_approvals(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Approval>, Error> {
        APPROVALS.readable(self, &LATE, &[now.into()], limit)
    }
}

impl ApprovalWrites for Transaction<'_> {
    fn insert_approval(&mut self, approval: &Approval) -> Result<(), Error> {
        self.execute(&INSERT, &APPROVALS.values(approval)?).map(drop)
    }

    fn settle_approval(&mut self, approval: &Approval) -> Result<bool, Error> {
        let mut values = APPROVALS.changes(approval)?;
        values.push(approval.id.into());
        Ok(self.execute(&SETTLE, &values)? > 0)
    }

    fn prune_approvals(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }
}

/// The call that a question is about; its session stands in a column too, by which it is found and with which it goes.
struct SubjectColumns;

impl Codec<Option<ApprovalSubject>> for SubjectColumns {
    fn write<'a>(subject: &'a Option<ApprovalSubject>, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(subject.as_ref().map(|subject| subject.session_id).into());
        OptionalJson::write(subject, values)
    }

    fn read(row: &mut Columns<'_>) -> Result<Option<ApprovalSubject>, Error> {
        row.optional_id::<warren_model::SessionKind>()?;
        OptionalJson::read(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // A30
    #[test]
    fn the_questions_of_a_session_are_found_by_it() {
        let plan = plan_of(&PENDING_OF);
        assert!(
            plan.contains("approvals_of_session (session_id=?)") && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}
