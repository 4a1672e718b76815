//! A copy of the database as of one moment, made through a reader of its own: nobody who writes waits for it.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;
use warren_model::WorkspaceId;
use warren_store::{AuditReads as _, DatabaseCopy, Error, EventReads as _};

use super::SqliteOptions;
use super::connection::SqliteConnection;
use super::error::translate;
use super::file::open_for_reading;
use crate::migrations::schema_version;
use crate::transaction::Transaction;

/// `VACUUM INTO` is one read of one snapshot. The copy has no log beside it, and no free pages.
pub(super) fn copy(path: &Path, into: &Path) -> Result<DatabaseCopy, Error> {
    let options = SqliteOptions::default();
    let connection = open_for_reading(path, &options)?;
    let name = into.to_str().ok_or_else(|| Error::Refused("the path of the copy is not text".into()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(translate)?;
    drop(connection);
    describe(&open_for_reading(into, &options)?)
}

fn describe(copy: &Connection) -> Result<DatabaseCopy, Error> {
    let mut connection = SqliteConnection::new(copy);
    let schema_version = schema_version(&mut connection)?;
    let mut transaction = Transaction::new(&mut connection);
    let (newest_event, audit_head) = (transaction.newest_event_seq()?, transaction.audit_head()?);
    let mut living =
        copy.prepare("SELECT id FROM workspaces WHERE status <> 'removed'").map_err(translate)?;
    let ids = living.query_map([], |row| row.get::<_, String>(0)).map_err(translate)?;
    let mut workspaces = BTreeSet::new();
    for id in ids {
        let id = id.map_err(translate)?;
        workspaces
            .insert(id.parse::<WorkspaceId>().map_err(|_| Error::Corrupt(format!("workspace `{id}`")))?);
    }
    Ok(DatabaseCopy { schema_version, newest_event, audit_head, workspaces })
}

pub(super) fn check_integrity(path: &Path) -> Result<(), Error> {
    let connection = open_for_reading(path, &SqliteOptions::default())?;
    let verdict: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(translate)?;
    if verdict == "ok" { Ok(()) } else { Err(Error::Corrupt(verdict)) }
}
