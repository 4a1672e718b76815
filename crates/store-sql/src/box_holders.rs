//! Which replica holds a box, and where replicas are reached, in SQL. The table of holders is called `places`, since a
//! released migration is never edited.

use warren_model::{Timestamp, WorkspaceId};
use warren_store::{BoxHolder, BoxHolderReads, BoxHolderWrites, Error, ReplicaRow};

use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    HOLDERS: BoxHolder in "places" { workspace_id; replica, epoch }
}

table! {
    REPLICAS: ReplicaRow in "replicas" { name; url, seen_at }
}

static GET: Statement = Statement::new(|| HOLDERS.select("WHERE workspace_id = $1"));
static INSERT: Statement = Statement::new(|| HOLDERS.insert("ON CONFLICT (workspace_id) DO NOTHING"));
static UPDATE: Statement = Statement::new(|| HOLDERS.update(&["workspace_id", "epoch"]));
static REPLICA: Statement = Statement::new(|| REPLICAS.select("WHERE name = $1"));
static SEEN: Statement = Statement::new(|| REPLICAS.select("WHERE seen_at >= $1 ORDER BY name"));
static PUT_REPLICA: Statement = Statement::new(|| REPLICAS.put(&["name"]));
const REMOVE_REPLICA: &str = "DELETE FROM replicas WHERE name = $1";
const PRUNE_REPLICAS: &str = "DELETE FROM replicas WHERE seen_at < $1";

impl BoxHolderReads for Transaction<'_> {
    fn place(&mut self, id: WorkspaceId) -> Result<Option<BoxHolder>, Error> {
        HOLDERS.first(self, &GET, &[id.into()])
    }

    fn replica(&mut self, name: &str) -> Result<Option<ReplicaRow>, Error> {
        REPLICAS.first(self, &REPLICA, &[name.into()])
    }

    fn replicas_seen(&mut self, since: Timestamp) -> Result<Vec<ReplicaRow>, Error> {
        REPLICAS.rows(self, &SEEN, &[since.into()])
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

    fn put_replica(&mut self, replica: &ReplicaRow) -> Result<(), Error> {
        self.execute(&PUT_REPLICA, &REPLICAS.values(replica)?).map(drop)
    }

    fn remove_replica(&mut self, name: &str) -> Result<(), Error> {
        self.execute(REMOVE_REPLICA, &[name.into()]).map(drop)
    }

    fn prune_replicas(&mut self, before: Timestamp) -> Result<u64, Error> {
        self.execute(PRUNE_REPLICAS, &[before.into()])
    }
}
