//! Sweeps as operators see them: each by itself, none stopped by another's trouble.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_fleet::{Config as FleetConfig, SweepOutcome};
use warren_model::{ProviderKind, Status};
use warren_testkit::{Faults, Warren};

use crate::fleet::{clock, create, events, eventually, reporting, status, sweep};
use crate::{local, memory};

const NAMES: [&str; 9] = [
    "liveness",
    "stalls",
    "probes",
    "provisioning",
    "mending",
    "catching_up",
    "hibernation",
    "orphans",
    "retention",
];

async fn report(warren: &Warren, name: &str) -> Value {
    let list = warren.get("/api/v1/admin/sweeps").await.json();
    let found = list["items"].as_array().unwrap().iter().find(|item| item["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("{name} is not in {list}"))
}

// F20, F21
#[tokio::test]
async fn operators_see_the_sweeps_with_their_last_runs_and_run_them_by_name() {
    let warren = Warren::start().await;
    for name in NAMES {
        let before = report(&warren, name).await;
        assert!(!before["meaning"].as_str().unwrap().is_empty() && before["interval_ms"].as_u64() > Some(0));
        let ran = sweep(&warren, name).await;
        assert_eq!(ran["name"], name);
        assert_eq!(ran["last_run"]["outcome"]["kind"], "done", "{ran}");
        assert_eq!(report(&warren, name).await["last_run"]["outcome"]["kind"], "done");
    }
    let unknown = warren.post("/api/v1/admin/sweeps/spring-cleaning/run", &json!({})).await;
    assert_eq!((unknown.status, unknown.code()), (404, "sweep_not_found".into()));
}

// F20: what a sweep did is in its report
#[tokio::test]
async fn a_sweep_tells_how_many_were_due_and_how_many_it_acted_on() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    for _ in 0..3 {
        reporting(&warren).await;
    }
    clock.advance_ms(90_000);
    sweep(&warren, "liveness").await;
    // The sweep of the server itself may have been first; together they acted on three.
    let total = report(&warren, "liveness").await;
    assert_eq!((&total["acted_on"], &total["failures"], &total["panics"]), (&json!(3), &json!(0), &json!(0)));
}

// F21
#[tokio::test]
async fn a_sweep_that_panics_is_counted_runs_again_and_stops_no_other() {
    let clock = clock();
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
    let (id, _) = reporting(&warren).await;
    faults.panic_in_reap(Some(ProviderKind::Memory));
    for panics in [1, 2] {
        let ran = sweep(&warren, "orphans").await;
        assert_eq!(
            (&ran["last_run"]["outcome"]["kind"], &ran["panics"]),
            (&json!("panicked"), &json!(panics))
        );
    }
    clock.advance_ms(90_000);
    sweep(&warren, "liveness").await;
    assert_eq!(status(&warren, id).await, "offline", "the others go on");
    faults.panic_in_reap(None);
    let ran = sweep(&warren, "orphans").await;
    assert_eq!((&ran["last_run"]["outcome"]["kind"], &ran["panics"]), (&json!("done"), &json!(2)));
}

// F21: neither an error nor a panic in one provider costs another its pass
#[tokio::test]
async fn trouble_in_one_providers_reaper_costs_no_other_its_pass() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).start().await;
    // The pass of the start is none of this.
    eventually("the first pass is over", async || report(&warren, "orphans").await["runs"] == 1).await;
    for (trouble, other) in
        [(ProviderKind::Memory, ProviderKind::Local), (ProviderKind::Local, ProviderKind::Memory)]
    {
        let before = faults.reaps(other);
        faults.panic_in_reap(Some(trouble));
        assert_eq!(sweep(&warren, "orphans").await["last_run"]["outcome"]["kind"], "panicked");
        assert_eq!(faults.reaps(other), before + 1, "{other} while {trouble} panics");
        faults.panic_in_reap(None);
        faults.fail_reap(Some(trouble));
        let ran = sweep(&warren, "orphans").await;
        assert_eq!(ran["last_run"]["outcome"]["failed"], 1, "{ran}");
        assert_eq!(faults.reaps(other), before + 2, "{other} while {trouble} fails");
        faults.fail_reap(None);
    }
}

