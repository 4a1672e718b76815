//! Messages on their way to agents that Warren calls: when they are sent, when they wait, and how they end.

use warren_exchange::{Config, FileView, NewMessage, Outcome};
use warren_fleet::{CreateWorkspace, WorkspaceOptions};
use warren_model::{
    DeliveryEnd, DeliveryState, Displacement, ErrorCode, EventKind, PrincipalKind, RuntimeReport, Status,
    TaskState,
};
use warren_rules::messages::dispatch::state_of;
use warren_testkit::{Act, Bed, ExchangeBed, ExchangeOptions, answer_of, eventually};

const BUSY: Act = Act::Outcome(Outcome::Busy { retry_after_ms: None });

fn say(text: &str) -> Act {
    Act::Say(text.into())
}

/// Patience that a test moves through in a few steps.
fn long_leases() -> ExchangeOptions {
    let config = Config { lease_ms: 7_200_000, ..Config::default() };
    ExchangeOptions { config, ..ExchangeOptions::default() }
}

// X11, X4
#[tokio::test]
async fn a_message_is_answered_and_its_author_is_known() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let accepted = bed.say(id, "hello").await;
        assert_eq!(accepted.position, None, "it is on its way");
        let done = bed.task_in(&accepted, TaskState::Completed).await;
        assert_eq!(answer_of(&done), "echo: hello");
        assert_eq!(done.author.kind, PrincipalKind::User);
        assert_eq!(bed.agent.seen()[0].author.kind, PrincipalKind::User);
        for kind in [EventKind::TaskSubmitted, EventKind::TaskChanged] {
            assert!(!bed.events(kind).await.is_empty(), "{kind:?}");
        }
    }
}

// X12, X14, X15
#[tokio::test]
async fn a_busy_workspace_queues_with_positions_and_drains_one_at_a_time() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Hold, say("first")]);
        let first = bed.say(id, "1").await;
        let (second, third) = (bed.say(id, "2").await, bed.say(id, "3").await);
        assert_eq!((second.position, third.position), (Some(0), Some(1)));
        assert_eq!(bed.waiting(id).await, 2);
        bed.agent.let_go();
        for (accepted, text) in [(&first, "first"), (&second, "echo: 2"), (&third, "echo: 3")] {
            assert_eq!(answer_of(&bed.task_in(accepted, TaskState::Completed).await), text);
        }
        assert_eq!(
            (bed.agent.heard(), bed.agent.most_at_once()),
            (vec!["1".into(), "2".into(), "3".into()], 1)
        );
        let ended = bed.deliveries(id, DeliveryState::Ended).await;
        let is_once =
            |row: &warren_model::Delivery| (row.end, row.attempts) == (Some(DeliveryEnd::Answered), 1);
        assert!(ended.iter().all(is_once), "{ended:?}");
    }
}

// X14
#[tokio::test]
async fn as_many_run_at_once_as_the_workspace_says() {
    for bed in ExchangeBed::on_each_store().await {
        let options = WorkspaceOptions { max_concurrent_tasks: Some(3), ..Default::default() };
        let (id, _) = bed.called_with(CreateWorkspace { options, ..Bed::local_request("many") }).await;
        for _ in 0..6 {
            bed.agent.next([Act::Hold, say("done")]);
        }
        let mut accepted = Vec::new();
        for number in 0..6 {
            accepted.push(bed.say(id, &number.to_string()).await);
        }
        eventually("three at once", async || bed.agent.seen().len() == 3).await;
        assert_eq!(bed.waiting(id).await, 3);
        for _ in 0..6 {
            bed.agent.let_go();
        }
        for one in &accepted {
            bed.task_in(one, TaskState::Completed).await;
        }
        assert_eq!(bed.agent.most_at_once(), 3);
    }
}

