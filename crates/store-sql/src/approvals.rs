//! Questions that only a person may decide, in SQL.

use warren_model::{Approval, ApprovalId, ApprovalState, Principal, Timestamp, WorkspaceId};
use warren_store::{ApprovalQuery, ApprovalReads, ApprovalWrites, Batch, Error, Page};

use crate::row::{Columns, read_count, read_id};
use crate::select::Select;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, workspace_id, task_id, action, reason, context, asked_by, state, decided_by, decided_at, note, \
         created_at, expires_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM approvals WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM approvals");
const COUNT_PENDING: &str = "SELECT count(*) FROM approvals WHERE workspace_id = $1 AND state = 'pending'";
const LATE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM approvals WHERE state = 'pending' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2"
);
const INSERT: &str = concat!(
    "INSERT INTO approvals (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
);
const SETTLE: &str = "UPDATE approvals SET state = $1, decided_by = $2, decided_at = $3, note = $4 \
     WHERE id = $5 AND state = 'pending'";
const PRUNE: &str = "DELETE FROM approvals WHERE id IN (\
     SELECT id FROM approvals WHERE decided_at < $1 ORDER BY decided_at LIMIT $2)";

impl ApprovalReads for Transaction<'_> {
    fn approval(&mut self, id: ApprovalId) -> Result<Option<Approval>, Error> {
        self.first("approvals", GET, &[id.into()], read)
    }

    fn approvals(&mut self, query: &ApprovalQuery) -> Result<Page<Approval, ApprovalId>, Error> {
        let mut select = Select::new(LIST);
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
        self.page("approvals", &select, query.limit, read, read_id)
    }

    fn count_pending_approvals(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error> {
        Ok(self.first("approvals", COUNT_PENDING, &[workspace_id.into()], read_count)?.unwrap_or(0))
    }

    fn late_approvals(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Approval>, Error> {
        self.readable("approvals", LATE, &[now.into()], limit, read)
    }
}

impl ApprovalWrites for Transaction<'_> {
    fn insert_approval(&mut self, approval: &Approval) -> Result<(), Error> {
        let context = approval.context.to_string();
        let (asked_by, decided_by) =
            (approval.asked_by.to_string(), approval.decided_by.as_ref().map(ToString::to_string));
        let values = [
            approval.id.into(),
            approval.org_id.into(),
            approval.workspace_id.into(),
            approval.task_id.into(),
            approval.action.as_str().into(),
            approval.reason.as_str().into(),
            Value::Json(Some(&context)),
            asked_by.as_str().into(),
            approval.state.as_str().into(),
            decided_by.as_deref().into(),
            approval.decided_at.into(),
            approval.note.as_deref().into(),
            approval.created_at.into(),
            approval.expires_at.into(),
        ];
        self.execute(INSERT, &values).map(drop)
    }

    fn settle_approval(&mut self, approval: &Approval) -> Result<bool, Error> {
        let decided_by = approval.decided_by.as_ref().map(ToString::to_string);
        let values = [
            approval.state.as_str().into(),
            decided_by.as_deref().into(),
            approval.decided_at.into(),
            approval.note.as_deref().into(),
            approval.id.into(),
        ];
        Ok(self.execute(SETTLE, &values)? > 0)
    }

    fn prune_approvals(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }
}

fn read(row: &mut Columns<'_>) -> Result<Approval, Error> {
    Ok(Approval {
        id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        task_id: row.optional_id()?,
        action: row.text()?.to_owned(),
        reason: row.text()?.to_owned(),
        context: row.json()?,
        asked_by: row.word(Principal::parse)?,
        state: row.word(ApprovalState::parse)?,
        decided_by: row.optional_text()?.and_then(Principal::parse),
        decided_at: row.optional_time()?,
        note: row.optional_text()?.map(str::to_owned),
        created_at: row.time()?,
        expires_at: row.time()?,
    })
}