// F21: a database that is away fails the sweep, and is told
#[tokio::test]
async fn a_sweep_without_a_database_fails_and_says_so() {
    let warren = Warren::start().await;
    let operator = warren.fleet.tokens.identify(&warren.token).await.unwrap();
    warren.store.close().await;
    for name in NAMES {
        let ran = warren.fleet.sweeps.run(&operator, name).await.unwrap();
        let outcome = ran.last_run.unwrap().outcome;
        let code = warren_model::ErrorCode::PlatformUnavailable;
        let nothing_done = SweepOutcome::Failed { code, looked_at: 0, acted_on: 0, failed: 0 };
        assert_eq!(outcome, nothing_done, "{name}");
        assert!(ran.failures >= 1);
    }
}

// F20, F21, F42
#[tokio::test]
async fn a_sweep_that_fails_halfway_tells_what_it_did_until_then() {
    let clock = clock();
    let config = FleetConfig { sweeps_unasked: false, ..FleetConfig::default() };
    let warren = Warren::builder().clock(Arc::clone(&clock)).fleet_config(config).start().await;
    create(&warren, &json!({ "name": "w", "provider": memory() })).await;
    let made = warren.post("/api/v1/tokens", &json!({ "kind": "admin", "name": "spare" })).await.json();
    let path = format!("/api/v1/tokens/{}", made["token"]["id"].as_str().unwrap());
    assert_eq!(warren.call("DELETE", &path).token(&warren.token).send().await.status, 204);
    clock.advance_ms(400 * 24 * 3_600_000);
    let database = rusqlite::Connection::open(warren.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    // Events are cleared away first, tokens after them.
    let trap = "CREATE TRIGGER trap BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'trap'); END";
    database.execute_batch(trap).unwrap();
    let ran = sweep(&warren, "retention").await;
    let outcome = &ran["last_run"]["outcome"];
    assert_eq!(outcome["kind"], "failed", "{ran}");
    assert!(outcome["code"].is_string() && outcome["acted_on"].as_u64() > Some(0), "{ran}");
    assert_eq!((&outcome["looked_at"], &outcome["failed"]), (&outcome["acted_on"], &json!(0)), "{ran}");
    assert_eq!((&ran["acted_on"], &ran["failures"]), (&outcome["acted_on"], &json!(1)), "{ran}");

    let acted_on = outcome["acted_on"].as_u64().unwrap();
    database.execute_batch("DROP TRIGGER trap").unwrap();
    let ran = sweep(&warren, "retention").await;
    assert_eq!(ran["last_run"]["outcome"]["kind"], "done", "{ran}");
    assert!(ran["acted_on"].as_u64() > Some(acted_on), "the rest is done by the next: {ran}");
}

// F20: provisioning and mending leave alone what is well
#[tokio::test]
async fn sweeps_leave_alone_what_is_well() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let hosted = warren.workspace(local()).await;
    let paused = warren.workspace(memory()).await;
    crate::fleet::ask(&warren, paused, "pause").await;
    let (external, runtime) = reporting(&warren).await;
    let statuses = async || {
        let mut seen = Vec::new();
        for id in [hosted, paused, external] {
            seen.push(crate::fleet::show(&warren, id).await["status"].clone());
        }
        seen
    };
    for _ in 0..20 {
        clock.advance_ms(60_000);
        crate::fleet::beat(&warren, &runtime, &json!({})).await;
        for name in NAMES {
            sweep(&warren, name).await;
        }
    }
    assert_eq!(statuses().await, [json!("online"), json!("paused"), json!("online")]);
}

// F20, F16: more than a batch
#[tokio::test]
async fn a_sweep_gets_through_more_than_one_batch() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let mut ids = Vec::new();
    // More than a transaction takes.
    for number in 0..620 {
        let body = json!({
            "name": format!("n{number}"), "provider": memory(), "runtime": "external",
            "provision_timeout_seconds": 60,
        });
        ids.push(create(&warren, &body).await);
    }
    warren.wait_for_status(*ids.last().unwrap(), Status::AwaitingAgent).await;
    clock.advance_ms(60_000);
    let told = sweep(&warren, "provisioning").await["last_run"]["outcome"].clone();
    assert_eq!(
        (&told["looked_at"], &told["acted_on"], &told["failed"]),
        (&json!(620), &json!(620), &json!(0))
    );
    let left = warren.get("/api/v1/workspaces?limit=500&status=awaiting_agent").await.json();
    assert_eq!(left["items"], json!([]));
    let all = events(&warren, None).await;
    let failed = all.iter().filter(|event| event["data"]["to"] == "failed");
    let mut of: Vec<_> = failed.map(|event| event["workspace_id"].as_str().unwrap()).collect();
    of.sort_unstable();
    let mut expected: Vec<_> = ids.iter().map(ToString::to_string).collect();
    expected.sort_unstable();
    assert_eq!(of, expected, "each is told of, once");
}
