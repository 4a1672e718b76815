//! Messages at set times: each slot once, whatever happens to the clock, the process or the workspace.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use warren_doors::{Clock as _, ManualClock};
use warren_exchange::{NewMessage, Sender};
use warren_model::{
    Limits, Message, MissedPolicy, OrgId, OverlapPolicy, Part, Principal, PrincipalKind, Role, RunCause,
    RunState, Schedule, ScheduleId, ScheduleRun, Task, TaskId, TaskState, Timestamp, Timing, WorkspaceId,
};
use warren_store::TaskQuery;
use warren_testkit::{PostgresDatabase, Warren};

use crate::fleet::{ask, beat, clock, create, events, eventually, reporting};
use crate::memory;

const HOUR_MS: i64 = 3_600_000;

async fn start(clock: &Arc<ManualClock>) -> Warren {
    Warren::builder().clock(Arc::clone(clock)).start().await
}

/// A workspace whose agent takes messages when it comes; it does not come here.
async fn place(warren: &Warren) -> WorkspaceId {
    reporting(warren).await.0
}

/// Makes an hourly schedule, with what else is said.
async fn hourly(warren: &Warren, of: WorkspaceId, name: &str, more: &Value) -> String {
    let mut body = json!({ "name": name, "every_seconds": 3_600, "prompt": "What is new?" });
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    let made = warren.post(&format!("/api/v1/workspaces/{of}/schedules"), &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Writes a paused schedule as a template would: also for a workspace that has no agent.
pub(crate) async fn put_schedule(warren: &Warren, of: WorkspaceId, mark: u32, now: Timestamp) -> String {
    let schedule = Schedule {
        id: ScheduleId::from_parts(now.plus_ms(i64::from(mark)), [4; 10]),
        org_id: OrgId::DEFAULT,
        workspace_id: of,
        name: format!("n{mark}"),
        timing: Timing::Every { seconds: 86_400 },
        prompt: "p".to_owned(),
        jitter_seconds: 0,
        missed: MissedPolicy::Once,
        overlap: OverlapPolicy::Skip,
        is_paused: true,
        next_slot: None,
        next_at: None,
        created_by: Principal::system("test"),
        created_at: now,
        updated_at: now,
        version: 1,
        unreadable: None,
    };
    let id = schedule.id.to_string();
    let written: Result<(), warren_store::Error> =
        warren.store.write(move |tx| tx.insert_schedule(&schedule)).await;
    written.unwrap();
    id
}

async fn runs(warren: &Warren, id: &str) -> Vec<Value> {
    let page = warren.get(&format!("/api/v1/schedules/{id}/runs?limit=500")).await.json();
    page["items"].as_array().unwrap_or_else(|| panic!("{page}")).clone()
}

/// Has all that is due fired, and waits until nothing is on its way.
async fn settle(warren: &Warren, id: &str) -> Vec<Value> {
    warren.exchange.scheduler.fire_due().await.unwrap();
    eventually("no run is on its way", async || {
        runs(warren, id).await.iter().all(|run| run["state"] != "claimed")
    })
    .await;
    runs(warren, id).await
}

fn count(runs: &[Value], state: &str) -> usize {
    runs.iter().filter(|run| run["state"] == state).count()
}

async fn tasks(warren: &Warren, of: WorkspaceId) -> Vec<Task> {
    let query = TaskQuery::of(of, 500);
    warren.store.read(move |tx| tx.tasks(&query)).await.unwrap().rows
}

async fn finish(warren: &Warren, id: &Value) {
    let id: TaskId = id.as_str().unwrap().parse().unwrap();
    let done: Result<(), warren_store::Error> = warren
        .store
        .write(move |tx| {
            let mut task = tx.task(id)?.unwrap();
            task.state = TaskState::Completed;
            tx.update_task(&task, task.version).map(drop)
        })
        .await;
    done.unwrap();
}

// X40, X4
#[tokio::test]
async fn a_slot_becomes_a_task_whose_author_is_the_schedule_and_never_a_person() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let id = hourly(&warren, workspace, "pulse", &json!({})).await;
    clock.advance_ms(HOUR_MS - 1);
    assert_eq!(settle(&warren, &id).await, Vec::<Value>::new(), "not before its time");
    clock.advance_ms(1);
    let runs = settle(&warren, &id).await;
    assert_eq!((runs.len(), &runs[0]["state"], &runs[0]["cause"]), (1, &json!("fired"), &json!("slot")));
    let made = tasks(&warren, workspace).await;
    assert_eq!(made.len(), 1);
    assert_eq!(json!(made[0].id.to_string()), runs[0]["task_id"]);
    assert_eq!(made[0].author, Principal { kind: PrincipalKind::Schedule, id: id.clone() });
    assert_eq!(made[0].history[0].text(), "What is new?");
    assert_eq!(made[0].history[0].metadata["schedule"]["name"], "pulse");
    let fired: Vec<_> = events(&warren, Some(workspace)).await;
    let fired: Vec<_> = fired.iter().filter(|event| event["kind"] == "exchange.schedule.fired").collect();
    assert_eq!(fired.len(), 1);
    assert_eq!(fired[0]["principal"], json!({ "kind": "schedule", "id": id }));
    assert_eq!(fired[0]["data"]["task_id"], runs[0]["task_id"]);
}

// X40: nobody has to ask
#[tokio::test]
async fn the_scheduler_wakes_by_itself_and_after_a_restart() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let id = hourly(&warren, workspace, "pulse", &json!({ "overlap": "allow" })).await;
    clock.advance_ms(HOUR_MS);
    eventually("the first slot fires", async || count(&runs(&warren, &id).await, "fired") == 1).await;
    let warren = warren.restart().await;
    clock.advance_ms(HOUR_MS);
    eventually("the second slot fires", async || count(&runs(&warren, &id).await, "fired") == 2).await;
}

