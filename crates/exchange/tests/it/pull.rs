//! Agents that come and ask for their messages.

use std::time::Duration;

use warren_exchange::{Answer, Claimed, Error, Outcome};
use warren_fleet::PatchWorkspace;
use warren_model::{
    Artifact, DeliveryReason, DeliveryState, Displacement, ErrorCode, Message, Part, PrincipalKind, Role,
    RuntimeReport, RuntimeState, Status, Task, TaskState, TaskUpdate, WorkspaceId,
};
use warren_service::Identity;
use warren_testkit::{ExchangeBed, answer_of, eventually};

async fn claim(bed: &ExchangeBed, id: WorkspaceId, runner: &Identity) -> Option<Claimed> {
    bed.exchange.queue.claim(runner, id, 0, None).await.unwrap()
}

async fn claim_for(bed: &ExchangeBed, id: WorkspaceId, runner: &Identity, lease_ms: i64) -> Claimed {
    bed.exchange.queue.claim(runner, id, 0, Some(lease_ms)).await.unwrap().expect("something waits")
}

async fn progress(
    bed: &ExchangeBed,
    runner: &Identity,
    claimed: &Claimed,
    updates: Vec<TaskUpdate>,
) -> Result<Task, Error> {
    let row = &claimed.delivery;
    let told = bed.exchange.queue.progress(runner, row.workspace_id, row.id, row.attempts, updates).await;
    told.map(|(task, _)| task)
}

async fn answer(
    bed: &ExchangeBed,
    runner: &Identity,
    claimed: &Claimed,
    outcome: Outcome,
    updates: Vec<TaskUpdate>,
) -> Result<Task, Error> {
    let row = &claimed.delivery;
    let answer = Answer { delivery_id: row.id, attempt: row.attempts, outcome, updates };
    bed.exchange.queue.answer(runner, row.workspace_id, answer).await
}

fn says(bed: &ExchangeBed, state: TaskState, text: &str) -> TaskUpdate {
    let message = Message::new(text, Role::Agent, vec![Part::text(text)]);
    TaskUpdate::Status { state, message: Some(message), at: bed.now() }
}

fn leaves(id: &str) -> TaskUpdate {
    let artifact = Artifact {
        id: id.into(),
        name: None,
        description: None,
        parts: vec![Part::text("x")],
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
    };
    TaskUpdate::Artifact { artifact, is_append: false, is_last: true }
}

// X15, X4
#[tokio::test]
async fn a_runtime_that_comes_and_asks_gets_its_messages_and_answers_them() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        assert_eq!(claim(&bed, id, &runner).await, None);
        let accepted = bed.say(id, "do it").await;
        assert!(accepted.position.is_some());
        let got = claim(&bed, id, &runner).await.unwrap();
        assert_eq!(got.delivery.message.text(), "do it");
        assert_eq!(got.delivery.author.kind, PrincipalKind::User);
        assert_eq!(bed.task(&accepted).await.state, TaskState::Working);
        let half = vec![says(&bed, TaskState::Working, "half way"), leaves("a")];
        progress(&bed, &runner, &got, half).await.unwrap();
        assert_eq!(bed.said(&accepted).await, "half way");
        let done = || vec![says(&bed, TaskState::Completed, "done")];
        let task = answer(&bed, &runner, &got, Outcome::Answered, done()).await.unwrap();
        assert_eq!(task.state, TaskState::Completed);
        let twice = answer(&bed, &runner, &got, Outcome::Answered, done()).await.unwrap_err();
        assert_eq!(twice.code, ErrorCode::ClaimLost);
        let task = bed.task(&accepted).await;
        assert_eq!((answer_of(&task).as_str(), task.artifacts[0].id.as_str()), ("done", "a"));
    }
}

// X15
#[tokio::test]
async fn whoever_waits_for_work_is_told_at_once() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let waiting = bed.exchange.queue.claim(&runner, id, 30_000, None);
        let (got, _) = tokio::join!(tokio::time::timeout(Duration::from_secs(10), waiting), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            bed.say(id, "now").await
        });
        let got = got.expect("it did not wait for the end").unwrap().unwrap();
        assert_eq!(got.delivery.message.text(), "now");
    }
}

// X12
#[tokio::test]
async fn a_runtime_that_says_busy_gets_the_message_again() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let accepted = bed.say(id, "later").await;
        let first = claim(&bed, id, &runner).await.unwrap();
        let busy = Outcome::Busy { retry_after_ms: Some(60_000) };
        answer(&bed, &runner, &first, busy, Vec::new()).await.unwrap();
        assert_eq!(bed.task(&accepted).await.state, TaskState::Working, "it does not go back");
        let waiting = bed.deliveries(id, DeliveryState::Queued).await;
        assert_eq!(waiting[0].reason, Some(DeliveryReason::Busy));
        let second = claim(&bed, id, &runner).await.unwrap();
        assert_eq!((second.delivery.id, second.delivery.attempts), (first.delivery.id, 2));
        let late = answer(&bed, &runner, &first, Outcome::Answered, Vec::new()).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::ClaimLost, "the first attempt is over");
        let failed = Outcome::Failed { reason: DeliveryReason::Failed };
        answer(&bed, &runner, &second, failed, Vec::new()).await.unwrap();
        assert_eq!(bed.task(&accepted).await.state, TaskState::Failed);
    }
}

