//! The surroundings of a service: what it is given from outside, and the work that it leaves running.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, Span};
use warren_doors::{Clock, Entropy};
use warren_model::{ErrorCode, Id, IdKind, Limits, NewEvent, Principal, RequestKind, Status, Timestamp};
use warren_store::{QueueTotals, Store, StoreHealth, WriteTx};

use crate::unreadable::LoggedRows;
use crate::{Error, TxInputs, writes};

/// Live events that a listener may be behind before it misses some.
const LIVE_BUFFER: usize = 1_024;

/// What comes from outside.
#[derive(Debug, Clone)]
pub struct ContextParts {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub limits: Limits,
}

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Census {
    pub workspaces: Vec<(Status, u64)>,
    pub queue: QueueTotals,
}

impl Census {
    /// In all orgs, for whoever watches over this Warren.
    pub async fn of(context: &Context) -> Result<Self, Error> {
        let read = context.store().read(|tx| {
            Ok::<_, Error>(Self { workspaces: tx.count_workspaces_by_status()?, queue: tx.queue_totals()? })
        });
        read.await
    }
}

/// What all services of one Warren share. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: ContextParts,
    /// Tells this process from others on the same database.
    instance: String,
    /// Work that must finish even if the client that asked for it hangs up.
    tasks: TaskTracker,
    stopping: CancellationToken,
    /// Events that are told and not stored (F15).
    live: broadcast::Sender<Arc<NewEvent>>,
    logged_rows: Arc<LoggedRows>,
}

impl Context {
    pub fn new(parts: ContextParts) -> Self {
        let instance = parts.entropy.id::<RequestKind>(parts.clock.now()).to_string();
        Self(Arc::new(Inner {
            parts,
            instance,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            live: broadcast::channel(LIVE_BUFFER).0,
            logged_rows: Arc::default(),
        }))
    }

    /// The same, for services that stop before the others: their background work is counted apart.
    #[must_use]
    pub fn with_own_work(&self) -> Self {
        Self(Arc::new(Inner {
            parts: self.0.parts.clone(),
            instance: self.0.instance.clone(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            live: self.0.live.clone(),
            logged_rows: Arc::clone(&self.0.logged_rows),
        }))
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.parts.store
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.parts.clock
    }

    pub fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.0.parts.entropy
    }

    pub fn limits(&self) -> &Limits {
        &self.0.parts.limits
    }

    /// The name of this process, where several are on one database.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    pub fn now(&self) -> Timestamp {
        self.0.parts.clock.now()
    }

    /// A new id; ids made later sort later.
    pub fn new_id<K: IdKind>(&self) -> Id<K> {
        self.0.parts.entropy.id(self.now())
    }

    /// What a transaction is told, taken now.
    pub fn inputs<C>(&self, by: &Principal, config: C) -> TxInputs<C> {
        TxInputs { by: by.clone(), now: self.now(), config }
    }

    /// Is cancelled when Warren stops. Background work that waits, waits for this too.
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    pub fn is_stopping(&self) -> bool {
        self.0.stopping.is_cancelled()
    }

    /// Starts background work, named by its span. A stop waits for it.
    pub fn spawn<T: Send + 'static>(
        &self,
        span: Span,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.tasks.spawn(work.instrument(span))
    }

    /// Runs work to its end even if whoever waits for it hangs up.
    pub async fn run_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let failed =
            |error: tokio::task::JoinError| Error::new(ErrorCode::Internal).caused_by(error.to_string());
        self.spawn(Span::current(), work).await.map_err(failed)
    }

    /// Says that Warren stops, so that background work ends at the next chance.
    pub fn begin_stop(&self) {
        self.0.stopping.cancel();
    }

    /// Waits until no background work is left.
    pub async fn wait_for_background_work(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Stores one event by itself.
    pub async fn append(&self, event: NewEvent) -> Result<(), Error> {
        self.store().write(move |tx| tx.append_event(&event).map_err(Error::from)).await
    }

    /// What the database says of itself.
    pub async fn store_health(&self) -> Result<StoreHealth, Error> {
        Ok(self.store().health().await?)
    }

    /// As [`write_with_retries`](crate::write_with_retries), on this context's store.
    pub async fn write_with_retries<T: Send + 'static>(
        &self,
        may_retry: bool,
        work: impl Fn(&mut dyn WriteTx) -> Result<T, Error> + Send + Sync + Clone + 'static,
    ) -> Result<T, Error> {
        writes::write_with_retries(self.store(), may_retry, work).await
    }

    /// Events that are not stored, from now on.
    pub fn live_events(&self) -> broadcast::Receiver<Arc<NewEvent>> {
        self.0.live.subscribe()
    }

    /// Tells whoever listens now. A listener that is too slow misses some, which changes nothing. The event is only made
    /// where somebody listens.
    pub fn tell_live(&self, event: impl FnOnce() -> NewEvent) {
        if self.0.live.receiver_count() > 0 {
            let _ = self.0.live.send(Arc::new(event()));
        }
    }

    pub(crate) fn logged_rows(&self) -> &LoggedRows {
        &self.0.logged_rows
    }
}
