//! Postgres: the contract, and what is true of a server shared by replicas.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use sqlx::Executor as _;
use warren_model::{Workspace, WorkspaceId};
use warren_store::{Error, WriteTx};
use warren_store_sql::postgres::{PostgresOptions, PostgresStore};

use crate::postgres_server::{Database, Server};
use crate::rows;

/// Longer than anything here takes; a wait past it is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> PostgresOptions {
    PostgresOptions { max_connections: 8, ..PostgresOptions::default() }
}

/// F1, F2, F22, F30, F40, Q4
mod contract {
    use super::{Database, options};

    async fn fresh() -> Database {
        let mut database = Database::create().await;
        database.open(options()).await;
        database
    }

    warren_store::contract_tests!(fresh);
}

/// Rows at the version they have, so that a second run of the work finds what the first rival left.
fn raise(tx: &mut dyn WriteTx, id: WorkspaceId) -> Result<(), Error> {
    let mut row: Workspace = tx.workspace(id)?.expect("the row is there");
    row.generation += 1;
    tx.update_workspace(&row, row.version).map(drop)
}

// Q22
#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_resolved_by_running_the_work_again() {
    let mut database = Database::create().await;
    let store = database.open(options()).await;
    let (first, second) = (rows::workspace(), rows::workspace());
    rows::insert(&store, &first).await;
    rows::insert(&store, &second).await;
    let meeting = Arc::new(Barrier::new(2));
    let runs = Arc::new(AtomicUsize::new(0));
    let in_order = |order: [WorkspaceId; 2]| {
        let (store, meeting, runs) = (Arc::clone(&store), Arc::clone(&meeting), Arc::clone(&runs));
        let mut is_first_run = true;
        tokio::spawn(async move {
            let result: Result<(), Error> = store
                .write(move |tx| {
                    runs.fetch_add(1, Ordering::SeqCst);
                    raise(tx, order[0])?;
                    if std::mem::take(&mut is_first_run) {
                        meeting.wait();
                    }
                    raise(tx, order[1])?;
                    tx.append_event(&rows::event(""))
                })
                .await;
            result
        })
    };
    let one = in_order([first.id, second.id]);
    let other = in_order([second.id, first.id]);
    assert_eq!((one.await.unwrap(), other.await.unwrap()), (Ok(()), Ok(())));
    assert_eq!(runs.load(Ordering::SeqCst), 3, "one of the two ran twice");
    for id in [first.id, second.id] {
        let row = store.read(move |tx| tx.workspace(id)).await;
        let generation = row.map(|row: Option<Workspace>| row.unwrap().generation);
        assert_eq!(generation, Ok::<_, Error>(3), "both changes, each once");
    }
    let newest: Result<u64, Error> = store.read(|tx| tx.newest_event_seq()).await;
    assert_eq!(newest, Ok(2));
}

// F41: two replicas; the one that did not write hears of it. The poll is too slow to be what it heard by.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_wakes_the_readers_of_other_replicas() {
    let mut database = Database::create().await;
    let no_poll = PostgresOptions { poll_interval_ms: 3_600_000, ..options() };
    let writer = database.open(no_poll.clone()).await;
    let reader = database.open(no_poll).await;
    wait_for_listeners(&database, 2).await;
    let mut signal = reader.newest_event();
    for seq in 1..=3 {
        rows::append(&writer, seq.to_string()).await;
        let heard = tokio::time::timeout(PATIENCE, signal.wait_for(|newest| *newest >= seq)).await;
        assert!(heard.is_ok(), "event {seq} was not heard of");
    }
}

