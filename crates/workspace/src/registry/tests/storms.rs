//! Everything at once: uses, evictions, closes, operators and failing providers in any order, under a paused clock.
//!
//! What must hold whatever the order: the cap on opens, an answer for every caller, and no place that is left open
//! without the registry knowing it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use proptest::prelude::*;
use tokio::task::JoinSet;
use warren_rules::boxes::registry::State;

use super::super::*;
use super::scripted::*;

const WORKSPACES: u8 = 5;
const CAP: usize = 2;
/// Longer than any wait inside: retries, timeouts, deadlines and cooldowns.
const ALWAYS_ENOUGH: Duration = Duration::from_secs(3_600);

#[derive(Debug, Clone)]
enum Move {
    /// An operation that meets so many evictions.
    Use(u8, u32),
    Evict(u8),
    Close(u8),
    Declare(u8),
    Reset(u8),
    Destroy(u8),
    Reap,
    ClosesHang(bool),
    Next(Line),
    Wait(u64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let workspace = 0..WORKSPACES;
    let line = prop_oneof![
        3 => Just(transient()),
        1 => Just(permanent()),
        1 => Just(Line::Hang),
        1 => Just(Line::Panic),
        2 => Just(Line::Fail(Error::evicted("gone"))),
    ];
    let one = prop_oneof![
        8 => (workspace.clone(), 0_u32..6).prop_map(|(number, evictions)| Move::Use(number, evictions)),
        2 => workspace.clone().prop_map(Move::Evict),
        2 => workspace.clone().prop_map(Move::Close),
        3 => workspace.clone().prop_map(Move::Declare),
        1 => workspace.clone().prop_map(Move::Reset),
        1 => workspace.prop_map(Move::Destroy),
        1 => Just(Move::Reap),
        1 => any::<bool>().prop_map(Move::ClosesHang),
        3 => line.prop_map(Move::Next),
        4 => (0_u64..40_000).prop_map(Move::Wait),
    ];
    proptest::collection::vec(one, 1..60)
}

/// Begins a move; whoever waits for it is a task of its own.
async fn begin(stage: &Stage, tasks: &mut JoinSet<()>, one: Move) {
    let registry = stage.registry.clone();
    match one {
        Move::Use(number, evictions) => {
            tasks.spawn(async move {
                let mut left = evictions;
                let operation = move |_| {
                    let is_evicted = left > 0;
                    left = left.saturating_sub(1);
                    async move { if is_evicted { Err(Error::evicted("swept")) } else { Ok(()) } }
                };
                let _ = registry.with::<(), Error, _, _>(id(number), operation).await;
            });
        }
        Move::Close(number) => {
            tasks.spawn(async move { drop(registry.close(id(number)).await) });
        }
        Move::Destroy(number) => {
            tasks.spawn(async move { drop(registry.destroy(id(number)).await) });
        }
        Move::Reap => {
            tasks.spawn(async move { drop(registry.reap_once(&Default::default()).await) });
        }
        Move::Evict(number) => drop(registry.evict(id(number))),
        Move::Declare(number) => drop(registry.declare(id(number), declaration())),
        Move::Reset(number) => drop(registry.reset(id(number))),
        Move::ClosesHang(hangs) => *stage.provider.closing.hangs.lock().unwrap() = hangs,
        Move::Next(line) => stage.provider.script.lock().unwrap().push_back(line),
        Move::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
}

async fn play(moves: Vec<Move>) {
    let config = RegistryConfig { max_concurrent_opens: CAP, ..RegistryConfig::default() };
    let stage = Stage::with_config(Scripted::new(), config, OpenGates::default());
    for number in 0..WORKSPACES {
        stage.declare(number);
    }
    let mut tasks = JoinSet::new();
    for one in moves {
        begin(&stage, &mut tasks, one).await;
        assert!(stage.provider.at_once.load(Ordering::SeqCst) <= CAP);
    }
    // W12, W13, W16: everybody is answered, also while closes hang.
    let answered = tokio::time::timeout(ALWAYS_ENOUGH, async { while tasks.join_next().await.is_some() {} });
    answered.await.expect("a caller is never left without an answer");
    // W15
    assert!(stage.provider.peak.load(Ordering::SeqCst) <= CAP);
    assert_eq!(stage.provider.at_once.load(Ordering::SeqCst), 0);

    // W16: once closes work again, a pass of the reaper and a shutdown leave nothing open.
    *stage.provider.closing.hangs.lock().unwrap() = false;
    stage.registry.reap_once(&Default::default()).await;
    for number in 0..WORKSPACES {
        let known = stage.registry.describe(id(number)).map(|one| one.state);
        let expected = usize::from(matches!(known, Some(State::Open)));
        // Kept in hand until the next open, or the close.
        let stale = usize::from(matches!(known, Some(State::Evicted | State::Failed | State::Unopened)));
        let unclosed = stage.provider.unclosed(id(number));
        assert!(unclosed >= expected && unclosed <= expected + stale, "{known:?}: {unclosed} places");
    }
    stage.registry.close_all(ALWAYS_ENOUGH).await;
    stage.registry.reap_once(&Default::default()).await;
    for number in 0..WORKSPACES {
        assert_eq!(stage.provider.unclosed(id(number)), 0, "a place leaked");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    // W12, W13, W15, W16
    #[test]
    fn in_any_order_the_cap_holds_everybody_is_answered_and_nothing_leaks(moves in moves()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(play(moves));
    }
}

// W15, W13: two hundred sessions at once on few workspaces and many, while each is evicted again and again.
#[tokio::test(start_paused = true)]
async fn a_storm_of_evictions_under_two_hundred_sessions_keeps_the_cap_and_ends() {
    let config = RegistryConfig {
        max_concurrent_opens: 8,
        recovery: warren_rules::boxes::registry::RecoveryPlan {
            storm: warren_rules::boxes::registry::StormPlan { max_evictions: 1_000, ..Default::default() },
            ..Default::default()
        },
        ..RegistryConfig::default()
    };
    let stage = Stage::with_config(Scripted::new(), config, OpenGates::default());
    let ids: Vec<_> = (0..200).map(|number| stage.declare(number)).collect();
    let uses = ids.iter().map(|id| {
        let registry = &stage.registry;
        async move {
            let mut left = 3;
            let operation = |_| {
                left -= 1;
                let is_evicted = left >= 0;
                async move { if is_evicted { Err(Error::evicted("swept")) } else { Ok(()) } }
            };
            registry.with::<(), Error, _, _>(*id, operation).await
        }
    });
    let done = join_all(uses).await;
    assert!(done.iter().all(Result::is_ok), "three evictions are within the bound");
    assert_eq!(stage.provider.peak.load(Ordering::SeqCst), 8);
    assert_eq!(stage.metrics.of("evicted"), 600);
    assert_eq!(stage.metrics.of("opened"), 800, "W17");
    // Each place but the last of a workspace was let go before its successor was opened.
    assert!(ids.iter().all(|id| stage.provider.unclosed(*id) == 1));
}

// W16: a shutdown with a provider that hangs takes its deadline and no more.
#[tokio::test(start_paused = true)]
async fn a_hundred_closes_that_hang_take_one_deadline_together() {
    let stage = Stage::new(Scripted::new());
    let ids: Vec<_> = (0..100).map(|number| stage.declare(number)).collect();
    join_all(ids.iter().map(|id| stage.registry.acquire(*id))).await;
    *stage.provider.closing.hangs.lock().unwrap() = true;
    let started = Instant::now();
    let closes = join_all(ids.iter().map(|id| stage.registry.close(*id))).await;
    assert!(closes.iter().all(|outcome| *outcome == Ok(CloseOutcome::LeftToReaper)));
    assert_eq!(started.elapsed().as_secs(), 30);
    // What hangs on is asked again by every pass, and a pass ends by itself.
    let pass = stage.registry.reap_once(&Default::default()).await;
    assert_eq!((pass.removed, pass.problems.len()), (0, 100));
    *stage.provider.closing.hangs.lock().unwrap() = false;
    let pass = stage.registry.reap_once(&Default::default()).await;
    assert_eq!((pass.removed, pass.problems), (100, vec![]));
    assert!(ids.iter().all(|id| stage.provider.unclosed(*id) == 0));
}
