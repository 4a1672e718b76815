//! Several Warrens on one PostgreSQL: one stream, each sweep once, and a database that comes and goes.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use warren_doors::ManualClock;
use warren_model::WorkspaceId;
use warren_testkit::{PostgresDatabase, PostgresServer, Warren};

use crate::events::{Frames, follow};
use crate::fleet::{arrivals, beat, clock, create, events, eventually, reporting, show, status, sweep};
use crate::memory;

async fn replica(url: &str, clock: &Arc<ManualClock>) -> Warren {
    Warren::builder().database(url.to_owned()).clock(Arc::clone(clock)).start().await
}

/// One whose sweeps run when the test says so, and at no other time.
async fn patient_replica(url: &str, clock: &Arc<ManualClock>) -> Warren {
    let config = warren_fleet::Config { sweeps_unasked: false, ..warren_fleet::Config::default() };
    Warren::builder().database(url.to_owned()).clock(Arc::clone(clock)).fleet_config(config).start().await
}

async fn rename(warren: &Warren, id: WorkspaceId, name: &str) {
    let answer = warren.patch(&format!("/api/v1/workspaces/{id}"), &json!({ "name": name })).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// What is due at once for many: workspaces whose agents never came.
async fn latecomers(warren: &Warren, count: usize) -> Vec<WorkspaceId> {
    let mut ids = Vec::new();
    for number in 0..count {
        let body = json!({
            "name": format!("n{number}"), "provider": memory(), "runtime": "external",
            "provision_timeout_seconds": 60,
        });
        ids.push(create(warren, &body).await);
    }
    for id in &ids {
        warren.wait_for_status(*id, warren_model::Status::AwaitingAgent).await;
    }
    ids
}

// F41
#[tokio::test]
async fn two_servers_serve_one_stream_in_order_without_gap_or_repeat() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let (first, second) = (replica(&database.url(), &clock).await, replica(&database.url(), &clock).await);
    let id = create(&first, &json!({ "name": "shared", "provider": memory() })).await;
    eventually("both know it", async || show(&second, id).await["status"] == "online").await;
    let mut readers = Vec::new();
    for server in [&first, &second] {
        let mut frames = Frames::open(follow(server, "?after=0")).await;
        let history = frames.history().await;
        readers.push((frames, history));
    }
    for number in 0..20 {
        rename(&first, id, &format!("first {number}")).await;
        rename(&second, id, &format!("second {number}")).await;
    }
    let renames = |event: &&Value| event["kind"] == "workspace.spec.changed";
    let stored = events(&first, None).await;
    assert_eq!(stored.iter().filter(renames).count(), 40);
    let last = stored.last().unwrap()["seq"].as_u64().unwrap();
    for (frames, mut seen) in readers.iter_mut().map(|(frames, history)| (frames, history.clone())) {
        while seen.last() < Some(&last) {
            let (_, frame) = frames.next().await.expect("the stream goes on");
            if frame["type"] == "event" {
                seen.push(frame["event"]["seq"].as_u64().unwrap());
            }
        }
        assert_eq!(seen, (1..=last).collect::<Vec<_>>());
    }
    // A reader that moves to the other server goes on where it was.
    let mut moved = Frames::open(follow(&second, "").header("last-event-id", &(last - 5).to_string())).await;
    assert_eq!(moved.history().await, (last - 4..=last).collect::<Vec<_>>());
}

// X16
#[tokio::test]
async fn the_same_message_through_two_replicas_at_once_is_one_message() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let (first, second) = (replica(&database.url(), &clock).await, replica(&database.url(), &clock).await);
    let body = json!({ "name": "asked", "provider": memory(), "runtime": "external" });
    let id = create(&first, &body).await;
    let path = format!("/api/v1/workspaces/{id}/messages");
    for round in 0..10 {
        let body = json!({ "message": { "id": format!("m-{round}"), "parts": [{ "text": "once" }] } });
        let sent = join_all((0..8).map(|number| {
            let warren = if number % 2 == 0 { &first } else { &second };
            let (path, body) = (&path, &body);
            async move { warren.post(path, body).await }
        }))
        .await;
        let answers: Vec<Value> = sent.iter().map(warren_testkit::Answer::json).collect();
        let firsts = answers.iter().filter(|answer| answer["is_repeat"] != json!(true)).count();
        assert_eq!(firsts, 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer["queue_id"] == answers[0]["queue_id"]), "{answers:?}");
    }
    let waiting = first.get(&format!("/api/v1/workspaces/{id}/queue")).await.json();
    assert_eq!(waiting["items"].as_array().map(Vec::len), Some(10), "{waiting}");
}

