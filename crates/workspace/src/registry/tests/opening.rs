use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use warren_model::{Capability, LocalConfig, MemoryConfig, Ref, RunPolicy, Sharing};
use warren_rules::boxes::registry::{RecoveryPlan, State};

use super::super::*;
use super::scripted::*;

// W2, W10
#[tokio::test(start_paused = true)]
async fn a_declared_workspace_is_opened_by_its_first_use_and_only_once() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    assert_eq!(stage.state(id), State::Unopened);
    assert!(stage.provider.calls().is_empty());
    stage.registry.acquire(id).await.unwrap();
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.state(id), State::Open);
    assert_eq!(stage.provider.calls(), ["open"]);
}

// W10
#[tokio::test(start_paused = true)]
async fn callers_at_the_same_time_share_one_open() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let leases = join_all((0..50).map(|_| stage.registry.acquire(id))).await;
    assert!(leases.iter().all(Result::is_ok));
    assert_eq!(stage.provider.calls(), ["open"]);
}

// W10
#[tokio::test(start_paused = true)]
async fn a_caller_that_hangs_up_does_not_abandon_the_open() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let hung_up = tokio::time::timeout(Duration::from_millis(1), stage.registry.acquire(id)).await;
    assert!(hung_up.is_err());
    assert_eq!(stage.state(id), State::Opening);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(stage.state(id), State::Open);
}

// W11
#[tokio::test(start_paused = true)]
async fn a_description_tells_every_field_and_nothing_for_an_unknown_workspace() {
    let stage = Stage::new(Scripted::playing([transient()]));
    assert_eq!(stage.registry.describe(id(9)), None);
    let id = stage.declare(1);
    stage.clock.advance_ms(5);
    stage.registry.acquire(id).await.unwrap();
    let now = stage.clock.now();
    let seen = stage.registry.describe(id).unwrap();
    assert_eq!((seen.state, seen.provider), (State::Open, ProviderKind::Memory));
    assert_eq!(
        (seen.opened_at, seen.last_attempt_at, seen.last_success_at),
        (Some(now), Some(now), Some(now))
    );
    assert_eq!(seen.last_error.unwrap().to_string(), "not yet");
    assert_eq!((seen.opens, seen.evictions), (1, 0));
    assert_eq!(seen.limits, serde_json::json!({"max_file_mb": 10}));
    assert_eq!(stage.registry.describe_all().len(), 1);
}

