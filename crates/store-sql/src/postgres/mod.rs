//! Postgres: a pool of connections, one transaction per caller, and wake-ups between replicas.
//!
//! ```text
//!   run_write ──▶ a task ──▶ a connection of the pool ──▶ blocking thread: work · number events · COMMIT
//!      ▲            │                                          │ asked to run again (deadlock): roll back, wait, repeat
//!      └─ result ───┘                                          ▼
//!                                        newest event ──▶ watchers here ──▶ waker ──▶ other replicas read the counter
//! ```
//!
//! The caller only awaits the result: a future that is dropped takes no database work with it. This matters most for
//! `BEGIN`. If it is cut off between the request and the answer, sqlx hands the connection back to the pool inside a
//! transaction that nobody ends, and the next caller works in it. `close` waits for these tasks.
//!
//! Writes run as READ COMMITTED and rely on compare-and-set; reads run as REPEATABLE READ, READ ONLY. The lock on
//! the counter of events is taken last and held through the commit, which is what makes the numbers gap-free and
//! in commit order.

mod connect;
mod error;
mod notify;
mod session;
mod wake;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgPool;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use warren_store::{Error, ReadWork, Store, StoreHealth, Waker, WriteWork};

use crate::migrations::schema_version;
use crate::transaction::{Ending, run_read_work, run_write_work};
use error::translate;
use notify::Notifications;
use session::PostgresSession;
use wake::Wake;

const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE";
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// How often work is run before the caller is told that the database keeps asking for another run.
const MAX_RUNS: u32 = 8;

/// The knobs of a Postgres store.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// Connections of this process; one more listens for wake-ups.
    pub max_connections: u32,
    /// How long a caller waits for a connection before it is told `Unavailable`.
    pub acquire_timeout_ms: u64,
    /// How long the server may take over one statement.
    pub statement_timeout_ms: u64,
    /// How long a statement, or a migration, waits for a lock.
    pub lock_timeout_ms: u64,
    /// How often to look for events when no wake-up comes.
    pub poll_interval_ms: u64,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 16,
            acquire_timeout_ms: 5_000,
            statement_timeout_ms: 30_000,
            lock_timeout_ms: 10_000,
            poll_interval_ms: 2_000,
        }
    }
}

/// A Postgres database, shared with other replicas.
#[derive(Debug)]
pub struct PostgresStore {
    pool: PgPool,
    wake: Wake,
    /// The work under way, also that of callers who hung up.
    tasks: TaskTracker,
    is_closed: AtomicBool,
}

impl PostgresStore {
    /// Connects, brings the schema up to date and begins to listen for wake-ups, which the database itself carries.
    pub async fn connect(url: &str, options: PostgresOptions) -> Result<Self, Error> {
        let pool = connect::open_pool(url, &options).await?;
        let waker = Arc::new(Notifications::of(pool.clone()));
        Self::start(pool, options, waker).await
    }

    /// As `connect`, with wake-ups that something else carries.
    pub async fn connect_with_waker(
        url: &str,
        options: PostgresOptions,
        waker: Arc<dyn Waker>,
    ) -> Result<Self, Error> {
        let pool = connect::open_pool(url, &options).await?;
        Self::start(pool, options, waker).await
    }

    async fn start(pool: PgPool, options: PostgresOptions, waker: Arc<dyn Waker>) -> Result<Self, Error> {
        connect::migrate(&pool, &options).await?;
        let newest = wake::read_newest(&pool).await?;
        let poll_interval = Duration::from_millis(options.poll_interval_ms.max(1));
        Ok(Self {
            wake: Wake::start(pool.clone(), waker, newest, poll_interval),
            pool,
            tasks: TaskTracker::new(),
            is_closed: AtomicBool::new(false),
        })
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("it was closed".into()));
        }
        Ok(())
    }

    /// Runs `work` in a task of its own, so that a caller who is dropped does not cut it off.
    async fn run_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.check_open()?;
        self.tasks.spawn(work).await.unwrap_or_else(|_| Err(interrupted()))
    }
}

