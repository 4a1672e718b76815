//! When a queue is drained, and how far (X15).

use std::collections::BTreeMap;
use std::time::Duration;

use warren_exchange::Outcome;
use warren_fleet::{CreateWorkspace, WorkspaceOptions};
use warren_model::{DeliveryEnd, DeliveryState, RuntimeReport};
use warren_testkit::{Act, Bed, ExchangeBed, eventually};

const CAPACITY: usize = 3;
const MESSAGES: usize = 8;
/// Far longer than the test: nothing is tried again by time.
const REST_MS: u64 = 3_600_000;

// X15; the control is in the test: without a sign of life nothing is delivered
#[tokio::test]
async fn one_heartbeat_drains_until_the_capacity_is_used_and_each_end_draws_the_next() {
    for bed in ExchangeBed::on_each_store().await {
        let options = WorkspaceOptions { max_concurrent_tasks: Some(3), ..Default::default() };
        let (id, runner) = bed.called_with(CreateWorkspace { options, ..Bed::local_request("three") }).await;
        let many = async |state| bed.deliveries(id, state).await.len();
        // The agent is busy for an hour: the queue rests.
        bed.agent.next([Act::Outcome(Outcome::Busy { retry_after_ms: Some(REST_MS) })]);
        bed.say(id, "0").await;
        eventually("put back", async || bed.waiting(id).await == 1).await;
        for number in 0..MESSAGES {
            bed.agent.next([Act::Hold, Act::Say("done".into())]);
            if number > 0 {
                bed.say(id, &number.to_string()).await;
            }
        }
        // Control
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!((bed.agent.seen().len(), bed.waiting(id).await), (1, MESSAGES));

        bed.beat(&runner, RuntimeReport { active_tasks: Some(0), ..Default::default() }).await;
        eventually("the capacity is used", async || bed.agent.seen().len() == 1 + CAPACITY).await;
        assert_eq!(many(DeliveryState::Claimed).await, CAPACITY, "not one per heartbeat");
        assert_eq!(bed.waiting(id).await, MESSAGES - CAPACITY);

        for ended in 1..=MESSAGES {
            bed.agent.let_go();
            eventually("one ends", async || many(DeliveryState::Ended).await == ended).await;
            let at_work = CAPACITY.min(MESSAGES - ended);
            eventually("the next is drawn", async || many(DeliveryState::Claimed).await == at_work).await;
        }
        assert_eq!(bed.agent.most_at_once(), CAPACITY);

        let ended = bed.deliveries(id, DeliveryState::Ended).await;
        assert!(ended.iter().all(|row| row.end == Some(DeliveryEnd::Answered)), "{ended:?}");
        let mut heard: BTreeMap<String, usize> = BTreeMap::new();
        for text in bed.agent.heard() {
            *heard.entry(text).or_default() += 1;
        }
        assert_eq!(heard.remove("0"), Some(2), "busy once, then answered");
        assert!(heard.len() == MESSAGES - 1 && heard.values().all(|times| *times == 1), "{heard:?}");
    }
}
