//! What a registry is made of: its knobs, its caps and the parts it is given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use warren_doors::{Clock, Entropy};
use warren_model::{CapabilitySet, ProviderConfig, ProviderKind, Ref, WorkspaceId};
use warren_rules::boxes::registry::{EvictionPlan, OpenPlan, RecoveryPlan};

use crate::{Error, Provider, RegistryMetrics};

/// The knobs of a registry. Each default is the specification's.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistryConfig {
    /// Opens under way at once in this registry (W15).
    pub max_concurrent_opens: usize,
    /// One attempt of an open may take this long.
    pub open_timeout: Duration,
    /// How transient opens are retried (W12).
    pub open: OpenPlan,
    /// How often an operation is repeated after evictions (W13).
    pub eviction: EvictionPlan,
    /// How `failed` is left without an operator: `reset_after` (W14) and the breaker for eviction storms.
    pub recovery: RecoveryPlan,
    /// A close that takes longer is left to the reaper (W16).
    pub close_deadline: Duration,
}

impl Default for RegistryConfig {
    fn default() -> Self {
        Self {
            max_concurrent_opens: 16,
            open_timeout: Duration::from_secs(120),
            open: OpenPlan::default(),
            eviction: EvictionPlan::default(),
            recovery: RecoveryPlan::default(),
            close_deadline: Duration::from_secs(30),
        }
    }
}

/// `max_global_concurrent_opens` (W15): the cap per provider. Clones share their permits, so give one to every
/// registry of the process.
#[derive(Debug, Clone)]
pub struct OpenGates(Arc<BTreeMap<ProviderKind, Arc<Semaphore>>>);

impl OpenGates {
    pub fn new(max_global_concurrent_opens: usize) -> Self {
        let gate = || Arc::new(Semaphore::new(max_global_concurrent_opens.max(1)));
        Self(Arc::new(ProviderKind::ALL.into_iter().map(|kind| (kind, gate())).collect()))
    }

    pub(super) fn of(&self, kind: ProviderKind) -> Arc<Semaphore> {
        Arc::clone(&self.0[&kind])
    }
}

impl Default for OpenGates {
    fn default() -> Self {
        Self::new(32)
    }
}

/// Makes a new ref durable **before** anybody is told that the workspace is open, so that a crash never forgets a
/// place that holds work.
#[async_trait]
pub trait RefSink: Send + Sync + std::fmt::Debug {
    async fn save(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error>;

    /// Asked before anything is opened: whether the workspace may be opened by this process, and by no other from now on.
    async fn claim(&self, _workspace_id: WorkspaceId) -> Result<(), Error> {
        Ok(())
    }
}

/// Keeps refs nowhere: for programs whose workspaces end with them.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardRefs;

#[async_trait]
impl RefSink for DiscardRefs {
    async fn save(&self, _: WorkspaceId, _: &Ref) -> Result<(), Error> {
        Ok(())
    }
}

/// Told when a workspace cannot be opened and never will be without an operator, such as one whose place is gone: the
/// owner's record must not go on saying that all is well. Told before anybody who waits for the open is answered, so
/// that whoever hears of the loss finds it recorded. A report that fails is repeated at the next use; one loss may be
/// told twice.
#[async_trait]
pub trait LossSink: Send + Sync + std::fmt::Debug {
    async fn lost(&self, workspace_id: WorkspaceId, error: &Error) -> Result<(), Error>;
}

/// Tells nobody: for programs that keep no record of their workspaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct IgnoreLosses;

#[async_trait]
impl LossSink for IgnoreLosses {
    async fn lost(&self, _: WorkspaceId, _: &Error) -> Result<(), Error> {
        Ok(())
    }
}

/// What a registry is given.
#[derive(Debug, Clone)]
pub struct RegistryParts {
    pub providers: Vec<Arc<dyn Provider>>,
    pub gates: OpenGates,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub metrics: Arc<dyn RegistryMetrics>,
    pub refs: Arc<dyn RefSink>,
    pub losses: Arc<dyn LossSink>,
}

/// A workspace as its owner wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    pub config: ProviderConfig,
    pub capabilities: CapabilitySet,
    /// Where it was made before. Absent: not yet made, or, when declared again, as known.
    pub reference: Option<Ref>,
    pub on_lost: LostPolicy,
}

/// What to do when a provider answers `Error::Evicted` to a resolve: what the ref points at exists no more
/// (O2, incident 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LostPolicy {
    /// Fail and say so. Nobody mistakes an empty place for their work.
    #[default]
    Fail,
    /// Make an empty place anew, under the same id.
    Recreate,
}
