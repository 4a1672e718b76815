//! What followers of a task hear: all of it, in order, once.

use std::time::Duration;

use warren_exchange::{FileView, NewMessage};
use warren_model::{ErrorCode, Message, Part, Role, TaskState, TaskUpdate};
use warren_testkit::{Act, ExchangeBed, ExchangeOptions};

const PIECES: usize = 40;
const PATIENCE: Duration = Duration::from_secs(20);

fn words(update: &TaskUpdate) -> String {
    match update {
        TaskUpdate::Status { message: Some(message), .. } | TaskUpdate::Message(message) => message.text(),
        TaskUpdate::Artifact { artifact, .. } => format!("artifact {}", artifact.id),
        TaskUpdate::Status { state, message: None, .. } => state.to_string(),
        TaskUpdate::Metadata(_) => "metadata".to_owned(),
    }
}

// X10, X1: all streams of a task hear the same
#[tokio::test]
async fn every_word_on_the_way_is_heard_once_in_order_and_the_end_last() {
    let bed = ExchangeBed::on_sqlite(ExchangeOptions::real_time()).await;
    let (id, _) = bed.called().await;
    let mut acts = vec![Act::Hold];
    for number in 0..PIECES {
        acts.push(Act::Work(format!("step {number}")));
        if number % 10 == 9 {
            acts.push(Act::Hold);
        }
    }
    acts.push(Act::SayIn(TaskState::Completed, "done".into()));
    bed.agent.next(acts);
    let accepted = bed.say(id, "go").await;
    let messages = &bed.exchange.messages;
    let (_, mut first) = messages.follow(accepted.task.id, FileView::Own).await.unwrap();
    let expected: Vec<String> =
        (0..PIECES).map(|number| format!("step {number}")).chain(["done".to_owned()]).collect();

    let mut heard = Vec::new();
    let mut late = None;
    let hearing = async {
        bed.agent.let_go();
        while let Some(update) = first.next().await.unwrap() {
            heard.push(words(&update));
            if heard.len().is_multiple_of(10) && heard.len() <= PIECES {
                if heard.len() == 20 {
                    // Whoever begins in between, at whatever moment between hint and row, misses nothing that the row lacks.
                    late = Some(messages.follow(accepted.task.id, FileView::Own).await.unwrap());
                }
                bed.agent.let_go();
            }
        }
    };
    tokio::time::timeout(PATIENCE, hearing).await.expect("it ends");
    assert_eq!(heard, expected);

    let (row, mut late) = late.unwrap();
    let mut heard = Vec::new();
    let hearing = async {
        while let Some(update) = late.next().await.unwrap() {
            heard.push(words(&update));
        }
    };
    tokio::time::timeout(PATIENCE, hearing).await.expect("it ends");
    let known = row.status_message.map_or_else(String::new, |message| message.text());
    let from = expected.iter().position(|one| *one == known).map_or(0, |at| at + 1);
    assert_eq!(heard, expected[from..], "what the row does not hold is heard, and nothing else");
}

// X13
#[tokio::test]
async fn a_repeated_message_follows_the_first_one_s_task_and_no_other() {
    let bed = ExchangeBed::on_sqlite(ExchangeOptions::real_time()).await;
    let (id, _) = bed.called().await;
    bed.agent.next(vec![Act::Hold, Act::SayIn(TaskState::Completed, "done".into())]);
    let messages = &bed.exchange.messages;
    let who = bed.operator.clone();
    let send = |text: &str| {
        let message = Message::new(text, Role::User, vec![Part::text(text)]);
        messages.send_and_follow(
            &who,
            NewMessage { idempotency_key: Some("once".into()), ..NewMessage::new(id, message) },
        )
    };
    let (first, mut follower) = send("go").await.unwrap();
    assert_eq!(messages.followed_tasks(), 1);
    let (repeat, mut again) = send("go").await.unwrap();
    assert!(repeat.is_repeat);
    assert_eq!(repeat.task.id, first.task.id);
    assert_eq!(messages.followed_tasks(), 1, "the task that the repeat would have begun is not waited for");
    let reused = send("something else").await.unwrap_err();
    assert_eq!(reused.code, ErrorCode::KeyReused);
    assert_eq!(messages.followed_tasks(), 1, "nor one that was refused");

    bed.agent.let_go();
    for follower in [&mut follower, &mut again] {
        let hearing = async {
            let mut heard = Vec::new();
            while let Some(update) = follower.next().await.unwrap() {
                heard.push(words(&update));
            }
            heard
        };
        let heard = tokio::time::timeout(PATIENCE, hearing).await.expect("it ends");
        assert_eq!(heard, ["done"]);
    }
}
