//! The registry holds the live workspaces of this process: it opens, retries, evicts, closes and describes them
//! (W10–W17). The states and every plan are in `warren_rules::boxes::registry`; this carries them out.
//!
//! ```text
//!  declare ─▶ slot (unopened)                  caller ─▶ with(id, operation)
//!                 │                                           │
//!                 ▼            one task for all who wait      ▼
//!              opening ◀────────────────────────────────── acquire ──▶ lease ──▶ operation
//!                 │  provider's gate, registry's permits,     ▲                     │
//!                 ▼  timeout, retries, ref saved first        └── resolve again ◀───┘ evicted
//!               open ──▶ closing ──▶ closed, or the reaper
//! ```
//!
//! Surprises: `closed` is the end of one life; `declare` begins the next. A changed config takes effect at the next
//! open; `evict` brings that about. A lease is not a lock: a close does not wait for operations under way.

mod close;
mod config;
mod images;
mod losses;
mod open;
mod presence;
mod slot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use warren_doors::{Clock, Entropy};
use warren_model::{CapabilitySet, ErrorCode, ProviderConfig, ProviderKind, WorkspaceId};
use warren_rules::boxes::registry::{EvictionVerdict, FailureCause, Signal};
use warren_rules::{boxes::capabilities, boxes::command_policy};

pub use self::close::{CloseOutcome, CloseReport};
pub use self::config::{
    Declaration, DiscardRefs, IgnoreLosses, LossSink, LostPolicy, OpenGates, RefSink, RegistryConfig,
    RegistryParts,
};
pub use self::images::OpenImage;
pub use self::slot::{Description, Lease};
use self::slot::{OpenOutcome, Slot, SlotState, not_ready};
use crate::{Error, Provider, RegistryMetrics, Workspace};

/// A cloneable handle to the live workspaces of this process.
#[derive(Debug, Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    providers: BTreeMap<ProviderKind, Arc<dyn Provider>>,
    gates: OpenGates,
    open_permits: Semaphore,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    metrics: Arc<dyn RegistryMetrics>,
    refs: Arc<dyn RefSink>,
    losses: Arc<dyn LossSink>,
    config: RegistryConfig,
    /// Breaker and recovery count from here, so that a jump of the wall clock moves neither.
    started: Instant,
    slots: Mutex<HashMap<WorkspaceId, Arc<Slot>>>,
    /// Evicted workspaces that would not close; the reaper tries again.
    left: Mutex<Vec<Arc<dyn Workspace>>>,
    tasks: TaskTracker,
}

/// An operation's error, as far as the registry must understand it.
pub trait OperationError: From<Error> {
    /// How the workspace was lost, if that is why the operation failed.
    fn eviction(&self) -> Option<&str>;
}

impl OperationError for Error {
    fn eviction(&self) -> Option<&str> {
        match self {
            Self::Evicted { detail } => Some(detail),
            Self::Operation { .. } | Self::Failed { .. } => None,
        }
    }
}