// X12, X15: busy twice, then drained
#[tokio::test]
async fn a_message_to_an_agent_that_is_busy_twice_is_delivered_once_it_is_not() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.called().await;
        bed.agent.next([BUSY]);
        bed.agent.next([BUSY]);
        let accepted = bed.say(id, "please").await;
        eventually("put back", async || bed.waiting(id).await > 0).await;
        // A sign of life is taken at once; nobody waits for the time that was said.
        bed.beat(&runner, RuntimeReport { active_tasks: Some(0), ..Default::default() }).await;
        let done = bed.task_in(&accepted, TaskState::Completed).await;
        assert_eq!(answer_of(&done), "echo: please");
        let ended = bed.deliveries(id, DeliveryState::Ended).await;
        assert_eq!((ended.len(), ended[0].end, ended[0].attempts), (1, Some(DeliveryEnd::Answered), 3));
    }
}

// X12, F17
#[tokio::test]
async fn a_runtime_with_its_own_session_is_answered_busy_and_nothing_is_queued() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.boot(id, Displacement { session: Some(true), ..Default::default() }).await;
        bed.agent.next([Act::Hold, say("done")]);
        let first = bed.say(id, "1").await;
        let refused = bed.send(bed.text(id, "2")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::RuntimeBusy);
        assert_eq!(bed.waiting(id).await, 0);
        assert_eq!(bed.events(EventKind::MessageRefused).await.len(), 1, "still logged");
        bed.agent.let_go();
        bed.task_in(&first, TaskState::Completed).await;
    }
}

// X12, F17: the agent says it itself
#[tokio::test]
async fn busy_said_by_an_agent_with_its_own_session_is_answered_and_not_queued() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.boot(id, Displacement { session: Some(true), ..Default::default() }).await;
        let message = bed.text(id, "hello");
        bed.agent.next([Act::Outcome(Outcome::Busy { retry_after_ms: Some(6_500) })]);
        let refused = bed.send(message.clone()).await.unwrap_err();
        assert_eq!((refused.code, refused.retry_after_seconds), (ErrorCode::RuntimeBusy, Some(7)));
        assert_eq!(bed.waiting(id).await, 0, "nothing is queued");
        assert_eq!(bed.events(EventKind::MessageRefused).await.len(), 1, "still logged");
        // Told to come back, the sender does, with the very same message.
        let accepted = bed.send(message.clone()).await.unwrap();
        assert!(!accepted.is_repeat);
        assert_eq!(answer_of(&bed.task_in(&accepted, TaskState::Completed).await), "echo: hello");
        let repeat = bed.send(message).await.unwrap();
        assert!(
            repeat.is_repeat && repeat.task.id == accepted.task.id,
            "once it was taken, it is one message"
        );
        let vitals = bed.vitals(id).await;
        assert_eq!(vitals.outcomes.failures(), 0, "to be busy is no failure");
    }
}

// X12
#[tokio::test]
async fn a_reply_to_a_busy_agent_with_its_own_session_can_be_given_again() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.boot(id, Displacement { session: Some(true), ..Default::default() }).await;
        bed.agent.next([Act::SayIn(TaskState::InputRequired, "which one?".into())]);
        let asked = bed.say(id, "paint it").await;
        bed.task_in(&asked, TaskState::InputRequired).await;
        let reply = NewMessage { task_id: Some(asked.task.id), ..bed.text(id, "the red one") };
        bed.agent.next([BUSY]);
        assert_eq!(bed.send(reply.clone()).await.unwrap_err().code, ErrorCode::RuntimeBusy);
        let open = bed.task(&asked).await;
        assert_eq!(open.state, TaskState::InputRequired, "it still waits for the reply");
        bed.send(reply).await.unwrap();
        assert_eq!(answer_of(&bed.task_in(&asked, TaskState::Completed).await), "echo: the red one");
    }
}

// X12, X15: who was told that the message waits is not told otherwise
#[tokio::test]
async fn what_waited_for_an_agent_with_its_own_session_is_kept_while_it_is_busy() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.fleet.lifecycle.pause(&bed.operator, id).await.unwrap();
        let accepted = bed.say(id, "later").await;
        assert_eq!(accepted.position, Some(0));
        bed.agent.next([BUSY]);
        bed.fleet.lifecycle.resume(&bed.operator, id).await.unwrap();
        bed.boot(id, Displacement { session: Some(true), ..Default::default() }).await;
        assert_eq!(answer_of(&bed.task_in(&accepted, TaskState::Completed).await), "echo: later");
        assert_eq!(bed.agent.seen().len(), 2);
    }
}