// X41: two replicas
#[tokio::test]
async fn two_replicas_fire_each_slot_once() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let replica = || Warren::builder().database(database.url()).clock(Arc::clone(&clock)).start();
    let (first, second) = (replica().await, replica().await);
    let workspace = place(&first).await;
    let mut ids = Vec::new();
    for number in 0..12 {
        let more = json!({ "overlap": "allow", "missed": "all" });
        ids.push(hourly(&first, workspace, &format!("n{number}"), &more).await);
    }
    for round in 1..=3 {
        clock.advance_ms(HOUR_MS);
        let (one, other) =
            tokio::join!(first.exchange.scheduler.fire_due(), second.exchange.scheduler.fire_due());
        one.unwrap();
        other.unwrap();
        eventually("all have fired", async || {
            let mut fired = 0;
            for id in &ids {
                fired += count(&runs(&second, id).await, "fired");
            }
            fired == ids.len() * round
        })
        .await;
    }
    assert_eq!(tasks(&first, workspace).await.len(), 36, "one task for each slot");
    for id in &ids {
        assert_eq!(runs(&first, id).await.len(), 3);
    }
}

/// Keeps messages out of a workspace until the answer is dropped.
async fn lock_queue(warren: &Warren, id: WorkspaceId) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (held, is_held) = tokio::sync::oneshot::channel();
    let (held, released) = (std::sync::Mutex::new(Some(held)), std::sync::Mutex::new(released));
    let store = Arc::clone(&warren.store);
    tokio::spawn(async move {
        let _: Result<(), warren_store::Error> = store
            .write(move |tx| {
                tx.lock_queue(id)?;
                if let Some(held) = held.lock().unwrap().take() {
                    let _ = held.send(());
                }
                // Ends when the sender is dropped.
                let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(20));
                Ok(())
            })
            .await;
    });
    is_held.await.unwrap();
    release
}

