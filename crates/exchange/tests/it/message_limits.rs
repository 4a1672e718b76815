//! What is refused before it becomes a message, and how many may wait.

use serde_json::json;
use warren_exchange::{Config, NewMessage};
use warren_model::{ErrorCode, Part, TaskState};
use warren_testkit::{ExchangeBed, ExchangeOptions};

// X5
#[tokio::test]
async fn a_message_one_byte_too_large_is_refused_and_all_text_parts_count() {
    let config = Config { max_message_bytes: 1_000, ..Config::default() };
    for bed in ExchangeBed::with_config(config).await {
        let (id, _) = bed.called().await;
        let with = |second: usize| {
            let mut new = bed.text(id, &"a".repeat(500));
            new.message.parts.push(Part::text("b".repeat(second)));
            new
        };
        let accepted = bed.send(with(500)).await.unwrap();
        let refused = bed.send(with(501)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PayloadTooLarge);
        bed.task_in(&accepted, TaskState::Completed).await;
        assert_eq!(bed.agent.seen().len(), 1);
        assert_eq!(bed.agent.seen()[0].message.parts.len(), 2, "nothing was cut off");
    }
}

// X15
#[tokio::test]
async fn a_queue_has_an_end_and_can_be_cleared() {
    let config = Config { max_waiting: 3, ..Config::default() };
    for bed in ExchangeBed::with_config(config).await {
        let (id, _) = bed.reporting().await;
        let mut accepted = Vec::new();
        for number in 0..3 {
            accepted.push(bed.say(id, &number.to_string()).await);
        }
        let refused = bed.send(bed.text(id, "one too many")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::QueueFull);
        let queue = &bed.exchange.queue;
        let first = accepted[0].delivery_id;
        queue.drop_message(&bed.operator, id, first).await.unwrap();
        let twice = queue.drop_message(&bed.operator, id, first).await.unwrap_err();
        assert_eq!(twice.code, ErrorCode::TaskNotCancelable);
        assert_eq!(queue.clear(&bed.operator, id).await.unwrap(), 2);
        for one in &accepted {
            assert_eq!(bed.task(one).await.state, TaskState::Cancelled);
        }
        let unknown = queue.get(&bed.operator, id, bed.fleet.context.new_id()).await.unwrap_err();
        assert_eq!(unknown.code, ErrorCode::DeliveryNotFound);
    }
}

// X4: only Warren speaks in its own name
#[tokio::test]
async fn what_a_sender_writes_under_warrens_own_names_is_not_passed_on() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let mut new = bed.text(id, "hi");
        let own = [("warren/author", json!({ "kind": "system" })), ("mine", json!(1))];
        new.message.metadata = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let accepted = bed.send(new).await.unwrap();
        bed.task_in(&accepted, TaskState::Completed).await;
        let metadata = bed.agent.seen()[0].message.metadata.clone();
        assert_eq!(serde_json::Value::Object(metadata), json!({ "mine": 1 }));
    }
}

// F36
#[tokio::test]
async fn a_spent_budget_refuses_new_work_and_leaves_what_was_accepted() {
    for bed in ExchangeBed::with(ExchangeOptions::default()).await {
        let (id, _) = bed.reporting().await;
        let budgets = &bed.fleet.budgets;
        budgets.set(&bed.operator, id, Some(10)).await.unwrap();
        let named = |name: &str| -> NewMessage {
            let mut new = bed.text(id, "work");
            new.message.id = name.to_owned();
            new
        };
        bed.send(named("m1")).await.unwrap();
        budgets.charge(id, 10).await.unwrap();
        let refused = bed.send(named("m2")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BudgetExhausted);
        assert!(bed.send(named("m1")).await.unwrap().is_repeat, "what was accepted stays so");
        assert_eq!(bed.waiting(id).await, 1);
        budgets.set(&bed.operator, id, Some(100)).await.unwrap();
        bed.send(named("m2")).await.unwrap();
    }
}
