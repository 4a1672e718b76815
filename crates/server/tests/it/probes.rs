//! Runtimes whose work does not move, asked whether they are there (F14), and boxes that are looked at (F20).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use warren_doors::ManualClock;
use warren_model::{Status, WorkspaceId};
use warren_testkit::{Faults, PostgresDatabase, Warren};
use warren_workspace::Presence;

use crate::exchange::say;
use crate::fleet::{
    arrivals, beat, clock, create, events, eventually, external, join_token, reporting, show, status, sweep,
    try_register,
};

const IDLE_MS: i64 = 5 * 60_000;

/// A peer that says no to everything, and so is there.
async fn listener() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4_096];
            let _ = stream.read(&mut head).await;
            let _ = stream
                .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await;
        }
    });
    (url, serving)
}

/// Has it say that it works, and lets so much time pass that this is not believed.
async fn stall(warren: &Warren, clock: &ManualClock, id: WorkspaceId, secret: &str) {
    beat(warren, secret, &json!({ "active_tasks": 1 })).await;
    for _ in 0..5 {
        clock.advance_ms(IDLE_MS / 5);
        beat(warren, secret, &json!({ "active_tasks": 1 })).await;
    }
    sweep(warren, "stalls").await;
    assert_eq!(status(warren, id).await, "degraded");
}

async fn probed(warren: &Warren, id: WorkspaceId) -> Vec<Value> {
    let all = events(warren, Some(id)).await;
    let found = all.into_iter().filter(|event| event["kind"] == "workspace.runtime.probed");
    found.map(|event| event["data"].clone()).collect()
}

/// Has what is due be asked, and waits until as many answers are in the log; answers with the last.
async fn probe(warren: &Warren, id: WorkspaceId, times: usize) -> Value {
    sweep(warren, "probes").await;
    eventually("it was asked", async || probed(warren, id).await.len() == times).await;
    probed(warren, id).await.pop().unwrap()
}

// F14
#[tokio::test]
async fn a_stalled_runtime_that_answers_stays_degraded_and_one_that_does_not_is_taken_offline() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).reaches_loopback().start().await;
    let id = external(&warren).await;
    let (url, serving) = listener().await;
    let card = json!({
        "supportedInterfaces": [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
    });
    let join = join_token(&warren, id).await;
    let registered = try_register(&warren, &join, &json!({ "agent_card": card })).await.json();
    let secret = registered["token"].as_str().unwrap();
    stall(&warren, &clock, id, secret).await;
    let found = probe(&warren, id, 1).await;
    assert_eq!((&found["way"], &found["found"]), (&json!("card"), &json!("answers")));
    let shown = show(&warren, id).await;
    assert_eq!(shown["status"], "degraded");
    assert!(shown["reason"].as_str().unwrap().ends_with("the runtime answers when it is asked."), "{shown}");
    // Not asked again before its time, and then again.
    sweep(&warren, "probes").await;
    serving.abort();
    let _ = serving.await;
    clock.advance_ms(IDLE_MS);
    let found = probe(&warren, id, 2).await;
    assert_eq!((&found["way"], &found["found"]), (&json!("card"), &json!("silent")));
    let shown = show(&warren, id).await;
    assert_eq!(shown["status"], "offline");
    assert!(shown["reason"].as_str().unwrap().ends_with("the runtime does not answer."), "{shown}");
    // A sign of life is proof all the same (F6), and it is still known to be stalled.
    assert_eq!(beat(&warren, secret, &json!({})).await["status"], "degraded");
}

// F14
#[tokio::test]
async fn a_stalled_runtime_that_moves_again_is_not_asked() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    stall(&warren, &clock, id, &secret).await;
    let now = warren_doors::Clock::now(&*clock).to_string();
    assert_eq!(beat(&warren, &secret, &json!({ "last_progress_at": now })).await["status"], "online");
    assert_eq!(sweep(&warren, "probes").await["last_run"]["outcome"]["looked_at"], 0);
    assert!(probed(&warren, id).await.is_empty());
}

