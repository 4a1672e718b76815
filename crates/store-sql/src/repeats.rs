//! Keys under which messages were accepted, in SQL.

use warren_model::{Principal, Timestamp};
use warren_store::{Error, Repeat, RepeatReads, RepeatWrites};

use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    REPEATS: Repeat in "repeats" {
        sender, key, fingerprint, task_id, delivery_id, at
    }
}

static GET: Statement = Statement::new(|| REPEATS.select("WHERE sender = $1 AND key = $2"));
/// Writes over a key that was forgotten, and over no other.
static INSERT: Statement = Statement::new(|| REPEATS.put(&["sender", "key"]) + " WHERE repeats.at <= $7");
const PRUNE: &str = "DELETE FROM repeats WHERE (sender, key) IN \
     (SELECT sender, key FROM repeats WHERE at < $1 ORDER BY at LIMIT $2)";

impl RepeatReads for Transaction<'_> {
    fn repeat(&mut self, sender: &Principal, key: &str) -> Result<Option<Repeat>, Error> {
        let sender = sender.to_string();
        REPEATS.first(self, &GET, &[sender.as_str().into(), key.into()])
    }
}

impl RepeatWrites for Transaction<'_> {
    fn insert_repeat(&mut self, repeat: &Repeat, forgotten: Timestamp) -> Result<bool, Error> {
        let mut values = REPEATS.values(repeat)?;
        values.push(forgotten.into());
        Ok(self.execute(&INSERT, &values)? > 0)
    }

    fn prune_repeats(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::count(u64::from(limit))?])
    }
}
