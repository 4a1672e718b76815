use std::sync::Arc;

use serde_json::{Value, json};
use warren_exchange::Outcome;
use warren_model::{Status, TaskState};
use warren_testkit::{Act, ScriptedAgent, Warren};

use super::{agent, answer_of, boot, queue, said, say, send, task, task_in, with_agent};
use crate::fleet::{ask, beat, clock, events, eventually};

const BUSY: Act = Act::Outcome(Outcome::Busy { retry_after_ms: None });

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

// X12, X14, X15
#[tokio::test]
async fn a_busy_workspace_queues_with_positions_and_drains_one_at_a_time() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Hold, Act::Say("first".into())]);
    let first = say(&warren, id, "1").await;
    let second = send(&warren, id, &said("2")).await;
    assert_eq!(second.status, 202);
    let second = second.json();
    assert_eq!((&second["queued"], &second["position"]), (&json!(true), &json!(0)));
    assert!(second["queue_id"].is_string());
    let third = say(&warren, id, "3").await;
    assert_eq!(third["position"], 1);
    assert_eq!(queue(&warren, id, "queued").await.len(), 2);
    peer.let_go();
    for (accepted, text) in [(&first, "first"), (&second, "echo: 2"), (&third, "echo: 3")] {
        assert_eq!(answer_of(&task_in(&warren, accepted, "completed").await), text);
    }
    assert_eq!((peer.heard(), peer.most_at_once()), (vec!["1".into(), "2".into(), "3".into()], 1));
    let ended = queue(&warren, id, "ended").await;
    assert!(ended.iter().all(|row| row["end"] == "answered" && row["attempts"] == 1), "{ended:?}");
}

// X14
#[tokio::test]
async fn as_many_run_at_once_as_the_workspace_says() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({ "max_concurrent_tasks": 3 })).await;
    for _ in 0..6 {
        peer.next([Act::Hold, Act::Say("done".into())]);
    }
    let mut accepted = Vec::new();
    for number in 0..6 {
        accepted.push(say(&warren, id, &number.to_string()).await);
    }
    eventually("three at once", async || peer.seen().len() == 3).await;
    assert_eq!(queue(&warren, id, "queued").await.len(), 3);
    for _ in 0..6 {
        peer.let_go();
    }
    for one in &accepted {
        task_in(&warren, one, "completed").await;
    }
    assert_eq!(peer.most_at_once(), 3);
}

// X12, X15: busy twice, then drained
#[tokio::test]
async fn a_message_to_an_agent_that_is_busy_twice_is_delivered_once_it_is_not() {
    let (warren, peer) = with_agent().await;
    let (id, secret) = agent(&warren, json!({})).await;
    peer.next([BUSY]);
    peer.next([BUSY]);
    let accepted = say(&warren, id, "please").await;
    eventually("put back", async || !queue(&warren, id, "queued").await.is_empty()).await;
    // A sign of life is taken at once; nobody waits for the time that was said.
    beat(&warren, &secret, &json!({ "active_tasks": 0 })).await;
    let done = task_in(&warren, &accepted, "completed").await;
    assert_eq!(answer_of(&done), "echo: please");
    let ended = queue(&warren, id, "ended").await;
    assert_eq!((ended.len(), &ended[0]["end"], &ended[0]["attempts"]), (1, &json!("answered"), &json!(3)));
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

// X11
#[tokio::test]
async fn a_message_without_an_answer_is_sent_again_only_to_a_runtime_that_takes_it_once() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Outcome(Outcome::Unknown)]);
    let lost = say(&warren, id, "once").await;
    let failed = task_in(&warren, &lost, "failed").await;
    assert!(answer_of(&failed).contains("no answer came"), "{failed}");
    assert_eq!(peer.seen().len(), 1);
    boot(&warren, id, json!({ "deduplication": true })).await;
    peer.next([Act::Outcome(Outcome::Unknown)]);
    let kept = say(&warren, id, "again").await;
    task_in(&warren, &kept, "completed").await;
    let seen = peer.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[1].message.id, seen[2].message.id, "under the same id");
    assert_eq!((seen[1].attempt, seen[2].attempt), (1, 2));
}

// X13
#[tokio::test]
async fn a_dead_box_goes_offline_and_its_message_is_kept() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Outcome(Outcome::Gone)]);
    let accepted = say(&warren, id, "keep me").await;
    warren.wait_for_status(id, Status::Offline).await;
    assert_eq!(queue(&warren, id, "queued").await.len(), 1);
    boot(&warren, id, json!({})).await;
    let done = task_in(&warren, &accepted, "completed").await;
    assert_eq!(answer_of(&done), "echo: keep me");
}

