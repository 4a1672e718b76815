use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use warren_rules::boxes::registry::{EvictionPlan, State};

use super::super::*;
use super::scripted::*;

/// An operation that meets so many evictions before it succeeds; and how often it ran.
async fn operate(stage: &Stage, id: WorkspaceId, evictions: u32) -> (Result<u32, Error>, u32) {
    let runs = AtomicU32::new(0);
    let result = stage
        .registry
        .with(id, |_| {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                if run <= evictions { Err(Error::evicted("the box is gone")) } else { Ok(run) }
            }
        })
        .await;
    (result, runs.into_inner())
}

/// What was logged while `work` ran, as lines.
async fn logged<T>(work: impl Future<Output = T>) -> (T, String) {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let value = work.await;
    drop(guard);
    let bytes = lines.0.lock().unwrap().clone();
    (value, String::from_utf8(bytes).unwrap())
}

// W13
#[tokio::test(start_paused = true)]
async fn an_evicted_workspace_is_resolved_and_the_operation_repeated_once() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let (result, runs) = operate(&stage, id, 1).await;
    assert_eq!((result, runs), (Ok(2), 2));
    assert_eq!(stage.provider.calls(), ["open", "resolve"]);
    let seen = stage.registry.describe(id).unwrap();
    assert_eq!((seen.opens, seen.evictions, seen.state), (2, 1, State::Open));
    // What was lost is let go.
    assert_eq!(stage.provider.closing.closed.load(Ordering::SeqCst), 1);
}

// W13
#[tokio::test(start_paused = true)]
async fn evictions_past_the_bound_are_one_error_log_and_a_typed_error() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let ((result, runs), log) = logged(operate(&stage, id, u32::MAX)).await;
    let error = result.unwrap_err();
    assert_eq!((error.code(), runs), (ErrorCode::WorkspaceEvicted, 4));
    assert_eq!(log.matches("workspace.eviction.retry_exhausted").count(), 1, "{log}");
    assert_eq!(log.matches("ERROR").count(), 1, "{log}");
    assert!(log.contains(&id.to_string()), "{log}");
    assert_eq!((stage.metrics.of("operation_retried"), stage.metrics.of("exhausted")), (3, 1));
    assert_eq!(stage.metrics.of("evicted"), 4);
}

// W13
#[tokio::test(start_paused = true)]
async fn other_errors_of_an_operation_are_handed_on_without_a_retry() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let missing = Error::operation(ErrorCode::FileNotFound, "no such file");
    let result: Result<(), Error> =
        stage.registry.with(id, |_| std::future::ready(Err(missing.clone()))).await;
    assert_eq!(result, Err(missing.clone()));
    assert_eq!(stage.state(id), State::Open);
}

// W13
#[tokio::test(start_paused = true)]
async fn one_loss_seen_by_many_operations_is_one_eviction() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let lease = stage.registry.acquire(id).await.unwrap();
    let results = join_all((0..20).map(|_| operate(&stage, id, 1))).await;
    assert!(results.iter().all(|(result, _)| result.is_ok()));
    assert_eq!(stage.metrics.of("evicted"), 1);
    // A late report about the earlier life changes nothing.
    stage.registry.report_eviction(id, &lease, "late");
    assert_eq!(stage.state(id), State::Open);
}

// O2 incident 7
#[tokio::test(start_paused = true)]
async fn an_eviction_storm_opens_the_breaker_and_its_cooldown_closes_it() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    for _ in 0..2 {
        operate(&stage, id, u32::MAX).await.0.unwrap_err();
    }
    assert_eq!(stage.state(id), State::Failed);
    let opens = stage.provider.calls().len();
    let started = Instant::now();
    let (result, runs) = operate(&stage, id, 0).await;
    let error = result.unwrap_err();
    assert_eq!((error.code(), runs), (ErrorCode::WorkspaceEvicted, 0));
    assert_eq!((stage.provider.calls().len(), started.elapsed()), (opens, Duration::ZERO));
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(operate(&stage, id, 0).await.0, Ok(1));
}

