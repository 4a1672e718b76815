//! The reading side: a few read-only connections, used on blocking threads, and for short reads where the caller stands:
//! rows that everybody asks for are in memory, and two changes of threads cost ten times what they do.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use warren_store::{Error, ReadWork};

use super::connection::SqliteConnection;
use super::error::translate;
use super::{SqliteOptions, closed, file, run};
use crate::connection::SqlConnection;
use crate::transaction::run_read_work;

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    /// Connections are opened when first needed and then kept.
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: &SqliteOptions) -> Self {
        Self {
            path,
            idle: Mutex::new(Vec::new()),
            permits: Arc::new(Semaphore::new(options.max_readers.max(1))),
            options: options.clone(),
        }
    }

    pub(super) async fn run(self: Arc<Self>, mut work: ReadWork) -> Result<(), Error> {
        self.ask(move |connection| run_read_work(connection, &mut work)).await
    }

    /// On this thread if a connection is free and open, else as any other read.
    pub(super) async fn read_few(self: Arc<Self>, mut work: ReadWork) -> Result<(), Error> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok();
        let connection = permit.as_ref().and_then(|_| self.idle().pop());
        match connection {
            Some(connection) => self.ask_over(connection, |connection| run_read_work(connection, &mut work)),
            None => {
                drop(permit);
                self.run(work).await
            }
        }
    }

    /// Runs `question` on one snapshot.
    pub(super) async fn ask<T: Send + 'static>(
        self: Arc<Self>,
        question: impl FnOnce(&mut dyn SqlConnection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| closed())?;
        tokio::task::spawn_blocking(move || self.ask_blocking(question, permit))
            .await
            .unwrap_or_else(|_| Err(Error::Unavailable("the read was interrupted".into())))
    }

    fn ask_blocking<T>(
        &self,
        question: impl FnOnce(&mut dyn SqlConnection) -> Result<T, Error>,
        permit: OwnedSemaphorePermit,
    ) -> Result<T, Error> {
        let pooled = self.idle().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => file::open_for_reading(&self.path, &self.options)?,
        };
        let answer = self.ask_over(connection, question);
        drop(permit);
        answer
    }

    fn ask_over<T>(
        &self,
        connection: Connection,
        question: impl FnOnce(&mut dyn SqlConnection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        run(&connection, "BEGIN").map_err(translate)?;
        let answer = question(&mut SqliteConnection::new(&connection));
        // A connection that cannot end its snapshot is not used again.
        if run(&connection, "COMMIT").is_ok() {
            self.idle().push(connection);
        }
        answer
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the reads in flight and lets go of the file.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.options.max_readers.max(1)).unwrap_or(u32::MAX);
        let in_flight = self.permits.acquire_many(all).await;
        self.permits.close();
        drop(in_flight);
        self.idle().clear();
    }
}
