//! Sweeps: each by itself, none stopped by another's trouble.

use warren_fleet::SweepOutcome;
use warren_model::{ErrorCode, ProviderKind, ScopeSet};

use crate::bed::Bed;

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