impl Registry {
    pub fn new(parts: RegistryParts, config: RegistryConfig) -> Self {
        let providers = parts.providers.into_iter();
        let inner = Inner {
            providers: providers.map(|one| (one.kind(), one)).collect(),
            gates: parts.gates,
            open_permits: Semaphore::new(config.max_concurrent_opens.max(1)),
            clock: parts.clock,
            entropy: parts.entropy,
            metrics: parts.metrics,
            refs: parts.refs,
            losses: parts.losses,
            config,
            started: Instant::now(),
            slots: Mutex::default(),
            left: Mutex::default(),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether a workspace of this config could be opened at all (W3, W5, W61): to be asked before anything runs, and
    /// before any model is called. A breach is a permanent failure.
    pub fn check(&self, config: &ProviderConfig, declared: CapabilitySet) -> Result<(), Error> {
        self.inner.check(config, declared).map(|_| ())
    }

    /// What the provider of this kind can do.
    pub fn offered(&self, kind: ProviderKind) -> Result<CapabilitySet, Error> {
        self.inner.provider(kind).map(|provider| provider.capabilities())
    }

    /// Whether this host has what the provider of this kind needs.
    pub async fn availability(&self, kind: ProviderKind) -> Result<(), Error> {
        self.inner.provider(kind)?.availability().await
    }

    /// Whether opening a place of this config begins at once, or with a fetch of what is not here.
    pub async fn is_prepared(&self, config: &ProviderConfig) -> Result<bool, Error> {
        self.inner.provider(config.kind())?.is_prepared(config).await
    }

    /// Fetches what a place of this config needs. It has its provider's own limits, not those of an open.
    pub async fn prepare(&self, config: &ProviderConfig) -> Result<(), Error> {
        self.inner.provider(config.kind())?.prepare(config).await
    }

    /// Makes a workspace known; its first use opens it. Declared again, it is changed as by `update`; closed, it
    /// begins a new life.
    pub fn declare(&self, id: WorkspaceId, declaration: Declaration) -> Result<(), Error> {
        self.check(&declaration.config, declaration.capabilities)?;
        let slot = match self.inner.lock_slots().entry(id) {
            std::collections::hash_map::Entry::Occupied(known) => Arc::clone(known.get()),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(Arc::new(Slot::new(id, declaration)));
                return Ok(());
            }
        };
        let mut cell = slot.lock();
        if matches!(cell.life, SlotState::Closing { .. }) {
            return Err(not_ready("the workspace is still closing; try again in a moment"));
        }
        if matches!(cell.life, SlotState::Closed) {
            cell.advance(Signal::Declared, SlotState::Unopened)?;
        }
        cell.redeclare(declaration);
        Ok(())
    }

    /// Changes a declared workspace. What is open stays as it is until the next open.
    pub fn update(&self, id: WorkspaceId, declaration: Declaration) -> Result<(), Error> {
        self.check(&declaration.config, declaration.capabilities)?;
        self.slot(id)?.lock().redeclare(declaration);
        Ok(())
    }

    /// Lets go of a workspace that is not in use; what it has on disk stays.
    pub fn forget(&self, id: WorkspaceId) -> Result<(), Error> {
        let mut slots = self.inner.lock_slots();
        let Some(slot) = slots.get(&id) else { return Ok(()) };
        let mut cell = slot.lock();
        match cell.life {
            SlotState::Unopened | SlotState::Evicted | SlotState::Failed { .. } | SlotState::Closed => {}
            SlotState::Opening { .. } | SlotState::Open(_) | SlotState::Closing { .. } => {
                return Err(not_ready("the workspace is in use: close it first"));
            }
        }
        let stale = cell.stale.take();
        drop(cell);
        slots.remove(&id);
        drop(slots);
        stale.into_iter().for_each(|stale| self.inner.leave_to_reaper(stale));
        Ok(())
    }

    /// The open workspace; opens it on first use, together with all who ask at the same time. One that ended while
    /// nobody used it is found again before it is given out.
    pub async fn acquire(&self, id: WorkspaceId) -> Result<Lease, Error> {
        let lease = self.lease(id).await?;
        let Some(detail) = lease.workspace.loss() else {
            return Ok(lease);
        };
        self.report_eviction(id, &lease, detail);
        self.lease(id).await
    }

    async fn lease(&self, id: WorkspaceId) -> Result<Lease, Error> {
        let slot = self.slot(id)?;
        if slot.needs_claim() {
            self.inner.refs.claim(id).await?;
        }
        let mut outcome = match self.inner.enter(&slot)? {
            Admission::Ready(lease) => return Ok(lease),
            Admission::Wait(outcome) => outcome,
        };
        match outcome.wait_for(Option::is_some).await {
            Ok(settled) => settled.clone().unwrap_or_else(|| Err(abandoned())),
            Err(_) => Err(abandoned()),
        }
    }

    /// Runs an operation in the workspace. When the workspace is evicted under it, resolves it again and repeats the
    /// operation, once per eviction and within bounds (W13).
    pub async fn with<T, E, F, Fut>(&self, id: WorkspaceId, mut operation: F) -> Result<T, E>
    where
        E: OperationError,
        F: FnMut(Arc<dyn Workspace>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let mut evictions = 0;
        loop {
            let lease = self.acquire(id).await?;
            let kind = self.slot(id)?.lock().config.kind();
            let error = match operation(Arc::clone(&lease.workspace)).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(detail) = error.eviction() else {
                return Err(error);
            };
            self.report_eviction(id, &lease, detail);
            evictions += 1;
            match self.inner.config.eviction.after_eviction(evictions) {
                EvictionVerdict::ResolveAndRetry => self.inner.metrics.operation_retried(kind),
                EvictionVerdict::Exhausted => {
                    tracing::error!(event = "workspace.eviction.retry_exhausted", workspace.id = %id,
                        provider = %kind, evictions, cause = detail,
                        "the workspace was evicted again and again under one operation, which is given up");
                    self.inner.metrics.eviction_retries_exhausted(kind);
                    let detail =
                        format!("the workspace was evicted {evictions} times during one operation: {detail}");
                    return Err(Error::evicted(detail).into());
                }
            }
        }
    }

    /// Says that a leased workspace turned out to be gone: for streams, which `with` cannot repeat. Late reports
    /// about an earlier life change nothing.
    pub fn report_eviction(&self, id: WorkspaceId, lease: &Lease, detail: &str) {
        if let Ok(slot) = self.slot(id) {
            self.inner.lose(&slot, Some(lease.incarnation), detail);
        }
    }

    /// Has an operator's workspace opened afresh at its next use, with its current config. Not open: nothing to do.
    pub fn evict(&self, id: WorkspaceId) -> Result<(), Error> {
        let slot = self.slot(id)?;
        self.inner.lose(&slot, None, "an operator evicted it");
        Ok(())
    }

    /// Gives a failed workspace another chance at its next use. For operators, never a tool (W14).
    pub fn reset(&self, id: WorkspaceId) -> Result<(), Error> {
        let slot = self.slot(id)?;
        let mut cell = slot.lock();
        cell.advance(Signal::Reset, SlotState::Unopened)?;
        cell.breaker.forget();
        tracing::info!(event = "workspace.reset", workspace.id = %id, "an operator reset the workspace");
        Ok(())
    }

    /// An immutable view; `None` when no such workspace is declared. Never waits (W11).
    pub fn describe(&self, id: WorkspaceId) -> Option<Description> {
        let slot = self.inner.lock_slots().get(&id).cloned();
        slot.map(|slot| slot.describe())
    }

    /// All of them, by id.
    pub fn describe_all(&self) -> Vec<Description> {
        let slots = self.inner.slots();
        slots.iter().map(|slot| slot.describe()).collect()
    }

    fn slot(&self, id: WorkspaceId) -> Result<Arc<Slot>, Error> {
        let known = self.inner.lock_slots().get(&id).cloned();
        known.ok_or_else(|| {
            Error::operation(ErrorCode::WorkspaceNotFound, "the workspace is not declared here")
        })
    }
}

enum Admission {
    Ready(Lease),
    Wait(watch::Receiver<OpenOutcome>),
}

impl Inner {
    /// Takes what is open, joins the open under way, or begins one.
    fn enter(self: &Arc<Self>, slot: &Arc<Slot>) -> Result<Admission, Error> {
        let mut cell = slot.lock();
        match &cell.life {
            SlotState::Open(lease) => return Ok(Admission::Ready(lease.clone())),
            SlotState::Opening { outcome, .. } => return Ok(Admission::Wait(outcome.clone())),
            SlotState::Unopened | SlotState::Evicted => {}
            SlotState::Failed { cause, error, since, .. } => {
                let failed_for = since.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
                if !self.config.recovery.may_reset(*cause, failed_for) {
                    let error = error.clone();
                    if cell.untold_loss().is_some() {
                        self.tasks.spawn(losses::tell(Arc::clone(self), Arc::clone(slot)));
                    }
                    return Err(error);
                }
                cell.advance(Signal::Reset, SlotState::Unopened)?;
            }
            SlotState::Closing { .. } => return Err(not_ready("the workspace is closing")),
            SlotState::Closed => return Err(not_ready("the workspace is closed")),
        }
        open::begin(self, slot, &mut cell).map(Admission::Wait)
    }

