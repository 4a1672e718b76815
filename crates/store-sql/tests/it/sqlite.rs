//! SQLite: the contract, and what is true of a file.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use tempfile::TempDir;
use warren_model::{TokenKind, TokenSecret};
use warren_store::{Error, EventQuery, Store};
use warren_store_sql::sqlite::{self, SqliteOptions, SqliteStore};

use crate::rows;

pub(crate) struct Database {
    folder: TempDir,
    store: Arc<dyn Store>,
}

impl Database {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("warren.db")
    }
}

async fn open_with(options: SqliteOptions) -> Database {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = SqliteStore::open(folder.path().join("warren.db"), options).await.unwrap();
    Database { store: Arc::new(store), folder }
}

async fn fresh() -> Database {
    open_with(SqliteOptions::default()).await
}

/// F1, F2, F22, F30, F40, Q4
mod contract {
    use super::fresh;

    warren_store::contract_tests!(fresh);
}

/// The suite must also hold without grouping: groups are an optimization.
mod contract_one_commit_each {
    use super::{Database, SqliteOptions, open_with};

    async fn ungrouped() -> Database {
        open_with(SqliteOptions { max_group: 1, ..SqliteOptions::default() }).await
    }

    warren_store::contract_tests!(ungrouped);
}

fn files_of(database: &Database) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(database.folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

// F30: sec/U02
#[tokio::test]
async fn a_token_secret_is_in_no_file_of_the_database() {
    let database = fresh().await;
    let secret = TokenSecret::new(TokenKind::Admin, *b"planted-secret-0123456789abcdefg");
    let token = rows::token(&secret);
    let inserted: Result<(), Error> = database.store.write(move |tx| tx.insert_token(&token)).await;
    assert_eq!(inserted, Ok(()));
    let body = &secret.reveal()[secret.display_prefix().len()..];
    let found = |needle: &[u8]| {
        files_of(&database).iter().any(|file| {
            let bytes = std::fs::read(file).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
    };
    // The control: what is stored can be found this way.
    assert!(found(&secret.hash().0), "the hash is in the file");
    assert!(found(secret.display_prefix().as_bytes()), "the prefix is in the file");
    assert!(!found(body.as_bytes()), "the secret is in the file");
    assert!(!found(b"planted-secret"), "the secret's bytes are in the file");
}

#[tokio::test]
async fn the_files_belong_to_their_owner_alone() {
    let database = fresh().await;
    rows::append(&database.store, "").await;
    let names: BTreeSet<_> = files_of(&database)
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(names.contains("warren.db") && names.contains("warren.db-wal"), "{names:?}");
    for file in files_of(&database) {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_file_that_others_could_read_is_made_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let store = SqliteStore::open(&path, SqliteOptions::default()).await.unwrap();
    store.close().await;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

async fn open_error(path: &Path) -> Error {
    SqliteStore::open(path, SqliteOptions::default()).await.unwrap_err()
}

// Rule 5
#[tokio::test]
async fn a_place_that_cannot_be_used_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let missing = open_error(&folder.path().join("no/such/warren.db")).await;
    assert!(matches!(&missing, Error::Unavailable(why) if why.contains("does not exist")), "{missing:?}");
    let a_folder = open_error(folder.path()).await;
    assert!(matches!(&a_folder, Error::Unavailable(why) if why.contains("is a folder")), "{a_folder:?}");
    let other = folder.path().join("letter.txt");
    std::fs::write(&other, "Dear database, ".repeat(1_000)).unwrap();
    let not_ours = open_error(&other).await;
    assert!(matches!(not_ours, Error::Corrupt(_)), "{not_ours:?}");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "Dear database, ".repeat(1_000));
}

// O5
#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("diary.db");
    let theirs = rusqlite::Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE days (what)").unwrap();
    drop(theirs);
    let before = std::fs::read(&path).unwrap();
    let refused = open_error(&path).await;
    assert!(matches!(&refused, Error::Corrupt(why) if why.contains("did not make")), "{refused:?}");
    assert_eq!(sqlite::inspect(&path).await.unwrap_err(), refused);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

// O5
#[tokio::test]
async fn a_database_with_nothing_in_it_has_schema_0() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warren.db");
    let empty = rusqlite::Connection::open(&path).unwrap();
    empty.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    drop(empty);
    assert_eq!(sqlite::inspect(&path).await.unwrap().schema_version, 0);
    SqliteStore::open(&path, SqliteOptions::default()).await.unwrap().close().await;
    let known = warren_store_sql::migrations::SQLITE.len();
    assert_eq!(sqlite::inspect(&path).await.unwrap().schema_version as usize, known);
}

// Q20
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_for_whoever_opens_the_files_next() {
    let database = fresh().await;
    let workspace = rows::workspace();
    rows::insert(&database.store, &workspace).await;
    // A copy of the files as they lie on disk, with the store still open: what a crash would leave.
    let after_crash = tempfile::tempdir().unwrap();
    for file in files_of(&database) {
        if !file.to_string_lossy().ends_with("-shm") {
            std::fs::copy(&file, after_crash.path().join(file.file_name().unwrap())).unwrap();
        }
    }
    let path = after_crash.path().join("warren.db");
    let reopened: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&path, SqliteOptions::default()).await.unwrap());
    let found = reopened.read(move |tx| tx.workspace(workspace.id)).await;
    assert_eq!(found, Ok::<_, Error>(Some(workspace)));
}

