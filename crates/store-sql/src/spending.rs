//! What workspaces spent, in SQL.

use warren_model::WorkspaceId;
use warren_store::{Error, SpendingReads, SpendingWrites};

use crate::row::read_count;
use crate::transaction::Transaction;
use crate::value::Value;

const SPENT: &str = "SELECT micros FROM spending WHERE workspace_id = $1 AND month = $2";
/// One statement, so that of many at once none is lost.
const ADD: &str = "INSERT INTO spending (workspace_id, month, micros) VALUES ($1, $2, $3) \
     ON CONFLICT (workspace_id, month) DO UPDATE SET micros = spending.micros + excluded.micros RETURNING micros";

impl SpendingReads for Transaction<'_> {
    fn spent(&mut self, id: WorkspaceId, month: &str) -> Result<u64, Error> {
        Ok(self.first("spending", SPENT, &[id.into(), month.into()], read_count)?.unwrap_or(0))
    }
}

impl SpendingWrites for Transaction<'_> {
    fn add_spending(&mut self, id: WorkspaceId, month: &str, micros: u64) -> Result<u64, Error> {
        let values = [id.into(), month.into(), Value::count(micros)?];
        Ok(self.first("spending", ADD, &values, read_count)?.unwrap_or(micros))
    }
}
