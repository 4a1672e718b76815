//! The one writer: takes what is waiting and commits it together.
//!
//! A caller is answered only after the commit. If the commit fails, nobody in the group was served. If the disk
//! itself failed, nothing further is accepted: see `ends_trust`.
//!
//! Callers that were answered together tend to come back together, a little apart. So the writer waits for as many
//! as shared the last commit, but for no longer than half of what that commit took: a commit of a few that came
//! early would cost more. A lone caller is never waited for.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};
use warren_store::{Error, WriteWork};

use super::error::{ends_trust, translate};
use super::run;
use super::session::SqliteSession;
use crate::transaction::{Ending, run_write_work};

/// A caller's work and where its answer goes.
pub(super) struct Job {
    pub(super) work: WriteWork,
    pub(super) reply: Reply,
}

type Reply = oneshot::Sender<Result<(), Error>>;

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
    last: LastGroup,
}

/// What to expect of the next group.
#[derive(Default)]
struct LastGroup {
    size: usize,
    commit_time: Duration,
}

/// The longest wait for callers that are expected.
const MAX_WAIT: Duration = Duration::from_millis(1);

/// SQLite undoes a transaction by itself when it cannot go on, as on a full disk.
const UNDONE: &str = "the database undid the transaction";

/// The callers of one commit, in the order in which their work ran.
#[derive(Default)]
struct Group {
    answers: Vec<(Reply, Result<(), Error>)>,
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
            last: LastGroup::default(),
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
        if !self.run_first(first, &mut group) {
            return;
        }
        let mut next = self.next_of_group(group.answers.len());
        while let Some(Job { mut work, reply }) = next {
            let result = self.run_in_savepoint(&mut work, &mut group);
            group.answers.push((reply, result));
            if self.connection.is_autocommit() {
                // SQLite undid the whole transaction by itself, as it does when the disk is full.
                return group.fail();
            }
            next = self.next_of_group(group.answers.len());
        }
        self.commit_group(group);
    }

    fn next_of_group(&mut self, size: usize) -> Option<Job> {
        if size >= self.max_group {
            return None;
        }
        let mut deadline = None;
        loop {
            if let Ok(job) = self.queue.try_recv() {
                return Some(job);
            }
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.last.wait());
            if size >= self.last.size || Instant::now() >= deadline {
                return None;
            }
            // Gives the core to the callers that are waited for.
            std::thread::yield_now();
        }
    }

    fn commit_group(&mut self, group: Group) {
        let started = Instant::now();
        let committed = (self.commit)(&self.connection);
        self.last = LastGroup { size: group.answers.len(), commit_time: started.elapsed() };
        match committed {
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

    /// Runs the work of whoever came first. Nothing stands before it that would have to stay if it is undone, so that it
    /// needs no savepoint, which costs a copy of each page. Answers whether the group goes on.
    fn run_first(&mut self, Job { mut work, reply }: Job, group: &mut Group) -> bool {
        let ending = run_write_work(&mut SqliteSession::new(&self.connection), &mut work);
        let undone = self.connection.is_autocommit();
        let result = match ending {
            Ending::Commit(_) if undone => Err(Error::Unavailable(UNDONE.into())),
            Ending::Commit(newest) => {
                group.newest_event = newest;
                group.answers.push((reply, Ok(())));
                return true;
            }
            Ending::Rollback if undone => Err(Error::Unavailable(UNDONE.into())),
            Ending::Rollback => run(&self.connection, "ROLLBACK").map_err(translate),
            Ending::Fail(error) => {
                if !undone {
                    // The error that led here says more than a failing rollback could; the next BEGIN says that one.
                    let _ = run(&self.connection, "ROLLBACK");
                }
                Err(error)
            }
        };
        answer(reply, result);
        false
    }

    /// Runs one caller's work so that it can be undone without its neighbours'.
    fn run_in_savepoint(&mut self, work: &mut WriteWork, group: &mut Group) -> Result<(), Error> {
        run(&self.connection, "SAVEPOINT work").map_err(translate)?;
        let ending = run_write_work(&mut SqliteSession::new(&self.connection), work);
        if self.connection.is_autocommit() {
            return Err(match ending {
                Ending::Fail(error) => error,
                Ending::Commit(_) | Ending::Rollback => Error::Unavailable(UNDONE.into()),
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

impl LastGroup {
    fn wait(&self) -> Duration {
        (self.commit_time / 2).min(MAX_WAIT)
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
            Some((_, Ok(()))) | None => Error::Unavailable(UNDONE.into()),
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
fn answer(reply: Reply, result: Result<(), Error>) {
    let _ = reply.send(result);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;

    use rusqlite::ffi;
    use warren_store::Verdict;

    use super::*;
    use crate::sqlite::{SqliteOptions, file};

    struct Bed {
        writer: Option<Writer>,
        jobs: Option<mpsc::Sender<Job>>,
        newest: watch::Receiver<u64>,
    }

    fn bed(path: &Path, commit: Commit) -> Bed {
        let opened = file::open_for_writing(path, &SqliteOptions::default()).unwrap();
        let (jobs, queue) = mpsc::channel(64);
        let (newest_sender, newest) = watch::channel(0);
        let mut writer = Writer::new(opened.connection, queue, newest_sender, 256);
        writer.commit = commit;
        Bed { writer: Some(writer), jobs: Some(jobs), newest }
    }

    impl Bed {
        fn enqueue(&self, owner: &'static str) -> oneshot::Receiver<Result<(), Error>> {
            let (reply, answer) = oneshot::channel();
            let now = warren_model::Timestamp::from_micros(0);
            let work: WriteWork = Box::new(move |tx| match tx.take_lease(owner, owner, now, now) {
                Ok(_) => Verdict::Commit,
                Err(_) => Verdict::Rollback,
            });
            self.jobs.as_ref().unwrap().try_send(Job { work, reply }).ok().unwrap();
            answer
        }

        /// Serves all that is waiting, on this thread.
        fn serve(&mut self) {
            self.jobs.take();
            self.writer.take().unwrap().run();
        }
    }

    fn leases_in(path: &Path) -> i64 {
        let connection = Connection::open(path).unwrap();
        connection.query_row("SELECT count(*) FROM leases", [], |row| row.get(0)).unwrap()
    }

    thread_local! {
        static COMMITS: Cell<usize> = const { Cell::new(0) };
    }

    fn counted_commit(connection: &Connection) -> rusqlite::Result<()> {
        COMMITS.set(COMMITS.get() + 1);
        run(connection, "COMMIT")
    }

    fn failed_fsync(_: &Connection) -> rusqlite::Result<()> {
        COMMITS.set(COMMITS.get() + 1);
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_FSYNC), None))
    }

    fn no_space(connection: &Connection) -> rusqlite::Result<()> {
        COMMITS.set(COMMITS.get() + 1);
        if COMMITS.get() > 1 {
            return run(connection, "COMMIT");
        }
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None))
    }

    // Q20
    #[test]
    fn whoever_waits_together_shares_one_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warren.db");
        let mut bed = bed(&path, counted_commit);
        let answers = ["a", "b", "c"].map(|owner| bed.enqueue(owner));
        bed.serve();
        assert!(answers.into_iter().all(|answer| answer.blocking_recv().unwrap().is_ok()));
        assert_eq!(COMMITS.get(), 1);
        assert_eq!(leases_in(&path), 3);
    }

    // Q20
    #[test]
    fn after_a_failed_fsync_nobody_is_acknowledged_and_no_more_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warren.db");
        let mut bed = bed(&path, failed_fsync);
        bed.writer.as_mut().unwrap().max_group = 2;
        let answers = ["a", "b", "c", "d"].map(|owner| bed.enqueue(owner));
        bed.serve();
        for answer in answers {
            let result = answer.blocking_recv().unwrap();
            assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
        }
        assert_eq!(COMMITS.get(), 1, "the second group is not even tried");
        assert_eq!(leases_in(&path), 0);
        assert_eq!(*bed.newest.borrow(), 0);
    }

    // Q22
    #[test]
    fn a_full_disk_fails_its_group_and_the_next_may_succeed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warren.db");
        let mut bed = bed(&path, no_space);
        bed.writer.as_mut().unwrap().max_group = 2;
        let answers = ["a", "b", "c"].map(|owner| bed.enqueue(owner));
        bed.serve();
        let results = answers.map(|answer| answer.blocking_recv().unwrap());
        assert_eq!(results, [Err(Error::Full), Err(Error::Full), Ok(())]);
        assert_eq!(leases_in(&path), 1);
    }
}
