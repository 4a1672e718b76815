//! Callers that hang up: their futures are dropped at any point, under load, on both engines.
//!
//! A request handler is dropped when its client disconnects. Whatever database work it awaited then either happened
//! completely or not at all, no connection is left inside a transaction, and nobody else notices.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use sqlx::Executor as _;
use sqlx::postgres::PgConnection;
use tokio::task::JoinSet;
use warren_model::{Workspace, WorkspaceId};
use warren_store::{Error, EventQuery, Store, WriteTx};
use warren_store_sql::postgres::PostgresOptions;
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::postgres_server::Database;
use crate::rows;

/// Longer than anything here takes; a wait past it is a failure.
const PATIENCE: Duration = Duration::from_secs(60);
const MONTH: &str = "2026-11";

/// How many callers there are, and how often each of them calls.
const IMPATIENT: u64 = 24;
const PATIENT: u64 = 4;
const CALLS: u64 = 150;

/// One piece of work: two rows, an event and a sum that everybody adds to. All of them are written, or none.
fn write_pair(tx: &mut dyn WriteTx, all: WorkspaceId, pair: &[Workspace; 2], call: u64) -> Result<(), Error> {
    tx.insert_workspace(&pair[0])?;
    tx.add_spending(all, MONTH, 1)?;
    tx.insert_workspace(&pair[1])?;
    tx.append_event(&rows::event(call.to_string()))
}

fn new_pair() -> [Workspace; 2] {
    let first = rows::workspace();
    let second = Workspace { parent_id: Some(first.id), ..rows::workspace() };
    [first, second]
}

/// A small generator, so that the points at which callers hang up differ and are the same in each run.
struct Points(u64);

