//! Which replica holds a box, in SQL. The table is called `places`, since a released migration is never edited.

use warren_model::WorkspaceId;
use warren_store::{BoxHolder, BoxHolderReads, BoxHolderWrites, Error};

use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    HOLDERS: BoxHolder in "places" { workspace_id; replica, epoch }
}

static GET: Statement = Statement::new(|| HOLDERS.select("WHERE workspace_id = $1"));
static INSERT: Statement = Statement::new(|| HOLDERS.insert("ON CONFLICT (workspace_id) DO NOTHING"));
static UPDATE: Statement = Statement::new(|| HOLDERS.update(&["workspace_id", "epoch"]));

impl BoxHolderReads for Transaction<'_> {
    fn place(&mut self, id: WorkspaceId) -> Result<Option<BoxHolder>, Error> {
        HOLDERS.first(self, &GET, &[id.into()])
    }
}

impl BoxHolderWrites for Transaction<'_> {
    fn put_place(&mut self, holder: &BoxHolder, known: Option<u64>) -> Result<(), Error> {
        let changed = match known {
            None => self.execute(&INSERT, &HOLDERS.values(holder)?)?,
            Some(known) => {
                let mut values = HOLDERS.changes(holder)?;
                values.extend([holder.workspace_id.into(), Value::count(known)?]);
                self.execute(&UPDATE, &values)?
            }
        };
        if changed == 0 { Err(Error::Conflict) } else { Ok(()) }
    }
}
