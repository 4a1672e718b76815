//! Sweeps: each by itself, none stopped by another's trouble.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warren_fleet::{BackgroundLoop, CreateWorkspace, SweepOutcome, Tally, WorkspaceOptions};
use warren_model::{ErrorCode, EventData, ProviderKind, Runtime, RuntimeReport, ScopeSet, Status, TokenKind};
use warren_service::Error;
use warren_testkit::{Bed, BedOptions, eventually};

async fn names(bed: &Bed) -> Vec<&'static str> {
    bed.fleet.sweeps.list(&bed.operator).unwrap().iter().map(|report| report.name).collect()
}

// F20, F21
#[tokio::test]
async fn every_sweep_runs_when_operators_ask_and_for_nobody_else() {
    for bed in Bed::on_each_store().await {
        for report in bed.fleet.sweeps.list(&bed.operator).unwrap() {
            assert_eq!(report.last_run, None, "{}", report.name);
            let ran = bed.fleet.sweeps.run(&bed.operator, report.name).await.unwrap();
            let outcome = ran.last_run.unwrap().outcome;
            assert!(matches!(outcome, SweepOutcome::Done { failed: 0, .. }), "{}: {outcome:?}", report.name);
        }
        let unknown = bed.fleet.sweeps.run(&bed.operator, "spring-cleaning").await.unwrap_err();
        assert_eq!(unknown.code, ErrorCode::SweepNotFound);
        let user = bed.user(ScopeSet::all()).await;
        let refused = bed.fleet.sweeps.run(&user, "liveness").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
    }
}

// F21
#[tokio::test]
async fn a_panic_in_one_sweep_is_counted_and_stops_no_other() {
    for bed in Bed::on_each_store().await {
        bed.faults.panic_in_reap(Some(ProviderKind::Memory));
        let ran = bed.fleet.sweeps.run(&bed.operator, "orphans").await.unwrap();
        assert_eq!((ran.panics, ran.last_run.unwrap().outcome), (1, SweepOutcome::Panicked));
        let other = bed.fleet.sweeps.run(&bed.operator, "mending").await.unwrap();
        assert!(matches!(other.last_run.unwrap().outcome, SweepOutcome::Done { .. }));
        bed.faults.panic_in_reap(None);
        let again = bed.fleet.sweeps.run(&bed.operator, "orphans").await.unwrap();
        assert!(matches!(again.last_run.unwrap().outcome, SweepOutcome::Done { .. }));
    }
}

// F20: what a sweep did is in its report
#[tokio::test]
async fn a_sweep_tells_how_many_were_due_and_how_many_it_acted_on() {
    for bed in Bed::on_each_store().await {
        for _ in 0..3 {
            bed.reporting().await;
        }
        bed.clock.advance_ms(90_000);
        let ran = bed.sweep("liveness").await;
        assert_eq!((ran.acted_on, ran.failures, ran.panics), (3, 0, 0));
        let outcome = ran.last_run.unwrap().outcome;
        assert_eq!(outcome, SweepOutcome::Done { looked_at: 3, acted_on: 3, failed: 0 });
    }
}

// F21: neither an error nor a panic in one provider costs another its pass
#[tokio::test]
async fn trouble_in_one_providers_reaper_costs_no_other_its_pass() {
    for bed in Bed::on_each_store().await {
        for (trouble, other) in
            [(ProviderKind::Memory, ProviderKind::Local), (ProviderKind::Local, ProviderKind::Memory)]
        {
            let before = bed.faults.reaps(other);
            bed.faults.panic_in_reap(Some(trouble));
            let outcome = bed.sweep("orphans").await.last_run.unwrap().outcome;
            assert_eq!(outcome, SweepOutcome::Panicked);
            assert_eq!(bed.faults.reaps(other), before + 1, "{other} while {trouble} panics");
            bed.faults.panic_in_reap(None);
            bed.faults.fail_reap(Some(trouble));
            assert_eq!(bed.swept("orphans").await.2, 1);
            assert_eq!(bed.faults.reaps(other), before + 2, "{other} while {trouble} fails");
            bed.faults.fail_reap(None);
        }
    }
}

// F21: a database that is away fails the sweep, and is told
#[tokio::test]
async fn a_sweep_without_a_database_fails_and_says_so() {
    for bed in Bed::on_each_store().await {
        bed.store.close().await;
        // All but those that look at open boxes and images, of which there are none.
        for name in [
            "liveness",
            "stalls",
            "probes",
            "provisioning",
            "mending",
            "catching_up",
            "hibernation",
            "orphans",
            "retention",
        ] {
            let ran = bed.sweep(name).await;
            let code = ErrorCode::PlatformUnavailable;
            let nothing_done = SweepOutcome::Failed { code, looked_at: 0, acted_on: 0, failed: 0 };
            assert_eq!(ran.last_run.unwrap().outcome, nothing_done, "{name}");
            assert!(ran.failures >= 1);
        }
    }
}