// X41: killed between the claim and the message
#[tokio::test]
async fn what_a_killed_replica_claimed_is_finished_once_by_another() {
    let database = PostgresDatabase::create();
    let clock = clock();
    let doomed =
        Warren::builder().database(database.url()).clock(Arc::clone(&clock)).crashable().start().await;
    let workspace = place(&doomed).await;
    let id = hourly(&doomed, workspace, "pulse", &json!({})).await;
    let other = Warren::builder().database(database.url()).clock(Arc::clone(&clock)).start().await;
    let lock = lock_queue(&other, workspace).await;
    clock.advance_ms(HOUR_MS);
    let _ = doomed.exchange.scheduler.fire_due().await;
    eventually("the slot is claimed", async || count(&runs(&other, &id).await, "claimed") == 1).await;
    let _folder = doomed.kill();
    drop(lock);
    other.exchange.scheduler.fire_due().await.unwrap();
    assert!(runs(&other, &id).await.len() == 1, "the slot is not claimed twice");
    clock.advance_ms(30_000);
    let runs = settle(&other, &id).await;
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &json!("fired")), "{runs:?}");
    assert_eq!(tasks(&other, workspace).await.len(), 1);
}

// X41: killed between the message and its record
#[tokio::test]
async fn a_message_that_was_sent_and_not_recorded_is_not_sent_again() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let id = hourly(&warren, workspace, "pulse", &json!({})).await;
    let schedule_id: ScheduleId = id.parse().unwrap();
    let now = clock.now();
    let run = ScheduleRun {
        id: warren_model::ScheduleRunId::from_parts(now, [5; 10]),
        schedule_id,
        org_id: OrgId::DEFAULT,
        workspace_id: workspace,
        slot: Some(now),
        last_slot: None,
        slots: 1,
        cause: RunCause::Slot,
        state: RunState::Claimed,
        reason: None,
        task_id: None,
        asked_by: None,
        attempts: 1,
        lease_until: Some(now.plus_ms(30_000)),
        created_at: now,
        ended_at: None,
    };
    // As the process that died would have sent it.
    let mut message = Message::new(run.id.to_string(), Role::User, vec![Part::text("What is new?")]);
    let about = json!({ "id": id, "name": "pulse", "slot": now.to_string(), "cause": "slot" });
    message.metadata.insert("schedule".into(), about);
    let send =
        NewMessage { idempotency_key: Some(run.id.to_string()), ..NewMessage::new(workspace, message) };
    let sender = Sender { principal: Principal::schedule(schedule_id), org_id: OrgId::DEFAULT };
    let accepted = warren.exchange.messages.send_as(&sender, send).await.unwrap();
    let row = run.clone();
    let inserted: Result<bool, warren_store::Error> =
        warren.store.write(move |tx| tx.insert_schedule_run(&row)).await;
    assert_eq!(inserted, Ok(true));
    clock.advance_ms(30_000);
    let runs = settle(&warren, &id).await;
    assert_eq!((&runs[0]["state"], &runs[0]["attempts"]), (&json!("fired"), &json!(2)));
    assert_eq!(runs[0]["task_id"], json!(accepted.task.id.to_string()));
    assert_eq!(tasks(&warren, workspace).await.len(), 1);
}

// X40: eight hours of sleep
#[tokio::test]
async fn after_a_long_sleep_missed_slots_are_skipped_fired_once_or_all() {
    let clock = clock();
    let limits = Limits { max_schedule_catch_up: 5, ..Limits::default() };
    let warren = Warren::builder().clock(Arc::clone(&clock)).limits(limits).start().await;
    let workspace = place(&warren).await;
    let mut ids = Vec::new();
    for missed in ["skip", "once", "all"] {
        let more = json!({ "missed": missed, "overlap": "allow" });
        ids.push(hourly(&warren, workspace, missed, &more).await);
    }
    clock.advance_ms(8 * HOUR_MS + HOUR_MS / 2);
    let outcome = async |id: &str| {
        let runs = settle(&warren, id).await;
        let skipped = runs.iter().find(|run| run["state"] == "skipped").cloned().unwrap_or_default();
        assert!(runs.iter().all(|run| run["cause"] == "missed"));
        (count(&runs, "fired"), skipped["slots"].clone(), skipped["reason"].clone())
    };
    assert_eq!(outcome(&ids[0]).await, (0, json!(8), json!("missed")));
    assert_eq!(outcome(&ids[1]).await, (1, json!(7), json!("coalesced")));
    assert_eq!(outcome(&ids[2]).await, (5, json!(3), json!("catch_up_limit")));
    // From here on, all of them go on as if nothing had been.
    clock.advance_ms(HOUR_MS / 2);
    for (id, fired) in ids.iter().zip([1, 2, 6]) {
        assert_eq!(count(&settle(&warren, id).await, "fired"), fired);
    }
}

