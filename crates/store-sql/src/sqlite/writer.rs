//! The one writer: takes what is waiting and commits it together.
//!
//! A caller is answered only after the commit. If the commit fails, nobody in the group was served. If the disk
//! itself failed, nothing further is accepted: see `ends_trust`. If it is full, what is kept of it for that moment is given up
//! and the group is run again: see `reserve`.
//!
//! Callers that were answered together tend to come back together, a little apart. So the writer waits for as many
//! as shared the last commit, while they keep coming: a commit of a few that came early would cost more. Whoever has
//! something else to do first is not waited for, since the others would stand still with them; nor is a lone caller.
//!
//! Nobody is answered before the whole group is: so a group ends after a few milliseconds, whoever still waits. And short
//! work goes first: pieces of a thousand answers do not wait behind a thousand sessions that begin.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};
use warren_store::{Error, WriteWork};

use super::connection::SqliteConnection;
use super::error::{ends_trust, translate};
use super::reserve::Reserve;
use super::run;
use crate::transaction::{Ending, run_write_work};

/// A caller's work and where its answer goes.
pub(super) struct Job {
    pub(super) work: WriteWork,
    pub(super) reply: Reply,
    pub(super) is_short: bool,
}

/// What the writer hears of.
pub(super) enum Message {
    Job(Job),
    /// Something short waits in the other queue.
    ShortWork,
}

/// Where work is handed in.
#[derive(Clone)]
pub(super) struct Jobs {
    usual: mpsc::Sender<Message>,
    short: mpsc::Sender<Job>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

/// Where the writer takes it from.
pub(super) struct Queues {
    usual: mpsc::Receiver<Message>,
    short: mpsc::Receiver<Job>,
    /// What short work and other work took while both waited.
    short_time: Duration,
    usual_time: Duration,
}

/// Of the time for which both wait, other work gets one part in this many, and short work the rest.
const USUAL_SHARE: u32 = 3;

pub(super) fn queues(places: usize) -> (Jobs, Queues) {
    let (usual, usual_queue) = mpsc::channel(places);
    let (short, short_queue) = mpsc::channel(places);
    let queues = Queues {
        usual: usual_queue,
        short: short_queue,
        short_time: Duration::ZERO,
        usual_time: Duration::ZERO,
    };
    (Jobs { usual, short }, queues)
}

/// The writer has ended.
pub(super) struct Closed;

impl Jobs {
    pub(super) async fn send(&self, job: Job) -> Result<(), Closed> {
        self.usual.send(Message::Job(job)).await.map_err(|_| Closed)
    }

    pub(super) async fn send_short(&self, job: Job) -> Result<(), Closed> {
        self.short.send(job).await.map_err(|_| Closed)?;
        // Where there is no place, the writer has enough to do, and looks at the short work on its way.
        let _ = self.usual.try_send(Message::ShortWork);
        Ok(())
    }
}

impl Queues {
    /// Waits. Nothing once every sender is gone and both queues are empty.
    fn wait(&mut self) -> Option<Job> {
        loop {
            match self.usual.blocking_recv() {
                Some(Message::Job(job)) => return Some(job),
                Some(Message::ShortWork) => {
                    if let Ok(job) = self.short.try_recv() {
                        return Some(job);
                    }
                }
                None => return self.short.blocking_recv(),
            }
        }
    }

    /// What is next, without waiting.
    fn take(&mut self) -> Option<Job> {
        let is_usuals_turn = self.usual_time * USUAL_SHARE < self.usual_time + self.short_time;
        let next = if is_usuals_turn {
            self.take_usual().or_else(|| self.take_short())
        } else {
            self.take_short().or_else(|| self.take_usual())
        };
        if self.short.is_empty() || self.usual.is_empty() {
            (self.short_time, self.usual_time) = (Duration::ZERO, Duration::ZERO);
        }
        next
    }

    fn take_short(&mut self) -> Option<Job> {
        self.short.try_recv().ok()
    }