// X11, X15: a lease that runs out
#[tokio::test]
async fn a_claim_without_a_word_is_lost_and_tried_again_only_by_one_that_can_tell() {
    for bed in ExchangeBed::with_clock().await {
        let (id, runner) = bed.reporting().await;
        let lost = bed.say(id, "lost").await;
        let first = claim_for(&bed, id, &runner, 1_000).await;
        bed.clock.advance_ms(999);
        progress(&bed, &runner, &first, Vec::new()).await.expect("renewed");
        bed.clock.advance_ms(30_000);
        let failed = bed.task_in(&lost, TaskState::Failed).await;
        assert!(answer_of(&failed).contains("not known"), "{failed:?}");
        let late = answer(&bed, &runner, &first, Outcome::Answered, Vec::new()).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::ClaimLost);
        let displaced = Displacement { deduplication: Some(true), ..Default::default() };
        bed.beat(&runner, RuntimeReport { displaced, ..Default::default() }).await;
        bed.say(id, "kept").await;
        let first = claim_for(&bed, id, &runner, 1_000).await;
        bed.clock.advance_ms(1_000);
        eventually("put back", async || bed.waiting(id).await == 1).await;
        let second = claim(&bed, id, &runner).await.unwrap();
        assert_eq!((second.delivery.id, second.delivery.attempts), (first.delivery.id, 2));
    }
}

// X14
#[tokio::test]
async fn no_more_is_handed_out_than_may_run_at_once() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let two = PatchWorkspace { max_concurrent_tasks: Some(Some(2)), ..Default::default() };
        bed.fleet.workspaces.patch(&bed.operator, id, two, None).await.unwrap();
        for number in 0..3 {
            bed.say(id, &number.to_string()).await;
        }
        let claims = (0..8).map(|_| claim(&bed, id, &runner));
        let got: Vec<_> = futures_util::future::join_all(claims).await.into_iter().flatten().collect();
        assert_eq!(got.len(), 2, "{got:?}");
        assert_ne!(got[0].delivery.id, got[1].delivery.id);
        answer(&bed, &runner, &got[0], Outcome::Answered, Vec::new()).await.unwrap();
        assert!(claim(&bed, id, &runner).await.is_some());
    }
}

// X4
#[tokio::test]
async fn nobody_else_answers_in_a_workspaces_name() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.reporting().await;
        let (_, stranger) = bed.reporting().await;
        bed.say(id, "for it alone").await;
        for (who, code) in [(&bed.operator, ErrorCode::Forbidden), (&stranger, ErrorCode::WorkspaceNotFound)]
        {
            let refused = bed.exchange.queue.claim(who, id, 0, None).await.unwrap_err();
            assert_eq!(refused.code, code);
        }
    }
}

// F16, F12: a runtime that asks and answers without ever reporting
#[tokio::test]
async fn whoever_asks_for_work_or_tells_of_it_lives_and_a_wedge_stays_one() {
    for bed in ExchangeBed::with_clock().await {
        let (id, runner) = bed.reporting().await;
        let (silent, _) = bed.reporting().await;
        bed.say(id, "do it").await;
        let got = claim_for(&bed, id, &runner, 600_000).await;
        // Together longer than a runtime may be silent, one by one shorter.
        let later = async || {
            bed.clock.advance_ms(60_000);
            bed.sweep("liveness").await;
            bed.status(id).await
        };
        assert_eq!(later().await, Status::Online);
        progress(&bed, &runner, &got, Vec::new()).await.unwrap();
        assert_eq!(later().await, Status::Online, "it told how it goes");
        assert_eq!(bed.status(silent).await, Status::Offline, "the control");
        let done = vec![says(&bed, TaskState::Completed, "done")];
        answer(&bed, &runner, &got, Outcome::Answered, done).await.unwrap();
        assert_eq!(later().await, Status::Online, "it answered");
        claim(&bed, id, &runner).await;
        assert_eq!(later().await, Status::Online, "it asked, and there was nothing");
        assert_eq!(later().await, Status::Offline, "and then it was silent");
        claim(&bed, id, &runner).await;
        assert_eq!(bed.status(id).await, Status::Online, "it is back");

        // What it said of itself stays, and so does a token that others may hold.
        let wedged = RuntimeReport { runtime_state: Some(RuntimeState::Wedged), ..Default::default() };
        bed.beat(&runner, wedged).await;
        bed.clock.advance_ms(10_000);
        claim(&bed, id, &runner).await;
        assert_eq!(bed.status(id).await, Status::Degraded, "a sign of life clears no wedge");
        let spare = bed.agent_of(id).await;
        bed.clock.advance_ms(89_000);
        claim(&bed, id, &spare).await;
        assert_eq!(later().await, Status::Offline, "who holds another token proves nothing");
    }
}

// F16: asking often costs no write each
#[tokio::test]
async fn signs_of_life_that_come_fast_are_written_once() {
    for bed in ExchangeBed::with_clock().await {
        let (id, runner) = bed.reporting().await;
        let heard = async || bed.vitals(id).await.last_heartbeat_at;
        let registered = heard().await;
        for _ in 0..4 {
            bed.clock.advance_ms(1_000);
            claim(&bed, id, &runner).await;
            assert_eq!(heard().await, registered);
        }
        bed.clock.advance_ms(1_000);
        claim(&bed, id, &runner).await;
        assert_ne!(heard().await, registered);
    }
}
