//! What the protocol's public compatibility kit asks for and no other test here does.

use serde_json::{Value, json};
use warren_exchange::Config;
use warren_testkit::Warren;

use super::agent::{Stage, send};
use super::streams::Reader;
use crate::fleet::{external, register};

fn with_part(part: &Value) -> Value {
    let mut request = send("look");
    request["message"]["parts"].as_array_mut().unwrap().push(part.clone());
    request
}

fn followed(mut request: Value, task: &Value) -> Value {
    request["message"]["taskId"] = task["id"].clone();
    request
}

// X1
#[tokio::test]
async fn a_part_of_a_type_that_the_agent_does_not_take_is_refused_on_both_bindings() {
    let stage = Stage::set().await;
    for part in [
        json!({ "raw": "AP8=", "mediaType": "image/png" }),
        json!({ "url": "https://files.example/x", "mediaType": "application/x-nobody-knows" }),
        json!({ "data": {}, "mediaType": "application/json" }),
    ] {
        let request = with_part(&part);
        for method in ["SendMessage", "SendStreamingMessage"] {
            let (_, code, words) = stage.error(method, &request).await;
            assert_eq!(
                (code, words.as_str()),
                (-32005, "message.parts[1].mediaType: not one that the agent takes"),
                "{part}"
            );
        }
        for path in ["/message:send", "/message:stream"] {
            let answer = stage.post(path, &request).await;
            let info = &answer.json()["error"]["details"][0];
            assert_eq!((answer.status, &info["reason"]), (400, &json!("CONTENT_TYPE_NOT_SUPPORTED")));
            assert_eq!(info["metadata"]["supportedTypes"], "text/plain");
        }
    }
    assert_eq!(stage.agent.turns().len(), 0, "nothing was sent on");
    for part in [json!({ "text": "b", "mediaType": "text/plain; charset=utf-8" }), json!({ "data": {} })] {
        stage.result("SendMessage", &with_part(&part)).await;
    }
    assert_eq!(stage.agent.turns().len(), 2);
}

// X1
#[tokio::test]
async fn an_agent_that_does_not_say_what_it_takes_is_sent_everything() {
    let warren = Warren::builder().start().await;
    let id = external(&warren).await;
    register(&warren, id).await;
    let mut request = with_part(&json!({ "raw": "AP8=", "mediaType": "image/png" }));
    request["configuration"] = json!({ "returnImmediately": true });
    let call = warren.call("POST", &format!("/a2a/{id}/message:send")).token(&warren.token);
    let answer = call.header("a2a-version", "1.0").json(&request).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

// X1
#[tokio::test]
async fn a_message_is_answered_when_the_agent_wants_to_know_who_asks() {
    let stage = Stage::set().await;
    let task = stage.task("authorize me").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(stage.result("GetTask", &json!({ "id": task["id"] })).await["status"], task["status"]);
    let done = stage.result("SendMessage", &followed(send("it is me"), &task)).await["task"].clone();
    assert_eq!((&done["id"], &done["status"]["state"]), (&task["id"], &json!("TASK_STATE_COMPLETED")));
}

// X1
#[tokio::test]
async fn all_streams_of_a_task_hear_the_same_in_the_same_order_and_one_that_closes_closes_no_other() {
    let stage = Stage::set().await;
    let task = stage.task("ask me").await;
    let subscribe = async || Reader::rpc(&stage, "SubscribeToTask", &json!({ "id": task["id"] })).await;
    let (mut one, mut two, mut early) = (subscribe().await, subscribe().await, subscribe().await);
    let first = [one.next().await.unwrap(), two.next().await.unwrap(), early.next().await.unwrap()];
    assert!(first.iter().all(|event| event["result"]["task"]["id"] == task["id"]), "{first:?}");
    drop(early);
    stage.result("SendMessage", &followed(send("the left one"), &task)).await;
    let (one, two) = (one.rest().await, two.rest().await);
    assert_eq!(one, two);
    assert_eq!(
        one.last().unwrap()["result"]["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED",
        "{one:?}"
    );
}

// X1
#[tokio::test]
async fn a_push_config_that_is_deleted_twice_is_gone() {
    let stage = Stage::set().await;
    let task = stage.task("hello").await;
    let config = json!({ "taskId": task["id"], "id": "mine", "url": "https://hooks.example/x" });
    stage.result("CreateTaskPushNotificationConfig", &config).await;
    for _ in 0..2 {
        let named = json!({ "taskId": task["id"], "id": "mine" });
        assert_eq!(stage.result("DeleteTaskPushNotificationConfig", &named).await, Value::Null);
    }
}

// X16: the same words about other work are another message.
#[tokio::test]
async fn a_message_id_that_was_used_for_other_work_is_told_and_answers_with_no_other_task() {
    let stage = Stage::set().await;
    let (one, two) = (stage.task("ask one").await, stage.task("ask two").await);
    let reply = send("yes");
    let done = stage.result("SendMessage", &followed(reply.clone(), &one)).await["task"].clone();
    assert_eq!(done["id"], one["id"]);
    let again = stage.result("SendMessage", &followed(reply.clone(), &one)).await["task"].clone();
    assert_eq!(again["id"], one["id"], "a repeat");
    let answer = stage.rpc("SendMessage", &followed(reply.clone(), &two)).await.json();
    assert_eq!(answer["error"]["data"][0]["reason"], "IDEMPOTENCY_KEY_REUSED", "{answer}");
    let mut elsewhere = reply;
    elsewhere["message"]["contextId"] = json!("elsewhere");
    let answer = stage.rpc("SendMessage", &elsewhere).await.json();
    assert_eq!(answer["error"]["data"][0]["reason"], "IDEMPOTENCY_KEY_REUSED", "{answer}");
    assert_eq!(stage.agent.turns().len(), 3);
}

// X1, X16: the kit uses its ids again, whatever the protocol says about them.
#[tokio::test]
async fn where_ids_are_not_unique_every_message_is_a_new_one_and_a_key_still_counts() {
    let terms = Config { message_ids_are_unique: false, ..Config::default() };
    let stage = Stage::with(Warren::builder().exchange_config(terms)).await;
    let asking = send("ask me");
    let one = stage.result("SendMessage", &asking).await["task"].clone();
    let two = stage.result("SendMessage", &asking).await["task"].clone();
    assert_ne!(one["id"], two["id"]);
    let reply = send("yes");
    for task in [&one, &two] {
        let done = stage.result("SendMessage", &followed(reply.clone(), task)).await["task"].clone();
        assert_eq!((&done["id"], &done["status"]["state"]), (&task["id"], &json!("TASK_STATE_COMPLETED")));
    }
    assert_eq!(stage.agent.turns().len(), 4);
    let keyed = async || {
        let path = format!("/api/v1/workspaces/{}/messages", stage.id);
        let call = stage.warren.call("POST", &path).token(&stage.warren.token);
        let body = json!({ "message": { "parts": [{ "text": "once" }] } });
        call.header("idempotency-key", "k-1").json(&body).send().await.json()["queue_id"].clone()
    };
    assert_eq!(keyed().await, keyed().await);
}
