//! Runtimes whose work does not move, asked whether they are there (F14), and boxes that are looked at (F20).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use warren_doors::ManualClock;
use warren_model::WorkspaceId;
use warren_testkit::Warren;

use crate::fleet::{
    beat, clock, events, eventually, external, join_token, show, status, sweep, try_register,
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