// F14
#[tokio::test]
async fn a_stalled_runtime_that_comes_and_asks_is_judged_by_what_it_takes() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    stall(&warren, &clock, id, &secret).await;
    let found = probe(&warren, id, 1).await;
    assert_eq!((&found["way"], &found["found"]), (&json!("claims"), &json!("unknown")), "nothing to take");
    assert_eq!(status(&warren, id).await, "degraded");
    say(&warren, id, "anybody there?").await;
    clock.advance_ms(60_000);
    let found = probe(&warren, id, 2).await;
    assert_eq!((&found["way"], &found["found"]), (&json!("claims"), &json!("silent")));
    assert_eq!(status(&warren, id).await, "offline");
}

/// A workspace whose agent lives in its box, registered: (id, its credential).
async fn resident(warren: &Warren) -> (WorkspaceId, String) {
    let body = json!({ "name": "agent", "provider": { "kind": "local" }, "runtime": "resident" });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    let secret = crate::fleet::register(warren, id).await;
    (id, secret)
}

// F14, F16
#[tokio::test]
async fn a_stalled_resident_whose_box_is_gone_is_restarted_and_a_crash_loses_no_question() {
    let (clock, faults) = (clock(), Arc::new(Faults::default()));
    let builder = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).crashable();
    let warren = builder.start().await;
    let (id, secret) = resident(&warren).await;
    stall(&warren, &clock, id, &secret).await;
    let warren = warren.crash().await;
    // The new process has not opened it: nothing can be said of its box.
    let found = probe(&warren, id, 1).await;
    assert_eq!((&found["way"], &found["found"]), (&json!("box"), &json!("unknown")));
    warren.fleet.registry.acquire(id).await.unwrap();
    faults.show_presence(Some(Presence::Gone("the box has ended")));
    clock.advance_ms(60_000);
    let found = probe(&warren, id, 2).await;
    assert_eq!((&found["way"], &found["found"]), (&json!("box"), &json!("silent")));
    assert_eq!(status(&warren, id).await, "offline");
    faults.show_presence(None);
    sweep(&warren, "mending").await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
}

// F20
#[tokio::test]
async fn a_box_that_is_gone_is_found_out_without_anybody_using_it_and_is_brought_up_again() {
    let database = PostgresDatabase::create();
    for builder in [Warren::builder(), Warren::builder().database(database.url())] {
        let (clock, faults) = (clock(), Arc::new(Faults::default()));
        let warren = builder.clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
        let hosted = warren.workspace(json!({ "kind": "local" })).await;
        let (elsewhere, _) = reporting(&warren).await;
        let outcome = sweep(&warren, "health").await["last_run"]["outcome"].clone();
        assert_eq!((&outcome["looked_at"], &outcome["acted_on"]), (&json!(2), &json!(0)));
        // What cannot be asked is no verdict.
        faults.show_presence(Some(Presence::Unknown));
        let outcome = sweep(&warren, "health").await["last_run"]["outcome"].clone();
        assert_eq!((&outcome["failed"], &outcome["acted_on"]), (&json!(2), &json!(0)));
        assert_eq!(status(&warren, hosted).await, "online");
        faults.show_presence(Some(Presence::Gone("the box has ended")));
        sweep(&warren, "health").await;
        assert_eq!(status(&warren, hosted).await, "offline");
        assert_eq!(show(&warren, hosted).await["reason"], "The box has ended.");
        assert_eq!(status(&warren, elsewhere).await, "online", "its runtime is not in the box");
        faults.show_presence(None);
        let opens = faults.opens();
        sweep(&warren, "mending").await;
        warren.wait_for_status(hosted, Status::Online).await;
        assert_eq!((faults.opens(), arrivals(&warren, hosted, "offline").await), (opens + 1, 1));
        // Nothing is left to be found.
        assert_eq!(sweep(&warren, "health").await["last_run"]["outcome"]["acted_on"], 0);
    }
}
