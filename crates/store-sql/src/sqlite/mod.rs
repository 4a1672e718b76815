//! SQLite: a file, one thread that writes, and a few connections that read.
//!
//! ```text
//!   callers ──▶ bounded queue ──▶ writer thread:  BEGIN IMMEDIATE
//!                                                   work of caller 1 · work of caller 2 · …
//!                                                 COMMIT (one fsync) ──▶ everybody is answered
//!                                                 one wrote and wants it undone: ROLLBACK, and again with savepoints
//!   readers ──▶ read-only connections on blocking threads, each read one snapshot; short reads (`read_few`) on the caller's
//!               own thread
//! ```
//!
//! A caller's future may be dropped at any point: while it waits for a place in the queue or for a reader nothing has
//! begun, and what has begun runs on a thread of its own to its end.

mod connection;
mod copy;
mod error;
mod file;
mod readers;
mod reserve;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};
use warren_store::{DatabaseCopy, Error, ReadWork, Store, StoreHealth, WriteWork};

use crate::migrations::schema_version;
use readers::Readers;
use reserve::Reserve;
use writer::{Job, Jobs, Writer};

/// The knobs of a SQLite store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Writes that may wait for the writer; more callers wait for a place.
    pub max_queued_writes: usize,
    /// Writes that share one commit. 1 gives each its own.
    pub max_group: usize,
    /// Reads at once.
    pub max_readers: usize,
    /// How long to wait for another process that holds the file.
    pub busy_timeout_ms: u32,
    /// The size past which writes answer `Full`; absent: as large as the disk allows.
    pub max_bytes: Option<u64>,
    /// What is kept of the disk for it; see `reserve`. 0: nothing.
    pub reserve_bytes: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            max_queued_writes: 1_024,
            max_group: 256,
            max_readers: 4,
            busy_timeout_ms: 5_000,
            max_bytes: None,
            reserve_bytes: 0,
        }
    }
}

/// A SQLite database. Dropping it finishes what was accepted; `close` also waits for that.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Absent once the store is closed.
    jobs: Mutex<Option<Jobs>>,
    /// Answers when the writer thread has ended.
    writer_ended: watch::Receiver<bool>,
    readers: Arc<Readers>,
    newest: watch::Receiver<u64>,
}

impl SqliteStore {
    /// Opens or creates the database and brings its schema up to date.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        tokio::task::spawn_blocking(move || Self::open_blocking(path, &options))
            .await
            .map_err(|_| Error::Unavailable("opening the database was interrupted".into()))?
    }

    fn open_blocking(path: PathBuf, options: &SqliteOptions) -> Result<Self, Error> {
        let opened = file::open_for_writing(&path, options)?;
        let (newest_sender, newest) = watch::channel(opened.newest_event);
        let (jobs, queues) = writer::queues(options.max_queued_writes.max(1));
        let (ended_sender, writer_ended) = watch::channel(false);
        let reserve = Reserve::new(&path, options.reserve_bytes);
        let writer = Writer::new(opened.connection, queues, newest_sender, options.max_group, reserve);
        std::thread::Builder::new()
            .name("warren-sqlite-writer".into())
            .spawn(move || {
                writer.run();
                ended_sender.send_replace(true);
            })
            .map_err(|problem| {
                Error::Unavailable(format!("the writer thread cannot be started: {problem}"))
            })?;
        Ok(Self {
            readers: Arc::new(Readers::new(path.clone(), options)),
            path,
            jobs: Mutex::new(Some(jobs)),
            writer_ended,
            newest,
        })
    }

    fn queue(&self) -> Result<Jobs, Error> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.clone().ok_or_else(closed)
    }
}

/// What an existing database says of itself, without changing it. One that has nothing in it has schema 0; a newer,
/// damaged or foreign one is the same error as at `open`.
pub async fn inspect(path: impl AsRef<Path>) -> Result<StoreHealth, Error> {
    let path = path.as_ref().to_owned();
    tokio::task::spawn_blocking(move || file::inspect(&path))
        .await
        .map_err(|_| Error::Unavailable("looking at the database was interrupted".into()))?
}

/// Copies the database at `path` into the empty file at `into`, as of one moment; nothing is settled or migrated.
pub async fn copy(path: impl AsRef<Path>, into: impl AsRef<Path>) -> Result<DatabaseCopy, Error> {
    let (path, into) = (path.as_ref().to_owned(), into.as_ref().to_owned());
    tokio::task::spawn_blocking(move || copy::copy(&path, &into))
        .await
        .map_err(|_| Error::Unavailable("copying the database was interrupted".into()))?
}

/// Reads every page of a database and says what is wrong with it, if something is.
pub async fn check_integrity(path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref().to_owned();
    tokio::task::spawn_blocking(move || copy::check_integrity(&path))
        .await
        .map_err(|_| Error::Unavailable("reading the database was interrupted".into()))?
}

/// Runs a statement that stands around every piece of work, without parsing it again.
fn run(connection: &Connection, sql: &'static str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.raw_execute().map(drop)
}

fn closed() -> Error {
    Error::Unavailable("it was closed".into())
}

#[async_trait]
impl Store for SqliteStore {
    /// Its file is locked by this process.
    fn is_shared(&self) -> bool {
        false
    }

    async fn run_read(&self, work: ReadWork) -> Result<(), Error> {
        Arc::clone(&self.readers).run(work).await
    }

    async fn run_read_few(&self, work: ReadWork) -> Result<(), Error> {
        Arc::clone(&self.readers).read_few(work).await
    }

    async fn run_write(&self, work: WriteWork) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue()?;
        queue.send(Job { work, reply, is_short: false }).await.map_err(|_| closed())?;
        drop(queue);
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    async fn run_write_few(&self, work: WriteWork) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue()?;
        queue.send_short(Job { work, reply, is_short: true }).await.map_err(|_| closed())?;
        drop(queue);
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    fn newest_event(&self) -> watch::Receiver<u64> {
        self.newest.clone()
    }

    async fn health(&self) -> Result<StoreHealth, Error> {
        let readers = Arc::clone(&self.readers);
        let schema_version = readers.ask(schema_version).await?;
        Ok(StoreHealth {
            engine: "sqlite",
            engine_version: rusqlite::version().to_owned(),
            schema_version,
            durability: file::DURABILITY.to_owned(),
        })
    }

    async fn copy_to(&self, path: &Path) -> Result<DatabaseCopy, Error> {
        copy(&self.path, path).await
    }

    async fn close(&self) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(jobs);
        let mut ended = self.writer_ended.clone();
        // An error means that the thread is gone, which is what is waited for.
        let _ = ended.wait_for(|ended| *ended).await;
        self.readers.close().await;
        tracing::debug!(path = %self.path.display(), "closed the database");
    }
}
