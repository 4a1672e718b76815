//! Rows that another version of Warren wrote, as after a downgrade: they hold up nobody else, and are there again for
//! whoever can read them.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::exchange::{say, task_in};
use crate::fleet::{clock, create, events, eventually, reporting};
use crate::memory;

const HOUR_MS: i64 = 3_600_000;

/// Writes what no Warren of this version would.
fn edit(warren: &Warren, sql: &str) {
    let database = rusqlite::Connection::open(warren.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(database.execute(sql, []).unwrap(), 1, "{sql}");
}

async fn fired(warren: &Warren, id: &str) -> usize {
    let runs = warren.get(&format!("/api/v1/schedules/{id}/runs")).await.json();
    runs["items"].as_array().unwrap().iter().filter(|run| run["state"] == "fired").count()
}

// X40, X41
#[tokio::test]
async fn a_schedule_that_cannot_be_read_is_shown_as_broken_and_the_others_fire() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = create(&warren, &json!({ "name": "w", "provider": memory() })).await;
    let mut made = Vec::new();
    for name in ["broken", "whole"] {
        let body = json!({ "name": name, "every_seconds": 3_600, "prompt": "?", "overlap": "allow" });
        let answer = warren.post(&format!("/api/v1/workspaces/{id}/schedules"), &body).await;
        made.push(answer.json()["id"].as_str().unwrap().to_owned());
    }
    let [broken, whole] = <[String; 2]>::try_from(made).unwrap();
    edit(&warren, "UPDATE schedules SET overlap = 'braid' WHERE name = 'broken'");
    clock.advance_ms(HOUR_MS);
    warren.exchange.fire_due_schedules().await.unwrap();
    eventually("the other one fires", async || fired(&warren, &whole).await == 1).await;
    assert_eq!(fired(&warren, &broken).await, 0);

    let list = warren.get(&format!("/api/v1/workspaces/{id}/schedules")).await.json();
    let shown = list["items"].as_array().unwrap().iter().find(|one| one["name"] == "broken").unwrap();
    let problem = shown["problem"].as_str().unwrap();
    assert!(problem.contains("`braid`"), "{problem}");
    assert_eq!(shown["upcoming"], json!([]));
    let told = events(&warren, Some(id)).await;
    assert!(told.iter().any(|event| event["data"]["change"] == "set_aside"), "{told:?}");
    // It is not written over, nor sent.
    let path = format!("/api/v1/schedules/{broken}");
    let patch = warren.call("PATCH", &path).token(&warren.token).json(&json!({ "prompt": "!" })).send().await;
    assert_eq!((patch.status, patch.code().as_str()), (409, "schedule_unreadable"));
    assert_eq!(warren.post(&format!("{path}/run"), &json!({})).await.code(), "schedule_unreadable");

    // Whoever can read it again goes on with it, by itself.
    edit(&warren, "UPDATE schedules SET overlap = 'allow' WHERE name = 'broken' AND overlap = 'braid'");
    assert_eq!(warren.get(&path).await.json()["problem"], Value::Null);
    clock.advance_ms(HOUR_MS);
    warren.exchange.fire_due_schedules().await.unwrap();
    eventually("it fires again", async || fired(&warren, &broken).await >= 1).await;
    edit(&warren, "UPDATE schedules SET created_by = 'moon:1' WHERE name = 'broken'");
    assert_eq!(warren.call("DELETE", &path).token(&warren.token).send().await.status, 204);
}

// X15
#[tokio::test]
async fn a_message_that_cannot_be_read_does_not_stop_those_behind_it() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    let (first, second) = (say(&warren, id, "first").await, say(&warren, id, "second").await);
    let third = say(&warren, id, "third").await;
    let queue_id = first["queue_id"].as_str().unwrap();
    edit(&warren, &format!("UPDATE deliveries SET author = 'moon:1' WHERE id = '{queue_id}'"));
    let path = format!("/api/v1/workspaces/{id}/queue/claim");
    let got = warren.call("POST", &path).token(&secret).json(&json!({})).send().await;
    assert_eq!(got.json()["claimed"]["queue_id"], second["queue_id"], "{}", got.text());
    // Nor does it stop the look at what is due: the last one expires all the same.
    clock.advance_ms(25 * HOUR_MS);
    task_in(&warren, &third, "failed").await;
    let first = crate::exchange::task(&warren, &first).await;
    assert_eq!(first["state"], "submitted", "it is left for whoever can read it");
}
