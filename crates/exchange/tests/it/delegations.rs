//! Work that workspaces hand to each other.

use warren_exchange::{Config, Delegate, Delegated, Error};
use warren_fleet::CreateWorkspace;
use warren_model::{
    DelegationState, DeliveryState, Displacement, ErrorCode, EventKind, TaskState, WorkspaceId,
};
use warren_service::Identity;
use warren_testkit::{Act, Bed, BedOptions, ExchangeBed, ExchangeOptions, answer_of, eventually};

/// A workspace with an agent, and its credential.
type Member = (WorkspaceId, Identity);

/// A lead and two agents below it.
async fn team(bed: &ExchangeBed) -> [Member; 3] {
    let lead = bed.called_with(Bed::local_request("lead")).await;
    let below = |name| CreateWorkspace { parent_id: Some(lead.0), ..Bed::local_request(name) };
    let (one, two) = (bed.called_with(below("one")).await, bed.called_with(below("two")).await);
    [lead, one, two]
}

async fn try_delegate(
    bed: &ExchangeBed,
    (from, who): &Member,
    to: WorkspaceId,
    is_told: bool,
) -> Result<Delegated, Error> {
    let request = Delegate { from: *from, message: bed.text(to, "help"), parent_task: None, is_told };
    let (exchange, who) = (bed.exchange.clone(), who.clone());
    bed.inside(async move { exchange.delegations.create(&who, request).await }).await
}

async fn delegate(bed: &ExchangeBed, from: &Member, to: WorkspaceId, is_told: bool) -> Delegated {
    try_delegate(bed, from, to, is_told).await.unwrap()
}

async fn state(bed: &ExchangeBed, from: &Member, made: &Delegated) -> DelegationState {
    bed.exchange.delegations.get(&from.1, from.0, made.delegation.id).await.unwrap().0.state
}

/// What the work of a delegation led to.
async fn said(bed: &ExchangeBed, made: &Delegated) -> String {
    let (of, id) = (made.task.workspace_id, made.task.id);
    answer_of(&bed.exchange.messages.task(&bed.operator, of, id).await.unwrap())
}

// X20, X21
#[tokio::test]
async fn a_delegation_is_a_row_that_ends_with_its_result() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, _] = team(&bed).await;
        let made = delegate(&bed, &lead, one.0, false).await;
        let completed = DelegationState::Completed;
        eventually("it ends", async || state(&bed, &lead, &made).await == completed).await;
        assert_eq!(said(&bed, &made).await, "echo: help");
        let seen = &bed.agent.seen()[0];
        assert_eq!(seen.author.to_string(), format!("workspace:{}", lead.0));
        assert!(seen.deadline_at.is_some(), "agent-to-agent calls have a ceiling (X10)");
        let list = bed.exchange.delegations.list(&lead.1, lead.0, Some(completed), None, 10);
        assert_eq!(list.await.unwrap().rows.len(), 1);
    }
}

// X20, X21: queued is not completed
#[tokio::test]
async fn a_queued_delegation_gets_its_result_when_the_queue_drains() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, two] = team(&bed).await;
        bed.agent.next([Act::Hold, Act::Say("first".into())]);
        let first = delegate(&bed, &lead, one.0, false).await;
        assert_eq!(first.delegation.state, DelegationState::Dispatched);
        let second = delegate(&bed, &two, one.0, true).await;
        assert_eq!((second.delegation.state, second.position), (DelegationState::Queued, Some(0)));
        bed.agent.let_go();
        let completed = DelegationState::Completed;
        eventually("both end", async || state(&bed, &two, &second).await == completed).await;
        assert_eq!(said(&bed, &first).await, "first");
        let told = bed.events(EventKind::DelegationCompleted).await;
        assert_eq!(told.iter().filter(|event| event.workspace_id == Some(two.0)).count(), 1);
        // The delegator that wanted to be told got the result as a message of the one that did the work.
        eventually("it is told", async || bed.agent.seen().len() == 3).await;
        let message = &bed.agent.seen()[2];
        assert_eq!(message.author.to_string(), format!("workspace:{}", one.0));
        assert_eq!(message.message.text(), "echo: help");
    }
}

// X22
#[tokio::test]
async fn cycles_are_refused_even_for_one_that_does_not_say_where_work_came_from() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, two] = team(&bed).await;
        for _ in 0..2 {
            bed.agent.next([Act::Hold, Act::Say("done".into())]);
        }
        delegate(&bed, &lead, one.0, false).await;
        eventually("it has it", async || bed.agent.seen().len() == 1).await;
        let handed = delegate(&bed, &one, two.0, false).await;
        eventually("it has it", async || bed.agent.seen().len() == 2).await;
        for (from, to) in [(&two, lead.0), (&two, one.0), (&one, lead.0), (&one, one.0)] {
            let refused = try_delegate(&bed, from, to, false).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::DelegationCycle);
        }
        assert!(handed.delegation.parent_task.is_some(), "found out by what it has in hand");
        bed.agent.let_go();
        bed.agent.let_go();
    }
}

// X22: cancellation reaches the far side, and what was handed on from there
#[tokio::test]
async fn a_delegation_taken_back_stops_the_far_side_and_all_that_hangs_on_it() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, two] = team(&bed).await;
        bed.agent.next([Act::Name("first".into()), Act::Work("on it".into()), Act::Hold]);
        bed.agent.next([Act::Name("second".into()), Act::Work("me too".into()), Act::Hold]);
        let made = delegate(&bed, &lead, one.0, false).await;
        eventually("it has it", async || bed.agent.seen().len() == 1).await;
        let further = delegate(&bed, &one, two.0, false).await;
        eventually("both work", async || said(&bed, &further).await == "me too").await;
        let cancelled = bed.exchange.delegations.cancel(&lead.1, lead.0, made.delegation.id).await.unwrap();
        assert_eq!(cancelled.0.state, DelegationState::Cancelled);
        let is_cancelled = async || state(&bed, &one, &further).await == DelegationState::Cancelled;
        eventually("the second too", is_cancelled).await;
        eventually("both are told to stop", async || {
            let stopped = bed.agent.cancelled();
            stopped.contains(&"first".into()) && stopped.contains(&"second".into())
        })
        .await;
    }
}