    fn take_usual(&mut self) -> Option<Job> {
        loop {
            match self.usual.try_recv() {
                Ok(Message::Job(job)) => return Some(job),
                Ok(Message::ShortWork) => {}
                Err(_) => return None,
            }
        }
    }

    fn note_time(&mut self, is_short: bool, took: Duration) {
        let time = if is_short { &mut self.short_time } else { &mut self.usual_time };
        *time += took;
    }
}

type Reply = oneshot::Sender<Result<(), Error>>;

type Commit = fn(&Connection) -> rusqlite::Result<()>;

pub(super) struct Writer {
    connection: Connection,
    queues: Queues,
    newest: watch::Sender<u64>,
    max_group: usize,
    max_group_time: Duration,
    /// A plain COMMIT; replaced by tests, since a disk that fails cannot be ordered.
    commit: Commit,
    /// Set once the disk has failed.
    refusal: Option<Error>,
    last: LastGroup,
    reserve: Reserve,
}

/// What to expect of the next group.
#[derive(Default)]
struct LastGroup {
    size: usize,
    commit_time: Duration,
}

/// The longest wait for the next caller that is expected. Those who come together are a few microseconds apart.
const MAX_WAIT: Duration = Duration::from_micros(50);

/// How long work is added to a group: some ten times what a commit takes.
const MAX_GROUP_TIME: Duration = Duration::from_millis(5);

/// The callers of one commit, in the order in which their work ran, each with its result.
#[derive(Default)]
struct Group {
    served: Vec<(Job, Result<(), Error>)>,
    newest_event: Option<u64>,
    has_written: bool,
}

/// What came of one caller's work.
enum Step {
    /// With the number of its newest event.
    Kept(Option<u64>),
    /// It wants nothing kept, and there is nothing.
    WroteNothing(Result<(), Error>),
    /// It wants nothing kept of what it has written.
    MustGo(Result<(), Error>),
    /// The transaction is gone, with everybody's work.
    Undone(Error),
}

impl Step {
    fn found_no_space(&self) -> bool {
        match self {
            Self::Kept(_) => false,
            Self::WroteNothing(result) | Self::MustGo(result) => *result == Err(Error::Full),
            Self::Undone(error) => *error == Error::Full,
        }
    }
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        queues: Queues,
        newest: watch::Sender<u64>,
        max_group: usize,
        reserve: Reserve,
    ) -> Self {
        Self {
            connection,
            queues,
            newest,
            max_group: max_group.max(1),
            max_group_time: MAX_GROUP_TIME,
            commit: |connection| run(connection, "COMMIT"),
            refusal: None,
            last: LastGroup::default(),
            reserve,
        }
    }

