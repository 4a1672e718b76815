//! Wakers (F41): the same promises whatever carries the wake-ups, and no harm from one that is broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::Executor as _;
use tokio::sync::{Semaphore, broadcast};
use warren_store::{Error, Store, WakeUps, Waker};
use warren_store_sql::postgres::PostgresOptions;

use crate::postgres_server::Database;
use crate::rows;

/// Longer than anything here takes; a wait past it is a failure.
const PATIENCE: Duration = Duration::from_secs(60);
/// So slow that nothing here is heard by it.
const NO_POLL: u64 = 3_600_000;
const QUICK_POLL: u64 = 20;

fn options(poll_interval_ms: u64) -> PostgresOptions {
    PostgresOptions {
        max_connections: 4,
        poll_interval_ms,
        // A busy machine is no failure.
        acquire_timeout_ms: 60_000,
        ..PostgresOptions::default()
    }
}

/// What carries the wake-ups of two replicas.
#[derive(Clone)]
enum Carrier {
    Database,
    Other(Arc<dyn Waker>),
}

impl Carrier {
    async fn open(&self, database: &mut Database, poll_interval_ms: u64) -> Arc<dyn Store> {
        match self {
            Self::Database => database.open(options(poll_interval_ms)).await,
            Self::Other(waker) => {
                database.open_with_waker(options(poll_interval_ms), Arc::clone(waker)).await
            }
        }
    }
}

async fn hears(store: &Arc<dyn Store>, seq: u64) -> bool {
    let mut signal = store.newest_event();
    tokio::time::timeout(PATIENCE, signal.wait_for(|newest| *newest >= seq)).await.is_ok()
}

/// Replicas wake each other both ways. The first event may be found by the look that each takes when its listening
/// begins; with no poll, those after it are heard of by a wake-up or never.
async fn each_wakes_the_other(carrier: Carrier) {
    let mut database = Database::create().await;
    let one = carrier.open(&mut database, NO_POLL).await;
    let other = carrier.open(&mut database, NO_POLL).await;
    let mut seq = 0;
    for (writer, reader) in [(&one, &other), (&other, &one)] {
        let started = tokio::time::Instant::now();
        // What is told before the other listens is not heard, so that it is told again.
        loop {
            seq += 1;
            rows::append(writer, seq.to_string()).await;
            let mut signal = reader.newest_event();
            let heard = signal.wait_for(|newest| *newest >= seq);
            if tokio::time::timeout(Duration::from_millis(200), heard).await.is_ok() {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "nothing was heard");
        }
        for _ in 0..3 {
            seq += 1;
            rows::append(writer, seq.to_string()).await;
            assert!(hears(reader, seq).await, "event {seq} was not heard of");
        }
    }
}

/// Somebody commits and dies before the wake-up.
async fn the_poll_makes_good_what_was_lost(carrier: Carrier) {
    let mut database = Database::create().await;
    let store = carrier.open(&mut database, QUICK_POLL).await;
    let mut other = database.connect().await;
    other.execute("UPDATE event_sequence SET newest = 7").await.unwrap();
    assert!(hears(&store, 7).await, "the poll found nothing");
}

/// A burst is heard to its end, however the wake-ups for it were merged.
async fn the_end_of_a_burst_is_heard(carrier: Carrier) {
    let mut database = Database::create().await;
    let writer = carrier.open(&mut database, QUICK_POLL).await;
    let reader = carrier.open(&mut database, QUICK_POLL).await;
    let mut commits = tokio::task::JoinSet::new();
    for number in 0..50 {
        let writer = Arc::clone(&writer);
        commits.spawn(async move { rows::append(&writer, number.to_string()).await });
    }
    commits.join_all().await;
    assert!(hears(&reader, 50).await);
}

/// What every waker promises, by `NOTIFY`.
mod by_the_database {
    use super::*;

    // F41
    #[tokio::test(flavor = "multi_thread")]
    async fn replicas_wake_each_other() {
        each_wakes_the_other(Carrier::Database).await;
    }

    // F41
    #[tokio::test(flavor = "multi_thread")]
    async fn a_lost_wake_up_is_made_good_by_the_poll() {
        the_poll_makes_good_what_was_lost(Carrier::Database).await;
    }

    // F41
    #[tokio::test(flavor = "multi_thread")]
    async fn the_end_of_a_burst_is_heard_of() {
        the_end_of_a_burst_is_heard(Carrier::Database).await;
    }
}

/// What every waker promises, by a channel beside the database.
mod by_something_else {
    use super::*;

    // F41
    #[tokio::test(flavor = "multi_thread")]
    async fn replicas_wake_each_other() {
        each_wakes_the_other(Carrier::Other(Arc::new(Channel::default()))).await;
    }

    // F41
    #[tokio::test(flavor = "multi_thread")]
    async fn a_lost_wake_up_is_made_good_by_the_poll() {
        the_poll_makes_good_what_was_lost(Carrier::Other(Arc::new(Channel::default()))).await;
    }

    // F41
    #[tokio::test(flavor = "multi_thread")]
    async fn the_end_of_a_burst_is_heard_of() {
        the_end_of_a_burst_is_heard(Carrier::Other(Arc::new(Channel::default()))).await;
    }
}

/// Wake-ups between two stores of one process.
#[derive(Debug)]
struct Channel {
    sender: broadcast::Sender<()>,
    told: AtomicUsize,
    /// What each telling waits for, where a test wants to hold one up.
    gate: Option<Arc<Semaphore>>,
}