fn interrupted() -> Error {
    Error::Unavailable("the work was interrupted".into())
}

/// Takes a connection and begins a transaction on it. Must not be dropped before its end; see `run_detached`.
async fn begin(pool: &PgPool, statement: &'static str) -> Result<PostgresSession, Error> {
    let transaction = pool.begin_with(statement).await.map_err(|error| translate(&error))?;
    Ok(PostgresSession::new(transaction, Handle::current()))
}

/// Runs `question` on one snapshot, on a thread that may block.
async fn ask<T: Send + 'static>(
    pool: &PgPool,
    question: impl FnOnce(&mut PostgresSession) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let mut session = begin(pool, BEGIN_READ).await?;
    tokio::task::spawn_blocking(move || {
        let answer = question(&mut session);
        session.rollback();
        answer
    })
    .await
    .unwrap_or_else(|_| Err(interrupted()))
}

/// Runs `work` until it is committed or undone for good.
async fn run_write_to_its_end(
    pool: PgPool,
    announce: wake::Announcer,
    mut work: WriteWork,
) -> Result<(), Error> {
    for run in 1.. {
        let session = begin(&pool, BEGIN_WRITE).await?;
        let announce = announce.clone();
        let thread = tokio::task::spawn_blocking(move || run_once(session, work, &announce));
        match thread.await.map_err(|_| interrupted())? {
            Run::Done(result) => return result,
            Run::Again(_, error) if run >= MAX_RUNS => return Err(error),
            Run::Again(again, _) => work = again,
        }
        tokio::time::sleep(Duration::from_millis(5 << run)).await;
    }
    unreachable!("the loop ends by MAX_RUNS")
}

/// How one run of a caller's work ended.
enum Run {
    Done(Result<(), Error>),
    /// The database undid it and asks for another run; the error is for when there is none.
    Again(WriteWork, Error),
}

#[async_trait]
impl Store for PostgresStore {
    fn is_shared(&self) -> bool {
        true
    }

    async fn run_read(&self, mut work: ReadWork) -> Result<(), Error> {
        let pool = self.pool.clone();
        self.run_detached(async move { ask(&pool, move |session| run_read_work(session, &mut work)).await })
            .await
    }

    async fn run_write(&self, work: WriteWork) -> Result<(), Error> {
        self.run_detached(run_write_to_its_end(self.pool.clone(), self.wake.announcer(), work)).await
    }

    fn newest_event(&self) -> watch::Receiver<u64> {
        self.wake.newest()
    }

    async fn health(&self) -> Result<StoreHealth, Error> {
        let pool = self.pool.clone();
        self.run_detached(async move {
            let schema_version = ask(&pool, |session| schema_version(session)).await?;
            let server = connect::describe(&pool).await?;
            Ok(StoreHealth {
                engine: "postgres",
                engine_version: server.version,
                schema_version,
                durability: server.durability,
            })
        })
        .await
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.tasks.close();
        self.tasks.wait().await;
        self.wake.stop().await;
        self.pool.close().await;
    }
}

fn run_once(mut session: PostgresSession, mut work: WriteWork, announce: &wake::Announcer) -> Run {
    let ending = run_write_work(&mut session, &mut work);
    // Whatever the work made of it: a transaction that the database undid is undone.
    if let Some(error) = session.asked_to_run_again() {
        session.rollback();
        return Run::Again(work, error);
    }
    match ending {
        Ending::Commit(newest) => match session.commit() {
            Ok(()) => {
                if let Some(newest) = newest {
                    announce.committed(newest);
                }
                Run::Done(Ok(()))
            }
            Err(error) if error::asks_to_run_again(&error) => Run::Again(work, translate(&error)),
            Err(error) => Run::Done(Err(translate(&error))),
        },
        Ending::Rollback => {
            session.rollback();
            Run::Done(Ok(()))
        }
        Ending::Fail(error) => {
            session.rollback();
            Run::Done(Err(error))
        }
    }
}