// F22
#[tokio::test]
async fn a_sweep_that_both_replicas_run_at_once_does_its_work_once() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let (first, second) = (replica(&database.url(), &clock).await, replica(&database.url(), &clock).await);
    let ids = latecomers(&first, 12).await;
    clock.advance_ms(60_000);
    tokio::join!(sweep(&first, "provisioning"), sweep(&second, "provisioning"));
    eventually("all are dealt with", async || {
        let left = first.get("/api/v1/workspaces?limit=500&status=awaiting_agent").await.json();
        left["items"] == json!([])
    })
    .await;
    for id in ids {
        assert_eq!(arrivals(&first, id, "failed").await, 1);
    }
}

// F22
#[tokio::test]
async fn a_sweep_is_left_to_the_replica_that_has_its_lease_until_that_ends() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = latecomers(&warren, 1).await[0];
    clock.advance_ms(60_000);
    let now = warren_doors::Clock::now(&*clock);
    let taken: Result<_, warren_store::Error> = warren
        .store
        .write(move |tx| tx.take_lease("sweep/provisioning", "another replica", now, now.plus_ms(30_000)))
        .await;
    assert!(taken.unwrap().is_some());
    let ran = sweep(&warren, "provisioning").await;
    let outcome = &ran["last_run"]["outcome"];
    assert_eq!((&outcome["kind"], &outcome["owner"]), (&json!("elsewhere"), &json!("another replica")));
    assert_eq!(status(&warren, id).await, "awaiting_agent");
    clock.advance_ms(30_000);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "failed", "whoever held it is given up");
}

/// Keeps a workspace's record from others until the answer is dropped.
async fn hold_record(warren: &Warren, id: WorkspaceId) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (held, is_held) = tokio::sync::oneshot::channel();
    let (held, released) = (std::sync::Mutex::new(Some(held)), std::sync::Mutex::new(released));
    let store = Arc::clone(&warren.store);
    tokio::spawn(async move {
        let _: Result<(), warren_store::Error> = store
            .write(move |tx| {
                let as_it_is = tx.hold_vitals(id)?;
                tx.put_vitals(id, &as_it_is)?;
                if let Some(held) = held.lock().unwrap().take() {
                    let _ = held.send(());
                }
                // Ends when the sender is dropped.
                let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(120));
                Ok(())
            })
            .await;
    });
    is_held.await.unwrap();
    release
}

// F22: one replica is killed in the middle of a sweep
#[tokio::test]
async fn what_a_killed_replica_left_of_its_sweep_the_other_finishes() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let doomed =
        Warren::builder().database(database.url()).clock(Arc::clone(&clock)).crashable().start().await;
    let other = replica(&database.url(), &clock).await;
    let holder = replica(&database.url(), &clock).await;
    let (id, _) = reporting(&other).await;
    clock.advance_ms(90_000);
    let release = hold_record(&holder, id).await;
    let operator = doomed.fleet.tokens.identify(&doomed.token).await.unwrap();
    let fleet = doomed.fleet.clone();
    // It takes the lease, begins, and comes no further than the record that is held.
    let sweeping = tokio::spawn(async move { fleet.sweeps.run(&operator, "liveness").await });
    let lease = async || {
        let held: Result<_, warren_store::Error> = other.store.read(|tx| tx.lease("sweep/liveness")).await;
        held.unwrap()
    };
    eventually("it is in the middle of its sweep", async || lease().await.is_some()).await;
    doomed.kill();
    sweeping.abort();
    drop(release);
    clock.advance_ms(30_000);
    eventually("the other one finishes it", async || {
        sweep(&other, "liveness").await;
        status(&other, id).await == "offline"
    })
    .await;
    assert_eq!(arrivals(&other, id, "offline").await, 1);
}

