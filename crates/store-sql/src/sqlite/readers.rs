//! The reading side: a few read-only connections, used on blocking threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use warren_store::{Error, ReadWork};

use super::error::translate;
use super::session::SqliteSession;
use super::{SqliteOptions, closed, file};
use crate::session::Session;
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
        self.ask(move |session| run_read_work(session, &mut work)).await
    }

    /// Runs `question` on one snapshot.
    pub(super) async fn ask<T: Send + 'static>(
        self: Arc<Self>,
        question: impl FnOnce(&mut dyn Session) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| closed())?;
        tokio::task::spawn_blocking(move || self.ask_blocking(question, permit))
            .await
            .unwrap_or_else(|_| Err(Error::Unavailable("the read was interrupted".into())))
    }

    fn ask_blocking<T>(
        &self,
        question: impl FnOnce(&mut dyn Session) -> Result<T, Error>,
        permit: OwnedSemaphorePermit,
    ) -> Result<T, Error> {
        let pooled = self.idle().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => file::open_for_reading(&self.path, &self.options)?,
        };
        connection.execute_batch("BEGIN").map_err(translate)?;
        let answer = question(&mut SqliteSession::new(&connection));
        // A connection that cannot end its snapshot is not used again.
        if connection.execute_batch("COMMIT").is_ok() {
            self.idle().push(connection);
        }
        drop(permit);
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
