//! What workspaces spent, in SQL.

use warren_model::WorkspaceId;
use warren_store::{Error, SpendingReads, SpendingWrites};

use crate::row::read_count;
use crate::transaction::Transaction;
use crate::value::Value;

const SPENT: &str = "SELECT micros FROM spending WHERE workspace_id = $1 AND month = $2";
/// One statement, so that of many at once none is lost.
const ADD: &str = "INSERT INTO spending (workspace_id, month, micros, org_id) \
     VALUES ($1, $2, CASE WHEN $3 < 0 THEN 0 ELSE $3 END, (SELECT org_id FROM workspaces WHERE id = $1)) \
     ON CONFLICT (workspace_id, month) DO UPDATE SET \
       micros = CASE WHEN spending.micros + $3 < 0 THEN 0 ELSE spending.micros + $3 END RETURNING micros";

impl SpendingReads for Transaction<'_> {
    fn spent(&mut self, id: WorkspaceId, month: &str) -> Result<u64, Error> {
        Ok(self.first("spending", SPENT, &[id.into(), month.into()], read_count)?.unwrap_or(0))
    }
}

impl SpendingWrites for Transaction<'_> {
    fn add_spending(&mut self, id: WorkspaceId, month: &str, difference_micros: i64) -> Result<u64, Error> {
        let values = [id.into(), month.into(), Value::Int(Some(difference_micros))];
        let sum = self.first("spending", ADD, &values, read_count)?;
        sum.ok_or_else(|| Error::Corrupt("spending: a row that was written is not there".into()))
    }
}
