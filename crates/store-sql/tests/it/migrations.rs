//! Migrations on real databases (O5): fresh equals upgraded, newer is refused, edited is found out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};
use warren_model::{Status, Timestamp};
use warren_store::{Error, Store};
use warren_store_sql::migrations::{self, Migration};
use warren_store_sql::postgres::{PostgresOptions, PostgresStore};
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::postgres_server::Database;

/// Rows as the first schema had them: two living workspaces of one name, one removed, an event.
const OLD_ROWS: &str = "
    INSERT INTO workspaces (id, org_id, name, spec, generation, observed_generation, version, status, error_rate,
        active_tasks, runtime_state, manages_own_status, created_at, updated_at)
    VALUES ('01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d01', '00000000-0000-7000-8000-000000000001', 'living',
        '{\"desired\":\"running\",\"runtime\":\"hosted\",\"provider\":{\"kind\":\"memory\"},\"capabilities\":[\"fs\"]}',
        1, 1, 3, 'online', 0.25, 2, '', false, 100, 200),
        ('01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d02', '00000000-0000-7000-8000-000000000001', 'removed',
        '{\"desired\":\"removed\",\"runtime\":\"hosted\",\"provider\":{\"kind\":\"memory\"},\"capabilities\":[]}',
        1, 1, 5, 'removed', 0, 0, '', false, 100, 300),
        ('01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d03', '00000000-0000-7000-8000-000000000001', 'living',
        '{\"desired\":\"running\",\"runtime\":\"hosted\",\"provider\":{\"kind\":\"memory\"},\"capabilities\":[\"fs\"]}',
        1, 1, 3, 'online', 0, 0, '', false, 100, 200);
    INSERT INTO events (seq, at, kind, org_id, principal, data)
    VALUES (1, 100, 'server.process.started', '00000000-0000-7000-8000-000000000001', 'system:old', '{}');
    UPDATE event_sequence SET newest = 1;";

/// A row as the newest schema has it.
const NEW_ROW: &str = "
    INSERT INTO workspaces (id, org_id, name, spec, generation, observed_generation, version, status, created_at,
        updated_at)
    VALUES ('01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d01', '00000000-0000-7000-8000-000000000001', 'living', '{}', 1, 1, 3,
        'online', 100, 200)";

/// What the runner writes, by hand: the test does not ask the runner whether the runner is right.
fn record(migration: &Migration) -> String {
    format!(
        "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ({}, '{}', '{}', 1)",
        migration.version,
        migration.name,
        migration.checksum()
    )
}

async fn check_old_rows(store: &dyn Store) {
    let living = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d01".parse().unwrap();
    let removed = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d02".parse().unwrap();
    let rows: Result<_, Error> = store
        .read(move |tx| Ok((tx.workspace(living)?, tx.workspace(removed)?, tx.newest_event_seq()?)))
        .await;
    let (living, removed, newest) = rows.unwrap();
    let (living, removed) = (living.unwrap(), removed.unwrap());
    assert_eq!((living.status, living.version, living.removed_at), (Status::Online, 3, None));
    assert_eq!(removed.status, Status::Removed);
    assert_eq!(removed.removed_at.map(Timestamp::as_micros), Some(300), "filled in by the migration");
    assert_eq!(newest, 1);
    // The elder keeps its name, the other one gets the end of its id behind it.
    let twin = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d03".parse().unwrap();
    let twin: Result<_, Error> = store.read(move |tx| tx.workspace(twin)).await;
    let twin = twin.unwrap().unwrap();
    assert_eq!(living.name.as_str(), "living");
    assert_eq!((twin.name.as_str(), twin.version), ("living-5f6a7b8c9d03", 4));
}

fn sqlite_at(path: &Path, versions: usize) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(migrations::RECORD).unwrap();
    for migration in &migrations::SQLITE[..versions] {
        connection.execute_batch(migration.sql).unwrap();
        connection.execute_batch(&record(migration)).unwrap();
    }
    connection
}

async fn open_sqlite(path: &Path) -> Result<Arc<dyn Store>, Error> {
    let store = SqliteStore::open(path, SqliteOptions::default()).await?;
    Ok(Arc::new(store))
}

