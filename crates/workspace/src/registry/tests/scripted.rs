//! A provider that behaves as it is told: each open or resolve takes the next line of its script.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use warren_doors::{ManualClock, SeededEntropy};
use warren_model::{CapabilitySet, ErrorCode, ProviderConfig, ProviderKind, Ref, Timestamp, WorkspaceId};

use super::super::*;
use crate::fs::Fs;
use crate::shell::Shell;
use crate::{OpenRequest, Opened, ReapReport};

/// What the next open or resolve does. Without a line it succeeds.
#[derive(Debug, Clone)]
pub(super) enum Line {
    Fail(Error),
    Hang,
    Panic,
}

#[derive(Debug)]
pub(super) struct Scripted {
    pub(super) offered: CapabilitySet,
    pub(super) script: Mutex<VecDeque<Line>>,
    pub(super) open_takes: Duration,
    pub(super) calls: Mutex<Vec<&'static str>>,
    pub(super) order: Mutex<Vec<WorkspaceId>>,
    pub(super) reaped: Mutex<Vec<BTreeSet<WorkspaceId>>>,
    pub(super) closing: Arc<Closing>,
    pub(super) at_once: AtomicUsize,
    pub(super) peak: AtomicUsize,
    /// Every place that was handed out, and whether it was closed since.
    pub(super) made: Mutex<Vec<(WorkspaceId, Arc<AtomicBool>)>>,
}

/// How the workspaces close.
#[derive(Debug, Default)]
pub(super) struct Closing {
    pub(super) hangs: Mutex<bool>,
    pub(super) fails: Mutex<bool>,
    pub(super) closed: AtomicUsize,
}

impl Scripted {
    pub(super) fn new() -> Self {
        Self {
            offered: CapabilitySet::EMPTY,
            script: Mutex::default(),
            open_takes: Duration::from_millis(10),
            calls: Mutex::default(),
            order: Mutex::default(),
            reaped: Mutex::default(),
            closing: Arc::default(),
            at_once: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            made: Mutex::default(),
        }
    }

    pub(super) fn playing(lines: impl IntoIterator<Item = Line>) -> Self {
        let scripted = Self::new();
        scripted.script.lock().unwrap().extend(lines);
        scripted
    }

    pub(super) fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().unwrap().clone()
    }

    /// The places of a workspace that nobody closed.
    pub(super) fn unclosed(&self, id: WorkspaceId) -> usize {
        let made = self.made.lock().unwrap();
        made.iter().filter(|(of, is_closed)| *of == id && !is_closed.load(Ordering::SeqCst)).count()
    }

    async fn play(&self, call: &'static str, id: WorkspaceId) -> Result<Arc<dyn Workspace>, Error> {
        self.calls.lock().unwrap().push(call);
        self.order.lock().unwrap().push(id);
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
        let _leave = Leave(&self.at_once);
        tokio::time::sleep(self.open_takes).await;
        let line = self.script.lock().unwrap().pop_front();
        match line {
            Some(Line::Fail(error)) => Err(error),
            Some(Line::Hang) => std::future::pending().await,
            Some(Line::Panic) => panic!("scripted"),
            None => {
                let is_closed = Arc::new(AtomicBool::new(false));
                self.made.lock().unwrap().push((id, Arc::clone(&is_closed)));
                Ok(Arc::new(ScriptedWorkspace { id, closing: Arc::clone(&self.closing), is_closed }))
            }
        }
    }
}

/// Counts an attempt out, also when it is cancelled.
struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Provider for Scripted {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Memory
    }

    fn capabilities(&self) -> CapabilitySet {
        self.offered
    }

    fn check(&self, _: &ProviderConfig) -> Result<(), Error> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let workspace = self.play("open", request.workspace_id).await?;
        let reference = Ref {
            provider: "memory".into(),
            schema_version: 1,
            capabilities: request.declared,
            payload: json!({"at": self.calls().len()}),
        };
        Ok(Opened { workspace, reference })
    }

    async fn resolve(
        &self,
        id: WorkspaceId,
        _: &ProviderConfig,
        _: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.play("resolve", id).await
    }

    async fn destroy(&self, _: WorkspaceId, _: &Ref) -> Result<(), Error> {
        self.calls.lock().unwrap().push("destroy");
        Ok(())
    }

    async fn reap(&self, live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        self.reaped.lock().unwrap().push(live.clone());
        Ok(ReapReport::default())
    }
}

#[derive(Debug)]
struct ScriptedWorkspace {
    id: WorkspaceId,
    closing: Arc<Closing>,
    is_closed: Arc<AtomicBool>,
}

#[async_trait]
impl Workspace for ScriptedWorkspace {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        None
    }

    fn shell(&self) -> Option<&dyn Shell> {
        None
    }

    fn limits(&self) -> serde_json::Value {
        json!({"max_file_mb": 10})
    }

    async fn close(&self) -> Result<(), Error> {
        if *self.closing.hangs.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        if *self.closing.fails.lock().unwrap() {
            return Err(Error::operation(ErrorCode::Internal, "scripted"));
        }
        self.closing.closed.fetch_add(1, Ordering::SeqCst);
        self.is_closed.store(true, Ordering::SeqCst);
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    counts: Mutex<BTreeMap<&'static str, u32>>,
    pub(super) open_latencies: Mutex<Vec<Duration>>,
}