impl Points {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Polls `work` for a while and then drops it: after some polls, or after some time. Returns what it had by then.
async fn hang_up<T>(work: impl Future<Output = T>, points: &mut Points) -> Option<T> {
    if points.next(2) == 0 {
        let wait = Duration::from_micros(points.next(4_000));
        return tokio::time::timeout(wait, work).await.ok();
    }
    let mut work = pin!(work);
    for _ in 0..=points.next(4) {
        let polled = std::future::poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => Poll::Ready(None),
        });
        if let Some(done) = polled.await {
            return Some(done);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[derive(Default)]
struct Counts {
    dropped: AtomicU64,
    /// Writes that were answered with `Ok`.
    written: AtomicU64,
}

/// Calls in every way that there is and hangs up on each.
async fn call_impatiently(store: Arc<dyn Store>, all: WorkspaceId, caller: u64, counts: Arc<Counts>) {
    let mut points = Points(caller);
    for call in 0..CALLS {
        let is_answered = match points.next(8) {
            0..=3 => {
                let pair = new_pair();
                let write = store.write(move |tx| write_pair(tx, all, &pair, caller * CALLS + call));
                let answer: Option<Result<(), Error>> = hang_up(write, &mut points).await;
                if let Some(answer) = &answer {
                    assert_eq!(*answer, Ok(()));
                    counts.written.fetch_add(1, Ordering::SeqCst);
                }
                answer.is_some()
            }
            4 | 5 => {
                let read = store.read(move |tx| Ok((tx.spent(all, MONTH)?, tx.newest_event_seq()?)));
                let answer: Option<Result<_, Error>> = hang_up(read, &mut points).await;
                if let Some(Ok((spent, newest))) = answer {
                    assert_eq!(spent, newest, "one snapshot");
                }
                answer.map(Result::unwrap).is_some()
            }
            6 => {
                let read_few = store.read_few(move |tx| tx.workspace(all));
                let answer: Option<Result<Option<Workspace>, Error>> = hang_up(read_few, &mut points).await;
                answer.map(|row| assert!(row.unwrap().is_some())).is_some()
            }
            _ => hang_up(store.health(), &mut points).await.map(Result::unwrap).is_some(),
        };
        if !is_answered {
            counts.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Waits for each answer. It must not notice that others hang up.
async fn call_patiently(store: Arc<dyn Store>, all: WorkspaceId, caller: u64, counts: Arc<Counts>) {
    for call in 0..CALLS {
        let pair = new_pair();
        let ids = [pair[0].id, pair[1].id];
        let written: Result<(), Error> =
            store.write(move |tx| write_pair(tx, all, &pair, caller * CALLS + call)).await;
        assert_eq!(written, Ok(()), "a caller that waits");
        counts.written.fetch_add(1, Ordering::SeqCst);
        let seen =
            store.read(move |tx| Ok((tx.workspace(ids[0])?.is_some(), tx.workspace(ids[1])?.is_some())));
        assert_eq!(seen.await, Ok::<_, Error>((true, true)));
    }
}

/// Hangs up thousands of times. Returns the row that all work added to.
async fn hang_up_under_load(store: &Arc<dyn Store>) -> (WorkspaceId, Arc<Counts>) {
    let all = rows::workspace();
    rows::insert(store, &all).await;
    let all = all.id;
    let counts = Arc::new(Counts::default());
    let mut callers = JoinSet::new();
    for caller in 0..IMPATIENT {
        callers.spawn(call_impatiently(Arc::clone(store), all, caller, Arc::clone(&counts)));
    }
    for caller in IMPATIENT..IMPATIENT + PATIENT {
        callers.spawn(call_patiently(Arc::clone(store), all, caller, Arc::clone(&counts)));
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
    (all, counts)
}

/// Everything that was begun is there completely, once; everything else is not there at all.
async fn nothing_is_half_done(store: &Arc<dyn Store>, all: WorkspaceId, counts: &Counts) {
    let (dropped, written) = (counts.dropped.load(Ordering::SeqCst), counts.written.load(Ordering::SeqCst));
    assert!(dropped >= 1_000, "only {dropped} calls were dropped before their answer");
    let (spent, newest, living) = store
        .read(move |tx| {
            let living = tx.living_workspace_ids(None, 100_000)?;
            Ok::<_, Error>((tx.spent(all, MONTH)?, tx.newest_event_seq()?, living.len() as u64))
        })
        .await
        .unwrap();
    assert!(spent >= written, "{written} writes were answered and {spent} are there");
    assert_eq!(newest, spent, "each write has its event");
    assert_eq!(living, 1 + 2 * spent, "each write has its two rows");
    let query = EventQuery { after: 0, org_id: None, workspace_id: None, limit: 100_000 };
    let events = store.read(move |tx| tx.events(&query)).await.map_err(|error: Error| error).unwrap().rows;
    let calls: BTreeSet<u64> = events.iter().filter_map(|event| rows::text_of(event).parse().ok()).collect();
    assert_eq!(calls.len() as u64, spent, "each write happened once");
    assert!(events.iter().map(|event| event.seq).eq(1..=spent), "the log has no gaps");
}

/// Work that was begun goes on for a moment after its caller is gone. A connection that was forgotten inside a
/// transaction stays there for half a minute.
async fn wait_until_no_transaction_is_open(observer: &mut PgConnection) {
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND pid <> pg_backend_pid() AND (xact_start IS NOT NULL OR state <> 'idle')";
    let started = Instant::now();
    loop {
        let row = observer.fetch_one(busy).await.unwrap();
        let open: i64 = sqlx::Row::get(&row, 0);
        if open == 0 {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{open} connections are inside a transaction");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// Q22
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_hang_up_leave_no_transaction_open_in_postgres() {
    let mut database = Database::create().await;
    let store = database.open(PostgresOptions { max_connections: 6, ..PostgresOptions::default() }).await;
    let (all, counts) = hang_up_under_load(&store).await;

    let mut observer = database.connect().await;
    wait_until_no_transaction_is_open(&mut observer).await;

    // In small rounds too, each looked at by itself: under load the next caller would make up for what was left.
    for round in 0..60 {
        let mut calls = JoinSet::new();
        for call in 0..6 {
            let store = Arc::clone(&store);
            calls.spawn(async move {
                let wait = Duration::from_micros(Points(round * 6 + call).next(1_500));
                let read = store.read(move |tx| tx.workspace(all));
                let answer: Option<Result<Option<Workspace>, Error>> =
                    tokio::time::timeout(wait, read).await.ok();
                answer.map(|row| assert!(row.unwrap().is_some()))
            });
        }
        calls.join_all().await;
        wait_until_no_transaction_is_open(&mut observer).await;
    }
    nothing_is_half_done(&store, all, &counts).await;
    store.close().await;
}

// Q22
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_hang_up_leave_no_transaction_open_in_sqlite() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("warren.db");
    let options = SqliteOptions { max_queued_writes: 8, max_readers: 2, ..SqliteOptions::default() };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, options.clone()).await.unwrap());
    let (all, counts) = hang_up_under_load(&store).await;
    nothing_is_half_done(&store, all, &counts).await;
    // No reader holds a snapshot and no writer the file: another connection can write, and move the log away.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE; COMMIT").unwrap();
    let unmoved: i64 = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(unmoved, 0, "somebody still reads an old snapshot");
    drop(other);
    store.close().await;

    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, options).await.unwrap());
    nothing_is_half_done(&store, all, &counts).await;
}

/// Closes the store while a write is under way whose caller has hung up. The write ends first.
async fn close_waits_for_work_without_a_caller(store: &Arc<dyn Store>) {
    let (begun, is_running) = std::sync::mpsc::channel();
    let (let_go, may_end) = std::sync::mpsc::channel::<()>();
    let may_end = std::sync::Mutex::new(may_end);
    let write = store.write(move |tx| {
        tx.append_event(&rows::event("kept"))?;
        begun.send(()).unwrap();
        may_end.lock().unwrap().recv().unwrap();
        Ok::<_, Error>(())
    });
    let mut write = Box::pin(write);
    let is_running = tokio::task::spawn_blocking(move || is_running.recv().unwrap());
    tokio::select! {
        _ = &mut write => panic!("it waits to be let go"),
        begun = is_running => begun.unwrap(),
    }
    drop(write);
    let mut close = pin!(store.close());
    let is_closing = tokio::time::timeout(Duration::from_millis(100), close.as_mut()).await.is_err();
    assert!(is_closing, "the store was closed over work that it had begun");
    let_go.send(()).unwrap();
    tokio::time::timeout(PATIENCE, close).await.expect("it closes when the work is done");
    let refused: Result<u64, Error> = store.read(|tx| tx.newest_event_seq()).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
}

async fn event_data(store: &Arc<dyn Store>) -> Vec<String> {
    let query = EventQuery { after: 0, org_id: None, workspace_id: None, limit: 10 };
    let events = store.read(move |tx| tx.events(&query)).await.map_err(|error: Error| error).unwrap();
    events.rows.iter().map(rows::text_of).collect()
}

// Q20
#[tokio::test(flavor = "multi_thread")]
async fn closing_postgres_waits_for_work_whose_caller_hung_up() {
    let mut database = Database::create().await;
    let store = database.open(PostgresOptions::default()).await;
    close_waits_for_work_without_a_caller(&store).await;
    let reopened = database.open(PostgresOptions::default()).await;
    assert_eq!(event_data(&reopened).await, ["kept"]);
}

// Q20
#[tokio::test(flavor = "multi_thread")]
async fn closing_sqlite_waits_for_work_whose_caller_hung_up() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("warren.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, SqliteOptions::default()).await.unwrap());
    close_waits_for_work_without_a_caller(&store).await;
    let reopened: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&path, SqliteOptions::default()).await.unwrap());
    assert_eq!(event_data(&reopened).await, ["kept"]);
}
