//! What goes on in the background, looked after by the fleet (F21).

use warren_exchange::Remember;
use warren_fleet::SweepOutcome;
use warren_model::MemoryScope;
use warren_testkit::{ExchangeBed, ExchangeOptions, eventually};

const LOOPS: [&str; 8] = [
    "due_messages",
    "queues",
    "late_approvals",
    "signs_of_life",
    "message_retention",
    "push_notifications",
    "webhooks",
    "schedules",
];

// F21
#[tokio::test]
async fn every_loop_of_the_exchange_runs_and_stands_on_the_board_of_sweeps() {
    for bed in ExchangeBed::on_each_store().await {
        let has_run = || {
            let reports = bed.fleet.sweeps.list(&bed.operator).unwrap();
            let done = |name: &&str| {
                let report = reports.iter().find(|report| report.name == *name).expect("it is on the board");
                assert_eq!(report.panics, 0, "{name}");
                matches!(report.last_run.as_ref().map(|run| &run.outcome), Some(SweepOutcome::Done { .. }))
            };
            LOOPS.iter().all(done)
        };
        eventually("each has run", async || has_run()).await;
        for name in LOOPS {
            let ran = bed.fleet.sweeps.run(&bed.operator, name).await.unwrap();
            let outcome = ran.last_run.unwrap().outcome;
            assert!(matches!(outcome, SweepOutcome::Done { failed: 0, .. }), "{name}: {outcome:?}");
        }
    }
}

// F21: a clean-up that fails keeps no other from its work
#[tokio::test]
async fn a_table_that_cannot_be_cleared_keeps_no_other_from_being_cleared() {
    let bed = ExchangeBed::on_sqlite(ExchangeOptions::default()).await;
    let (id, _) = bed.called().await;
    bed.say(id, "its key is kept for a while").await;
    let remember = Remember {
        scope: MemoryScope::Local,
        key: "short".into(),
        value: "lived".into(),
        ttl_seconds: Some(60),
        task_id: None,
        expected_version: None,
    };
    bed.exchange.memories.remember(&bed.operator, id, remember).await.unwrap();
    bed.clock.advance_ms(400 * 24 * 3_600_000);
    let database = rusqlite::Connection::open(bed.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    let trap = "CREATE TRIGGER trap BEFORE DELETE ON repeats BEGIN SELECT RAISE(ABORT, 'trap'); END";
    database.execute_batch(trap).unwrap();
    let rows = |table: &str| -> i64 {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert!(rows("repeats") > 0);
    let ran = bed.fleet.sweeps.run(&bed.operator, "message_retention").await.unwrap();
    let outcome = ran.last_run.unwrap().outcome;
    // Its tasks go with their keys, and stay as well.
    assert!(matches!(outcome, SweepOutcome::Done { failed: 2, .. }), "{outcome:?}");
    assert!(rows("repeats") > 0, "it could not be cleared");
    assert_eq!(rows("memories"), 0, "the others were");
    database.execute_batch("DROP TRIGGER trap").unwrap();
    let ran = bed.fleet.sweeps.run(&bed.operator, "message_retention").await.unwrap();
    assert!(matches!(ran.last_run.unwrap().outcome, SweepOutcome::Done { failed: 0, .. }));
    assert_eq!(rows("repeats"), 0);
}
