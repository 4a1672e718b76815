//! Where people have put workspaces on their maps, in SQL.

use std::collections::BTreeMap;

use warren_model::{Position, Principal, WorkspaceId};
use warren_store::{Error, PositionReads, PositionWrites};

use crate::select::Select;
use crate::table::{Statement, table};
use crate::transaction::Transaction;

table! {
    POSITIONS: Position in "positions" { x, y }
}
const KEY: &[&str] = &["workspace_id", "principal"];

static LIST: Statement =
    Statement::new(|| format!("SELECT {}, workspace_id FROM positions", POSITIONS.columns()));
static PUT: Statement = Statement::new(|| POSITIONS.put_with(KEY, KEY));
const DELETE: &str = "DELETE FROM positions WHERE workspace_id = $1 AND principal = $2";

impl PositionReads for Transaction<'_> {
    fn positions_of(
        &mut self,
        principal: &Principal,
        ids: &[WorkspaceId],
    ) -> Result<BTreeMap<WorkspaceId, Position>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let principal = principal.to_string();
        let mut select = Select::new(&LIST);
        select.and_value("principal =", principal.as_str());
        select.and_any_of("workspace_id", ids.iter().copied());
        let (sql, values) = select.all();
        let rows = self.rows("positions", &sql, &values, |row| Ok(((POSITIONS.read)(row)?, row.id()?)))?;
        Ok(rows.into_iter().map(|(position, id)| (id, position)).collect())
    }
}

impl PositionWrites for Transaction<'_> {
    fn put_position(
        &mut self,
        principal: &Principal,
        id: WorkspaceId,
        position: Option<Position>,
    ) -> Result<(), Error> {
        let principal = principal.to_string();
        let key = [id.into(), principal.as_str().into()];
        let Some(position) = position else {
            return self.execute(DELETE, &key).map(drop);
        };
        let mut values = POSITIONS.values(&position)?;
        values.extend(key);
        self.execute(&PUT, &values).map(drop)
    }
}