impl Counts {
    fn add(&self, name: &'static str) {
        *self.counts.lock().unwrap().entry(name).or_default() += 1;
    }

    pub(super) fn of(&self, name: &str) -> u32 {
        self.counts.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

impl RegistryMetrics for Counts {
    fn opened(&self, _: ProviderKind, latency: Duration) {
        assert!(latency > Duration::ZERO);
        self.open_latencies.lock().unwrap().push(latency);
        self.add("opened");
    }
    fn open_retried(&self, _: ProviderKind) {
        self.add("open_retried");
    }
    fn open_failed(&self, _: ProviderKind, _: ErrorCode) {
        self.add("open_failed");
    }
    fn evicted(&self, _: ProviderKind) {
        self.add("evicted");
    }
    fn operation_retried(&self, _: ProviderKind) {
        self.add("operation_retried");
    }
    fn eviction_retries_exhausted(&self, _: ProviderKind) {
        self.add("exhausted");
    }
    fn closed(&self, _: ProviderKind, is_finished: bool) {
        self.add(if is_finished { "closed" } else { "close_overdue" });
    }
}

/// Keeps refs, and fails as often as told.
#[derive(Debug, Default)]
pub(super) struct Refs {
    pub(super) saved: Mutex<BTreeMap<WorkspaceId, Ref>>,
    pub(super) failures: AtomicUsize,
}

#[async_trait]
impl RefSink for Refs {
    async fn save(&self, id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        let fails = |left: usize| left.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return Err(Error::transient(ErrorCode::PlatformUnavailable, "the database is away"));
        }
        self.saved.lock().unwrap().insert(id, reference.clone());
        Ok(())
    }
}

/// A record of losses that is away for the first `failures` reports.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) told: Mutex<Vec<(WorkspaceId, Error)>>,
    pub(super) failures: AtomicUsize,
}

#[async_trait]
impl LossSink for Losses {
    async fn lost(&self, id: WorkspaceId, error: &Error) -> Result<(), Error> {
        let fails = |left: usize| left.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return Err(Error::transient(ErrorCode::PlatformUnavailable, "the database is away"));
        }
        self.told.lock().unwrap().push((id, error.clone()));
        Ok(())
    }
}

/// A registry over one scripted provider, with everything at hand.
pub(super) struct Stage {
    pub(super) registry: Registry,
    pub(super) provider: Arc<Scripted>,
    pub(super) metrics: Arc<Counts>,
    pub(super) refs: Arc<Refs>,
    pub(super) losses: Arc<Losses>,
    pub(super) clock: Arc<ManualClock>,
}

impl Stage {
    pub(super) fn new(provider: Scripted) -> Self {
        Self::with_config(provider, RegistryConfig::default(), OpenGates::default())
    }

    pub(super) fn with_config(provider: Scripted, config: RegistryConfig, gates: OpenGates) -> Self {
        let provider = Arc::new(provider);
        let metrics = Arc::new(Counts::default());
        let refs = Arc::new(Refs::default());
        let losses = Arc::new(Losses::default());
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_000_000)));
        let parts = RegistryParts {
            providers: vec![Arc::clone(&provider) as Arc<dyn Provider>],
            gates,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            entropy: Arc::new(SeededEntropy::new(7)),
            metrics: Arc::clone(&metrics) as Arc<dyn RegistryMetrics>,
            refs: Arc::clone(&refs) as Arc<dyn RefSink>,
            losses: Arc::clone(&losses) as Arc<dyn LossSink>,
        };
        let registry = Registry::new(parts, config);
        Self { registry, provider, metrics, refs, losses, clock }
    }

    /// A workspace that is declared and nothing more.
    pub(super) fn declare(&self, number: u8) -> WorkspaceId {
        self.registry.declare(id(number), declaration()).unwrap();
        id(number)
    }

    pub(super) fn state(&self, id: WorkspaceId) -> warren_rules::boxes::registry::State {
        self.registry.describe(id).unwrap().state
    }
}

pub(super) fn id(number: u8) -> WorkspaceId {
    WorkspaceId::from_bytes([number; 16])
}

pub(super) fn declaration() -> Declaration {
    Declaration {
        config: ProviderConfig::Memory(warren_model::MemoryConfig::default()),
        capabilities: CapabilitySet::EMPTY,
        reference: None,
        on_lost: LostPolicy::Fail,
    }
}

pub(super) fn transient() -> Line {
    Line::Fail(Error::transient(ErrorCode::WorkspaceFailed, "not yet"))
}

pub(super) fn permanent() -> Line {
    Line::Fail(Error::permanent(ErrorCode::InvalidConfig, "never"))
}