// W11
#[tokio::test(start_paused = true)]
async fn a_workspace_in_the_middle_of_a_step_is_described_at_once() {
    let stage = Stage::new(Scripted::playing([Line::Hang]));
    let id = stage.declare(1);
    let registry = stage.registry.clone();
    tokio::spawn(async move { registry.acquire(id).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(stage.state(id), State::Opening);
}

// W12, O2 incident 1
#[tokio::test(start_paused = true)]
async fn two_transient_failures_and_then_success_take_about_ten_seconds_at_most() {
    let stage = Stage::new(Scripted::playing([transient(), transient()]));
    let id = stage.declare(1);
    let started = Instant::now();
    stage.registry.acquire(id).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(stage.provider.calls().len(), 3);
}

// W12
#[tokio::test(start_paused = true)]
async fn transient_opens_are_given_up_after_three_retries_in_about_ten_seconds() {
    let stage = Stage::new(Scripted::playing((0..9).map(|_| transient())));
    let id = stage.declare(1);
    let started = Instant::now();
    let error = stage.registry.acquire(id).await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(stage.provider.calls().len(), 4);
    let seconds = started.elapsed().as_secs_f64();
    assert!((7.0..13.0).contains(&seconds), "{seconds}");
    // From now on it fails at once.
    let again = Instant::now();
    assert_eq!(stage.registry.acquire(id).await.unwrap_err(), error);
    assert_eq!((again.elapsed(), stage.state(id)), (Duration::ZERO, State::Failed));
}

// W12
#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_not_retried() {
    let operation = Error::operation(ErrorCode::StorageFull, "an error nobody called transient");
    for line in [permanent(), Line::Fail(operation)] {
        let stage = Stage::new(Scripted::playing([line]));
        let id = stage.declare(1);
        let error = stage.registry.acquire(id).await.unwrap_err();
        assert!(matches!(error, Error::Failed { transient: false, .. }), "{error:?}");
        assert_eq!((stage.provider.calls().len(), stage.state(id)), (1, State::Failed));
    }
}

// W12
#[tokio::test(start_paused = true)]
async fn an_open_that_hangs_is_cut_at_its_timeout_and_tried_again() {
    let stage = Stage::new(Scripted::playing([Line::Hang]));
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.provider.calls(), ["open", "open"]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_fails_its_workspace_and_nothing_else() {
    let stage = Stage::new(Scripted::playing([Line::Panic]));
    let (first, second) = (stage.declare(1), stage.declare(2));
    assert_eq!(stage.registry.acquire(first).await.unwrap_err().code(), ErrorCode::Internal);
    assert!(stage.registry.acquire(second).await.is_ok());
    assert_eq!((stage.state(first), stage.state(second)), (State::Failed, State::Open));
}

// W14
#[tokio::test(start_paused = true)]
async fn a_failed_workspace_stays_failed_until_an_operator_resets_it() {
    let stage = Stage::new(Scripted::playing([permanent()]));
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    stage.registry.acquire(id).await.unwrap_err();
    stage.registry.reset(id).unwrap();
    assert_eq!(stage.state(id), State::Unopened);
    stage.registry.acquire(id).await.unwrap();
    // What is open is not reset.
    assert_eq!(stage.registry.reset(id).unwrap_err().code(), ErrorCode::WorkspaceNotReady);
}

// W14, O2 incident 1
#[tokio::test(start_paused = true)]
async fn reset_after_recovers_a_failed_workspace_alone() {
    let recovery = RecoveryPlan { reset_after_ms: Some(300_000), ..RecoveryPlan::default() };
    let config = RegistryConfig { recovery, ..RegistryConfig::default() };
    let stage = Stage::with_config(Scripted::playing([permanent()]), config, OpenGates::default());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(299)).await;
    stage.registry.acquire(id).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.provider.calls().len(), 2);
}

// W15, O2 incident 3
#[tokio::test(start_paused = true)]
async fn two_hundred_opens_at_once_never_exceed_the_cap_and_go_in_order_of_arrival() {
    for (per_registry, global) in [(8, 100), (100, 8)] {
        let config = RegistryConfig { max_concurrent_opens: per_registry, ..RegistryConfig::default() };
        let stage = Stage::with_config(Scripted::new(), config, OpenGates::new(global));
        let ids: Vec<_> = (0..200).map(|number| stage.declare(number)).collect();
        let leases = join_all(ids.iter().map(|id| stage.registry.acquire(*id))).await;
        assert!(leases.iter().all(Result::is_ok));
        assert_eq!(stage.provider.peak.load(Ordering::SeqCst), 8);
        assert_eq!(*stage.provider.order.lock().unwrap(), ids);
    }
}

// W15
#[tokio::test(start_paused = true)]
async fn registries_that_share_their_gates_share_the_cap() {
    let gates = OpenGates::new(3);
    let first = Stage::with_config(
        Scripted::playing([Line::Hang, Line::Hang]),
        RegistryConfig::default(),
        gates.clone(),
    );
    let second = Stage::with_config(Scripted::new(), RegistryConfig::default(), gates);
    for number in [1, 2] {
        let (registry, id) = (first.registry.clone(), first.declare(number));
        tokio::spawn(async move { registry.acquire(id).await });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    let ids: Vec<_> = (0..10).map(|number| second.declare(number)).collect();
    join_all(ids.iter().map(|id| second.registry.acquire(*id))).await;
    assert_eq!(second.provider.peak.load(Ordering::SeqCst), 1);
}

// W15
#[tokio::test(start_paused = true)]
async fn waiting_for_a_retry_holds_no_permit() {
    let config = RegistryConfig { max_concurrent_opens: 1, ..RegistryConfig::default() };
    let stage = Stage::with_config(Scripted::playing([transient()]), config, OpenGates::default());
    let (slow, quick) = (stage.declare(1), stage.declare(2));
    let started = Instant::now();
    let registry = stage.registry.clone();
    let retrying = tokio::spawn(async move { registry.acquire(slow).await });
    tokio::time::sleep(Duration::from_millis(15)).await;
    stage.registry.acquire(quick).await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(100));
    retrying.await.unwrap().unwrap();
}

