//! Opening the file: who may read it, how it keeps what is written, and which schema it has.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use warren_store::{Error, EventReads as _, StoreHealth};

use super::SqliteOptions;
use super::connection::SqliteConnection;
use super::error::translate;
use crate::migrations::{self, SQLITE};
use crate::transaction::Transaction;

/// What `settle` makes sure of.
pub(super) const DURABILITY: &str = "wal, synchronous=FULL";

/// More than the distinct statements of the nouns; lists with filters share the rest.
const CACHED_STATEMENTS: usize = 256;

const NOW: &str = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";

pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) newest_event: u64,
}

/// Opens or creates the database for the one writer.
pub(super) fn open_for_writing(path: &Path, options: &SqliteOptions) -> Result<Opened, Error> {
    keep_private(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, options)?;
    // Before anything is changed: a newer database is left as it is, down to its journal mode.
    refuse_unknown_past(&connection)?;
    keep_log(&connection)?;
    migrate(&connection)?;
    settle(&connection, options)?;
    let newest_event = Transaction::new(&mut SqliteConnection::new(&connection)).newest_event_seq()?;
    Ok(Opened { connection, newest_event })
}

pub(super) fn open_for_reading(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, options)
}

/// What an existing database says of itself; nothing is made, settled or migrated.
pub(super) fn inspect(path: &Path) -> Result<StoreHealth, Error> {
    let connection = open_for_reading(path, &SqliteOptions::default())?;
    refuse_unknown_past(&connection)?;
    let journal_mode: String =
        connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(translate)?;
    let schema_version = if has_past(&connection)? {
        migrations::schema_version(&mut SqliteConnection::new(&connection))?
    } else {
        0
    };
    Ok(StoreHealth {
        engine: "sqlite",
        engine_version: rusqlite::version().to_owned(),
        schema_version,
        durability: format!("journal_mode={journal_mode}"),
    })
}

/// Makes the file so that only its owner can read it. SQLite gives its side files the mode of the main one.
fn keep_private(path: &Path) -> Result<(), Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|problem| unusable(path, &problem))?;
    let metadata = file.metadata().map_err(|problem| unusable(path, &problem))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|problem| unusable(path, &problem))?;
    }
    Ok(())
}

fn unusable(path: &Path, problem: &io::Error) -> Error {
    let place = path.display();
    Error::Unavailable(match problem.kind() {
        io::ErrorKind::NotFound => format!("the folder of {place} does not exist"),
        io::ErrorKind::PermissionDenied => format!("{place} may not be opened by this user"),
        io::ErrorKind::IsADirectory => format!("{place} is a folder"),
        _ => format!("{place} cannot be opened: {problem}"),
    })
}

fn connect(path: &Path, mode: OpenFlags, options: &SqliteOptions) -> Result<Connection, Error> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags).map_err(translate)?;
    let wait = Duration::from_millis(options.busy_timeout_ms.into());
    connection.busy_timeout(wait).map_err(translate)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // A statement is planned once, not again for every value that is bound to it: the words that a partial index asks for
    // stand in its text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(translate)?;
    // What savepoints must be able to undo is kept in memory, not in a temporary file.
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;").map_err(translate)?;
    Ok(connection)
}

/// Whole transactions survive whatever happens; until `settle`, the newest of them may not. A migration that is lost
/// that way is done again, and whatever is written after it takes it to the disk: the log has an order.
fn keep_log(connection: &Connection) -> Result<(), Error> {
    // The log is moved into the file every 16 MB instead of every 4, since that costs fsyncs of its own; the size
    // limit gives back the space of a log that once grew large. Pages that are written to are kept in up to 16 MB of
    // memory instead of 2: a sweep over a large fleet otherwise reads the same ones again and again.
    let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; \
                    PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384;";
    connection.execute_batch(settings).map_err(translate)
}

/// Makes commits durable and checks that they are: a file system without shared memory refuses WAL quietly.
fn settle(connection: &Connection, options: &SqliteOptions) -> Result<(), Error> {
    connection.execute_batch("PRAGMA synchronous = FULL;").map_err(translate)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(translate)?;
    let synchronous: i64 =
        connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(translate)?;
    if mode != "wal" || synchronous != 2 {
        return Err(Error::Unavailable(format!(
            "commits would not be durable here: journal_mode is {mode}, synchronous is {synchronous}; \
             use a local file system"
        )));
    }
    if let Some(max_bytes) = options.max_bytes {
        limit_size(connection, max_bytes)?;
    }
    Ok(())
}

fn limit_size(connection: &Connection, max_bytes: u64) -> Result<(), Error> {
    let page_size: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(translate)?;
    let max_pages = i64::try_from(max_bytes).unwrap_or(i64::MAX) / page_size.max(1);
    connection
        .query_row(&format!("PRAGMA max_page_count = {}", max_pages.max(1)), [], |row| row.get::<_, i64>(0))
        .map(drop)
        .map_err(translate)
}

fn refuse_unknown_past(connection: &Connection) -> Result<(), Error> {
    if !has_past(connection)? {
        return Ok(());
    }
    let applied = migrations::applied(&mut SqliteConnection::new(connection))?;
    migrations::plan(SQLITE, &applied).map(drop)
}

/// Whether migrations were applied to it. Tables without a record of them are another program's.
fn has_past(connection: &Connection) -> Result<bool, Error> {
    let sql = "SELECT count(*), count(*) FILTER (WHERE name = 'schema_migrations') FROM sqlite_master \
               WHERE type = 'table'";
    let (tables, records): (i64, i64) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(translate)?;
    if tables > 0 && records == 0 {
        return Err(Error::Corrupt("it has tables that Warren did not make".into()));
    }
    Ok(records > 0)
}

fn migrate(connection: &Connection) -> Result<(), Error> {
    let is_new = !has_past(connection)?;
    let mut steps = 0;
    loop {
        connection.execute_batch("BEGIN IMMEDIATE").map_err(translate)?;
        match apply(connection, is_new) {
            Ok(applied) => {
                connection.execute_batch("COMMIT").map_err(translate)?;
                steps += applied;
                if applied == 0 || is_new {
                    migrations::tell(steps);
                    return Ok(());
                }
            }
            Err(error) => {
                // The error that led here says more than a failing rollback could.
                let _ = connection.execute_batch("ROLLBACK");
                return Err(error);
            }
        }
    }
}

/// One step, or all of them. Returns how many there were.
fn apply(connection: &Connection, all: bool) -> Result<u32, Error> {
    let mut applied = 0;
    while migrations::apply_next(&mut SqliteConnection::new(connection), SQLITE, NOW)? {
        applied += 1;
        if !all {
            break;
        }
    }
    Ok(applied)
}