/// Every object with its definition, and every column as SQLite understands it.
fn sqlite_structure(path: &Path) -> BTreeSet<String> {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_master
        UNION ALL
        SELECT 'column ' || m.name || ' ' || concat_ws(' ', c.cid, c.name, c.type, c.\"notnull\", c.dflt_value, c.pk)
        FROM sqlite_master m, pragma_table_xinfo(m.name) c
        UNION ALL
        SELECT 'key ' || m.name || ' ' || concat_ws(' ', k.\"from\", k.\"table\", k.\"to\", k.on_delete)
        FROM sqlite_master m, pragma_foreign_key_list(m.name) k";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

// O5
#[tokio::test]
async fn sqlite_fresh_and_upgraded_are_structurally_equal() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = folder.path().join("fresh.db");
    open_sqlite(&fresh).await.unwrap().close().await;
    let expected = sqlite_structure(&fresh);
    assert!(expected.iter().any(|line| line.starts_with("trigger workspaces_removed_is_terminal")));
    for versions in 1..=migrations::SQLITE.len() {
        let path = folder.path().join(format!("from-{versions}.db"));
        let old = sqlite_at(&path, versions);
        if versions == 1 {
            old.execute_batch(OLD_ROWS).unwrap();
        }
        if versions < migrations::SQLITE.len() {
            assert_ne!(sqlite_structure(&path), expected, "the old one differs, or this shows nothing");
        }
        drop(old);
        let store = open_sqlite(&path).await.unwrap();
        if versions == 1 {
            check_old_rows(&*store).await;
        }
        store.close().await;
        assert_eq!(sqlite_structure(&path), expected, "upgraded from {versions}");
    }
}

// O5
#[tokio::test]
async fn sqlite_newer_is_refused_and_not_a_byte_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    let newer = sqlite_at(&path, migrations::SQLITE.len());
    newer.execute_batch("INSERT INTO schema_migrations VALUES (99, '0099_future', 'x', 1)").unwrap();
    drop(newer);
    let before = std::fs::read(&path).unwrap();
    let known = migrations::SQLITE.len() as u32;
    assert_eq!(open_sqlite(&path).await.unwrap_err(), Error::Newer { found: 99, known });
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

// O5
#[tokio::test]
async fn sqlite_edited_migration_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    let edited = sqlite_at(&path, 2);
    edited.execute_batch("UPDATE schema_migrations SET checksum = 'edited' WHERE version = 2").unwrap();
    drop(edited);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(open_sqlite(&path).await.unwrap_err(), Error::ChecksumMismatch { version: 2 });
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

// O5
#[tokio::test]
async fn sqlite_failing_migration_leaves_the_schema_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    let blocked = sqlite_at(&path, 1);
    // The second migration makes this table and an index on it; here it is in the way of the index.
    blocked.execute_batch("CREATE TABLE tokens_by_org (x)").unwrap();
    drop(blocked);
    let before = sqlite_structure(&path);
    assert!(open_sqlite(&path).await.is_err());
    assert_eq!(sqlite_structure(&path), before, "not half of it");
}

// O5: two processes start at once.
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_migrates_once_for_two_that_start_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    let (one, other) = tokio::join!(open_sqlite(&path), open_sqlite(&path));
    for store in [one.unwrap(), other.unwrap()] {
        assert_eq!(store.health().await.unwrap().schema_version as usize, migrations::SQLITE.len());
    }
}

/// The words in quotes of a constraint's text.
fn quoted_words(text: &str) -> BTreeSet<String> {
    text.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

fn status_words() -> BTreeSet<String> {
    Status::ALL.iter().map(|status| status.as_str().to_owned()).collect()
}

// F1
#[tokio::test]
async fn sqlite_status_constraint_is_the_enum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    open_sqlite(&path).await.unwrap().close().await;
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT sql FROM sqlite_master WHERE name = 'workspaces'";
    let table: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    let (_, constraint) = table.split_once("CONSTRAINT workspaces_status CHECK").unwrap();
    assert_eq!(quoted_words(constraint.split_once("))").unwrap().0), status_words());
    connection.execute_batch(NEW_ROW).unwrap();
    let unknown = connection.execute_batch("UPDATE workspaces SET status = 'sleeping' WHERE name = 'living'");
    assert!(unknown.unwrap_err().to_string().contains("workspaces_status"));
}

fn postgres_options() -> PostgresOptions {
    PostgresOptions { max_connections: 2, ..PostgresOptions::default() }
}

async fn run(connection: &mut PgConnection, sql: &str) {
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
}

async fn postgres_at(database: &Database, versions: usize) -> PgConnection {
    let mut connection = database.connect().await;
    run(&mut connection, migrations::RECORD).await;
    for migration in &migrations::POSTGRES[..versions] {
        sqlx::raw_sql(migration.sql).execute(&mut connection).await.unwrap();
        run(&mut connection, &record(migration)).await;
    }
    connection
}