/// So many copies of a workspace whose agent is late, in order of their ids.
async fn many_latecomers(warren: &Warren, count: usize) -> Vec<WorkspaceId> {
    let first = latecomers(warren, 1).await[0];
    let copied: Result<Vec<WorkspaceId>, warren_store::Error> = warren
        .store
        .write(move |tx| {
            let row = tx.workspace(first)?.expect("it is there");
            let mut ids = vec![first];
            for number in 1..count {
                let id = WorkspaceId::from_parts(
                    row.created_at.plus_ms(i64::try_from(number).unwrap_or(i64::MAX)),
                    [7; 10],
                );
                let name = format!("{} {number}", row.name).parse().unwrap();
                tx.insert_workspace(&warren_model::Workspace { id, name, version: 1, ..row.clone() })?;
                ids.push(id);
            }
            ids.sort_unstable();
            // What can be held must be there.
            ids.iter().try_for_each(|id| tx.put_vitals(*id, &warren_model::Vitals::default()))?;
            Ok(ids)
        })
        .await;
    copied.unwrap()
}

fn outcome_of(report: &warren_fleet::SweepReport) -> warren_fleet::SweepOutcome {
    report.last_run.clone().expect("it ran").outcome
}

/// As many as a sweep deals with in one transaction.
const BATCH: usize = 500;

// F22: a run that takes longer than the lease lasts
#[tokio::test]
async fn a_long_sweep_keeps_its_lease_and_nobody_else_begins_it() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let sweeper = patient_replica(&database.url(), &clock).await;
    let (other, holder) =
        (patient_replica(&database.url(), &clock).await, patient_replica(&database.url(), &clock).await);
    let ids = many_latecomers(&sweeper, 2 * BATCH + 1).await;
    clock.advance_ms(60_000);
    let mut held = Vec::new();
    for batch in 0..3 {
        held.push(hold_record(&holder, ids[batch * BATCH]).await);
    }
    let operator = sweeper.fleet.tokens.identify(&sweeper.token).await.unwrap();
    let fleet = sweeper.fleet.clone();
    let run = tokio::spawn(async move { fleet.sweeps.run(&operator, "provisioning").await });
    let dealt_with = async |count: usize| {
        let (first, last) = (ids[(count - 1) * BATCH], ids[count * BATCH - 1]);
        status(&other, first).await == "failed" && status(&other, last).await == "failed"
    };
    // Each batch but the last goes through 20 s after the one before it: 40 s in all, with a lease of 30.
    for (number, release) in held.into_iter().enumerate() {
        eventually("it has come to a record that is held", async || database.waiting_for_locks() >= 1).await;
        if number < 2 {
            clock.advance_ms(20_000);
            drop(release);
            eventually("the next batch is written", async || dealt_with(number + 1).await).await;
        } else {
            let held: Result<_, warren_store::Error> =
                other.store.read(|tx| tx.lease("sweep/provisioning")).await;
            let held = held.unwrap().expect("somebody has it");
            assert!(held.expires_at > warren_doors::Clock::now(&*clock), "anybody could begin the same");
            drop(release);
        }
    }
    let report = run.await.unwrap().unwrap();
    let total = ids.len() as u64;
    let done = warren_fleet::SweepOutcome::Done { looked_at: total, acted_on: total, failed: 0 };
    assert_eq!(outcome_of(&report), done);
}