// X41: the clock is set back
#[tokio::test]
async fn a_clock_that_is_set_back_fires_no_slot_twice() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let id = hourly(&warren, workspace, "pulse", &json!({ "overlap": "allow", "missed": "all" })).await;
    clock.advance_ms(2 * HOUR_MS);
    assert_eq!(count(&settle(&warren, &id).await, "fired"), 2);
    for _ in 0..2 {
        clock.advance_ms(-HOUR_MS);
        assert_eq!(settle(&warren, &id).await.len(), 2);
        clock.advance_ms(HOUR_MS);
        assert_eq!(settle(&warren, &id).await.len(), 2, "the hour was lived through before");
    }
    clock.advance_ms(HOUR_MS);
    let runs = settle(&warren, &id).await;
    let slots: std::collections::BTreeSet<_> = runs.iter().map(|run| run["slot"].to_string()).collect();
    assert_eq!((runs.len(), slots.len()), (3, 3));
}

// X40
#[tokio::test]
async fn a_slot_that_meets_the_one_before_is_skipped_queued_or_fired() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let mut ids = Vec::new();
    for overlap in ["skip", "queue", "allow"] {
        ids.push(hourly(&warren, workspace, overlap, &json!({ "overlap": overlap })).await);
    }
    for _ in 0..3 {
        clock.advance_ms(HOUR_MS);
        warren.exchange.scheduler.fire_due().await.unwrap();
        eventually("what is fired is recorded", async || {
            let mut claimed = 0;
            for id in &ids {
                claimed += count(&runs(&warren, id).await, "claimed");
            }
            claimed == 0
        })
        .await;
    }
    let skipping = runs(&warren, &ids[0]).await;
    assert_eq!((count(&skipping, "fired"), count(&skipping, "skipped")), (1, 2));
    assert_eq!(skipping[0]["reason"], "overlap");
    let queueing = runs(&warren, &ids[1]).await;
    assert_eq!((count(&queueing, "fired"), count(&queueing, "waiting")), (1, 2));
    assert_eq!(count(&runs(&warren, &ids[2]).await, "fired"), 3);
    // One after the other, in their order.
    finish(&warren, &queueing.last().unwrap()["task_id"]).await;
    let queueing = settle(&warren, &ids[1]).await;
    assert_eq!((count(&queueing, "fired"), count(&queueing, "waiting")), (2, 1));
    assert_eq!(queueing[1]["state"], "fired", "the older one");
    finish(&warren, &queueing[1]["task_id"]).await;
    assert_eq!(count(&settle(&warren, &ids[1]).await, "fired"), 3);
}