    /// Open to evicted, and on to failed when evictions are a storm. Counts each loss once.
    fn lose(&self, slot: &Slot, incarnation: Option<u64>, detail: &str) {
        let kind = {
            let mut cell = slot.lock();
            let SlotState::Open(lease) = &cell.life else { return };
            if incarnation.is_some_and(|lost| lost != lease.incarnation) {
                return;
            }
            let workspace = Arc::clone(&lease.workspace);
            let advanced = cell.advance(Signal::Lost, SlotState::Evicted);
            debug_assert!(advanced.is_ok(), "what is open can be lost");
            cell.stale = Some(workspace);
            cell.history.evictions += 1;
            cell.history.last_error = Some(Error::evicted(detail));
            let now_ms = self.started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
            // An operator's own evictions are no storm.
            if incarnation.is_some() && cell.breaker.note(&self.config.recovery.storm, now_ms) {
                self.fail_fast(slot, &mut cell, detail);
            }
            cell.config.kind()
        };
        self.metrics.evicted(kind);
        tracing::warn!(event = "workspace.evicted", workspace.id = %slot.id, provider = %kind, cause = detail,
            "the workspace was lost while it was open");
    }

    fn fail_fast(&self, slot: &Slot, cell: &mut slot::SlotContents, detail: &str) {
        let plan = self.config.recovery.storm;
        let sentence = format!(
            "the workspace was evicted more than {} times within {} s, last: {detail}; it is tried again after {} s",
            plan.max_evictions,
            plan.window_ms / 1_000,
            plan.cooldown_ms / 1_000
        );
        let error = Error::transient(ErrorCode::WorkspaceEvicted, sentence);
        cell.history.last_error = Some(error.clone());
        let cause = FailureCause::EvictionStorm;
        let failed = SlotState::Failed { cause, error, since: Instant::now(), is_told: false };
        let advanced = cell.advance(Signal::StormDetected, failed);
        debug_assert!(advanced.is_ok(), "what is evicted can fail");
        tracing::error!(event = "workspace.eviction.storm", workspace.id = %slot.id, cause = detail,
            "the workspace is evicted again and again; its uses fail at once for a while");
    }

