//! Questions of workspaces: decided by people, once, in time, and told to who waits.

use std::time::Duration;

use serde_json::json;
use warren_exchange::{ApprovalAnswer, ApprovalDecision, AskApproval, Error};
use warren_model::{
    Approval, ApprovalId, ApprovalState, ErrorCode, EventData, EventKind, PrincipalKind, Scope, ScopeSet,
    WorkspaceId,
};
use warren_service::Identity;
use warren_testkit::{ExchangeBed, eventually};

/// A workspace and its agent.
async fn agent(bed: &ExchangeBed) -> (WorkspaceId, Identity) {
    let id = bed.workspace().await.id;
    (id, bed.agent_of(id).await)
}

fn question(expires_in_seconds: Option<u32>) -> AskApproval {
    AskApproval {
        action: "deploy".into(),
        reason: "all tests pass".into(),
        context: json!({ "version": "1.2" }),
        expires_in_seconds,
        task_id: None,
    }
}

async fn ask(bed: &ExchangeBed, of: WorkspaceId, who: &Identity) -> ApprovalId {
    bed.exchange.approvals.ask(who, of, question(None)).await.unwrap().id
}

async fn decide(
    bed: &ExchangeBed,
    who: &Identity,
    id: ApprovalId,
    decision: ApprovalDecision,
) -> Result<Approval, Error> {
    let answer = ApprovalAnswer { note: Some("well".into()), ..ApprovalAnswer::new(decision) };
    bed.exchange.approvals.decide(who, id, answer).await
}

async fn state(bed: &ExchangeBed, id: ApprovalId) -> ApprovalState {
    bed.exchange.approvals.get(&bed.operator, id).await.unwrap().state
}

// X51
#[tokio::test]
async fn only_a_person_with_the_right_decides() {
    for bed in ExchangeBed::on_each_store().await {
        let (of, own) = agent(&bed).await;
        let (_, other) = agent(&bed).await;
        let id = ask(&bed, of, &own).await;
        let scopes = [Scope::WorkspacesUse, Scope::WorkspacesWrite, Scope::WorkspacesRead];
        let user = bed.user(scopes.into_iter().collect()).await;
        for (who, code) in [
            (&own, ErrorCode::NotAPerson),
            (&other, ErrorCode::ApprovalNotFound),
            (&user, ErrorCode::Forbidden),
        ] {
            for decision in [ApprovalDecision::Approve, ApprovalDecision::Deny] {
                assert_eq!(decide(&bed, who, id, decision).await.unwrap_err().code, code);
            }
        }
        assert_eq!(state(&bed, id).await, ApprovalState::Pending, "nothing of that counted");
        let person = bed.user([Scope::ApprovalsDecide].into_iter().collect::<ScopeSet>()).await;
        let decided = decide(&bed, &person, id, ApprovalDecision::Deny).await.unwrap();
        assert_eq!((decided.state, decided.note.as_deref()), (ApprovalState::Denied, Some("well")));
        assert_eq!(decided.decided_by.unwrap().kind, PrincipalKind::User);
        let again = decide(&bed, &bed.operator, id, ApprovalDecision::Approve).await.unwrap_err();
        assert_eq!(again.code, ErrorCode::ApprovalOver);
        let entries: Vec<_> = bed.audit().await;
        let about: Vec<_> = entries.iter().filter(|entry| entry.target_id == id.to_string()).collect();
        assert_eq!(about.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(), ["approval.denied"]);
    }
}

// X51: whoever asks does not answer, be it a person
#[tokio::test]
async fn nobody_decides_a_question_of_their_own() {
    for bed in ExchangeBed::on_each_store().await {
        let (of, _) = agent(&bed).await;
        let id = ask(&bed, of, &bed.operator).await;
        let own = decide(&bed, &bed.operator, id, ApprovalDecision::Approve).await.unwrap_err();
        assert_eq!(own.code, ErrorCode::Forbidden);
    }
}