// X42, F17
#[tokio::test]
async fn skips_are_recorded_with_their_reason() {
    let clock = clock();
    let warren = start(&clock).await;
    let (own, runtime) = reporting(&warren).await;
    let paused = place(&warren).await;
    let metadata = json!({ "runtime_metadata": { "capabilities": { "scheduler": true } } });
    beat(&warren, &runtime, &metadata).await;
    let of_own = hourly(&warren, own, "own", &json!({})).await;
    let of_paused = hourly(&warren, paused, "paused", &json!({})).await;
    let before = warren.get(&format!("/api/v1/schedules/{of_own}")).await.json()["next_at"].clone();
    assert_eq!(ask(&warren, paused, "pause").await.status, 200);
    clock.advance_ms(HOUR_MS);
    beat(&warren, &runtime, &json!({})).await;
    for (id, reason) in [(&of_own, "own_scheduler"), (&of_paused, "workspace_paused")] {
        let runs = settle(&warren, id).await;
        assert_eq!(
            (runs.len(), &runs[0]["state"], &runs[0]["reason"]),
            (1, &json!("skipped"), &json!(reason))
        );
    }
    let after = warren.get(&format!("/api/v1/schedules/{of_own}")).await.json()["next_at"].clone();
    assert_ne!(before, after, "it is moved on all the same");
    assert!(tasks(&warren, own).await.is_empty() && tasks(&warren, paused).await.is_empty());
    let told = events(&warren, Some(own)).await;
    let told: Vec<_> = told.iter().filter(|event| event["kind"] == "exchange.schedule.skipped").collect();
    assert_eq!((told.len(), &told[0]["data"]["reason"]), (1, &json!("own_scheduler")));
    // Its runtime gives the switch back: Warren fires again.
    let metadata = json!({ "runtime_metadata": { "capabilities": { "scheduler": false } } });
    beat(&warren, &runtime, &metadata).await;
    clock.advance_ms(HOUR_MS);
    beat(&warren, &runtime, &json!({})).await;
    assert_eq!(count(&settle(&warren, &of_own).await, "fired"), 1);
}

// X42
#[tokio::test]
async fn a_hibernated_workspace_is_spoken_to_and_a_removed_one_is_not() {
    let clock = clock();
    let warren = start(&clock).await;
    let (asleep, removed) = (place(&warren).await, place(&warren).await);
    let of_asleep = hourly(&warren, asleep, "asleep", &json!({})).await;
    let of_removed = hourly(&warren, removed, "removed", &json!({})).await;
    assert_eq!(ask(&warren, asleep, "hibernate").await.status, 200);
    let gone = warren.delete(&format!("/api/v1/workspaces/{removed}")).await;
    assert!(gone.status < 300, "{}", gone.text());
    clock.advance_ms(HOUR_MS);
    assert_eq!(count(&settle(&warren, &of_asleep).await, "fired"), 1, "a message wakes it");
    warren.wait_for_status(asleep, warren_model::Status::AwaitingAgent).await;
    let stopped = warren.store.read::<_, warren_store::Error, _>({
        let id: ScheduleId = of_removed.parse().unwrap();
        move |tx| tx.schedule(id)
    });
    let stopped = stopped.await.unwrap().unwrap();
    assert_eq!((stopped.is_paused, stopped.next_at), (true, None));
    assert!(tasks(&warren, removed).await.is_empty());
}

// X40
#[tokio::test]
async fn a_paused_schedule_misses_nothing_and_runs_when_asked() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let id = hourly(&warren, workspace, "pulse", &json!({ "missed": "all" })).await;
    let path = format!("/api/v1/schedules/{id}");
    let post =
        async |what: &str| warren.call("POST", &format!("{path}/{what}")).token(&warren.token).send().await;
    let paused = post("pause").await.json();
    assert_eq!(
        (&paused["is_paused"], &paused["next_at"], &paused["upcoming"]),
        (&json!(true), &json!(null), &json!([]))
    );
    clock.advance_ms(10 * HOUR_MS);
    assert_eq!(settle(&warren, &id).await, Vec::<Value>::new());
    let run = post("run").await;
    assert_eq!((run.status, run.json()["cause"].clone()), (202, json!("manual")));
    assert_eq!(run.json()["asked_by"]["kind"], "user");
    let runs = settle(&warren, &id).await;
    assert_eq!((runs.len(), &runs[0]["state"], &runs[0]["slot"]), (1, &json!("fired"), &json!(null)));
    assert_eq!(tasks(&warren, workspace).await[0].author.kind, PrincipalKind::Schedule, "still not a person");
    let resumed = post("resume").await.json();
    let next: Timestamp = resumed["next_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(next, clock.now().plus_ms(HOUR_MS));
    assert_eq!(resumed["upcoming"].as_array().unwrap().len(), 5);
    let query = warren_store::AuditQuery {
        target_kind: Some("schedule".into()),
        ..warren_store::AuditQuery::all(0, 100)
    };
    let audit = warren.store.read(move |tx| tx.audit(&query)).await.unwrap().rows;
    let actions: Vec<_> = audit.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["schedule.created", "schedule.changed", "schedule.run", "schedule.changed"]);
    assert_eq!(warren.delete(&path).await.status, 204);
    assert_eq!(warren.get(&path).await.json()["code"], "schedule_not_found");
}

