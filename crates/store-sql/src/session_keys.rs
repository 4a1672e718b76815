//! Keys under which something was done to a session, in SQL.

use warren_model::{Principal, Timestamp};
use warren_store::{Error, KeyScope, SessionKey, SessionKeyReads, SessionKeyWrites};

use crate::row::Columns;
use crate::stored::{BoundedJson, Codec};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    KEYS: SessionKey in "session_keys" {
        scope: ScopeColumns [scope_id, is_session], sender, key, fingerprint, answer: BoundedJson, at
    }
}

static GET: Statement = Statement::new(|| KEYS.select("WHERE scope_id = $1 AND sender = $2 AND key = $3"));
/// Writes over a key that was forgotten, and over no other.
static INSERT: Statement =
    Statement::new(|| KEYS.put(&["scope_id", "sender", "key"]) + " WHERE session_keys.at <= $8");
const PRUNE: &str = "DELETE FROM session_keys WHERE (scope_id, sender, key) IN \
     (SELECT scope_id, sender, key FROM session_keys WHERE at < $1 ORDER BY at LIMIT $2)";

impl SessionKeyReads for Transaction<'_> {
    fn session_key(
        &mut self,
        scope: KeyScope,
        sender: &Principal,
        key: &str,
    ) -> Result<Option<SessionKey>, Error> {
        let sender = sender.to_string();
        KEYS.first(self, &GET, &[scope_id(scope), sender.as_str().into(), key.into()])
    }
}

impl SessionKeyWrites for Transaction<'_> {
    fn insert_session_key(&mut self, key: &SessionKey, forgotten: Timestamp) -> Result<bool, Error> {
        let mut values = KEYS.values(key)?;
        values.push(forgotten.into());
        Ok(self.execute(&INSERT, &values)? > 0)
    }

    fn prune_session_keys(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::count(limit.into())?])
    }
}

fn scope_id(scope: KeyScope) -> Value<'static> {
    match scope {
        KeyScope::Org(id) => id.into(),
        KeyScope::Session(id) => id.into(),
    }
}

struct ScopeColumns;

impl Codec<KeyScope> for ScopeColumns {
    fn write<'a>(scope: &'a KeyScope, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.extend([scope_id(*scope), Value::Bool(matches!(scope, KeyScope::Session(_)))]);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<KeyScope, Error> {
        let at = row.position();
        row.go_to(at + 1);
        let is_session = row.bool()?;
        row.go_to(at);
        let scope = if is_session { KeyScope::Session(row.id()?) } else { KeyScope::Org(row.id()?) };
        row.go_to(at + 2);
        Ok(scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // A7
    #[test]
    fn keys_are_found_and_forgotten_by_their_indexes() {
        assert!(!plan_of(&GET).contains("SCAN"), "{}", plan_of(&GET));
        assert!(plan_of(PRUNE).contains("session_keys_by_age"), "{}", plan_of(PRUNE));
    }
}