// Q22, I11
#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_keeps_what_it_has_and_still_answers() {
    let database =
        open_with(SqliteOptions { max_bytes: Some(1_024 * 1_024), ..SqliteOptions::default() }).await;
    let mut kept = 0;
    let full = loop {
        let result: Result<(), Error> =
            database.store.write(|tx| tx.append_event(&rows::event("x".repeat(20_000)))).await;
        match result {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "the limit was passed");
    };
    assert_eq!(full, Error::Full);
    assert!(kept > 0);
    let newest: Result<u64, Error> = database.store.read(|tx| tx.newest_event_seq()).await;
    assert_eq!(newest, Ok(kept), "reads still work, and nothing half-written is seen");
    // Callers that share a commit with one that does not fit are told, and lose nothing they were promised.
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..40 {
        let store = database.store();
        callers.spawn(async move {
            let size = if caller % 2 == 0 { 20_000 } else { 1 };
            let result: Result<(), Error> =
                store.write(move |tx| tx.append_event(&rows::event("x".repeat(size)))).await;
            result
        });
    }
    while let Some(result) = callers.join_next().await {
        match result.unwrap() {
            Ok(()) => kept += 1,
            Err(error) => assert_eq!(error, Error::Full),
        }
    }
    let newest: Result<u64, Error> = database.store.read(|tx| tx.newest_event_seq()).await;
    assert_eq!(newest, Ok(kept));
    database.store.close().await;
    let raw = rusqlite::Connection::open(database.path()).unwrap();
    let verdict: String = raw.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

// D10: another process that holds the file is waited for, and then told of.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_held_by_another_process_is_unavailable_and_then_works_again() {
    let database = open_with(SqliteOptions { busy_timeout_ms: 50, ..SqliteOptions::default() }).await;
    let holder = rusqlite::Connection::open(database.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let result: Result<(), Error> = database.store.write(|tx| tx.append_event(&rows::event(""))).await;
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    rows::append(&database.store, "").await;
}