async fn open_postgres(database: &Database) -> Result<Arc<dyn Store>, Error> {
    let store = PostgresStore::connect(&database.url(), postgres_options()).await?;
    Ok(Arc::new(store))
}

async fn postgres_structure(database: &Database) -> BTreeSet<String> {
    let sql = "SELECT concat_ws(' ', 'column', table_name, ordinal_position, column_name, data_type, is_nullable,
            column_default) FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(' ', 'table', relname, reloptions) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'";
    let rows = database.connect().await.fetch_all(sql).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

// O5
#[tokio::test(flavor = "multi_thread")]
async fn postgres_fresh_and_upgraded_are_structurally_equal() {
    let fresh = Database::create().await;
    open_postgres(&fresh).await.unwrap().close().await;
    let expected = postgres_structure(&fresh).await;
    assert!(expected.iter().any(|line| line.starts_with("trigger ")));
    for versions in 1..=migrations::POSTGRES.len() {
        let database = Database::create().await;
        let mut old = postgres_at(&database, versions).await;
        if versions == 1 {
            sqlx::raw_sql(OLD_ROWS).execute(&mut old).await.unwrap();
        }
        if versions < migrations::POSTGRES.len() {
            assert_ne!(
                postgres_structure(&database).await,
                expected,
                "the old one differs, or this shows nothing"
            );
        }
        let store = open_postgres(&database).await.unwrap();
        if versions == 1 {
            check_old_rows(&*store).await;
        }
        store.close().await;
        assert_eq!(postgres_structure(&database).await, expected, "upgraded from {versions}");
    }
}

// O5
#[tokio::test(flavor = "multi_thread")]
async fn postgres_newer_is_refused_and_nothing_is_changed() {
    let database = Database::create().await;
    let mut newer = postgres_at(&database, 1).await;
    run(&mut newer, "INSERT INTO schema_migrations VALUES (99, '0099_future', 'x', 1)").await;
    let before = postgres_structure(&database).await;
    let known = migrations::POSTGRES.len() as u32;
    assert_eq!(open_postgres(&database).await.unwrap_err(), Error::Newer { found: 99, known });
    assert_eq!(postgres_structure(&database).await, before);
}

// O5
#[tokio::test(flavor = "multi_thread")]
async fn postgres_edited_migration_is_found_out() {
    let database = Database::create().await;
    let mut edited = postgres_at(&database, 2).await;
    run(&mut edited, "UPDATE schema_migrations SET checksum = 'edited' WHERE version = 2").await;
    let before = postgres_structure(&database).await;
    assert_eq!(open_postgres(&database).await.unwrap_err(), Error::ChecksumMismatch { version: 2 });
    assert_eq!(postgres_structure(&database).await, before);
}

// O5
#[tokio::test(flavor = "multi_thread")]
async fn postgres_migrates_once_for_replicas_that_start_together() {
    let database = Database::create().await;
    let mut replicas = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = database.url();
        replicas.spawn(async move { PostgresStore::connect(&url, postgres_options()).await });
    }
    while let Some(store) = replicas.join_next().await {
        let health = store.unwrap().unwrap().health().await.unwrap();
        assert_eq!(health.schema_version as usize, migrations::POSTGRES.len());
    }
}

// O5
#[tokio::test(flavor = "multi_thread")]
async fn postgres_migration_lock_is_waited_for_with_an_end() {
    let database = Database::create().await;
    let mut holder = database.connect().await;
    run(&mut holder, &format!("SELECT pg_advisory_lock({})", 0x7761_7272_656e_i64)).await;
    let impatient = PostgresOptions { lock_timeout_ms: 50, ..postgres_options() };
    let result = PostgresStore::connect(&database.url(), impatient).await;
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    run(&mut holder, "SELECT pg_advisory_unlock_all()").await;
    open_postgres(&database).await.unwrap();
}

// F1
#[tokio::test(flavor = "multi_thread")]
async fn postgres_status_constraint_is_the_enum() {
    let database = Database::create().await;
    open_postgres(&database).await.unwrap().close().await;
    let mut connection = database.connect().await;
    let sql = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'workspaces_status'";
    let row = connection.fetch_one(sql).await.unwrap();
    assert_eq!(quoted_words(row.get(0)), status_words());
    sqlx::raw_sql(NEW_ROW).execute(&mut connection).await.unwrap();
    let unknown = connection.execute("UPDATE workspaces SET status = 'sleeping' WHERE name = 'living'").await;
    assert!(unknown.unwrap_err().to_string().contains("workspaces_status"));
}