// F7: a message to a hibernated workspace is queued, wakes it and is delivered
#[tokio::test]
async fn one_that_sleeps_wakes_for_a_message_and_answers() {
    let (warren, _peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    assert_eq!(ask(&warren, id, "hibernate").await.status, 200);
    let accepted = send(&warren, id, &said("wake up")).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let accepted = accepted.json();
    eventually("it wakes", async || crate::fleet::status(&warren, id).await != "hibernated").await;
    boot(&warren, id, json!({})).await;
    assert_eq!(answer_of(&task_in(&warren, &accepted, "completed").await), "echo: wake up");
}

// F7, X15
#[tokio::test]
async fn what_is_sent_to_one_that_is_paused_waits_for_it() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    assert_eq!(ask(&warren, id, "pause").await.status, 200);
    let accepted = say(&warren, id, "later").await;
    assert_eq!(accepted["queued"], true);
    assert_eq!(crate::fleet::status(&warren, id).await, "paused", "a message resumes nobody");
    assert!(peer.seen().is_empty());
    assert_eq!(ask(&warren, id, "resume").await.status, 200);
    boot(&warren, id, json!({})).await;
    task_in(&warren, &accepted, "completed").await;
}

// X10: a silent task that shows progress for an hour is not cancelled; one that only heartbeats is
#[tokio::test]
async fn silence_counts_from_the_last_progress_of_that_task_and_a_heartbeat_is_none() {
    let (clock, peer) = (clock(), ScriptedAgent::default());
    let terms = warren_exchange::Config { lease_ms: 7_200_000, ..warren_exchange::Config::default() };
    let builder = Warren::builder().clock(Arc::clone(&clock)).exchange_config(terms);
    let warren = builder.called_agents(Arc::new(peer.clone())).start().await;
    let (id, secret) = agent(&warren, json!({})).await;
    let mut acts = vec![Act::Name("theirs".into())];
    for minute in 0..60 {
        acts.extend([Act::Hold, Act::Work(format!("minute {minute}"))]);
    }
    acts.extend([Act::Hold, Act::Say("never".into())]);
    peer.next(acts);
    let accepted = say(&warren, id, "long work").await;
    for minute in 0..60 {
        clock.advance_ms(60_000);
        peer.let_go();
        let text = format!("minute {minute}");
        eventually(&text, async || answer_of(&task(&warren, &accepted).await) == text).await;
        assert_eq!(task(&warren, &accepted).await["state"], "working", "an hour of progress");
    }
    for _ in 0..5 {
        beat(&warren, &secret, &json!({ "active_tasks": 1 })).await;
        clock.advance_ms(60_001);
    }
    let failed = task_in(&warren, &accepted, "failed").await;
    assert!(answer_of(&failed).contains("no progress"), "{failed}");
    eventually("the far side is told to stop", async || peer.cancelled() == ["theirs"]).await;
}

// X10
#[tokio::test]
async fn work_past_its_deadline_ends_whatever_it_says() {
    let (clock, peer) = (clock(), ScriptedAgent::default());
    let builder = Warren::builder().clock(Arc::clone(&clock));
    let warren = builder.called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Name("theirs".into()), Act::Hold]);
    let mut body = said("quick");
    body["timeout_ms"] = json!(2_000);
    let accepted = send(&warren, id, &body).await.json();
    eventually("it has it", async || peer.seen().len() == 1).await;
    clock.advance_ms(2_000);
    let failed = task_in(&warren, &accepted, "failed").await;
    assert!(answer_of(&failed).contains("longer than it may"), "{failed}");
}

// X15
#[tokio::test]
async fn what_is_not_delivered_in_time_expires_and_says_so() {
    let (clock, peer) = (clock(), ScriptedAgent::default());
    let builder = Warren::builder().clock(Arc::clone(&clock));
    let warren = builder.called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    assert_eq!(ask(&warren, id, "pause").await.status, 200);
    let mut body = said("soon");
    body["expires_in_ms"] = json!(1_000);
    let accepted = send(&warren, id, &body).await.json();
    clock.advance_ms(1_000);
    let failed = task_in(&warren, &accepted, "failed").await;
    assert!(answer_of(&failed).contains("not delivered in time"), "{failed}");
    assert_eq!(queue(&warren, id, "ended").await[0]["end"], "expired");
    assert!(peer.seen().is_empty());
}

// X1, X15: several turns
#[tokio::test]
async fn a_task_that_asks_for_input_takes_the_next_message_and_goes_on() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Name("theirs".into()), Act::SayIn(TaskState::InputRequired, "which one?".into())]);
    let first = say(&warren, id, "order").await;
    let asked = task_in(&warren, &first, "input_required").await;
    assert_eq!(answer_of(&asked), "which one?");
    let mut reply = said("the red one");
    reply["task_id"] = asked["id"].clone();
    let second = send(&warren, id, &reply).await.json();
    assert_eq!(second["task"]["id"], asked["id"]);
    let done = task_in(&warren, &second, "completed").await;
    assert_eq!(answer_of(&done), "echo: the red one");
    assert_eq!(peer.seen()[1].remote_id.as_deref(), Some("theirs"));
    assert_eq!(done["history"].as_array().unwrap().len(), 4);
    let late = send(&warren, id, &reply).await;
    assert_eq!((late.status, late.code().as_str()), (409, "task_not_open"));
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