    fn check(&self, config: &ProviderConfig, declared: CapabilitySet) -> Result<Arc<dyn Provider>, Error> {
        let kind = config.kind();
        let provider = self.provider(kind)?;
        capabilities::check_offered(kind, declared, provider.capabilities())
            .map_err(|breach| Error::permanent(ErrorCode::CapabilityMissing, breach.to_string()))?;
        if let Some(sharing) = config.sharing()
            && !sharing.share_across_sessions
        {
            let detail = format!(
                "provider `{kind}`: `share.id` is `{}`, but `share.share_across_sessions` is not true",
                sharing.id
            );
            return Err(Error::permanent(ErrorCode::SharingRefused, detail));
        }
        check_run_policy(config)?;
        provider.check(config)?;
        Ok(provider)
    }

    fn provider(&self, kind: ProviderKind) -> Result<Arc<dyn Provider>, Error> {
        self.providers.get(&kind).cloned().ok_or_else(|| {
            let known: Vec<_> = self.providers.keys().map(|kind| kind.as_str()).collect();
            let detail = format!("provider `{kind}` is not available here; available: {}", known.join(", "));
            Error::permanent(ErrorCode::ProviderUnavailable, detail)
        })
    }

    fn leave_to_reaper(&self, workspace: Arc<dyn Workspace>) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
    }

    fn take_left(&self) -> Vec<Arc<dyn Workspace>> {
        std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_slots(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By id.
    fn slots(&self) -> Vec<Arc<Slot>> {
        let mut slots: Vec<_> = self.lock_slots().values().cloned().collect();
        slots.sort_by_key(|slot| slot.id);
        slots
    }
}

fn check_run_policy(config: &ProviderConfig) -> Result<(), Error> {
    let Some(policy) = config.run_policy() else {
        return Ok(());
    };
    command_policy::check(policy, command_policy::is_boxed(config.kind()))
        .map_err(|problem| Error::permanent(ErrorCode::InvalidConfig, problem))
}

fn lost(detail: &str) -> Error {
    let detail = format!(
        "the place of this workspace is gone ({detail}); create the workspace again, or let lost places be recreated \
         empty"
    );
    Error::permanent(ErrorCode::WorkspaceFailed, detail)
}

fn abandoned() -> Error {
    Error::transient(ErrorCode::ShuttingDown, "the open was abandoned: Warren is shutting down")
}