// X12, X2: a task that works does not go back to what was submitted
#[tokio::test]
async fn a_task_whose_agent_is_busy_never_goes_back_to_submitted() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.called().await;
        bed.agent.next([BUSY]);
        let (accepted, mut follower) = {
            let (exchange, who, new) = (bed.exchange.clone(), bed.operator.clone(), bed.text(id, "please"));
            let sending = async move { exchange.messages.send_and_follow(&who, new).await };
            bed.inside(Box::pin(sending)).await.unwrap()
        };
        assert_eq!(accepted.task.state, TaskState::Working);
        eventually("put back", async || bed.waiting(id).await > 0).await;
        bed.beat(&runner, RuntimeReport { active_tasks: Some(0), ..Default::default() }).await;
        let mut told = Vec::new();
        while let Some(update) = follower.next().await.unwrap() {
            told.extend(state_of(&update));
        }
        assert!(!told.contains(&TaskState::Submitted), "{told:?}");
        assert_eq!(told.last(), Some(&TaskState::Completed));
    }
}

// X11
#[tokio::test]
async fn a_message_without_an_answer_is_sent_again_only_to_a_runtime_that_takes_it_once() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Outcome(Outcome::Unknown)]);
        let lost = bed.say(id, "once").await;
        let failed = bed.task_in(&lost, TaskState::Failed).await;
        assert!(answer_of(&failed).contains("no answer came"), "{failed:?}");
        assert_eq!(bed.agent.seen().len(), 1);
        bed.boot(id, Displacement { deduplication: Some(true), ..Default::default() }).await;
        bed.agent.next([Act::Outcome(Outcome::Unknown)]);
        let kept = bed.say(id, "again").await;
        bed.task_in(&kept, TaskState::Completed).await;
        let seen = bed.agent.seen();
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[1].message.id, seen[2].message.id, "under the same id");
        assert_eq!((seen[1].attempt, seen[2].attempt), (1, 2));
    }
}

// X13
#[tokio::test]
async fn a_dead_box_goes_offline_and_its_message_is_kept() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Outcome(Outcome::Gone)]);
        let accepted = bed.say(id, "keep me").await;
        bed.wait_for(id, Status::Offline).await;
        assert_eq!(bed.waiting(id).await, 1);
        bed.boot(id, Displacement::default()).await;
        let done = bed.task_in(&accepted, TaskState::Completed).await;
        assert_eq!(answer_of(&done), "echo: keep me");
    }
}

// F7: a message to a hibernated workspace is queued, wakes it and is delivered
#[tokio::test]
async fn one_that_sleeps_wakes_for_a_message_and_answers() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.fleet.lifecycle.hibernate(&bed.operator, id, false).await.unwrap();
        let accepted = bed.say(id, "wake up").await;
        assert!(accepted.position.is_some());
        eventually("it wakes", async || bed.status(id).await != Status::Hibernated).await;
        bed.boot(id, Displacement::default()).await;
        let done = bed.task_in(&accepted, TaskState::Completed).await;
        assert_eq!(answer_of(&done), "echo: wake up");
    }
}

// F7, X15
#[tokio::test]
async fn what_is_sent_to_one_that_is_paused_waits_for_it() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.fleet.lifecycle.pause(&bed.operator, id).await.unwrap();
        let accepted = bed.say(id, "later").await;
        assert!(accepted.position.is_some());
        assert_eq!(bed.status(id).await, Status::Paused, "a message resumes nobody");
        assert!(bed.agent.seen().is_empty());
        bed.fleet.lifecycle.resume(&bed.operator, id).await.unwrap();
        bed.boot(id, Displacement::default()).await;
        bed.task_in(&accepted, TaskState::Completed).await;
    }
}

