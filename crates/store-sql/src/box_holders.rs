//! Which replica holds a box, in SQL. The table is called `places`, since a released migration is never edited.

use warren_model::WorkspaceId;
use warren_store::{BoxHolder, BoxHolderReads, BoxHolderWrites, Error};

use crate::session::Value;
use crate::transaction::Transaction;

const GET: &str = "SELECT workspace_id, replica, epoch FROM places WHERE workspace_id = $1";
const INSERT: &str = "INSERT INTO places (workspace_id, replica, epoch) VALUES ($1, $2, $3) ON CONFLICT (workspace_id) DO NOTHING";
const UPDATE: &str = "UPDATE places SET replica = $1, epoch = $2 WHERE workspace_id = $3 AND epoch = $4";

impl BoxHolderReads for Transaction<'_> {
    fn place(&mut self, id: WorkspaceId) -> Result<Option<BoxHolder>, Error> {
        self.first("places", GET, &[id.into()], |row| {
            Ok(BoxHolder { workspace_id: row.id()?, replica: row.text()?.to_owned(), epoch: row.count()? })
        })
    }
}

impl BoxHolderWrites for Transaction<'_> {
    fn put_place(&mut self, holder: &BoxHolder, known: Option<u64>) -> Result<(), Error> {
        let (id, replica, epoch) =
            (holder.workspace_id, holder.replica.as_str(), Value::count(holder.epoch)?);
        let changed = match known {
            None => self.execute(INSERT, &[id.into(), replica.into(), epoch])?,
            Some(known) => self.execute(UPDATE, &[replica.into(), epoch, id.into(), Value::count(known)?])?,
        };
        if changed == 0 { Err(Error::Conflict) } else { Ok(()) }
    }
}
