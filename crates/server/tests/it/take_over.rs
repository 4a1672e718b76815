//! One of two Warrens is cut off in the middle of its work, by the real clock: how long until the other has taken over,
//! and whether anything was lost or done twice (O10).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use warren_fleet::REPLICA_LEASE_MS;
use warren_llm::Script;
use warren_model::{Limits, Status, WorkspaceId};
use warren_testkit::{PostgresDatabase, Warren};

use crate::local;

/// Beyond the lease: the next look for work, the box's opening, and the work that is left, on a busy machine.
const MARGIN: Duration = Duration::from_secs(15);
/// Pairs of Warrens that are tried at once, each killed at another moment between two renewals.
const KILLS: u64 = 3;
/// It takes some seconds to say, so that it is cut off in the middle.
const SLOWLY: &str = "turns:\n  - when: { user_contains: slowly }\n    text: \"answered after all, slowly and whole\"\n    \
                      chunk_characters: 4\n    delay_ms: 500\n  - when: { user_contains: \"\" }\n    text: \"heard {last_user}\"\n";

/// How long after the kill each of these was so at the other replica.
#[derive(Debug)]
struct Figures {
    /// A file of the box was read.
    files: Duration,
    /// The message that was being answered, and the one behind it, were answered.
    messages: Duration,
    /// A slot of the schedule fired.
    schedule: Duration,
}

/// A message is taken up when the lease of its delivery has ended, and its session where the box is, which is when the
/// replica's lease has ended too.
fn limit() -> Duration {
    let delivery_ms = warren_exchange::Config::default().lease_ms;
    Duration::from_millis((REPLICA_LEASE_MS + delivery_ms).unsigned_abs()) + MARGIN
}

fn builder(database: &PostgresDatabase) -> warren_testkit::Builder {
    let limits = Limits { min_schedule_interval_seconds: 1, ..Limits::default() };
    let script = Script::read(SLOWLY).unwrap();
    Warren::builder().database(database.url()).limits(limits).script("test", script).reachable()
}

async fn say(warren: &Warren, id: WorkspaceId, key: &str, text: &str) -> String {
    let body = json!({ "message": { "id": key, "parts": [{ "text": text }] }, "context_id": "one" });
    let sent = warren.post(&format!("/api/v1/workspaces/{id}/messages"), &body).await;
    assert!(sent.status < 300, "{}", sent.text());
    sent.json()["task"]["id"].as_str().unwrap_or_else(|| panic!("{}", sent.text())).to_owned()
}

async fn items(warren: &Warren, path: &str) -> Vec<Value> {
    let answer = warren.get(path).await;
    answer.json()["items"].as_array().cloned().unwrap_or_else(|| panic!("{path}: {}", answer.text()))
}

/// Waits until it is so, and tells how long after the kill that was.
async fn after(killed: Instant, what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    while !is_so().await {
        assert!(killed.elapsed() < limit(), "{what}: not within {:?}", limit());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    killed.elapsed()
}

async fn hosted(warren: &Warren, name: &str) -> WorkspaceId {
    let made = warren.create(&json!({ "name": name, "provider": local(), "agent": "helper" })).await;
    let id = made.json()["id"].as_str().unwrap_or_else(|| panic!("{}", made.text())).parse().unwrap();
    warren.wait_for_status(id, Status::Online).await;
    id
}

/// Kills a replica, `wait` after it began its work.
async fn kill_one(wait: Duration) -> Figures {
    let database = PostgresDatabase::create();
    let doomed = builder(&database).crashable().start().await;
    let disk = doomed.folder().join("workspaces");
    let other = builder(&database).key_of(doomed.folder()).disk(disk).start().await;
    let agent = json!({ "model": "scripted/test" });
    let put = doomed.call("PUT", "/api/v1/agents/helper").token(&doomed.token).json(&agent).send().await;
    assert_eq!(put.status, 201, "{}", put.text());
    let (id, often) = (hosted(&doomed, "place").await, hosted(&doomed, "often").await);
    let note = format!("/api/v1/workspaces/{id}/files?path=note");
    assert!(doomed.put(&note, "kept").await.status < 300);
    let body = json!({ "name": "often", "every_seconds": 2, "prompt": "tick", "overlap": "allow" });
    let schedule = doomed.post(&format!("/api/v1/workspaces/{often}/schedules"), &body).await;
    assert_eq!(schedule.status, 201, "{}", schedule.text());
    let runs = format!("/api/v1/schedules/{}/runs?limit=500", schedule.json()["id"].as_str().unwrap());
    tokio::time::sleep(wait).await;
    let answered = say(&doomed, id, "m-1", "say it slowly").await;
    let queued = say(&doomed, id, "m-2", "and then this").await;
    let path = |task: &str| format!("/api/v1/workspaces/{id}/tasks/{task}");
    let begun = Instant::now();
    while doomed.get(&path(&answered)).await.json()["state"] != "working" {
        assert!(begun.elapsed() < MARGIN, "{}", doomed.get(&path(&answered)).await.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let fired_before = items(&other, &runs).await.len();

    let _folder = doomed.kill();
    let killed = Instant::now();
    let files = after(killed, "files", async || other.get(&note).await.text() == "kept");
    let schedule = after(killed, "schedule", async || items(&other, &runs).await.len() > fired_before);
    let messages = after(killed, "messages", async || {
        let (first, second) =
            (other.get(&path(&answered)).await.json(), other.get(&path(&queued)).await.json());
        let are_answered = first["state"] == "completed" && second["state"] == "completed";
        assert!(are_answered || killed.elapsed() < limit(), "first: {first}\nsecond: {second}");
        are_answered
    });
    let (files, schedule, messages) = tokio::join!(files, schedule, messages);
    for (task, said) in
        [(&answered, "answered after all, slowly and whole"), (&queued, "heard and then this")]
    {
        let told = other.get(&path(task)).await.json();
        let answers = told["artifacts"].as_array().unwrap();
        let texts: Vec<&Value> = answers.iter().map(|answer| &answer["parts"][0]["text"]).collect();
        assert_eq!(texts, [&json!(said)], "once and whole: {told}");
    }
    let slots: Vec<String> = items(&other, &runs).await.iter().map(|run| run["slot"].to_string()).collect();
    assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len(), "a slot fires once: {slots:?}");
    Figures { files, messages, schedule }
}

#[expect(clippy::print_stdout, reason = "the figure is what the test is for")]
fn told(name: &str, mut all: Vec<Duration>) {
    all.sort_unstable();
    let (median, most) = (all[all.len() / 2], all[all.len() - 1]);
    println!("taken over after a kill: {name}: p50 {median:.1?}, max {most:.1?}, of {}", all.len());
}

// O10: "killing any loses nothing and takes over within the lease"
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_replica_was_doing_the_other_goes_on_with_within_the_lease() {
    let kills = (0..KILLS).map(|number| kill_one(Duration::from_millis(number * 3_300)));
    let figures = join_all(kills).await;
    told("files of its boxes", figures.iter().map(|one| one.files).collect());
    told("messages to its agents", figures.iter().map(|one| one.messages).collect());
    told("schedules", figures.iter().map(|one| one.schedule).collect());
}