// F20, F21, F42
#[tokio::test]
async fn a_sweep_that_fails_halfway_tells_what_it_did_until_then() {
    let bed = Bed::on_sqlite(BedOptions::default()).await;
    bed.workspace().await;
    let spare = bed.token(TokenKind::Admin, ScopeSet::EMPTY, None).await;
    bed.fleet.tokens.revoke(&bed.operator, spare.token.id, warren_fleet::Made::Ends).await.unwrap();
    bed.clock.advance_ms(400 * 24 * 3_600_000);
    let database = rusqlite::Connection::open(bed.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    // Events are cleared away first, tokens after them.
    let trap = "CREATE TRIGGER trap BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'trap'); END";
    database.execute_batch(trap).unwrap();
    let ran = bed.sweep("retention").await;
    let outcome = ran.last_run.unwrap().outcome;
    let SweepOutcome::Failed { looked_at, acted_on, failed, .. } = outcome else { panic!("{outcome:?}") };
    assert!(acted_on > 0);
    assert_eq!((looked_at, failed), (acted_on, 0));
    assert_eq!((ran.acted_on, ran.failures), (acted_on, 1));

    database.execute_batch("DROP TRIGGER trap").unwrap();
    let ran = bed.sweep("retention").await;
    assert!(matches!(ran.last_run.unwrap().outcome, SweepOutcome::Done { .. }));
    assert!(ran.acted_on > acted_on, "the rest is done by the next");
}

// F20: provisioning and mending leave alone what is well
#[tokio::test]
async fn sweeps_leave_alone_what_is_well() {
    for bed in Bed::on_each_store().await {
        let (hosted, paused) = (bed.local_workspace().await.id, bed.workspace().await.id);
        bed.fleet.lifecycle.pause(&bed.operator, paused).await.unwrap();
        let (external, runner) = bed.reporting().await;
        for _ in 0..20 {
            bed.clock.advance_ms(60_000);
            bed.beat(&runner, RuntimeReport::default()).await;
            for name in names(&bed).await {
                bed.sweep(name).await;
            }
        }
        for (id, expected) in [(hosted, Status::Online), (paused, Status::Paused), (external, Status::Online)]
        {
            assert_eq!(bed.status(id).await, expected);
        }
    }
}

// F20, F16: more than a batch
#[tokio::test]
async fn a_sweep_gets_through_more_than_one_batch() {
    for bed in Bed::on_each_store().await {
        let options = WorkspaceOptions { provision_timeout_seconds: Some(60), ..Default::default() };
        let request = CreateWorkspace { runtime: Runtime::External, options, ..Bed::request("many") };
        let mut ids = Vec::new();
        // More than a transaction takes.
        for _ in 0..620 {
            ids.push(bed.create(request.clone()).await.id);
        }
        bed.wait_for(*ids.last().unwrap(), Status::AwaitingAgent).await;
        bed.clock.advance_ms(60_000);
        assert_eq!(bed.swept("provisioning").await, (620, 620, 0));
        let failed = |data| matches!(data, EventData::WorkspaceStatusChanged(to) if to.to == Status::Failed);
        let events = bed.all_events().await;
        let told = events.iter().filter(|event| failed(event.read().unwrap()));
        let mut of: Vec<_> = told.map(|event| event.workspace_id.unwrap()).collect();
        of.sort_unstable();
        ids.sort_unstable();
        assert_eq!(of, ids, "each is told of, once");
        eventually("nobody waits any more", async || bed.swept("provisioning").await.0 == 0).await;
    }
}

/// Panics in its first run, fails in its second, and is well from then on.
#[derive(Debug, Default)]
struct Troubled(AtomicU32);

#[async_trait::async_trait]
impl BackgroundLoop for Troubled {
    fn name(&self) -> &'static str {
        "troubled"
    }

    fn meaning(&self) -> &'static str {
        "Shows trouble."
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(10)
    }

    async fn run(&self, tally: &mut Tally) -> Result<(), Error> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => panic!("on purpose"),
            1 => Err(Error::new(ErrorCode::Internal)),
            _ => {
                tally.acted_on += 1;
                Ok(())
            }
        }
    }
}

// F21: what other services do in the background stands on the same board
#[tokio::test]
async fn a_loop_of_another_service_is_started_again_after_a_panic_and_is_on_the_board() {
    for bed in Bed::on_each_store().await {
        let own = bed.fleet.context.with_own_work();
        bed.fleet.sweeps.supervise(&own, Arc::new(Troubled::default()));
        let report = || {
            let reports = bed.fleet.sweeps.list(&bed.operator).unwrap();
            reports.into_iter().find(|report| report.name == "troubled").expect("it is on the board")
        };
        eventually("it goes on", async || report().acted_on > 0).await;
        let report = report();
        assert_eq!((report.panics, report.failures), (1, 1), "both are told, and neither was its end");
        let asked = bed.fleet.sweeps.run(&bed.operator, "troubled").await.unwrap();
        assert!(matches!(asked.last_run.unwrap().outcome, SweepOutcome::Done { acted_on: 1, .. }));
        own.begin_stop();
        own.wait_for_background_work().await;
    }
}