// X22
#[tokio::test]
async fn a_cancelled_task_ends_and_its_agent_is_told_to_stop() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold]);
    let running = say(&warren, id, "work").await;
    let waiting = say(&warren, id, "wait").await;
    eventually("it works", async || answer_of(&task(&warren, &running).await) == "on it").await;
    for accepted in [&waiting, &running] {
        let path =
            format!("/api/v1/workspaces/{id}/tasks/{}/cancel", accepted["task"]["id"].as_str().unwrap());
        let cancelled = warren.call("POST", &path).token(&warren.token).send().await;
        assert_eq!((cancelled.status, &cancelled.json()["state"]), (200, &json!("cancelled")));
        let again = warren.call("POST", &path).token(&warren.token).send().await;
        assert_eq!((again.status, again.code().as_str()), (409, "task_not_cancelable"));
    }
    assert!(peer.cancelled().iter().all(|task| task == "theirs") && !peer.cancelled().is_empty());
    assert_eq!(peer.seen().len(), 1, "what waited was never sent");
}

// X22
#[tokio::test]
async fn an_agent_that_does_not_stop_is_believed() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.refuse_to_stop();
    peer.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold, Act::Say("done".into())]);
    let running = say(&warren, id, "work").await;
    eventually("it works", async || answer_of(&task(&warren, &running).await) == "on it").await;
    let path = format!("/api/v1/workspaces/{id}/tasks/{}/cancel", running["task"]["id"].as_str().unwrap());
    let refused = warren.call("POST", &path).token(&warren.token).send().await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "task_not_cancelable"));
    peer.let_go();
    task_in(&warren, &running, "completed").await;
}

// X14: fair across senders
#[tokio::test]
async fn one_who_sends_much_does_not_keep_others_waiting() {
    let (warren, peer) = with_agent().await;
    let (id, own) = agent(&warren, json!({})).await;
    peer.next([Act::Hold, Act::Say("first".into())]);
    say(&warren, id, "first").await;
    for number in 0..5 {
        say(&warren, id, &format!("much {number}")).await;
    }
    // Its own runtime speaks too: another sender, with one thing to say.
    let path = format!("/api/v1/workspaces/{id}/messages");
    let quiet = warren.call("POST", &path).token(&own).json(&said("little")).send().await.json();
    assert_eq!(quiet["position"], 1, "behind the first of the other, before the rest");
    let mut urgent = said("urgent");
    urgent["priority"] = json!(10);
    assert_eq!(send(&warren, id, &urgent).await.json()["position"], 0);
    peer.let_go();
    eventually("all are done", async || peer.seen().len() == 8).await;
    assert_eq!(peer.heard()[1..4], ["urgent", "much 0", "little"]);
}

// X10, X11: what ends a task is told last, and always
#[tokio::test]
async fn a_follower_hears_of_the_end_that_comes_with_an_artifact() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Hold, Act::Leave("picture".into()), Act::SayIn(TaskState::Completed, "done".into())]);
    let accepted = say(&warren, id, "paint").await;
    let task_id = accepted["task"]["id"].as_str().unwrap().parse().unwrap();
    let (_, mut follower) =
        warren.exchange.messages.follow(task_id, warren_exchange::FileView::Own).await.unwrap();
    peer.let_go();
    let hearing = async {
        let mut heard = Vec::new();
        while let Some(update) = follower.next().await.unwrap() {
            heard.push(warren_rules::messages::dispatch::state_of(&update));
        }
        heard
    };
    let heard = tokio::time::timeout(std::time::Duration::from_secs(10), hearing).await.expect("it ends");
    assert_eq!(heard, [None, Some(TaskState::Completed)]);
}

// X12, X14
#[tokio::test]
async fn a_message_that_waits_tells_how_many_are_claimed_before_it() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Hold, Act::Say("done".into())]);
    let at_work = say(&warren, id, "at work").await;
    let mut waiting = Vec::new();
    for (text, priority) in [("first", 0), ("second", 0), ("urgent", 50)] {
        let mut body = said(text);
        body["priority"] = json!(priority);
        waiting.push(send(&warren, id, &body).await.json()["queue_id"].clone());
    }
    let queue = warren.get(&format!("/api/v1/workspaces/{id}/queue")).await.json();
    let places: Vec<_> =
        queue["items"].as_array().unwrap().iter().map(|one| one["position"].clone()).collect();
    assert_eq!(places, [1, 2, 0], "{queue}");
    let one = |queue_id: &Value| format!("/api/v1/workspaces/{id}/queue/{}", queue_id.as_str().unwrap());
    assert_eq!(warren.get(&one(&waiting[1])).await.json()["position"], 2);
    assert_eq!(warren.get(&one(&at_work["queue_id"])).await.json()["position"], Value::Null);
    peer.let_go();
}
