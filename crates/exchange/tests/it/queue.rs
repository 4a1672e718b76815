//! When a queue is drained, and how far (X15).

use std::collections::BTreeMap;

use warren_exchange::{Error, Outcome};
use warren_model::{DeliveryEnd, DeliveryState};
use warren_store::DeliveryQuery;
use warren_testkit::Act;

use crate::stage::Stage;

const CAPACITY: usize = 3;
const MESSAGES: usize = 8;
/// Far longer than the test: nothing is tried again by time.
const REST_MS: u64 = 3_600_000;

// X15; the control is in the test: without a sign of life nothing is delivered
#[tokio::test]
async fn one_heartbeat_drains_until_the_capacity_is_used_and_each_end_draws_the_next() {
    let stage = Stage::set().await;
    let (id, credential) = stage.called(3).await;
    // The agent is busy for an hour: the queue rests.
    stage.agent.next([Act::Outcome(Outcome::Busy { retry_after_ms: Some(REST_MS) })]);
    stage.send(id, "0").await.unwrap();
    stage.until("put back", async || stage.count(id, DeliveryState::Queued).await == 1).await;
    for number in 0..MESSAGES {
        stage.agent.next([Act::Hold, Act::Say("done".into())]);
        if number > 0 {
            stage.send(id, &number.to_string()).await.unwrap();
        }
    }
    // Control
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!((stage.agent.seen().len(), stage.count(id, DeliveryState::Queued).await), (1, MESSAGES));

    stage.beat(&credential).await;
    stage.until("the capacity is used", async || stage.agent.seen().len() == 1 + CAPACITY).await;
    assert_eq!(stage.count(id, DeliveryState::Claimed).await, CAPACITY, "not one per heartbeat");
    assert_eq!(stage.count(id, DeliveryState::Queued).await, MESSAGES - CAPACITY);

    for ended in 1..=MESSAGES {
        stage.agent.let_go();
        stage.until("one ends", async || stage.count(id, DeliveryState::Ended).await == ended).await;
        let at_work = CAPACITY.min(MESSAGES - ended);
        stage
            .until("the next is drawn", async || stage.count(id, DeliveryState::Claimed).await == at_work)
            .await;
    }
    assert_eq!(stage.agent.most_at_once(), CAPACITY);

    let query = DeliveryQuery { workspace_id: id, state: DeliveryState::Ended, after: None, limit: 200 };
    let page = stage.warren.store.read(move |tx| tx.deliveries(&query).map_err(Error::from)).await.unwrap();
    assert!(page.rows.iter().all(|row| row.end == Some(DeliveryEnd::Answered)), "{:?}", page.rows);
    let mut heard: BTreeMap<String, usize> = BTreeMap::new();
    for text in stage.agent.heard() {
        *heard.entry(text).or_default() += 1;
    }
    assert_eq!(heard.remove("0"), Some(2), "busy once, then answered");
    assert!(heard.len() == MESSAGES - 1 && heard.values().all(|times| *times == 1), "{heard:?}");
    stage.warren.stop().await;
}
