//! Wake-ups: how readers of events learn that there is more (F41).
//!
//! ```text
//!   commit ──▶ watchers here, at once
//!     └──────▶ teller ── at most one at a time ──▶ Waker::tell   ···▶   another replica's Waker
//!                                                                              │
//!   watchers there ◀── read the counter ◀── listener ◀─────────────────────────┘
//!                                       ◀── poll, as if there were no waker
//! ```
//!
//! What carries them is a [`Waker`] that may be broken in any way: a commit never waits for it, and the poll, which does
//! not depend on it, makes good what it lost. One that panics is asked again after a pause.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::{Executor as _, PgPool, Row as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use warren_store::{Error, Waker};

use super::error::translate;

/// The least time between two wake-ups of this process.
const SPACING: Duration = Duration::from_millis(5);
/// How long a waker may take to tell, or to begin to listen.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest pause before a waker that failed is asked again.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Wake {
    announcer: Announcer,
    /// They end with the store.
    tasks: Mutex<JoinSet<()>>,
}

/// Tells of commits.
#[derive(Debug, Clone)]
pub(super) struct Announcer {
    newest: Arc<watch::Sender<u64>>,
    has_news: Arc<Notify>,
}

impl Announcer {
    /// To be called after the commit, never before.
    pub(super) fn committed(&self, seq: u64) {
        self.raise(seq);
        self.has_news.notify_one();
    }

    fn raise(&self, seq: u64) {
        self.newest.send_if_modified(|newest| {
            let is_newer = seq > *newest;
            *newest = seq.max(*newest);
            is_newer
        });
    }
}

impl Wake {
    pub(super) fn start(pool: PgPool, waker: Arc<dyn Waker>, newest: u64, poll_interval: Duration) -> Self {
        let announcer =
            Announcer { newest: Arc::new(watch::channel(newest).0), has_news: Arc::new(Notify::new()) };
        let counter = Counter { pool, announcer: announcer.clone() };
        let pause = PAUSE.min(poll_interval);
        let mut tasks = JoinSet::new();
        tasks.spawn(poll(counter.clone(), poll_interval));
        let (told, has_news) = (Arc::clone(&waker), Arc::clone(&announcer.has_news));
        tasks.spawn(keep_going(pause, move || wake_others(Arc::clone(&told), Arc::clone(&has_news))));
        tasks.spawn(keep_going(pause, move || follow(Arc::clone(&waker), counter.clone())));
        Self { announcer, tasks: Mutex::new(tasks) }
    }

    pub(super) fn announcer(&self) -> Announcer {
        self.announcer.clone()
    }

    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.announcer.newest.subscribe()
    }

    pub(super) async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }
}

/// Does it again for as long as the store is open, whether it ended or panicked.
async fn keep_going<F>(pause: Duration, work: impl Fn() -> F)
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    loop {
        // Of its own, so that a panic ends no more than this try. It goes when this future goes.
        let mut task = JoinSet::new();
        task.spawn(work());
        match task.join_next().await {
            Some(Ok(Err(error))) => tracing::debug!(%error, "wake-ups are interrupted; the poll goes on"),
            Some(Err(error)) if error.is_panic() => {
                tracing::error!(%error, "the waker panicked; the poll goes on");
            }
            Some(Ok(Ok(())) | Err(_)) | None => {}
        }
        tokio::time::sleep(pause).await;
    }
}

/// Sends one wake-up for all commits since the last.
async fn wake_others(waker: Arc<dyn Waker>, has_news: Arc<Notify>) -> Result<(), Error> {
    loop {
        has_news.notified().await;
        in_time(waker.tell()).await?;
        tokio::time::sleep(SPACING).await;
    }
}

/// Reads the counter at each wake-up. Ends when there will be no more.
async fn follow(waker: Arc<dyn Waker>, counter: Counter) -> Result<(), Error> {
    let mut wake_ups = in_time(waker.listen()).await?;
    loop {
        // What was committed before the listening began had no wake-up for us.
        counter.read().await;
        wake_ups.next().await?;
    }
}

async fn poll(counter: Counter, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        counter.read().await;
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(Error::Unavailable("the waker takes too long".into())),
    }
}

/// The counter of events in the database, and whom to tell of it.
#[derive(Debug, Clone)]
struct Counter {
    pool: PgPool,
    announcer: Announcer,
}

impl Counter {
    async fn read(&self) {
        match read_newest(&self.pool).await {
            Ok(newest) => self.announcer.raise(newest),
            Err(error) => tracing::debug!(%error, "the counter of events could not be read"),
        }
    }
}

pub(super) async fn read_newest(pool: &PgPool) -> Result<u64, Error> {
    let sql = "SELECT newest FROM event_sequence WHERE id = 1";
    let row = pool.fetch_one(sql).await.map_err(|error| translate(&error))?;
    let newest: i64 = row.try_get(0).map_err(|error| translate(&error))?;
    u64::try_from(newest).map_err(|_| Error::Corrupt("the counter of events is negative".into()))
}
