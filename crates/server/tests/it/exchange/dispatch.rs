use serde_json::json;
use warren_testkit::Act;

use super::{agent, answer_of, boot, queue, said, say, send, task_in, with_agent};
use crate::fleet::{events, eventually};

// X11, X4
#[tokio::test]
async fn a_message_is_answered_and_its_author_is_known() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let body = json!({ "message": { "parts": [{ "text": "hello" }] }, "wait_ms": 10_000 });
    let answer = send(&warren, id, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let done = answer.json();
    assert_eq!((&done["queued"], &done["task"]["state"]), (&json!(false), &json!("completed")));
    assert_eq!(answer_of(&done["task"]), "echo: hello");
    assert_eq!(done["task"]["author"]["kind"], "user");
    assert_eq!(peer.seen()[0].author.kind.as_str(), "user");
    let kinds: Vec<_> = events(&warren, Some(id)).await.iter().map(|event| event["kind"].clone()).collect();
    let told = ["exchange.task.submitted", "exchange.task.changed"];
    assert!(told.iter().all(|kind| kinds.contains(&json!(kind))), "{kinds:?}");
}

// X12, F17
#[tokio::test]
async fn a_runtime_with_its_own_session_is_answered_busy_and_nothing_is_queued() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    boot(&warren, id, json!({ "session": true })).await;
    peer.next([Act::Hold, Act::Say("done".into())]);
    let first = say(&warren, id, "1").await;
    let refused = send(&warren, id, &said("2")).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "runtime_busy"));
    assert_eq!(refused.json()["native_session"], true);
    assert!(refused.header("retry-after").is_some());
    assert!(queue(&warren, id, "queued").await.is_empty());
    let kinds: Vec<_> = events(&warren, Some(id)).await.iter().map(|event| event["kind"].clone()).collect();
    assert!(kinds.contains(&json!("exchange.message.refused")), "still logged: {kinds:?}");
    peer.let_go();
    task_in(&warren, &first, "completed").await;
}

// X16
#[tokio::test]
async fn the_same_message_again_is_answered_as_the_first_and_not_run_twice() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let body = json!({ "message": { "id": "m-1", "parts": [{ "text": "once" }] } });
    let first = send(&warren, id, &body).await.json();
    task_in(&warren, &first, "completed").await;
    let again = send(&warren, id, &body).await.json();
    assert_eq!((&again["is_repeat"], &again["queue_id"]), (&json!(true), &first["queue_id"]));
    assert_eq!(again["task"]["state"], "completed");
    let other = json!({ "message": { "id": "m-1", "parts": [{ "text": "something else" }] } });
    let refused = send(&warren, id, &other).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "idempotency_key_reused"));
    let path = format!("/api/v1/workspaces/{id}/messages");
    let keyed = async || {
        let call = warren.call("POST", &path).token(&warren.token).header("idempotency-key", "k-1");
        let mut body = said("with a key");
        body["message"]["id"] = json!("m-2");
        call.json(&body).send().await.json()
    };
    assert_eq!(keyed().await["queue_id"], keyed().await["queue_id"]);
    let nameless = async |text: &str| {
        let call = warren.call("POST", &path).token(&warren.token).header("idempotency-key", "k-2");
        call.json(&said(text)).send().await
    };
    let first = nameless("without an id").await.json();
    assert_eq!(nameless("without an id").await.json()["queue_id"], first["queue_id"], "the key is enough");
    let other = nameless("something else").await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    eventually("all ended", async || queue(&warren, id, "ended").await.len() == 3).await;
    assert_eq!(peer.heard(), ["once", "with a key", "without an id"]);
}
