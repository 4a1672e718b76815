//! Providers that misbehave when a test wants them to: slow opens, stops that fail, reapers that panic.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use warren_model::{CapabilitySet, ErrorCode, ProviderConfig, ProviderKind, Ref, WorkspaceId};
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, OpenRequest, Opened, Presence, Provider, ReapReport, Workspace};

/// What a test plants into every provider of its Warren, and counts there. Nothing is wrong until the test says so.
#[derive(Debug, Default)]
pub struct Faults {
    holds_opens: watch::Sender<bool>,
    holds_fetches: watch::Sender<bool>,
    opens: AtomicU32,
    opens_to_fail: AtomicU32,
    destroys: AtomicU32,
    destroys_to_fail: AtomicU32,
    reaps: Mutex<Reaps>,
    presence: Mutex<Option<Presence>>,
}

#[derive(Debug, Default)]
struct Reaps {
    panics: Option<ProviderKind>,
    fails: Option<ProviderKind>,
    passes: HashMap<ProviderKind, u32>,
}

impl Faults {
    /// Every open waits until `release_opens`.
    pub fn hold_opens(&self) {
        self.holds_opens.send_replace(true);
    }

    pub fn release_opens(&self) {
        self.holds_opens.send_replace(false);
    }

    /// Every place needs something first that comes with `release_fetches`.
    pub fn hold_fetches(&self) {
        self.holds_fetches.send_replace(true);
    }

    pub fn release_fetches(&self) {
        self.holds_fetches.send_replace(false);
    }

    /// How many opens began, whether of new places or of known ones.
    pub fn opens(&self) -> u32 {
        self.opens.load(Ordering::SeqCst)
    }

    pub fn fail_opens(&self, count: u32) {
        self.opens_to_fail.store(count, Ordering::SeqCst);
    }

    /// How many deletions were tried.
    pub fn destroys(&self) -> u32 {
        self.destroys.load(Ordering::SeqCst)
    }

    pub fn fail_destroys(&self, count: u32) {
        self.destroys_to_fail.store(count, Ordering::SeqCst);
    }

    /// Has the reaper of this provider panic, or none.
    pub fn panic_in_reap(&self, of: Option<ProviderKind>) {
        self.with_reaps(|reaps| reaps.panics = of);
    }

    pub fn fail_reap(&self, of: Option<ProviderKind>) {
        self.with_reaps(|reaps| reaps.fails = of);
    }

    /// How many passes this provider's reaper began.
    pub fn reaps(&self, of: ProviderKind) -> u32 {
        self.with_reaps(|reaps| reaps.passes.get(&of).copied().unwrap_or_default())
    }

    /// What a look at any workspace shows from now on; nothing: what is so.
    pub fn show_presence(&self, presence: Option<Presence>) {
        *self.presence.lock().unwrap_or_else(PoisonError::into_inner) = presence;
    }

    fn with_reaps<T>(&self, work: impl FnOnce(&mut Reaps) -> T) -> T {
        work(&mut self.reaps.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn pass_open(&self) -> Result<(), Error> {
        self.opens.fetch_add(1, Ordering::SeqCst);
        let mut holds = self.holds_opens.subscribe();
        // The sender lives as long as `self`.
        let _ = holds.wait_for(|holds| !holds).await;
        if take_one(&self.opens_to_fail) {
            return Err(Error::permanent(ErrorCode::WorkspaceFailed, "the test wants this open to fail"));
        }
        Ok(())
    }
}

fn take_one(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1)).is_ok()
}

/// A real provider with faults in front of it.
#[derive(Debug)]
pub struct Faulty {
    pub inner: Arc<dyn Provider>,
    pub faults: Arc<Faults>,
}

impl Faulty {
    fn watched(&self, inner: Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        Arc::new(Watched { inner, faults: Arc::clone(&self.faults) })
    }
}

/// A real workspace that may look gone.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Workspace>,
    faults: Arc<Faults>,
}

#[async_trait]
impl Workspace for Watched {
    fn id(&self) -> WorkspaceId {
        self.inner.id()
    }

    fn fs(&self) -> Option<&dyn Fs> {
        self.inner.fs()
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.inner.shell()
    }

    fn limits(&self) -> serde_json::Value {
        self.inner.limits()
    }

    fn loss(&self) -> Option<&'static str> {
        self.inner.loss()
    }

    async fn image(&self) -> Option<String> {
        self.inner.image().await
    }

    async fn presence(&self) -> Presence {
        let shown = *self.faults.presence.lock().unwrap_or_else(PoisonError::into_inner);
        match shown {
            Some(presence) => presence,
            None => self.inner.presence().await,
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}

#[async_trait]
impl Provider for Faulty {
    fn kind(&self) -> ProviderKind {
        self.inner.kind()
    }

    fn capabilities(&self) -> CapabilitySet {
        self.inner.capabilities()
    }

    fn check(&self, config: &ProviderConfig) -> Result<(), Error> {
        self.inner.check(config)
    }

    async fn is_prepared(&self, config: &ProviderConfig) -> Result<bool, Error> {
        let is_held = *self.faults.holds_fetches.borrow();
        Ok(!is_held && self.inner.is_prepared(config).await?)
    }

    async fn prepare(&self, config: &ProviderConfig) -> Result<(), Error> {
        let mut held = self.faults.holds_fetches.subscribe();
        let _ = held.wait_for(|is_held| !is_held).await;
        self.inner.prepare(config).await
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        self.faults.pass_open().await?;
        let opened = self.inner.open(request).await?;
        Ok(Opened { workspace: self.watched(opened.workspace), reference: opened.reference })
    }

    async fn resolve(
        &self,
        workspace_id: WorkspaceId,
        config: &ProviderConfig,
        reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.faults.pass_open().await?;
        let workspace = self.inner.resolve(workspace_id, config, reference).await?;
        Ok(self.watched(workspace))
    }

    async fn destroy(&self, workspace_id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        self.faults.destroys.fetch_add(1, Ordering::SeqCst);
        if take_one(&self.faults.destroys_to_fail) {
            return Err(Error::transient(ErrorCode::WorkspaceNotReady, "the box does not stop"));
        }
        self.inner.destroy(workspace_id, reference).await
    }

    async fn refresh_image(&self, config: &ProviderConfig) -> Result<Option<String>, Error> {
        self.inner.refresh_image(config).await
    }

    async fn shut_down(&self) {
        self.inner.shut_down().await;
    }

    async fn reap(&self, live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        let kind = self.kind();
        let (panics, fails) = self.faults.with_reaps(|reaps| {
            *reaps.passes.entry(kind).or_default() += 1;
            (reaps.panics == Some(kind), reaps.fails == Some(kind))
        });
        assert!(!panics, "the test wants the reaper to panic");
        if fails {
            return Err(Error::transient(ErrorCode::WorkspaceNotReady, "the reaper cannot look"));
        }
        self.inner.reap(live).await
    }
}