impl Default for Channel {
    fn default() -> Self {
        Self { sender: broadcast::channel(16).0, told: AtomicUsize::new(0), gate: None }
    }
}

#[async_trait]
impl Waker for Channel {
    async fn tell(&self) -> Result<(), Error> {
        self.told.fetch_add(1, Ordering::SeqCst);
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        // That nobody listens is no failure.
        let _ = self.sender.send(());
        Ok(())
    }

    async fn listen(&self) -> Result<Box<dyn WakeUps>, Error> {
        Ok(Box::new(Subscribed(self.sender.subscribe())))
    }
}

struct Subscribed(broadcast::Receiver<()>);

#[async_trait]
impl WakeUps for Subscribed {
    async fn next(&mut self) -> Result<(), Error> {
        match self.0.recv().await {
            Ok(()) | Err(broadcast::error::RecvError::Lagged(_)) => Ok(()),
            Err(broadcast::error::RecvError::Closed) => Err(Error::Unavailable("closed".into())),
        }
    }
}

// F41
#[tokio::test(flavor = "multi_thread")]
async fn commits_that_come_while_a_wake_up_is_sent_share_the_next() {
    let mut database = Database::create().await;
    let gate = Arc::new(Semaphore::new(0));
    let waker = Arc::new(Channel { gate: Some(Arc::clone(&gate)), ..Channel::default() });
    let store = database.open_with_waker(options(NO_POLL), Arc::clone(&waker) as Arc<dyn Waker>).await;
    let told = async |count: usize| {
        while waker.told.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    rows::append(&store, "the first").await;
    tokio::time::timeout(PATIENCE, told(1)).await.expect("it is told of");
    for number in 0..20 {
        rows::append(&store, number.to_string()).await;
    }
    gate.add_permits(100);
    tokio::time::timeout(PATIENCE, told(2)).await.expect("the rest is told of");
    rows::append(&store, "the last").await;
    tokio::time::timeout(PATIENCE, told(3)).await.expect("the last is told of");
    assert_eq!(waker.told.load(Ordering::SeqCst), 3, "one for the first, one for twenty, one for the last");
}

/// A waker that is of no use, in one way or another.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Fails,
    Hangs,
    Panics,
    /// Takes all and brings nothing.
    Swallows,
    /// Listening begins, and then there is nothing but errors.
    EndsAtOnce,
}

impl Broken {
    async fn break_down<T>(self, otherwise: T) -> Result<T, Error> {
        match self {
            Self::Fails => Err(Error::Unavailable("no broker".into())),
            Self::Hangs => std::future::pending().await,
            Self::Panics => panic!("a waker that panics, as the test wants it"),
            Self::Swallows | Self::EndsAtOnce => Ok(otherwise),
        }
    }
}

#[async_trait]
impl Waker for Broken {
    async fn tell(&self) -> Result<(), Error> {
        self.break_down(()).await
    }

    async fn listen(&self) -> Result<Box<dyn WakeUps>, Error> {
        let wake_ups: Box<dyn WakeUps> = Box::new(*self);
        self.break_down(wake_ups).await
    }
}

#[async_trait]
impl WakeUps for Broken {
    async fn next(&mut self) -> Result<(), Error> {
        match self {
            Self::EndsAtOnce => Err(Error::Unavailable("gone".into())),
            Self::Fails | Self::Hangs | Self::Panics | Self::Swallows => std::future::pending().await,
        }
    }
}

// F41
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_waker_holds_up_neither_commits_nor_the_poll() {
    let mut database = Database::create().await;
    let mut newest = 0;
    for broken in [Broken::Fails, Broken::Hangs, Broken::Panics, Broken::Swallows, Broken::EndsAtOnce] {
        let carrier = Carrier::Other(Arc::new(broken));
        let writer = carrier.open(&mut database, NO_POLL).await;
        let reader = carrier.open(&mut database, QUICK_POLL).await;
        let commits = async {
            for seq in newest + 1..=newest + 10 {
                rows::append(&writer, seq.to_string()).await;
                assert_eq!(*writer.newest_event().borrow(), seq, "{broken:?}: its own readers know at once");
            }
        };
        tokio::time::timeout(PATIENCE, commits).await.unwrap_or_else(|_| panic!("{broken:?}: commits wait"));
        newest += 10;
        assert!(hears(&reader, newest).await, "{broken:?}: the poll stands still");
        for store in [writer, reader] {
            let closed = tokio::time::timeout(PATIENCE, store.close()).await;
            assert!(closed.is_ok(), "{broken:?}: it does not close");
        }
    }
}

/// Works from the second try on, of each kind.
#[derive(Debug, Default)]
struct Recovering {
    channel: Channel,
    tells: AtomicUsize,
    listens: AtomicUsize,
}

#[async_trait]
impl Waker for Recovering {
    async fn tell(&self) -> Result<(), Error> {
        assert!(self.tells.fetch_add(1, Ordering::SeqCst) > 0, "the first panics, as the test wants it");
        self.channel.tell().await
    }

    async fn listen(&self) -> Result<Box<dyn WakeUps>, Error> {
        assert!(self.listens.fetch_add(1, Ordering::SeqCst) > 1, "the first panic, as the test wants it");
        self.channel.listen().await
    }
}

// F41
#[tokio::test(flavor = "multi_thread")]
async fn a_waker_that_panicked_is_asked_again() {
    each_wakes_the_other(Carrier::Other(Arc::new(Recovering::default()))).await;
}