// X10: a silent task that shows progress for an hour is not cancelled; one that only heartbeats is
#[tokio::test]
async fn silence_counts_from_the_last_progress_of_that_task_and_a_heartbeat_is_none() {
    for bed in ExchangeBed::with(long_leases()).await {
        let (id, runner) = bed.called().await;
        let mut acts = vec![Act::Name("theirs".into())];
        for minute in 0..60 {
            acts.extend([Act::Hold, Act::Work(format!("minute {minute}"))]);
        }
        acts.extend([Act::Hold, say("never")]);
        bed.agent.next(acts);
        let accepted = bed.say(id, "long work").await;
        for minute in 0..60 {
            bed.clock.advance_ms(60_000);
            bed.agent.let_go();
            let text = format!("minute {minute}");
            eventually(&text, async || bed.said(&accepted).await == text).await;
            assert_eq!(bed.task(&accepted).await.state, TaskState::Working, "an hour of progress");
        }
        for _ in 0..5 {
            bed.beat(&runner, RuntimeReport { active_tasks: Some(1), ..Default::default() }).await;
            bed.clock.advance_ms(60_001);
        }
        let failed = bed.task_in(&accepted, TaskState::Failed).await;
        assert!(answer_of(&failed).contains("no progress"), "{failed:?}");
        eventually("the far side is told to stop", async || bed.agent.cancelled() == ["theirs"]).await;
    }
}

// X10
#[tokio::test]
async fn work_past_its_deadline_ends_whatever_it_says() {
    for bed in ExchangeBed::with_clock().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Name("theirs".into()), Act::Hold]);
        let deadline_at = Some(bed.now().plus_ms(2_000));
        let accepted = bed.send(NewMessage { deadline_at, ..bed.text(id, "quick") }).await.unwrap();
        eventually("it has it", async || bed.agent.seen().len() == 1).await;
        bed.clock.advance_ms(2_000);
        let failed = bed.task_in(&accepted, TaskState::Failed).await;
        assert!(answer_of(&failed).contains("longer than it may"), "{failed:?}");
    }
}

// X15
#[tokio::test]
async fn what_is_not_delivered_in_time_expires_and_says_so() {
    for bed in ExchangeBed::with_clock().await {
        let (id, _) = bed.called().await;
        bed.fleet.lifecycle.pause(&bed.operator, id).await.unwrap();
        let expires_at = Some(bed.now().plus_ms(1_000));
        let accepted = bed.send(NewMessage { expires_at, ..bed.text(id, "soon") }).await.unwrap();
        bed.clock.advance_ms(1_000);
        let failed = bed.task_in(&accepted, TaskState::Failed).await;
        assert!(answer_of(&failed).contains("not delivered in time"), "{failed:?}");
        assert_eq!(bed.deliveries(id, DeliveryState::Ended).await[0].end, Some(DeliveryEnd::Expired));
        assert!(bed.agent.seen().is_empty());
    }
}

// X1, X15: several turns
#[tokio::test]
async fn a_task_that_asks_for_input_takes_the_next_message_and_goes_on() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let asks = Act::SayIn(TaskState::InputRequired, "which one?".into());
        bed.agent.next([Act::Name("theirs".into()), asks]);
        let first = bed.say(id, "order").await;
        let asked = bed.task_in(&first, TaskState::InputRequired).await;
        assert_eq!(answer_of(&asked), "which one?");
        let reply = || NewMessage { task_id: Some(asked.id), ..bed.text(id, "the red one") };
        let second = bed.send(reply()).await.unwrap();
        assert_eq!(second.task.id, asked.id);
        let done = bed.task_in(&second, TaskState::Completed).await;
        assert_eq!(answer_of(&done), "echo: the red one");
        assert_eq!(bed.agent.seen()[1].remote_id.as_deref(), Some("theirs"));
        assert_eq!(done.history.len(), 4);
        let late = bed.send(reply()).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::TaskNotOpen);
    }
}

// X16
#[tokio::test]
async fn the_same_message_again_is_answered_as_the_first_and_not_run_twice() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let named = |name: &str, text: &str| {
            let mut new = bed.text(id, text);
            new.message.id = name.to_owned();
            new
        };
        let first = bed.send(named("m-1", "once")).await.unwrap();
        bed.task_in(&first, TaskState::Completed).await;
        let again = bed.send(named("m-1", "once")).await.unwrap();
        assert_eq!((again.is_repeat, again.delivery_id), (true, first.delivery_id));
        assert_eq!(again.task.state, TaskState::Completed);
        let refused = bed.send(named("m-1", "something else")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::KeyReused);
        let keyed = || {
            let idempotency_key = Some("k-1".to_owned());
            bed.send(NewMessage { idempotency_key, ..named("m-2", "with a key") })
        };
        assert_eq!(keyed().await.unwrap().delivery_id, keyed().await.unwrap().delivery_id);
        eventually("both ended", async || bed.deliveries(id, DeliveryState::Ended).await.len() == 2).await;
        assert_eq!(bed.agent.heard(), ["once", "with a key"]);
    }
}