// P9
#[tokio::test(flavor = "multi_thread")]
async fn a_short_read_stays_on_its_thread_sees_what_is_committed_and_waits_its_turn_where_all_are_busy() {
    let database = open_with(SqliteOptions { max_readers: 1, ..SqliteOptions::default() }).await;
    rows::append(&database.store, "").await;
    let look = || async {
        let seen: Result<_, Error> =
            database.store.read_few(|tx| Ok((tx.newest_event_seq()?, std::thread::current().id()))).await;
        seen.unwrap()
    };
    // The first opens a connection, which is done elsewhere.
    assert_eq!(look().await.0, 1);
    let (seen, thread) = look().await;
    assert_eq!((seen, thread), (1, std::thread::current().id()), "no other thread is asked");
    rows::append(&database.store, "").await;
    assert_eq!(look().await.0, 2);

    let (begun, is_running) = std::sync::mpsc::channel();
    let (let_go, may_end) = std::sync::mpsc::channel::<()>();
    let store = database.store();
    let busy = tokio::spawn(async move {
        let may_end = std::sync::Mutex::new(may_end);
        let held: Result<(), Error> = store
            .read(move |_| {
                begun.send(()).unwrap();
                may_end.lock().unwrap().recv().unwrap();
                Ok(())
            })
            .await;
        held
    });
    tokio::task::spawn_blocking(move || is_running.recv().unwrap()).await.unwrap();
    let mut waiting = std::pin::pin!(look());
    let is_waiting =
        std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending())).await;
    assert!(is_waiting, "the one connection is in use");
    let_go.send(()).unwrap();
    assert_eq!(waiting.await.0, 2);
    busy.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_closed_database_leaves_one_file() {
    let database = fresh().await;
    rows::append(&database.store, "").await;
    database.store.close().await;
    assert_eq!(files_of(&database), [database.path()]);
}

#[tokio::test]
async fn an_address_opens_the_right_engine() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("warren.db").display());
    let store = warren_store_sql::open(&address).await.unwrap();
    assert_eq!(store.health().await.unwrap().engine, "sqlite");
    let refused = warren_store_sql::open("mysql://localhost/warren").await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
}

// F40, X52
#[tokio::test]
async fn what_a_newer_warren_wrote_holds_up_no_other_row_of_its_batch() {
    let database = fresh().await;
    for n in 0..5 {
        rows::append(&database.store, n.to_string()).await;
    }
    let mut hooks = Vec::new();
    for _ in 0..2 {
        let hook = rows::webhook();
        hooks.push(hook.id);
        let written: Result<(), Error> = database.store.write(move |tx| tx.insert_webhook(&hook)).await;
        assert_eq!(written, Ok(()));
    }
    let file = rusqlite::Connection::open(database.path()).unwrap();
    file.execute("UPDATE events SET kind = 'moon.phase.changed' WHERE seq IN (1, 2, 4)", []).unwrap();
    let kinds = "UPDATE webhooks SET kinds = '[\"moon.phase.changed\"]' WHERE id = ?1";
    assert_eq!(file.execute(kinds, [hooks[0].to_string()]).unwrap(), 1);

    let page = |after, limit| {
        let query = EventQuery { after, org_id: None, workspace_id: None, limit };
        database.store.read::<_, Error, _>(move |tx| tx.events(&query))
    };
    let first = page(0, 2).await.unwrap();
    assert_eq!((first.rows.len(), first.unreadable.len(), first.next), (0, 2, Some(2)), "it goes on behind");
    let last = page(2, 3).await.unwrap();
    assert_eq!(last.rows.iter().map(|event| event.seq).collect::<Vec<_>>(), [3, 5]);
    assert_eq!((last.unreadable[0].id.as_str(), last.next), ("4", None));
    let active = database.store.read::<_, Error, _>(|tx| tx.active_webhooks()).await.unwrap();
    assert_eq!(active.rows.iter().map(|hook| hook.id).collect::<Vec<_>>(), [hooks[1]]);
    let told = &active.unreadable[0];
    assert_eq!((told.table, told.id.as_str()), ("webhooks", hooks[0].to_string().as_str()));
    assert!(told.problem.contains("an unknown kind of event"), "{}", told.problem);
}