    /// Serves the queue until every sender is gone and it is empty.
    pub(super) fn run(mut self) {
        while let Some(first) = self.queues.wait() {
            match &self.refusal {
                Some(refusal) => answer(first.reply, Err(refusal.clone())),
                None => self.serve_group(first),
            }
        }
        // Best effort: without it the next start reads the log instead.
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn serve_group(&mut self, first: Job) {
        self.reserve.keep();
        if let Err(error) = run(&self.connection, "BEGIN IMMEDIATE") {
            self.note(&error);
            return answer(first.reply, Err(translate(error)));
        }
        let started = Instant::now();
        // The clock is looked at once for each of them.
        let mut last = started;
        let mut group = Group::default();
        let mut next = Some(first);
        while let Some(mut job) = next {
            let step = self.run_plain(&mut job.work);
            let now = Instant::now();
            self.queues.note_time(job.is_short, now.duration_since(last));
            last = now;
            if step.found_no_space() && self.reserve.release() {
                group.served.push((job, Ok(())));
                return self.run_again(group);
            }
            match step {
                Step::Kept(newest) => {
                    group.has_written = true;
                    group.newest_event = newest.or(group.newest_event);
                    group.served.push((job, Ok(())));
                }
                Step::WroteNothing(result) => group.served.push((job, result)),
                Step::MustGo(result) => {
                    group.served.push((job, result));
                    return self.take_back(group);
                }
                Step::Undone(error) => {
                    group.served.push((job, Ok(())));
                    return group.fail_with(&error);
                }
            }
            next = if now.duration_since(started) < self.max_group_time {
                self.next_of_group(group.served.len())
            } else {
                None
            };
        }
        self.commit_group(group);
    }

    /// Runs one caller's work as it is. Work may be run again, and hardly any wants to be undone after it has written: so a
    /// savepoint, which costs a copy of each page, is left to those groups in which one does.
    fn run_plain(&mut self, work: &mut WriteWork) -> Step {
        let before = self.connection.total_changes();
        let ending = run_write_work(&mut SqliteConnection::new(&self.connection), work);
        if self.connection.is_autocommit() {
            // SQLite undid the whole transaction by itself, as it does when the disk is full.
            return Step::Undone(ending.undone());
        }
        let result = match ending {
            Ending::Commit(newest) => return Step::Kept(newest),
            Ending::Rollback => Ok(()),
            Ending::Fail(error) => Err(error),
        };
        if self.connection.total_changes() == before {
            Step::WroteNothing(result)
        } else {
            Step::MustGo(result)
        }
    }

    /// The last of the group wants to be undone. If others have written before, all is done again, each so that it can be
    /// undone by itself.
    fn take_back(&mut self, group: Group) {
        if let Err(error) = run(&self.connection, "ROLLBACK") {
            self.note(&error);
            return group.fail_with(&translate(error));
        }
        if !group.has_written {
            return group.succeed();
        }
        self.run_again(group);
    }

    /// Does the work of a group once more, each so that it can be undone by itself. What it has done before is undone.
    fn run_again(&mut self, group: Group) {
        if !self.connection.is_autocommit()
            && let Err(error) = run(&self.connection, "ROLLBACK")
        {
            self.note(&error);
            return group.fail_with(&translate(error));
        }
        if let Err(error) = run(&self.connection, "BEGIN IMMEDIATE") {
            self.note(&error);
            return group.fail_with(&translate(error));
        }
        let mut again = Group::default();
        let mut left = group.served.into_iter();
        while let Some((mut job, _)) = left.next() {
            let result = self.run_in_savepoint(&mut job.work, &mut again);
            if self.connection.is_autocommit() {
                let reason = result.err().unwrap_or_else(undone);
                again.served.push((job, Ok(())));
                again.served.extend(left);
                return again.fail_with(&reason);
            }
            again.served.push((job, result));
        }
        self.commit_group(again);
    }

    fn next_of_group(&mut self, size: usize) -> Option<Job> {
        if size >= self.max_group {
            return None;
        }
        let mut deadline = None;
        loop {
            if let Some(job) = self.queues.take() {
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
        self.last = LastGroup { size: group.served.len(), commit_time: started.elapsed() };
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
                let error = translate(error);
                if error == Error::Full && self.reserve.release() {
                    return self.run_again(group);
                }
                group.fail_with(&error);
            }
        }
    }

    /// Runs one caller's work so that it can be undone without its neighbours'.
    fn run_in_savepoint(&mut self, work: &mut WriteWork, group: &mut Group) -> Result<(), Error> {
        run(&self.connection, "SAVEPOINT work").map_err(translate)?;
        let ending = run_write_work(&mut SqliteConnection::new(&self.connection), work);
        if self.connection.is_autocommit() {
            return Err(ending.undone());
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
        for (job, result) in self.served {
            answer(job.reply, result);
        }
    }

    /// Nothing of the group was kept.
    fn fail_with(self, reason: &Error) {
        for (job, _) in self.served {
            answer(job.reply, Err(reason.clone()));
        }
    }
}

impl Ending {
    /// What to tell whoever's work ended in a transaction that is gone.
    fn undone(self) -> Error {
        match self {
            Self::Fail(error) => error,
            Self::Commit(_) | Self::Rollback => undone(),
        }
    }
}

fn undone() -> Error {
    Error::Unavailable("the database undid the transaction".into())
}

/// A caller that hung up does not want its answer.
fn answer(reply: Reply, result: Result<(), Error>) {
    let _ = reply.send(result);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use rusqlite::ffi;
    use warren_store::Verdict;

    use super::*;
    use crate::sqlite::{SqliteOptions, file};

    struct Bed {
        writer: Option<Writer>,
        jobs: Option<Jobs>,
        newest: watch::Receiver<u64>,
    }

    fn bed(path: &Path, commit: Commit) -> Bed {
        let opened = file::open_for_writing(path, &SqliteOptions::default()).unwrap();
        let (jobs, queues) = queues(64);
        let (newest_sender, newest) = watch::channel(0);
        let reserve = Reserve::new(path, 0);
        let mut writer = Writer::new(opened.connection, queues, newest_sender, 256, reserve);
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
            let sent = self.jobs.as_ref().unwrap().usual.try_send(Message::Job(Job {
                work,
                reply,
                is_short: false,
            }));
            sent.ok().unwrap();
            answer
        }

        /// Writes, and then wants none of it.
        fn enqueue_undone(&self, owner: &'static str) -> oneshot::Receiver<Result<(), Error>> {
            let (reply, answer) = oneshot::channel();
            let now = warren_model::Timestamp::from_micros(0);
            let work: WriteWork = Box::new(move |tx| {
                tx.take_lease(owner, owner, now, now).unwrap();
                Verdict::Rollback
            });
            let sent = self.jobs.as_ref().unwrap().usual.try_send(Message::Job(Job {
                work,
                reply,
                is_short: false,
            }));
            sent.ok().unwrap();
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

    // P18
    #[test]
    fn short_work_goes_before_what_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mut bed = bed(&folder.path().join("warren.db"), counted_commit);
        let writer = bed.writer.as_mut().unwrap();
        // However busy the machine is, a group is two.
        (writer.max_group, writer.max_group_time) = (2, Duration::from_secs(60));
        let order = Arc::new(Mutex::new(Vec::new()));
        let job = |name: &'static str| {
            let (order, (reply, answer)) = (Arc::clone(&order), oneshot::channel());
            let work: WriteWork = Box::new(move |_| {
                order.lock().unwrap().push(name);
                Verdict::Rollback
            });
            (Job { work, reply, is_short: name.starts_with("short") }, answer)
        };
        let mut answers = Vec::new();
        let jobs = bed.jobs.clone().unwrap();
        for name in ["usual 1", "usual 2", "usual 3"] {
            let (job, answer) = job(name);
            jobs.usual.try_send(Message::Job(job)).ok().unwrap();
            answers.push(answer);
        }
        for name in ["short 1", "short 2"] {
            let (job, answer) = job(name);
            jobs.short.try_send(job).ok().unwrap();
            answers.push(answer);
        }
        drop(jobs);
        bed.serve();
        assert!(answers.into_iter().all(|answer| answer.blocking_recv().unwrap().is_ok()));
        // What begins a group is taken as it comes.
        assert_eq!(*order.lock().unwrap(), ["usual 1", "short 1", "usual 2", "short 2", "usual 3"]);
    }

    // Q20
    #[test]
    fn who_is_undone_leaves_nothing_behind_first_or_later_and_takes_nobody_along() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warren.db");
        let mut bed = bed(&path, counted_commit);
        let answers =
            [bed.enqueue_undone("first"), bed.enqueue("a"), bed.enqueue_undone("later"), bed.enqueue("b")];
        bed.serve();
        assert!(answers.into_iter().all(|answer| answer.blocking_recv().unwrap().is_ok()));
        assert_eq!(COMMITS.get(), 2, "those before and those after whoever is undone last");
        let connection = Connection::open(&path).unwrap();
        let mut statement = connection.prepare("SELECT owner FROM leases ORDER BY owner").unwrap();
        let owners: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(owners, ["a", "b"]);
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