// X40: absent means unchanged
#[tokio::test]
async fn a_change_of_a_schedule_changes_what_it_names() {
    let clock = clock();
    let warren = start(&clock).await;
    let workspace = place(&warren).await;
    let body = json!({
        "name": "morning", "cron": "0 9 * * 1-5", "time_zone": "europe/zurich", "prompt": "p", "jitter_seconds": 60,
        "missed": "skip", "overlap": "queue",
    });
    let made = warren.post(&format!("/api/v1/workspaces/{workspace}/schedules"), &body).await;
    assert_eq!((made.status, made.json()["time_zone"].clone()), (201, json!("Europe/Zurich")));
    let made = made.json();
    let path = format!("/api/v1/schedules/{}", made["id"].as_str().unwrap());
    let patched = warren.patch(&path, &json!({ "prompt": "q" })).await.json();
    let mut expected = made.clone();
    for field in ["prompt", "updated_at", "version"] {
        expected[field] = patched[field].clone();
    }
    assert_eq!((&patched, &patched["prompt"]), (&expected, &json!("q")));
    let moved = warren.patch(&path, &json!({ "time_zone": "Asia/Kathmandu" })).await.json();
    assert_eq!((&moved["cron"], &moved["time_zone"]), (&json!("0 9 * * 1-5"), &json!("Asia/Kathmandu")));
    assert!(moved["upcoming"][0].as_str().unwrap().ends_with("T03:15:00.000000Z"));
    let interval = warren.patch(&path, &json!({ "every_seconds": 600 })).await.json();
    assert_eq!(
        (&interval["cron"], &interval["time_zone"], &interval["every_seconds"]),
        (&json!(null), &json!(null), &json!(600))
    );
    let stale = warren.call("PATCH", &path).token(&warren.token).header("if-match", "\"1\"");
    assert_eq!(stale.json(&json!({ "prompt": "r" })).send().await.json()["code"], "precondition_failed");
}

