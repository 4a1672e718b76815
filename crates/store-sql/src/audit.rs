//! The audit log in SQL. Entries wait in the transaction and are chained at its end: the row of the head is locked
//! from then to the commit, which is what keeps the chain whole under concurrent writers.

use warren_model::{AuditEntry, AuditHash, AuditHead, NewAuditEntry};
use warren_store::{AuditQuery, AuditReads, AuditWrites, Error, Page};

use crate::connection::SqlConnection;
use crate::row::{Columns, read_count};
use crate::select::Select;
use crate::stored::Stored;
use crate::table::{Statement, table};
use crate::transaction::{Listing, Transaction, count_id};
use crate::value::Value;

table! {
    AUDIT: AuditEntry in "audit" {
        seq, at, org_id, principal, token_id, token_prefix, action, target_kind, target_id, outcome, request_id,
        details, previous_hash, hash,
    }
}

static LIST: Statement = Statement::new(|| AUDIT.select(""));
static INSERT: Statement = Statement::new(|| AUDIT.insert(""));
const HEAD: &str = "SELECT newest, hash FROM audit_head WHERE id = 1";
/// Writes nothing new, and holds the row until the commit on both engines.
const LOCK_HEAD: &str = "UPDATE audit_head SET newest = newest WHERE id = 1 RETURNING newest, hash";
const MOVE_HEAD: &str = "UPDATE audit_head SET newest = $1, hash = $2 WHERE id = 1";

impl AuditReads for Transaction<'_> {
    fn audit(&mut self, query: &AuditQuery) -> Result<Page<AuditEntry, u64>, Error> {
        let mut select = Select::new(&LIST);
        let after = Value::Int(Some(i64::try_from(query.after).unwrap_or(i64::MAX)));
        match (query.is_newest_first, query.after) {
            (true, 0) => {}
            (true, _) => select.and_value("seq <", after),
            (false, _) => select.and_value("seq >", after),
        }
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        for (condition, text) in [
            ("target_kind =", &query.target_kind),
            ("target_id =", &query.target_id),
            ("principal =", &query.principal),
            ("action =", &query.action),
        ] {
            if let Some(text) = text {
                select.and_value(condition, text.as_str());
            }
        }
        if let Some(since) = query.since {
            select.and_value("at >=", since);
        }
        if let Some(until) = query.until {
            select.and_value("at <", until);
        }
        let order = if query.is_newest_first { "seq DESC" } else { "seq" };
        let list = Listing { table: AUDIT.name, read: AUDIT.read, key: read_count, id: count_id };
        self.page_of(&list, &select.page(order, query.limit), query.limit)
    }

    fn audit_head(&mut self) -> Result<AuditHead, Error> {
        self.first("audit_head", HEAD, &[], read_head)?.ok_or_else(head_is_missing)
    }
}

impl AuditWrites for Transaction<'_> {
    fn append_audit(&mut self, entry: &NewAuditEntry) -> Result<(), Error> {
        self.pending_audit.push(entry.clone());
        Ok(())
    }
}

/// Chains the entries to the log and writes them. Called at the end of a transaction.
pub(crate) fn append(connection: &mut dyn SqlConnection, entries: &[NewAuditEntry]) -> Result<(), Error> {
    let mut head = None;
    connection.query(LOCK_HEAD, &[], &mut |row| {
        head = Some(read_head(&mut Columns::new("audit_head", row))?);
        Ok(())
    })?;
    let mut head = head.ok_or_else(head_is_missing)?;
    for new in entries {
        let entry = AuditEntry::following(head, new);
        insert(connection, &entry)?;
        head = entry.head();
    }
    connection.execute(MOVE_HEAD, &[Value::count(head.seq)?, Value::Bytes(&head.hash.0)])?;
    Ok(())
}

fn insert(connection: &mut dyn SqlConnection, entry: &AuditEntry) -> Result<(), Error> {
    let values = AUDIT.values(entry)?;
    values.iter().try_for_each(Value::check)?;
    connection.execute(&INSERT, &values)?;
    Ok(())
}

fn head_is_missing() -> Error {
    Error::Corrupt("the head of the audit log is missing".into())
}

fn read_head(row: &mut Columns<'_>) -> Result<AuditHead, Error> {
    Ok(AuditHead { seq: row.count()?, hash: Stored::read(row)? })
}

impl Stored for AuditHash {
    fn write(&self) -> Result<Value<'_>, Error> {
        self.0.write()
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        Stored::read(row).map(Self)
    }
}