// X22
#[tokio::test]
async fn a_cancelled_task_ends_and_its_agent_is_told_to_stop() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold]);
        let (running, waiting) = (bed.say(id, "work").await, bed.say(id, "wait").await);
        eventually("it works", async || bed.said(&running).await == "on it").await;
        for accepted in [&waiting, &running] {
            let cancel = || bed.exchange.messages.cancel_task(&bed.operator, id, accepted.task.id);
            assert_eq!(cancel().await.unwrap().state, TaskState::Cancelled);
            assert_eq!(cancel().await.unwrap_err().code, ErrorCode::TaskNotCancelable);
        }
        let stopped = bed.agent.cancelled();
        assert!(!stopped.is_empty() && stopped.iter().all(|task| task == "theirs"), "{stopped:?}");
        assert_eq!(bed.agent.seen().len(), 1, "what waited was never sent");
    }
}

// X22
#[tokio::test]
async fn an_agent_that_does_not_stop_is_believed() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.refuse_to_stop();
        bed.agent.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold, say("done")]);
        let running = bed.say(id, "work").await;
        eventually("it works", async || bed.said(&running).await == "on it").await;
        let refused = bed.exchange.messages.cancel_task(&bed.operator, id, running.task.id).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::TaskNotCancelable);
        bed.agent.let_go();
        bed.task_in(&running, TaskState::Completed).await;
    }
}

// X14: fair across senders
#[tokio::test]
async fn one_who_sends_much_does_not_keep_others_waiting() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, own) = bed.called().await;
        bed.agent.next([Act::Hold, say("first")]);
        bed.say(id, "first").await;
        for number in 0..5 {
            bed.say(id, &format!("much {number}")).await;
        }
        // Its own runtime speaks too: another sender, with one thing to say.
        let quiet = bed.send_as(&own, bed.text(id, "little")).await.unwrap();
        assert_eq!(quiet.position, Some(1), "behind the first of the other, before the rest");
        let urgent = bed.send(NewMessage { priority: 10, ..bed.text(id, "urgent") }).await.unwrap();
        assert_eq!(urgent.position, Some(0));
        bed.agent.let_go();
        eventually("all are done", async || bed.agent.seen().len() == 8).await;
        assert_eq!(bed.agent.heard()[1..4], ["urgent", "much 0", "little"]);
    }
}

// X10, X11: what ends a task is told last, and always
#[tokio::test]
async fn a_follower_hears_of_the_end_that_comes_with_an_artifact() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let ends = Act::SayIn(TaskState::Completed, "done".into());
        bed.agent.next([Act::Hold, Act::Leave("picture".into()), ends]);
        let accepted = bed.say(id, "paint").await;
        let (_, mut follower) = bed.exchange.messages.follow(accepted.task.id, FileView::Own).await.unwrap();
        bed.agent.let_go();
        let mut heard = Vec::new();
        while let Some(update) = follower.next().await.unwrap() {
            heard.push(state_of(&update));
        }
        assert_eq!(heard, [None, Some(TaskState::Completed)]);
    }
}

// X12, X14
#[tokio::test]
async fn a_message_that_waits_tells_how_many_are_claimed_before_it() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Hold, say("done")]);
        let at_work = bed.say(id, "at work").await;
        let mut waiting = Vec::new();
        for (text, priority) in [("first", 0), ("second", 0), ("urgent", 50)] {
            let sent = bed.send(NewMessage { priority, ..bed.text(id, text) }).await.unwrap();
            waiting.push(sent.delivery_id);
        }
        let place =
            async |delivery| bed.exchange.queue.get(&bed.operator, id, delivery).await.unwrap().position;
        for (delivery, expected) in waiting.iter().zip([1, 2, 0]) {
            assert_eq!(place(*delivery).await, Some(expected));
        }
        assert_eq!(place(at_work.delivery_id).await, None);
        bed.agent.let_go();
    }
}
