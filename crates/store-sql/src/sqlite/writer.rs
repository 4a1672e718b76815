//! The one writer: takes what is waiting and commits it together.
//!
//! A caller is answered only after the commit. If the commit fails, nobody in the group was served. If the disk
//! itself failed, nothing further is accepted: see `ends_trust`.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};
use warren_store::{Error, WriteWork};

use super::error::{ends_trust, translate};
use super::session::SqliteSession;
use crate::transaction::{Ending, run_write_work};

/// A caller's work and where its answer goes.
pub(super) struct Job {
    pub(super) work: WriteWork,
    pub(super) reply: oneshot::Sender<Result<(), Error>>,
}

type Commit = fn(&Connection) -> rusqlite::Result<()>;

pub(super) struct Writer {
    connection: Connection,
    queue: mpsc::Receiver<Job>,
    newest: watch::Sender<u64>,
    max_group: usize,
    /// A plain COMMIT; replaced by tests, since a disk that fails cannot be ordered.
    commit: Commit,
    /// Set once the disk has failed.
    refusal: Option<Error>,
}

/// The callers of one commit, in the order in which their work ran.
#[derive(Default)]
struct Group {
    answers: Vec<(oneshot::Sender<Result<(), Error>>, Result<(), Error>)>,
    newest_event: Option<u64>,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        queue: mpsc::Receiver<Job>,
        newest: watch::Sender<u64>,
        max_group: usize,
    ) -> Self {
        Self {
            connection,
            queue,
            newest,
            max_group: max_group.max(1),
            commit: |connection| run(connection, "COMMIT"),
            refusal: None,
        }
    }

    /// Serves the queue until every sender is gone and it is empty.
    pub(super) fn run(mut self) {
        while let Some(first) = self.queue.blocking_recv() {
            match &self.refusal {
                Some(refusal) => answer(first.reply, Err(refusal.clone())),
                None => self.serve_group(first),
            }
        }
        // Best effort: without it the next start reads the log instead.
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn serve_group(&mut self, first: Job) {
        if let Err(error) = run(&self.connection, "BEGIN IMMEDIATE") {
            self.note(&error);
            return answer(first.reply, Err(translate(error)));
        }
        let mut group = Group::default();
        let mut next = Some(first);
        while let Some(Job { mut work, reply }) = next {
            let result = self.run_in_savepoint(&mut work, &mut group);
            group.answers.push((reply, result));
            if self.connection.is_autocommit() {
                // SQLite undid the whole transaction by itself, as it does when the disk is full.
                return group.fail();
            }
            next = if group.answers.len() < self.max_group { self.queue.try_recv().ok() } else { None };
        }
        self.commit_group(group);
    }

    fn commit_group(&mut self, group: Group) {
        match (self.commit)(&self.connection) {
            Ok(()) => {
                if let Some(newest) = group.newest_event {
                    self.newest.send_replace(newest);
                }
                group.succeed();
            }
            Err(error) => {
                self.note(&error);
                if !self.connection.is_autocommit() {
                    // A rollback that fails leaves the transaction open; the next BEGIN then says so.
                    let _ = run(&self.connection, "ROLLBACK");
                }
                group.fail_with(&translate(error));
            }
        }
    }

    /// Runs one caller's work so that it can be undone without its neighbours'.
    fn run_in_savepoint(&mut self, work: &mut WriteWork, group: &mut Group) -> Result<(), Error> {
        run(&self.connection, "SAVEPOINT work").map_err(translate)?;
        let ending = run_write_work(&mut SqliteSession::new(&self.connection), work);
        if self.connection.is_autocommit() {
            return Err(match ending {
                Ending::Fail(error) => error,
                Ending::Commit(_) | Ending::Rollback => {
                    Error::Unavailable("the database undid the transaction".into())
                }
            });
        }
        let (end, result) = match ending {
            Ending::Commit(newest) => {
                group.newest_event = newest.or(group.newest_event);
                return run(&self.connection, "RELEASE work").map_err(translate);
            }
            Ending::Rollback => ("ROLLBACK TO work", Ok(())),
            Ending::Fail(error) => ("ROLLBACK TO work", Err(error)),
        };
        run(&self.connection, end).map_err(translate)?;
        run(&self.connection, "RELEASE work").map_err(translate)?;
        result
    }

    fn note(&mut self, error: &rusqlite::Error) {
        if ends_trust(error) {
            tracing::error!(%error, "the disk under the database failed; no more writes are accepted");
            let reason =
                "the disk failed under it, so that no more writes are accepted; check the disk, then restart";
            self.refusal = Some(Error::Unavailable(reason.into()));
        }
    }
}

impl Group {
    fn succeed(self) {
        for (reply, result) in self.answers {
            answer(reply, result);
        }
    }

    /// Nothing of the group was kept; the last one met the reason.
    fn fail(self) {
        let reason = match self.answers.last() {
            Some((_, Err(error))) => error.clone(),
            Some((_, Ok(()))) | None => Error::Unavailable("the database undid the transaction".into()),
        };
        self.fail_with(&reason);
    }

    fn fail_with(self, reason: &Error) {
        for (reply, _) in self.answers {
            answer(reply, Err(reason.clone()));
        }
    }
}

/// A caller that hung up does not want its answer.
fn answer(reply: oneshot::Sender<Result<(), Error>>, result: Result<(), Error>) {
    let _ = reply.send(result);
}

/// Runs a statement that is used for every group, without parsing it again.
fn run(connection: &Connection, sql: &'static str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.raw_execute().map(drop)
}
