use std::sync::Arc;

use serde_json::json;
use warren_exchange::Config;
use warren_testkit::{Act, ScriptedAgent, Warren};

use super::{agent, answer_of, boot, queue, say, task, task_in};
use crate::fleet::eventually;

fn quick() -> Config {
    Config { lease_ms: 1_000, ..Config::default() }
}

// X15, X11: crash after dispatch
#[tokio::test]
async fn a_message_that_was_sent_when_warren_was_cut_off_ends_once_and_is_not_sent_twice() {
    let peer = ScriptedAgent::default();
    let builder = Warren::builder().crashable().exchange_config(quick());
    let warren = builder.called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Hold]);
    let sent = say(&warren, id, "sent").await;
    let waiting = say(&warren, id, "waiting").await;
    eventually("it was sent", async || peer.seen().len() == 1).await;
    let warren = warren.crash().await;
    let failed = task_in(&warren, &sent, "failed").await;
    assert!(answer_of(&failed).contains("not known"), "told honestly: {failed}");
    assert_eq!(answer_of(&task_in(&warren, &waiting, "completed").await), "echo: waiting");
    let heard = peer.heard();
    assert_eq!(heard.iter().filter(|text| *text == "sent").count(), 1, "{heard:?}");
    let ended = queue(&warren, id, "ended").await;
    assert_eq!(ended.len(), 2);
}

// X11, X15
#[tokio::test]
async fn a_runtime_that_takes_a_message_once_gets_it_again_after_a_crash() {
    let peer = ScriptedAgent::default();
    let builder = Warren::builder().crashable().exchange_config(quick());
    let warren = builder.called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    boot(&warren, id, json!({ "deduplication": true })).await;
    peer.next([Act::Hold]);
    let sent = say(&warren, id, "sent").await;
    eventually("it was sent", async || peer.seen().len() == 1).await;
    let warren = warren.crash().await;
    assert_eq!(answer_of(&task_in(&warren, &sent, "completed").await), "echo: sent");
    let seen = peer.seen();
    assert_eq!((seen[0].message.id.clone(), seen[1].attempt), (seen[1].message.id.clone(), 2));
}

// X15
#[tokio::test]
async fn what_waits_is_still_there_after_a_stop_and_is_delivered() {
    let peer = ScriptedAgent::default();
    let warren = Warren::builder().called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    assert_eq!(crate::fleet::ask(&warren, id, "pause").await.status, 200);
    let kept = say(&warren, id, "kept").await;
    let warren = warren.restart().await;
    assert_eq!(task(&warren, &kept).await["state"], "submitted");
    assert_eq!(crate::fleet::ask(&warren, id, "resume").await.status, 200);
    boot(&warren, id, json!({})).await;
    assert_eq!(answer_of(&task_in(&warren, &kept, "completed").await), "echo: kept");
}

// X15
#[tokio::test]
async fn work_that_its_agent_names_is_followed_across_an_orderly_stop() {
    let peer = ScriptedAgent::default();
    let warren = Warren::builder().called_agents(Arc::new(peer.clone())).start().await;
    let (id, _) = agent(&warren, json!({})).await;
    peer.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold]);
    let sent = say(&warren, id, "long").await;
    eventually("it works", async || answer_of(&task(&warren, &sent).await) == "on it").await;
    peer.next([Act::Say("finished".into())]);
    let warren = warren.restart().await;
    assert_eq!(answer_of(&task_in(&warren, &sent, "completed").await), "finished");
    assert!(peer.seen()[1].resumes);
}