// F22: an operator asks for what this process is doing already
#[tokio::test]
async fn two_runs_of_a_sweep_in_one_process_follow_each_other() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let sweeper = patient_replica(&database.url(), &clock).await;
    let holder = patient_replica(&database.url(), &clock).await;
    let ids = many_latecomers(&sweeper, 1).await;
    clock.advance_ms(60_000);
    let release = hold_record(&holder, ids[0]).await;
    let operator = sweeper.fleet.tokens.identify(&sweeper.token).await.unwrap();
    let run = || {
        let (fleet, operator) = (sweeper.fleet.clone(), operator.clone());
        tokio::spawn(async move { fleet.sweeps.run(&operator, "provisioning").await })
    };
    let first = run();
    eventually("it has come to the record that is held", async || database.waiting_for_locks() >= 1).await;
    let second = run();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(database.waiting_for_locks(), 1, "the second one waits for its turn, not for the record");
    drop(release);
    let done = |count| warren_fleet::SweepOutcome::Done { looked_at: count, acted_on: count, failed: 0 };
    assert_eq!(outcome_of(&first.await.unwrap().unwrap()), done(1));
    assert_eq!(outcome_of(&second.await.unwrap().unwrap()), done(0));
}

// F22: a run that stood still for so long that another one took over
#[tokio::test]
async fn a_sweep_that_was_taken_over_stops_and_leaves_the_rest_to_its_heir() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let (sweeper, holder) =
        (patient_replica(&database.url(), &clock).await, patient_replica(&database.url(), &clock).await);
    let ids = many_latecomers(&sweeper, BATCH + 1).await;
    clock.advance_ms(60_000);
    let release = hold_record(&holder, ids[0]).await;
    let operator = sweeper.fleet.tokens.identify(&sweeper.token).await.unwrap();
    let fleet = sweeper.fleet.clone();
    let run = tokio::spawn(async move { fleet.sweeps.run(&operator, "provisioning").await });
    let lease = async || {
        let found: Result<_, warren_store::Error> =
            holder.store.read(|tx| tx.lease("sweep/provisioning")).await;
        found.unwrap()
    };
    eventually("it is in its first batch", async || database.waiting_for_locks() >= 1).await;
    clock.advance_ms(31_000);
    // Waits for the batch that is being written, and is served before the next one.
    let (store, now) = (Arc::clone(&holder.store), warren_doors::Clock::now(&*clock));
    let heir = tokio::spawn(async move {
        let taken: Result<_, warren_store::Error> = store
            .write(move |tx| tx.take_lease("sweep/provisioning", "heir", now, now.plus_ms(30_000)))
            .await;
        taken
    });
    eventually("the heir waits for the lease", async || database.waiting_for_locks() >= 2).await;
    drop(release);
    let taken = heir.await.unwrap().unwrap().expect("the lease had run out");
    let report = run.await.unwrap().unwrap();
    let batch = BATCH as u64;
    assert_eq!(
        outcome_of(&report),
        warren_fleet::SweepOutcome::TakenOver {
            owner: "heir".into(),
            looked_at: batch,
            acted_on: batch,
            failed: 0
        },
        "what was done until then is told"
    );
    assert_eq!(report.acted_on, batch);
    assert_eq!(status(&holder, ids[0]).await, "failed", "what was begun in time was finished");
    assert_eq!(status(&holder, ids[BATCH]).await, "awaiting_agent", "the rest is the heir's");
    assert_eq!(lease().await, Some(taken));
}