// W3, O2 incident 1
#[tokio::test(start_paused = true)]
async fn a_capability_that_is_not_offered_is_refused_before_anything_runs() {
    let stage = Stage::new(Scripted::new());
    let declared = CapabilitySet::EMPTY.with(Capability::Shell);
    let error =
        stage.registry.declare(id(1), Declaration { capabilities: declared, ..declaration() }).unwrap_err();
    assert_eq!((error.code(), error.is_transient()), (ErrorCode::CapabilityMissing, false));
    assert!(error.to_string().contains("shell") && error.to_string().contains("`memory`"), "{error}");
    assert!(stage.provider.calls().is_empty() && stage.registry.describe(id(1)).is_none());
}

// W3
#[tokio::test(start_paused = true)]
async fn an_open_without_a_declared_module_is_a_permanent_failure_and_is_closed() {
    let fs = CapabilitySet::EMPTY.with(Capability::Fs);
    let stage = Stage::new(Scripted { offered: fs, ..Scripted::new() });
    stage.registry.declare(id(1), Declaration { capabilities: fs, ..declaration() }).unwrap();
    let error = stage.registry.acquire(id(1)).await.unwrap_err();
    assert_eq!((error.code(), error.is_transient()), (ErrorCode::CapabilityMissing, false));
    assert!(error.to_string().contains("fs") && error.to_string().contains("`memory`"), "{error}");
    assert_eq!(stage.provider.calls(), ["open"]);
    assert_eq!(stage.provider.closing.closed.load(Ordering::SeqCst), 1);
}

fn local(config: LocalConfig) -> ProviderConfig {
    ProviderConfig::Local(config)
}

/// The scripted provider, under the name `local`.
#[derive(Debug)]
struct AsLocal(Scripted);

#[async_trait::async_trait]
impl Provider for AsLocal {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Local
    }
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::EMPTY
    }
    fn check(&self, _: &ProviderConfig) -> Result<(), Error> {
        Ok(())
    }

    async fn open(&self, request: crate::OpenRequest) -> Result<crate::Opened, Error> {
        self.0.open(request).await
    }
    async fn resolve(
        &self,
        id: WorkspaceId,
        config: &ProviderConfig,
        reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.0.resolve(id, config, reference).await
    }
    async fn destroy(&self, id: WorkspaceId, reference: &Ref) -> Result<(), Error> {
        self.0.destroy(id, reference).await
    }
    async fn reap(&self, live: &std::collections::BTreeSet<WorkspaceId>) -> Result<crate::ReapReport, Error> {
        self.0.reap(live).await
    }
}

fn local_registry() -> Registry {
    let stage = Stage::new(Scripted::new());
    let parts = RegistryParts {
        providers: vec![Arc::new(AsLocal(Scripted::new()))],
        gates: OpenGates::default(),
        clock: stage.clock,
        entropy: Arc::new(warren_doors::SeededEntropy::new(1)),
        metrics: stage.metrics,
        refs: stage.refs,
        losses: stage.losses,
    };
    Registry::new(parts, RegistryConfig::default())
}

// W5, O2 incident 8
#[tokio::test(start_paused = true)]
async fn sharing_by_id_must_be_allowed_explicitly() {
    let registry = local_registry();
    let share = |share_across_sessions| {
        let id = "team".to_owned();
        let share = Some(Sharing { id, share_across_sessions });
        local(LocalConfig { share, ..LocalConfig::default() })
    };
    let refused = registry.check(&share(false), CapabilitySet::EMPTY).unwrap_err();
    assert_eq!((refused.code(), refused.is_transient()), (ErrorCode::SharingRefused, false));
    assert_eq!(registry.check(&share(true), CapabilitySet::EMPTY), Ok(()));
}

// O2 incident 8
#[tokio::test(start_paused = true)]
async fn workspaces_with_the_same_config_are_opened_apart() {
    let stage = Stage::new(Scripted::new());
    let (first, second) = (stage.declare(1), stage.declare(2));
    let first = stage.registry.acquire(first).await.unwrap();
    let second = stage.registry.acquire(second).await.unwrap();
    assert!(!Arc::ptr_eq(first.workspace(), second.workspace()));
    assert_ne!(first.workspace().id(), second.workspace().id());
}