// X51: at once
#[tokio::test]
async fn the_decision_reaches_a_waiting_agent_at_once() {
    for bed in ExchangeBed::on_each_store().await {
        let (of, own) = agent(&bed).await;
        let id = ask(&bed, of, &own).await;
        let approvals = &bed.exchange.approvals;
        let waiting = tokio::time::timeout(Duration::from_secs(20), approvals.wait_for(&own, id, 60_000));
        let deciding = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            decide(&bed, &bed.operator, id, ApprovalDecision::Approve).await
        };
        let (heard, decided) = tokio::join!(waiting, deciding);
        decided.unwrap();
        let heard = heard.expect("it did not wait to the end").unwrap();
        assert_eq!((heard.state, heard.note.as_deref()), (ApprovalState::Approved, Some("well")));
        let told = bed.events(EventKind::ApprovalDecided).await;
        assert_eq!(told.len(), 1);
        let idle = ask(&bed, of, &own).await;
        let idle = approvals.wait_for(&own, idle, 1).await.unwrap();
        assert_eq!(idle.state, ApprovalState::Pending, "patience ends");
    }
}

// X51
#[tokio::test]
async fn a_question_and_its_answer_survive_a_restart() {
    for bed in ExchangeBed::on_each_store().await {
        let (of, own) = agent(&bed).await;
        let (open, over) = (ask(&bed, of, &own).await, ask(&bed, of, &own).await);
        decide(&bed, &bed.operator, over, ApprovalDecision::Approve).await.unwrap();
        let bed = bed.restart().await;
        assert_eq!(state(&bed, over).await, ApprovalState::Approved);
        decide(&bed, &bed.operator, open, ApprovalDecision::Deny).await.unwrap();
        let heard = bed.exchange.approvals.wait_for(&own, open, 1_000).await.unwrap();
        assert_eq!(heard.state, ApprovalState::Denied);
    }
}

// X51
#[tokio::test]
async fn what_nobody_decides_in_time_expires_once_and_cannot_be_decided() {
    for bed in ExchangeBed::with_clock().await {
        let (of, own) = agent(&bed).await;
        let id = bed.exchange.approvals.ask(&own, of, question(Some(60))).await.unwrap().id;
        bed.clock.advance_ms(60_000);
        let late = decide(&bed, &bed.operator, id, ApprovalDecision::Approve).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::ApprovalOver);
        assert_eq!(state(&bed, id).await, ApprovalState::Expired);
        let expiries = async || {
            let told = bed.events(EventKind::ApprovalDecided).await;
            let is_expiry = |data| matches!(data, EventData::ApprovalDecided(told) if told.state == ApprovalState::Expired);
            told.iter().filter(|event| is_expiry(event.read().unwrap())).count()
        };
        eventually("the expiry is told", async || expiries().await == 1).await;
        let waiting = bed.exchange.approvals.wait_for(&own, id, 60_000).await.unwrap();
        assert_eq!(waiting.state, ApprovalState::Expired, "who waits is told at once");
        assert_eq!(expiries().await, 1);
    }
}

// X51: by policy
#[tokio::test]
async fn a_policy_decides_and_is_named() {
    for bed in ExchangeBed::on_each_store().await {
        let (of, own) = agent(&bed).await;
        let id = ask(&bed, of, &own).await;
        let decision = ApprovalDecision::Approve;
        let decided = bed.exchange.approvals.decide_by_policy("office hours", id, decision).await.unwrap();
        assert_eq!(decided.state, ApprovalState::Approved);
        assert_eq!(decided.decided_by.unwrap().id, "policy/office hours");
    }
}

// A82: whoever asked waits no more
#[tokio::test]
async fn a_question_is_void_once_who_asked_it_takes_it_back_and_says_why() {
    for bed in ExchangeBed::on_each_store().await {
        let (of, own) = agent(&bed).await;
        let id = ask(&bed, of, &own).await;
        let approvals = &bed.exchange.approvals;
        let note = || Some("its program ended".to_owned());
        let others = approvals.withdraw(&bed.operator, id, note()).await.unwrap_err();
        assert_eq!(others.code, ErrorCode::Forbidden, "only who asked");
        let void = approvals.withdraw(&own, id, note()).await.unwrap();
        assert_eq!((void.state, void.note.as_deref()), (ApprovalState::Void, Some("its program ended")));
        assert_eq!(approvals.withdraw(&own, id, None).await.unwrap().note, note(), "twice is once");
        let late = decide(&bed, &bed.operator, id, ApprovalDecision::Approve).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::ApprovalOver);
        assert_eq!(bed.events(EventKind::ApprovalDecided).await.len(), 1);
        let decided = ask(&bed, of, &own).await;
        decide(&bed, &bed.operator, decided, ApprovalDecision::Approve).await.unwrap();
        let over = approvals.withdraw(&own, decided, note()).await.unwrap_err();
        assert_eq!(
            (over.code, state(&bed, decided).await),
            (ErrorCode::ApprovalOver, ApprovalState::Approved)
        );
    }
}
