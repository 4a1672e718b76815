//! What is left of messages when Warren stops, in order or not.

use warren_exchange::Config;
use warren_model::{DeliveryState, Displacement, TaskState};
use warren_testkit::{Act, BedOptions, ExchangeBed, ExchangeOptions, answer_of, eventually};

/// With claims that end soon after a crash.
async fn crashable() -> Vec<ExchangeBed> {
    let bed = BedOptions { is_real_time: true, ..BedOptions::crashable() };
    let config = Config { lease_ms: 1_000, ..Config::default() };
    ExchangeBed::with(ExchangeOptions { bed, config, ..Default::default() }).await
}

// X15, X11: crash after dispatch
#[tokio::test]
async fn a_message_that_was_sent_when_warren_was_cut_off_ends_once_and_is_not_sent_twice() {
    for bed in crashable().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Hold]);
        let (sent, waiting) = (bed.say(id, "sent").await, bed.say(id, "waiting").await);
        eventually("it was sent", async || bed.agent.seen().len() == 1).await;
        let bed = bed.crash().await;
        let failed = bed.task_in(&sent, TaskState::Failed).await;
        assert!(answer_of(&failed).contains("not known"), "told honestly: {failed:?}");
        assert_eq!(answer_of(&bed.task_in(&waiting, TaskState::Completed).await), "echo: waiting");
        let heard = bed.agent.heard();
        assert_eq!(heard.iter().filter(|text| *text == "sent").count(), 1, "{heard:?}");
        assert_eq!(bed.deliveries(id, DeliveryState::Ended).await.len(), 2);
    }
}

// X11, X15
#[tokio::test]
async fn a_runtime_that_takes_a_message_once_gets_it_again_after_a_crash() {
    for bed in crashable().await {
        let (id, _) = bed.called().await;
        bed.boot(id, Displacement { deduplication: Some(true), ..Default::default() }).await;
        bed.agent.next([Act::Hold]);
        let sent = bed.say(id, "sent").await;
        eventually("it was sent", async || bed.agent.seen().len() == 1).await;
        let bed = bed.crash().await;
        assert_eq!(answer_of(&bed.task_in(&sent, TaskState::Completed).await), "echo: sent");
        let seen = bed.agent.seen();
        assert_eq!((&seen[0].message.id, seen[1].attempt), (&seen[1].message.id, 2));
    }
}

// X15
#[tokio::test]
async fn what_waits_is_still_there_after_a_stop_and_is_delivered() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.fleet.lifecycle.pause(&bed.operator, id).await.unwrap();
        let kept = bed.say(id, "kept").await;
        let bed = bed.restart().await;
        assert_eq!(bed.task(&kept).await.state, TaskState::Submitted);
        bed.fleet.lifecycle.resume(&bed.operator, id).await.unwrap();
        bed.boot(id, Displacement::default()).await;
        assert_eq!(answer_of(&bed.task_in(&kept, TaskState::Completed).await), "echo: kept");
    }
}

// X15
#[tokio::test]
async fn work_that_its_agent_names_is_followed_across_an_orderly_stop() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold]);
        let sent = bed.say(id, "long").await;
        eventually("it works", async || bed.said(&sent).await == "on it").await;
        bed.agent.next([Act::Say("finished".into())]);
        let bed = bed.restart().await;
        assert_eq!(answer_of(&bed.task_in(&sent, TaskState::Completed).await), "finished");
        assert!(bed.agent.seen()[1].resumes);
    }
}
