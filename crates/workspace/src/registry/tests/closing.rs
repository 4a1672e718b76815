use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_rules::boxes::registry::State;

use super::super::*;
use super::scripted::*;

fn set_hanging(stage: &Stage, hangs: bool) {
    *stage.provider.closing.hangs.lock().unwrap() = hangs;
}

fn closed(stage: &Stage) -> usize {
    stage.provider.closing.closed.load(Ordering::SeqCst)
}

// W16
#[tokio::test(start_paused = true)]
async fn a_close_ends_the_workspace_and_a_new_declaration_revives_it() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.registry.close(id).await, Ok(CloseOutcome::Closed));
    assert_eq!((stage.state(id), closed(&stage)), (State::Closed, 1));
    assert_eq!(stage.registry.acquire(id).await.unwrap_err().code(), ErrorCode::WorkspaceNotReady);
    assert_eq!(stage.registry.close(id).await, Ok(CloseOutcome::Closed));
    stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.provider.calls(), ["open", "resolve"]);
}

// W16, O2 incident 4
#[tokio::test(start_paused = true)]
async fn a_close_gives_up_at_its_deadline_and_the_reaper_finishes_it() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    set_hanging(&stage, true);
    let started = Instant::now();
    assert_eq!(stage.registry.close(id).await, Ok(CloseOutcome::LeftToReaper));
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    assert_eq!(stage.state(id), State::Closing);
    let stuck = stage.registry.reap_once(&BTreeSet::new()).await;
    assert_eq!((stuck.removed, stuck.problems.len()), (0, 1));
    set_hanging(&stage, false);
    let report = stage.registry.reap_once(&BTreeSet::new()).await;
    assert_eq!((report.removed, report.problems.len()), (1, 0));
    assert_eq!((stage.state(id), closed(&stage)), (State::Closed, 1));
    assert_eq!((stage.metrics.of("close_overdue"), stage.metrics.of("closed")), (2, 1));
}

// W16
#[tokio::test(start_paused = true)]
async fn a_close_that_fails_is_left_to_the_reaper_too() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    *stage.provider.closing.fails.lock().unwrap() = true;
    assert_eq!(stage.registry.close(id).await, Ok(CloseOutcome::LeftToReaper));
    *stage.provider.closing.fails.lock().unwrap() = false;
    assert_eq!(stage.registry.reap_once(&BTreeSet::new()).await.removed, 1);
}

// W16
#[tokio::test(start_paused = true)]
async fn a_caller_that_hangs_up_does_not_stop_a_close() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    set_hanging(&stage, true);
    let hung_up = tokio::time::timeout(Duration::from_secs(1), stage.registry.close(id)).await;
    assert!(hung_up.is_err());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.metrics.of("close_overdue"), 1);
}

// W16
#[tokio::test(start_paused = true)]
async fn a_close_in_the_middle_of_an_open_closes_what_was_opened() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    let registry = stage.registry.clone();
    let waiting = tokio::spawn(async move { registry.acquire(id).await });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(stage.registry.close(id).await, Ok(CloseOutcome::Closed));
    assert_eq!(waiting.await.unwrap().unwrap_err().code(), ErrorCode::WorkspaceNotReady);
    assert_eq!((stage.state(id), closed(&stage)), (State::Closed, 1));
}

// W16
#[tokio::test(start_paused = true)]
async fn a_close_between_two_attempts_does_not_wait_for_the_next() {
    let stage = Stage::new(Scripted::playing([transient()]));
    let id = stage.declare(1);
    let registry = stage.registry.clone();
    tokio::spawn(async move { registry.acquire(id).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let started = Instant::now();
    assert_eq!(stage.registry.close(id).await, Ok(CloseOutcome::Closed));
    assert_eq!((started.elapsed(), stage.state(id)), (Duration::ZERO, State::Closed));
    assert_eq!(stage.provider.calls().len(), 1);
}

// W16, W76
#[tokio::test(start_paused = true)]
async fn the_reaper_tells_providers_every_live_workspace_also_of_other_replicas() {
    let stage = Stage::new(Scripted::new());
    let (idle, paused) = (stage.declare(1), stage.declare(2));
    stage.registry.acquire(paused).await.unwrap();
    stage.registry.close(paused).await.unwrap();
    let elsewhere = BTreeSet::from([id(77)]);
    stage.registry.reap_once(&elsewhere).await;
    let told = stage.provider.reaped.lock().unwrap()[0].clone();
    assert_eq!(told, BTreeSet::from([idle, paused, id(77)]));
}

// W16
#[tokio::test(start_paused = true)]
async fn an_evicted_workspace_that_will_not_let_go_is_left_to_the_reaper() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    set_hanging(&stage, true);
    stage.registry.evict(id).unwrap();
    stage.registry.acquire(id).await.unwrap();
    set_hanging(&stage, false);
    assert_eq!(stage.registry.reap_once(&BTreeSet::new()).await.removed, 1);
    assert_eq!((stage.state(id), closed(&stage)), (State::Open, 1));
}

#[tokio::test(start_paused = true)]
async fn destroying_closes_deletes_and_forgets() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    stage.registry.destroy(id).await.unwrap();
    assert_eq!((stage.provider.calls(), closed(&stage)), (vec!["open", "destroy"], 1));
    assert_eq!(stage.registry.describe(id), None);
    // Never opened: there is nothing to delete.
    let idle = stage.declare(2);
    stage.registry.destroy(idle).await.unwrap();
    assert_eq!(stage.provider.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn only_a_workspace_that_is_not_in_use_is_forgotten() {
    let stage = Stage::new(Scripted::new());
    let id = stage.declare(1);
    stage.registry.acquire(id).await.unwrap();
    assert_eq!(stage.registry.forget(id).unwrap_err().code(), ErrorCode::WorkspaceNotReady);
    stage.registry.close(id).await.unwrap();
    stage.registry.forget(id).unwrap();
    assert_eq!(stage.registry.describe(id), None);
}

// O4
#[tokio::test(start_paused = true)]
async fn closing_all_ends_within_its_deadline() {
    let stage = Stage::new(Scripted::new());
    for number in 0..20 {
        let id = stage.declare(number);
        stage.registry.acquire(id).await.unwrap();
    }
    let report = stage.registry.close_all(Duration::from_secs(5)).await;
    assert_eq!((report.closed, report.left_to_reaper, closed(&stage)), (20, 0, 20));
    let id = stage.declare(100);
    stage.registry.acquire(id).await.unwrap();
    set_hanging(&stage, true);
    let started = Instant::now();
    let report = stage.registry.close_all(Duration::from_secs(5)).await;
    assert_eq!((report.closed, report.left_to_reaper), (20, 1));
    assert_eq!(started.elapsed(), Duration::from_secs(5));
}