async fn wait_for_listeners(database: &Database, count: i64) {
    let mut connection = database.connect().await;
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND query LIKE 'LISTEN%'";
    let wait = async {
        loop {
            let row = connection.fetch_one(sql).await.unwrap();
            if sqlx::Row::get::<i64, _>(&row, 0) >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the replicas listen");
}

// Q22
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_unavailable_and_comes_back_by_itself() {
    let server = Server::start();
    let mut database = Database::create_on(&server.url).await;
    let store =
        database.open(PostgresOptions { acquire_timeout_ms: 300, poll_interval_ms: 50, ..options() }).await;
    rows::append(&store, "before").await;

    server.halt();
    for _ in 0..5 {
        let write: Result<(), Error> = store.write(|tx| tx.append_event(&rows::event("lost"))).await;
        assert!(matches!(write, Err(Error::Unavailable(_))), "{write:?}");
        let read: Result<u64, Error> = store.read(|tx| tx.newest_event_seq()).await;
        assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
        assert!(store.health().await.is_err());
    }

    server.resume();
    let mut signal = store.newest_event();
    // The first callers may still meet a dead connection; within a few it is found out.
    let recovered = async {
        loop {
            let write: Result<(), Error> = store.write(|tx| tx.append_event(&rows::event("after"))).await;
            match write {
                Ok(()) => return,
                Err(Error::Unavailable(_)) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, recovered).await.expect("it comes back");
    let events = store
        .read(|tx| {
            tx.events(&warren_store::EventQuery { after: 0, org_id: None, workspace_id: None, limit: 10 })
        })
        .await;
    let data: Vec<_> = events
        .map_err(|error: Error| error)
        .unwrap()
        .rows
        .iter()
        .map(|event| event.read().unwrap())
        .collect();
    assert_eq!(data, [rows::event("before").data, rows::event("after").data]);

    // The listener is back too: it hears of what another connection wrote.
    let mut other = database.connect().await;
    other.execute("UPDATE event_sequence SET newest = 99").await.unwrap();
    let heard = tokio::time::timeout(PATIENCE, signal.wait_for(|newest| *newest == 99)).await;
    assert!(heard.is_ok(), "wake-ups did not come back");
    store.close().await;
}

// Rule 7: no wait without an end.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_does_not_come_is_told_in_time() {
    let mut database = Database::create().await;
    let store = database.open(PostgresOptions { lock_timeout_ms: 50, ..options() }).await;
    let mut holder = database.connect().await;
    holder.execute("BEGIN; UPDATE event_sequence SET newest = newest").await.unwrap();
    let result: Result<(), Error> = store.write(|tx| tx.append_event(&rows::event(""))).await;
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    holder.execute("ROLLBACK").await.unwrap();
    rows::append(&store, "").await;
}

// Rule 5
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_reached_is_a_sentence_without_the_password() {
    let impatient = || PostgresOptions { acquire_timeout_ms: 300, ..options() };
    let url = "postgres://warren:hunter2@127.0.0.1:1/warren";
    let nobody = PostgresStore::connect(url, impatient()).await.unwrap_err();
    assert!(matches!(nobody, Error::Unavailable(_)), "{nobody:?}");
    assert!(!nobody.to_string().contains("hunter2"), "{nobody}");
    let bad = PostgresStore::connect("postgres://warren:hunter2@host:port/x", impatient()).await.unwrap_err();
    assert!(matches!(bad, Error::Refused(_)), "{bad:?}");
    assert!(!bad.to_string().contains("hunter2"), "{bad}");
    let database = Database::create().await;
    let missing = format!("{}_not", database.url());
    let missing = PostgresStore::connect(&missing, impatient()).await.unwrap_err();
    assert!(matches!(missing, Error::Unavailable(_)), "{missing:?}");
}

// Q20
#[tokio::test(flavor = "multi_thread")]
async fn commits_are_durable_even_where_the_server_is_set_otherwise() {
    let mut database = Database::create().await;
    let mut operator = database.connect().await;
    let lazy = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$";
    operator.execute(lazy).await.unwrap();
    let store = database.open(options()).await;
    let health = store.health().await.unwrap();
    assert_eq!(health.durability, "synchronous_commit=on, fsync=on");
}

// F30: sec/U02
#[tokio::test(flavor = "multi_thread")]
async fn a_token_secret_is_in_no_row() {
    let mut database = Database::create().await;
    let store = database.open(options()).await;
    let secret = warren_model::TokenSecret::new(warren_model::TokenKind::Admin, [9; 32]);
    let token = rows::token(&secret);
    let inserted: Result<(), Error> = store.write(move |tx| tx.insert_token(&token)).await;
    assert_eq!(inserted, Ok(()));
    let row = database.connect().await.fetch_one("SELECT tokens::text FROM tokens").await.unwrap();
    let text: String = sqlx::Row::get(&row, 0);
    assert!(text.contains(&secret.display_prefix()), "{text}");
    assert!(!text.contains(&secret.reveal()[secret.display_prefix().len()..]), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_opens_the_right_engine() {
    let database = Database::create().await;
    let store = warren_store_sql::open(&database.url()).await.unwrap();
    assert_eq!(store.health().await.unwrap().engine, "postgres");
    store.close().await;
}
