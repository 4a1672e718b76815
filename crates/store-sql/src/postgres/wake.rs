//! Wake-ups: how readers of events learn that there is more (F41).
//!
//! A commit tells the watchers of its own process at once, and the other replicas by a `NOTIFY` without data, which
//! is sent outside the transaction (inside, it makes commits wait for each other) and at most one at a time, however
//! many commits came in between. Whoever hears it reads the counter. A slow poll stands behind it, so that a lost
//! wake-up costs time and nothing else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgListener;
use sqlx::{Executor as _, PgPool, Row as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use warren_store::Error;

use super::error::translate;

const CHANNEL: &str = "warren_events";
const NOTIFY: &str = "NOTIFY warren_events";

/// The least time between two wake-ups of this process.
const SPACING: Duration = Duration::from_millis(5);

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
    pub(super) fn start(pool: PgPool, newest: u64, poll_interval: Duration) -> Self {
        let announcer =
            Announcer { newest: Arc::new(watch::channel(newest).0), has_news: Arc::new(Notify::new()) };
        let mut tasks = JoinSet::new();
        tasks.spawn(wake_others(pool.clone(), Arc::clone(&announcer.has_news)));
        tasks.spawn(listen(pool, announcer.clone(), poll_interval));
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

/// Sends one wake-up for all commits since the last. A lost one is made good by the others' poll.
async fn wake_others(pool: PgPool, has_news: Arc<Notify>) {
    loop {
        has_news.notified().await;
        if let Err(error) = pool.execute(NOTIFY).await {
            tracing::debug!(%error, "a wake-up could not be sent");
        }
        tokio::time::sleep(SPACING).await;
    }
}

/// Follows the counter: at each wake-up, and now and then without one. Connects again for as long as it takes.
async fn listen(pool: PgPool, announcer: Announcer, poll_interval: Duration) {
    loop {
        match PgListener::connect_with(&pool).await {
            Ok(listener) => follow(listener, &pool, &announcer, poll_interval).await,
            Err(error) => tracing::debug!(%error, "not listening for wake-ups"),
        }
        tokio::time::sleep(poll_interval).await;
        refresh(&pool, &announcer).await;
    }
}

/// Ends when the connection is lost.
async fn follow(mut listener: PgListener, pool: &PgPool, announcer: &Announcer, poll_interval: Duration) {
    if let Err(error) = listener.listen(CHANNEL).await {
        tracing::debug!(%error, "not listening for wake-ups");
        return;
    }
    loop {
        // What was committed before the listening began had no wake-up for us.
        refresh(pool, announcer).await;
        match tokio::time::timeout(poll_interval, listener.try_recv()).await {
            Ok(Ok(Some(_))) | Err(_) => {}
            Ok(Ok(None)) => return tracing::debug!("the connection for wake-ups was lost"),
            Ok(Err(error)) => return tracing::debug!(%error, "the connection for wake-ups was lost"),
        }
        while listener.next_buffered().is_some() {}
    }
}

async fn refresh(pool: &PgPool, announcer: &Announcer) {
    match read_newest(pool).await {
        Ok(newest) => announcer.raise(newest),
        Err(error) => tracing::debug!(%error, "the counter of events could not be read"),
    }
}

pub(super) async fn read_newest(pool: &PgPool) -> Result<u64, Error> {
    let sql = "SELECT newest FROM event_sequence WHERE id = 1";
    let row = pool.fetch_one(sql).await.map_err(|error| translate(&error))?;
    let newest: i64 = row.try_get(0).map_err(|error| translate(&error))?;
    u64::try_from(newest).map_err(|_| Error::Corrupt("the counter of events is negative".into()))
}