// O2 incident 7, W15
#[tokio::test(start_paused = true)]
async fn a_mass_restart_evicts_all_and_brings_all_back_within_the_cap() {
    let config = RegistryConfig { max_concurrent_opens: 4, ..RegistryConfig::default() };
    let stage = Stage::with_config(Scripted::new(), config, OpenGates::default());
    let ids: Vec<_> = (0..200).map(|number| stage.declare(number)).collect();
    join_all(ids.iter().map(|id| stage.registry.acquire(*id))).await;
    let results = join_all(ids.iter().map(|id| operate(&stage, *id, 1))).await;
    assert!(results.iter().all(|(result, _)| result.is_ok()));
    assert_eq!(stage.provider.peak.load(Ordering::SeqCst), 4);
    assert_eq!(stage.metrics.of("evicted"), 200);
}

// W13
#[tokio::test(start_paused = true)]
async fn the_bound_on_repeats_is_a_knob() {
    let config = RegistryConfig { eviction: EvictionPlan { max_retries: 0 }, ..RegistryConfig::default() };
    let stage = Stage::with_config(Scripted::new(), config, OpenGates::default());
    let id = stage.declare(1);
    let (result, runs) = operate(&stage, id, 1).await;
    assert!(result.is_err());
    assert_eq!(runs, 1);
}

fn gone() -> Line {
    Line::Fail(Error::evicted("no such box"))
}

// O2 incident 6
#[tokio::test(start_paused = true)]
async fn a_place_that_is_gone_is_found_out_and_not_replaced_in_silence() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    stage.provider.script.lock().unwrap().push_back(gone());
    let (result, _) = operate(&stage, id, 1).await;
    let error = result.unwrap_err();
    assert_eq!((error.code(), error.is_transient()), (ErrorCode::WorkspaceFailed, false));
    assert_eq!(stage.provider.calls(), ["open", "resolve"]);
}

// O2 incident 6
#[tokio::test(start_paused = true)]
async fn a_place_that_is_gone_is_made_anew_only_when_that_was_asked_for() {
    let stage = Stage::new(Scripted::new());
    let id = id(1);
    let recreate = Declaration { on_lost: LostPolicy::Recreate, ..declaration() };
    stage.registry.declare(id, recreate).unwrap();
    stage.registry.acquire(id).await.unwrap();
    let before = stage.refs.saved.lock().unwrap()[&id].clone();
    stage.provider.script.lock().unwrap().push_back(gone());
    assert_eq!(operate(&stage, id, 1).await.0, Ok(2));
    assert_eq!(stage.provider.calls(), ["open", "resolve", "open"]);
    assert_ne!(stage.refs.saved.lock().unwrap()[&id], before);
}

// W14
#[tokio::test(start_paused = true)]
async fn an_operator_can_evict_so_that_a_changed_config_takes_effect() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    stage.registry.update(id, declaration()).unwrap();
    assert_eq!(stage.state(id), State::Open);
    stage.registry.evict(id).unwrap();
    assert_eq!(stage.state(id), State::Evicted);
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.provider.calls(), ["open", "resolve"]);
}

// O2 incident 6: found out by the first use, told before that use is answered, and once.
#[tokio::test(start_paused = true)]
async fn a_place_that_is_gone_for_good_is_told_to_its_owner_before_anybody_is_answered() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    stage.provider.script.lock().unwrap().push_back(gone());
    let error = operate(&stage, id, 1).await.0.unwrap_err();
    assert_eq!(*stage.losses.told.lock().unwrap(), [(id, error)]);
    for _ in 0..5 {
        stage.registry.acquire(id).await.unwrap_err();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(stage.losses.told.lock().unwrap().len(), 1, "once told is told");
}

// O2 incident 6
#[tokio::test(start_paused = true)]
async fn a_loss_that_could_not_be_recorded_is_told_again_by_the_next_use() {
    let stage = Stage::new(Scripted::playing([permanent()]));
    stage.losses.failures.store(2, Ordering::SeqCst);
    let id = stage.declare(1);
    for uses in 1..=4 {
        stage.registry.acquire(id).await.unwrap_err();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(stage.losses.told.lock().unwrap().len(), usize::from(uses > 2), "after {uses} uses");
    }
}

// W12: what passes by itself is no loss.
#[tokio::test(start_paused = true)]
async fn transient_failures_are_not_told_as_losses() {
    let stage = Stage::new(Scripted::playing([transient(), transient(), transient(), transient()]));
    let id = stage.declare(1);
    assert!(stage.registry.acquire(id).await.unwrap_err().is_transient());
    assert!(stage.losses.told.lock().unwrap().is_empty());
}
