use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Answer, Warren};

use super::{answer_of, queue, say, task, task_in};
use crate::fleet::{beat, clock, eventually, reporting, show, status, sweep};

async fn claim(warren: &Warren, id: WorkspaceId, secret: &str, body: Value) -> Answer {
    let path = format!("/api/v1/workspaces/{id}/queue/claim");
    warren.call("POST", &path).token(secret).json(&body).send().await
}

async fn tell(
    warren: &Warren,
    id: WorkspaceId,
    secret: &str,
    claimed: &Value,
    what: &str,
    mut body: Value,
) -> Answer {
    let path = format!("/api/v1/workspaces/{id}/queue/{}/{what}", claimed["queue_id"].as_str().unwrap());
    body["attempt"] = claimed["attempt"].clone();
    warren.call("POST", &path).token(secret).json(&body).send().await
}

fn text(text: &str) -> Value {
    json!({ "parts": [{ "text": text }] })
}

// X15, X4
#[tokio::test]
async fn a_runtime_that_comes_and_asks_gets_its_messages_and_answers_them() {
    let warren = Warren::start().await;
    let (id, secret) = reporting(&warren).await;
    assert_eq!(claim(&warren, id, &secret, json!({})).await.json()["claimed"], json!(null));
    let accepted = say(&warren, id, "do it").await;
    assert_eq!(accepted["queued"], true);
    let got = claim(&warren, id, &secret, json!({})).await.json()["claimed"].clone();
    assert_eq!(
        (&got["message"]["parts"][0]["text"], &got["author"]["kind"]),
        (&json!("do it"), &json!("user"))
    );
    assert_eq!(task(&warren, &accepted).await["state"], "working");
    let moved = json!({ "message": text("half way"), "artifacts": [{ "artifact": { "id": "a", "parts": [{ "text": "x" }] } }] });
    assert_eq!(tell(&warren, id, &secret, &got, "progress", moved).await.status, 200);
    assert_eq!(answer_of(&task(&warren, &accepted).await), "half way");
    let answer = json!({ "outcome": "answered", "message": text("done") });
    let done = tell(&warren, id, &secret, &got, "answer", answer.clone()).await;
    assert_eq!((done.status, &done.json()["state"]), (200, &json!("completed")), "{}", done.text());
    let twice = tell(&warren, id, &secret, &got, "answer", answer).await;
    assert_eq!((twice.status, twice.code().as_str()), (409, "claim_lost"));
    let task = task(&warren, &accepted).await;
    assert_eq!((answer_of(&task).as_str(), &task["artifacts"][0]["id"]), ("done", &json!("a")));
}

// X15
#[tokio::test]
async fn whoever_waits_for_work_is_told_at_once() {
    let warren = Warren::start().await;
    let (id, secret) = reporting(&warren).await;
    let started = std::time::Instant::now();
    let (got, _) = tokio::join!(claim(&warren, id, &secret, json!({ "wait_ms": 30_000 })), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        say(&warren, id, "now").await
    });
    assert_eq!(got.json()["claimed"]["message"]["parts"][0]["text"], "now");
    assert!(started.elapsed() < Duration::from_secs(10), "it did not wait for the end");
}

// X12
#[tokio::test]
async fn a_runtime_that_says_busy_gets_the_message_again() {
    let warren = Warren::start().await;
    let (id, secret) = reporting(&warren).await;
    let accepted = say(&warren, id, "later").await;
    let first = claim(&warren, id, &secret, json!({})).await.json()["claimed"].clone();
    let busy = json!({ "outcome": "busy", "retry_after_ms": 60_000 });
    assert_eq!(tell(&warren, id, &secret, &first, "answer", busy).await.status, 200);
    assert_eq!(task(&warren, &accepted).await["state"], "submitted");
    assert_eq!(queue(&warren, id, "queued").await[0]["reason"], "busy");
    let second = claim(&warren, id, &secret, json!({})).await.json()["claimed"].clone();
    assert_eq!((&second["queue_id"], &second["attempt"]), (&first["queue_id"], &json!(2)));
    let late = tell(&warren, id, &secret, &first, "answer", json!({ "outcome": "answered" })).await;
    assert_eq!(late.code(), "claim_lost", "the first attempt is over");
    assert_eq!(
        tell(&warren, id, &secret, &second, "answer", json!({ "outcome": "failed" })).await.status,
        200
    );
    assert_eq!(task(&warren, &accepted).await["state"], "failed");
}

// X11, X15: a lease that runs out
#[tokio::test]
async fn a_claim_without_a_word_is_lost_and_tried_again_only_by_one_that_can_tell() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    let lost = say(&warren, id, "lost").await;
    let first = claim(&warren, id, &secret, json!({ "lease_ms": 1_000 })).await.json()["claimed"].clone();
    clock.advance_ms(999);
    assert_eq!(tell(&warren, id, &secret, &first, "progress", json!({})).await.status, 200, "renewed");
    clock.advance_ms(30_000);
    let failed = task_in(&warren, &lost, "failed").await;
    assert!(answer_of(&failed).contains("not known"), "{failed}");
    let late = tell(&warren, id, &secret, &first, "answer", json!({ "outcome": "answered" })).await;
    assert_eq!(late.code(), "claim_lost");
    let able = json!({ "runtime_metadata": { "capabilities": { "deduplication": true } } });
    crate::fleet::beat(&warren, &secret, &able).await;
    say(&warren, id, "kept").await;
    let first = claim(&warren, id, &secret, json!({ "lease_ms": 1_000 })).await.json()["claimed"].clone();
    clock.advance_ms(1_000);
    eventually("put back", async || queue(&warren, id, "queued").await.len() == 1).await;
    let second = claim(&warren, id, &secret, json!({})).await.json()["claimed"].clone();
    assert_eq!((&second["queue_id"], &second["attempt"]), (&first["queue_id"], &json!(2)));
}