// F34, F41, Q22: "Postgres stopped and started"
#[tokio::test]
async fn a_database_that_is_stopped_is_told_and_everything_goes_on_when_it_is_back() {
    let server = PostgresServer::start();
    let warren = Warren::builder().database(server.url()).start().await;
    let (id, runtime) = reporting(&warren).await;
    let mut reader = Frames::open(follow(&warren, &format!("?workspace_id={id}"))).await;
    reader.history().await;
    let operator = warren.fleet.tokens.identify(&warren.token).await.unwrap();
    server.halt();
    // At once: each waits for a connection for as long as it is told to.
    let paths = ["/api/v1/workspaces", "/api/v1/sign-in", "/api/v1/events?after=0"];
    let (nothing, ready) = (json!({}), warren.call("GET", "/readyz"));
    let (answers, late, ready, ran) = tokio::join!(
        join_all(paths.map(|path| warren.get(path))),
        crate::fleet::try_beat(&warren, &runtime, &nothing),
        ready.send(),
        warren.fleet.sweeps.run(&operator, "liveness"),
    );
    for answer in answers.iter().chain([&late]) {
        assert_eq!((answer.status, answer.code()), (503, "platform_unavailable".into()));
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(ready.status, 503);
    assert_eq!(warren.call("GET", "/healthz").send().await.status, 200);
    let outcome = ran.unwrap().last_run.unwrap().outcome;
    assert!(matches!(outcome, warren_fleet::SweepOutcome::Failed { .. }), "the sweep fails and is told");
    server.resume();
    eventually("it answers again", async || warren.get("/api/v1/workspaces").await.status == 200).await;
    assert_eq!(beat(&warren, &runtime, &json!({})).await["status"], "online");
    assert_eq!(sweep(&warren, "liveness").await["last_run"]["outcome"]["kind"], "done");
    rename(&warren, id, "after").await;
    let (_, frame) = reader.next().await.expect("the stream was not hung up");
    assert_eq!(frame["event"]["kind"], "workspace.spec.changed", "{frame}");
}

/// Two Warrens on one database and one disk, the first of which can be killed.
async fn on_one_disk(database: &PostgresDatabase, clock: &Arc<ManualClock>) -> [Warren; 2] {
    let builder = || Warren::builder().database(database.url()).clock(Arc::clone(clock));
    let second = builder().start().await;
    let disk = second.folder().join("workspaces");
    [builder().disk(disk).crashable().start().await, second]
}

async fn write_file(warren: &Warren, id: WorkspaceId, text: &str) -> warren_testkit::Answer {
    warren.put(&format!("/api/v1/workspaces/{id}/files?path=note"), text.to_owned()).await
}

// O10: a box lives on one machine, and only one replica touches it
#[tokio::test]
async fn a_box_of_a_living_replica_is_left_to_it_and_one_of_a_dead_replica_is_taken_over() {
    let (database, clock) = (PostgresDatabase::create(), clock());
    let [first, second] = on_one_disk(&database, &clock).await;
    let id = first.workspace(crate::local()).await;
    assert!(write_file(&first, id, "from the first").await.status < 300);
    let refused = write_file(&second, id, "from the second").await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "workspace_elsewhere"), "{}", refused.text());
    assert!(refused.json()["detail"].as_str().unwrap().contains("server.replica_url"), "{}", refused.text());
    assert_eq!(refused.header("retry-after"), Some("5"));
    // What is asked of the other replica is brought about by the one that has the box.
    assert_eq!(crate::fleet::ask(&second, id, "restart").await.status, 200);
    eventually("its own replica restarts it", async || {
        sweep(&first, "catching_up").await;
        status(&first, id).await == "online"
    })
    .await;
    assert!(second.fleet.registry.describe(id).is_none_or(|known| known.opened_at.is_none()));
    first.kill();
    assert_eq!(write_file(&second, id, "too early").await.code(), "workspace_elsewhere");
    clock.advance_ms(30_000);
    assert!(write_file(&second, id, "from the second").await.status < 300);
    let read = second.get(&format!("/api/v1/workspaces/{id}/files?path=note")).await;
    assert_eq!(read.text(), "from the second");
}

// O10: a replica that was not heard of for too long finds that its boxes are another's now
#[tokio::test]
async fn a_replica_that_was_taken_over_lets_go_of_the_box() {
    let (database, clock) = (PostgresDatabase::create(), clock());
    let [first, second] = on_one_disk(&database, &clock).await;
    let id = first.workspace(crate::local()).await;
    let holder: Result<(), warren_store::Error> = first
        .store
        .write(move |tx| {
            let held = tx.place(id)?.expect("it is held");
            let lease = tx.lease(&format!("replica/{}", held.replica))?.expect("it lives");
            tx.release_lease(&lease)
        })
        .await;
    assert_eq!(holder, Ok(()), "as if it had run out");
    assert!(write_file(&second, id, "from the second").await.status < 300);
    sweep(&first, "health").await;
    assert!(first.fleet.registry.open_ids().is_empty());
    assert_eq!(write_file(&first, id, "late").await.code(), "workspace_elsewhere");
    // One that stops in order is not waited for.
    let _disk = second.stop().await;
    let answer = write_file(&first, id, "at once").await;
    assert!(answer.status < 300, "{}", answer.text());
}
