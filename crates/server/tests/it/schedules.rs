//! Messages at set times: each slot once, whatever happens to the clock, the process or the workspace.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use warren_doors::{Clock as _, ManualClock};
use warren_model::{
    Limits, MissedPolicy, OrgId, OverlapPolicy, Principal, PrincipalKind, Schedule, ScheduleId, Status, Task,
    Timestamp, Timing, WorkspaceId,
};
use warren_store::TaskQuery;
use warren_testkit::{PostgresDatabase, Warren};

use crate::fleet::{clock, eventually, reporting};

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

// X12, X41: what a template brings along is made, and tells why it does not fire
#[tokio::test]
async fn a_template_s_schedule_of_a_hosted_workspace_fails_with_the_reason_and_is_not_run_by_hand() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let template = json!({ "provider": { "kind": "local" }, "schedules": [{ "name": "nightly", "every_seconds": 86_400, "prompt": "tidy up" }] });
    let stored = warren.call("PUT", "/api/v1/templates/t").token(&warren.token);
    let stored = stored.json(&template).send().await;
    assert_eq!(stored.status, 201, "{}", stored.text());
    let hosted = warren.create(&json!({ "name": "hosted", "template": "t" })).await;
    let hosted: WorkspaceId = hosted.json()["id"].as_str().unwrap().parse().unwrap();
    warren.wait_for_status(hosted, Status::Online).await;
    let all = warren.get(&format!("/api/v1/workspaces/{hosted}/schedules")).await.json();
    let path = format!("/api/v1/schedules/{}", all["items"][0]["id"].as_str().unwrap());
    for deed in ["run", "resume"] {
        let refused = warren.post(&format!("{path}/{deed}"), &json!({})).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "no_agent"), "{}", refused.text());
    }
    clock.advance_ms(86_400_000);
    warren.exchange.scheduler.fire_due().await.unwrap();
    eventually("the run fails", async || {
        let runs = warren.get(&format!("{path}/runs")).await.json();
        runs["items"][0]["state"] == "failed" && runs["items"][0]["reason"] == "no_agent"
    })
    .await;
    warren.stop().await;
}