// X40: bad input and limits
#[tokio::test]
async fn what_is_wrong_with_a_schedule_is_told_by_code() {
    let clock = clock();
    let limits = Limits { max_schedules_per_workspace: 2, ..Limits::default() };
    let warren = Warren::builder().clock(Arc::clone(&clock)).limits(limits).start().await;
    let workspace = place(&warren).await;
    let path = format!("/api/v1/workspaces/{workspace}/schedules");
    let with = |fields: Value| {
        let mut body = json!({ "name": "n", "prompt": "p" });
        for (field, value) in fields.as_object().unwrap() {
            body[field] = value.clone();
        }
        body
    };
    for (fields, code, part) in [
        (json!({ "cron": "0 0 30 2 *" }), "schedule_never_fires", "ever comes"),
        (
            json!({ "cron": "0 9 * * *", "time_zone": "Europe/Zurick" }),
            "unknown_time_zone",
            "did you mean `Europe/Zurich`?",
        ),
        (json!({ "cron": "every day" }), "invalid_schedule", "cron: not a cron expression; expected"),
        (json!({ "cron": "61 * * * *" }), "invalid_schedule", "cron: a number, a range or a step is out of"),
        (json!({ "cron": "*/0 * * * *" }), "invalid_schedule", "cron: a number, a range or a step is out of"),
        (json!({ "cron": "a b c d e" }), "invalid_schedule", "cron: a field holds what no field can; "),
        (json!({ "cron": "* * * * * *" }), "schedule_too_frequent", "every 1 s"),
        (json!({ "every_seconds": 9 }), "schedule_too_frequent", "at least 10 s"),
        (json!({ "every_seconds": 0 }), "invalid_schedule", "every_seconds: "),
        (json!({ "every_seconds": 60, "jitter_seconds": 60 }), "invalid_schedule", "jitter_seconds: "),
        (json!({ "every_seconds": 60, "time_zone": "UTC" }), "invalid_schedule", "time_zone: "),
        (json!({ "every_seconds": 60, "cron": "0 9 * * *" }), "invalid_schedule", "either"),
        (json!({}), "invalid_schedule", "either"),
        (json!({ "every_seconds": 60, "name": "" }), "invalid_schedule", "name: "),
        (json!({ "every_seconds": 60, "prompt": "" }), "invalid_schedule", "prompt: "),
        (
            json!({ "every_seconds": 60, "prompt": "x".repeat(warren_model::Schedule::MAX_PROMPT_BYTES + 1) }),
            "payload_too_large",
            "prompt: it has 262145 bytes, and may have 262144",
        ),
        (json!({ "every_seconds": 60, "missed": "some" }), "invalid_request", "missed"),
    ] {
        let answer = warren.post(&path, &with(fields.clone())).await;
        assert_eq!(answer.json()["code"], code, "{fields}: {}", answer.text());
        assert!(answer.json()["detail"].as_str().unwrap().contains(part), "{fields}: {}", answer.text());
    }
    for (name, code) in
        [("a", None), ("a", Some("schedule_exists")), ("b", None), ("c", Some("schedule_limit"))]
    {
        let answer = warren.post(&path, &with(json!({ "name": name, "every_seconds": 60 }))).await;
        assert_eq!(answer.json()["code"].as_str(), code, "{name}");
    }
    let preview = warren.post("/api/v1/schedules/preview", &json!({ "cron": "0 9 * * *", "count": 3 })).await;
    assert_eq!(preview.json()["slots"][0], "2027-01-15T09:00:00.000000Z");
    assert_eq!(preview.json()["slots"].as_array().unwrap().len(), 3);
    assert_eq!(
        warren.post("/api/v1/schedules/preview", &json!({ "every_seconds": 60, "count": 101 })).await.status,
        400
    );
}

// F50
#[tokio::test]
async fn the_schedules_of_a_template_become_schedules_of_its_workspaces() {
    let clock = clock();
    let warren = start(&clock).await;
    let template = json!({
        "provider": memory(), "runtime": "external",
        "schedules": [
            { "name": "morning", "cron": "0 9 * * *", "time_zone": "Europe/Zurich", "prompt": "What is new?" },
            { "name": "pulse", "every_seconds": 3_600, "prompt": "Go on." },
        ],
    });
    let stored = warren.call("PUT", "/api/v1/templates/t").token(&warren.token).json(&template).send().await;
    assert_eq!(stored.status, 201, "{}", stored.text());
    let id = create(&warren, &json!({ "name": "made", "template": "t" })).await;
    let listed = warren.get(&format!("/api/v1/workspaces/{id}/schedules")).await.json();
    let mut names: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["morning", "pulse"]);
    let pulse = listed["items"].as_array().unwrap().iter().find(|one| one["name"] == "pulse").unwrap();
    clock.advance_ms(HOUR_MS);
    assert_eq!(count(&settle(&warren, pulse["id"].as_str().unwrap()).await, "fired"), 1);
    // What can never fire is refused with the whole workspace, by its path.
    let wrong = json!({
        "tree": { "name": "x", "provider": memory(), "schedules": [
            { "name": "ok", "every_seconds": 60, "prompt": "p" },
            { "name": "odd", "cron": "0 9 * * *", "time_zone": "Mars/Base", "prompt": "p" },
        ] },
    });
    let refused = warren.post("/api/v1/orgs/import", &wrong).await.json();
    let problem = &refused["nodes"][0]["problem"];
    assert_eq!(problem["code"], "unknown_time_zone", "{refused}");
    assert!(problem["detail"].as_str().unwrap().starts_with("schedules[1].time_zone: "), "{refused}");
}