// X3, X20
#[tokio::test]
async fn nobody_hands_work_to_a_stranger_or_in_anothers_name() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, _] = team(&bed).await;
        let stranger = bed.called_with(Bed::local_request("stranger")).await;
        let impostor = (lead.0, one.1.clone());
        for (from, to) in [(&one, stranger.0), (&impostor, one.0)] {
            let refused = try_delegate(&bed, from, to, false).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::WorkspaceNotFound);
        }
        assert!(bed.deliveries(stranger.0, DeliveryState::Ended).await.is_empty());
    }
}

// X20: a restart of Warren in the middle of a delegation, with both sides
#[tokio::test]
async fn a_delegation_goes_on_after_warren_was_cut_off_in_the_middle() {
    let bed = BedOptions { is_real_time: true, ..BedOptions::crashable() };
    let config = Config { lease_ms: 1_000, ..Config::default() };
    for bed in ExchangeBed::with(ExchangeOptions { bed, config, ..Default::default() }).await {
        let [lead, one, _] = team(&bed).await;
        bed.agent.next([Act::Name("theirs".into()), Act::Work("on it".into()), Act::Hold]);
        let made = delegate(&bed, &lead, one.0, true).await;
        eventually("it works", async || said(&bed, &made).await == "on it").await;
        // The runtime goes on by itself; asked again, it tells how it went.
        bed.agent.next([Act::Say("finished".into())]);
        let bed = bed.crash().await;
        eventually("it ends", async || said(&bed, &made).await == "finished").await;
        let resumed = bed.agent.seen().into_iter().find(|attempt| attempt.resumes);
        let resumed = resumed.expect("it was asked, not told again");
        assert_eq!(resumed.remote_id.as_deref(), Some("theirs"));
        assert_eq!(state(&bed, &lead, &made).await, DelegationState::Completed);
        let is_told = async || bed.agent.heard().contains(&"finished".to_owned());
        eventually("the delegator is told", is_told).await;
    }
}

// X21
#[tokio::test]
async fn a_delegator_that_is_gone_by_the_end_loses_nothing_for_the_others() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, _] = team(&bed).await;
        let brief = bed.workspace_below(Some(lead.0)).await.id;
        bed.agent.next([Act::Hold, Act::Say("done".into())]);
        let made = delegate(&bed, &(brief, bed.operator.clone()), one.0, true).await;
        bed.remove(brief).await;
        bed.agent.let_go();
        eventually("it ends", async || said(&bed, &made).await == "done").await;
        let task = bed.exchange.messages.task(&bed.operator, one.0, made.task.id).await.unwrap();
        assert_eq!(task.state, TaskState::Completed);
    }
}

// X4, X21: Warren's words are not put into the mouth of whoever was asked
#[tokio::test]
async fn a_delegator_is_told_by_warren_itself_why_there_is_no_result() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, _] = team(&bed).await;
        bed.agent.next([Act::Hold]);
        let made = delegate(&bed, &lead, one.0, true).await;
        eventually("it has it", async || bed.agent.seen().len() == 1).await;
        bed.exchange.messages.cancel_task(&bed.operator, one.0, made.task.id).await.unwrap();
        eventually("the delegator is told", async || bed.agent.seen().len() == 2).await;
        let told = &bed.agent.seen()[1];
        assert_eq!(told.author.to_string(), "system:exchange");
        assert_eq!(told.message.text(), "The work was cancelled.");
    }
}

// X12, X20
#[tokio::test]
async fn a_delegation_to_a_busy_agent_with_its_own_session_is_refused_and_logged() {
    for bed in ExchangeBed::on_each_store().await {
        let [lead, one, _] = team(&bed).await;
        bed.boot(one.0, Displacement { session: Some(true), ..Default::default() }).await;
        // Warren counts that it is busy.
        bed.agent.next([Act::Hold, Act::Say("first".into())]);
        let first = tokio::spawn({
            let (exchange, operator, new) =
                (bed.exchange.clone(), bed.operator.clone(), bed.text(one.0, "1"));
            async move { exchange.messages.send(&operator, new).await }
        });
        eventually("it is at work", async || bed.agent.seen().len() == 1).await;
        let refused = try_delegate(&bed, &lead, one.0, true).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::RuntimeBusy);
        let logged = bed.events(EventKind::MessageRefused).await;
        assert_eq!(logged.len(), 1, "it is logged");
        assert_eq!(logged[0].principal.to_string(), format!("workspace:{}", lead.0));
        bed.agent.let_go();
        first.await.unwrap().unwrap();
        eventually("it is free", async || bed.deliveries(one.0, DeliveryState::Ended).await.len() == 1).await;
        // It says so itself.
        bed.agent.next([Act::Outcome(warren_exchange::Outcome::Busy { retry_after_ms: None })]);
        assert_eq!(try_delegate(&bed, &lead, one.0, true).await.unwrap_err().code, ErrorCode::RuntimeBusy);
        assert_eq!(bed.events(EventKind::MessageRefused).await.len(), 2);
        assert_eq!(bed.waiting(one.0).await, 0);
        assert_eq!(bed.waiting(lead.0).await, 0, "the delegator was told by the refusal, and not once more");
        assert_eq!(bed.agent.seen().len(), 2);
    }
}