// X14
#[tokio::test]
async fn no_more_is_handed_out_than_may_run_at_once() {
    let warren = Warren::start().await;
    let (id, secret) = reporting(&warren).await;
    let path = format!("/api/v1/workspaces/{id}");
    let two = warren.call("PATCH", &path).token(&warren.token).json(&json!({ "max_concurrent_tasks": 2 }));
    assert_eq!(two.send().await.status, 200);
    for number in 0..3 {
        say(&warren, id, &number.to_string()).await;
    }
    let mut claims = tokio::task::JoinSet::new();
    let warren = Arc::new(warren);
    for _ in 0..8 {
        let (warren, secret) = (Arc::clone(&warren), secret.clone());
        claims.spawn(async move { claim(&warren, id, &secret, json!({})).await.json()["claimed"].clone() });
    }
    let got: Vec<_> = claims.join_all().await.into_iter().filter(|claimed| !claimed.is_null()).collect();
    assert_eq!(got.len(), 2, "{got:?}");
    assert_ne!(got[0]["queue_id"], got[1]["queue_id"]);
    assert_eq!(
        tell(&warren, id, &secret, &got[0], "answer", json!({ "outcome": "answered" })).await.status,
        200
    );
    assert!(!claim(&warren, id, &secret, json!({})).await.json()["claimed"].is_null());
}

// X4
#[tokio::test]
async fn nobody_else_answers_in_a_workspaces_name() {
    let warren = Warren::start().await;
    let (id, _) = reporting(&warren).await;
    let (_, stranger) = reporting(&warren).await;
    say(&warren, id, "for it alone").await;
    let operator = claim(&warren, id, &warren.token, json!({})).await;
    assert_eq!((operator.status, operator.code().as_str()), (403, "forbidden"));
    let other = claim(&warren, id, &stranger, json!({})).await;
    assert_eq!((other.status, other.code().as_str()), (404, "workspace_not_found"));
}

// F16, F12: a runtime that asks and answers without ever reporting
#[tokio::test]
async fn whoever_asks_for_work_or_tells_of_it_lives_and_a_wedge_stays_one() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    let (silent, _) = reporting(&warren).await;
    let claimed = json!({ "lease_ms": 600_000 });
    say(&warren, id, "do it").await;
    let got = claim(&warren, id, &secret, claimed).await.json()["claimed"].clone();
    // Together longer than a runtime may be silent, one by one shorter.
    let later = async || {
        clock.advance_ms(60_000);
        sweep(&warren, "liveness").await;
        status(&warren, id).await
    };
    assert_eq!(later().await, "online");
    assert_eq!(tell(&warren, id, &secret, &got, "progress", json!({})).await.status, 200);
    assert_eq!(later().await, "online", "it told how it goes");
    assert_eq!(status(&warren, silent).await, "offline", "the control");
    let answer = json!({ "outcome": "answered", "message": text("done") });
    assert_eq!(tell(&warren, id, &secret, &got, "answer", answer).await.status, 200);
    assert_eq!(later().await, "online", "it answered");
    assert_eq!(claim(&warren, id, &secret, json!({})).await.status, 200);
    assert_eq!(later().await, "online", "it asked, and there was nothing");
    assert_eq!(later().await, "offline", "and then it was silent");
    assert_eq!(claim(&warren, id, &secret, json!({})).await.status, 200);
    assert_eq!(status(&warren, id).await, "online", "it is back");

    // What it said of itself stays, and so does a token that others may hold.
    beat(&warren, &secret, &json!({ "runtime_state": "wedged" })).await;
    clock.advance_ms(10_000);
    claim(&warren, id, &secret, json!({})).await;
    assert_eq!(status(&warren, id).await, "degraded", "a sign of life clears no wedge");
    let body = json!({ "kind": "workspace", "name": "spare", "workspace_id": id.to_string() });
    let spare = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    clock.advance_ms(89_000);
    assert_eq!(claim(&warren, id, &spare, json!({})).await.status, 200);
    assert_eq!(later().await, "offline", "who holds another token proves nothing");
}

// F16: asking often costs no write each
#[tokio::test]
async fn signs_of_life_that_come_fast_are_written_once() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    let heard = async || show(&warren, id).await["vitals"]["last_heartbeat_at"].clone();
    let registered = heard().await;
    for _ in 0..4 {
        clock.advance_ms(1_000);
        assert_eq!(claim(&warren, id, &secret, json!({})).await.status, 200);
        assert_eq!(heard().await, registered);
    }
    clock.advance_ms(1_000);
    claim(&warren, id, &secret, json!({})).await;
    assert_ne!(heard().await, registered);
}