// W1, W61, O2 incident 1
#[tokio::test(start_paused = true)]
async fn a_wrong_config_is_refused_before_it_is_declared() {
    let registry = local_registry();
    let run = RunPolicy { mode: warren_model::CommandMode::Full, ..Default::default() };
    let full = local(LocalConfig { run, ..LocalConfig::default() });
    assert_eq!(registry.check(&full, CapabilitySet::EMPTY).unwrap_err().code(), ErrorCode::InvalidConfig);
    let memory = ProviderConfig::Memory(MemoryConfig::default());
    let unknown = registry.check(&memory, CapabilitySet::EMPTY).unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::ProviderUnavailable);
    assert!(unknown.to_string().contains("available: local"), "{unknown}");
}

// W4, W16
#[tokio::test(start_paused = true)]
async fn a_new_ref_is_durable_before_the_open_is_reported() {
    let stage = Stage::new(Scripted::new());
    stage.refs.failures.store(2, Ordering::SeqCst);
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    assert!(stage.refs.saved.lock().unwrap().contains_key(&id));
    // Only the saving was repeated: the place was made once.
    assert_eq!(stage.provider.calls(), ["open"]);
}

// W16
#[tokio::test(start_paused = true)]
async fn a_place_whose_ref_cannot_be_saved_is_closed_and_not_reported() {
    let stage = Stage::new(Scripted::new());
    stage.refs.failures.store(usize::MAX, Ordering::SeqCst);
    let id = stage.declare(1);
    let error = stage.registry.acquire(id).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PlatformUnavailable);
    assert_eq!((stage.state(id), stage.provider.closing.closed.load(Ordering::SeqCst)), (State::Failed, 1));
}

// W6
#[tokio::test(start_paused = true)]
async fn a_workspace_with_a_ref_is_resolved_and_its_ref_is_not_saved_again() {
    let stage = Stage::new(Scripted::new());
    let reference = Ref {
        provider: "memory".into(),
        schema_version: 1,
        capabilities: CapabilitySet::EMPTY,
        payload: serde_json::json!({}),
    };
    let known = Declaration { reference: Some(reference.clone()), ..declaration() };
    stage.registry.declare(id(1), known).unwrap();
    stage.registry.acquire(id(1)).await.unwrap();
    assert_eq!(stage.provider.calls(), ["resolve"]);
    assert!(stage.refs.saved.lock().unwrap().is_empty());
    let foreign = Ref { provider: "docker".into(), ..reference };
    stage.registry.declare(id(2), Declaration { reference: Some(foreign), ..declaration() }).unwrap();
    assert_eq!(stage.registry.acquire(id(2)).await.unwrap_err().code(), ErrorCode::RefUnreadable);
}

// W17
#[tokio::test(start_paused = true)]
async fn metrics_count_opens_retries_and_failures() {
    let stage = Stage::new(Scripted::playing([transient(), permanent()]));
    let (bad, good) = (stage.declare(1), stage.declare(2));
    stage.registry.acquire(bad).await.unwrap_err();
    stage.registry.acquire(good).await.unwrap();
    let count = |name| stage.metrics.of(name);
    assert_eq!((count("opened"), count("open_retried"), count("open_failed")), (1, 1, 1));
}

// W17
#[tokio::test(start_paused = true)]
async fn the_open_latency_is_from_the_first_ask_to_the_end_with_its_retries() {
    let takes = Scripted::new().open_takes;
    for (failures, name) in [(0, "at once"), (2, "after two retries")] {
        let stage = Stage::new(Scripted::playing(std::iter::repeat_n(transient(), failures)));
        let id = stage.declare(1);
        let asked = Instant::now();
        stage.registry.acquire(id).await.unwrap();
        let waited = asked.elapsed();
        // Who comes later finds it open, and counts for nothing.
        stage.registry.acquire(id).await.unwrap();
        let latencies = stage.metrics.open_latencies.lock().unwrap().clone();
        assert_eq!(latencies, [waited], "{name}");
        assert!(waited >= takes * (u32::try_from(failures).unwrap() + 1), "{name}: {waited:?}");
    }
}
