//! Questions that only a person may decide.

use std::sync::Arc;

use serde_json::json;
use warren_model::{Approval, ApprovalState, ApprovalSubject, OrgId, Principal, Status, WorkspaceId};

use super::samples::{NOW, id, insert, update, workspace};
use super::session_samples::new_session;
use crate::{ApprovalQuery, Error, Store};

fn approval(workspace_id: WorkspaceId) -> Approval {
    Approval {
        id: id(),
        org_id: OrgId::DEFAULT,
        workspace_id,
        task_id: Some(id()),
        action: "deploy".into(),
        reason: "it is \"done\" — 日本".into(),
        context: json!({ "version": 7, "notes": ["x", null] }),
        subject: None,
        asked_by: Principal::workspace(workspace_id),
        state: ApprovalState::Pending,
        decided_by: None,
        decided_at: None,
        note: None,
        edited: None,
        created_at: NOW,
        expires_at: NOW.plus_ms(1_000),
    }
}

async fn put(store: &dyn Store, approval: &Approval) -> Result<(), Error> {
    let row = approval.clone();
    store.write(move |tx| tx.insert_approval(&row)).await
}

fn decided(of: &Approval, state: ApprovalState) -> Approval {
    Approval {
        state,
        decided_by: Some(Principal::user(id())),
        decided_at: Some(NOW.plus_ms(3)),
        note: Some("well".into()),
        ..of.clone()
    }
}

async fn one(store: &dyn Store) -> Approval {
    let place = workspace();
    insert(store, &place).await;
    let row = approval(place.id);
    assert_eq!(put(store, &row).await, Ok(()));
    row
}

// X51
pub async fn a_question_comes_back_as_it_was_written_and_with_its_answer(store: Arc<dyn Store>) {
    let asked = one(&*store).await;
    let of = asked.id;
    let get = || store.read::<_, Error, _>(move |tx| tx.approval(of));
    assert_eq!(get().await, Ok(Some(asked.clone())));
    let answer = decided(&asked, ApprovalState::Denied);
    let row = answer.clone();
    assert_eq!(store.write::<_, Error, _>(move |tx| tx.settle_approval(&row)).await, Ok(true));
    assert_eq!(get().await, Ok(Some(answer)));
    assert!(put(&*store, &approval(id())).await.is_err(), "nobody asks");
}

// X51: two deciders, one decision
pub async fn of_many_that_decide_one_does(store: Arc<dyn Store>) {
    let asked = one(&*store).await;
    let deciders = (0..8).map(|number| {
        let state = if number % 2 == 0 { ApprovalState::Approved } else { ApprovalState::Denied };
        let (store, row) = (Arc::clone(&store), decided(&asked, state));
        tokio::spawn(async move {
            let answer = row.clone();
            let won: Result<bool, Error> = store.write(move |tx| tx.settle_approval(&row)).await;
            won.expect("it is written or not").then_some(answer)
        })
    });
    let mut won = Vec::new();
    for decider in deciders.collect::<Vec<_>>() {
        won.extend(decider.await.expect("a decider ends"));
    }
    assert_eq!(won.len(), 1);
    let of = asked.id;
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.approval(of)).await, Ok(won.pop()));
}

// X51
pub async fn questions_are_listed_newest_first_and_late_ones_are_found(store: Arc<dyn Store>) {
    let first = one(&*store).await;
    let second = Approval { expires_at: NOW.plus_ms(2_000), ..approval(first.workspace_id) };
    assert_eq!(put(&*store, &second).await, Ok(()));
    let other = one(&*store).await;
    let row = decided(&other, ApprovalState::Approved);
    assert_eq!(store.write::<_, Error, _>(move |tx| tx.settle_approval(&row)).await, Ok(true));
    let all = ApprovalQuery {
        org_id: Some(OrgId::DEFAULT),
        workspace_id: None,
        state: None,
        before: None,
        limit: 2,
    };
    let list = |query: ApprovalQuery| store.read::<_, Error, _>(move |tx| tx.approvals(&query));
    let page = list(all.clone()).await.expect("a page is read");
    let ids = |rows: &[Approval]| rows.iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(&page.rows), [other.id, second.id]);
    let rest = list(ApprovalQuery { before: page.next, ..all.clone() }).await.expect("a page is read");
    assert_eq!((ids(&rest.rows), rest.next), (vec![first.id], None));
    let pending = ApprovalQuery { state: Some(ApprovalState::Pending), limit: 10, ..all.clone() };
    assert_eq!(list(pending).await.map(|page| page.rows.len()), Ok(2));
    let of_one = ApprovalQuery { workspace_id: Some(other.workspace_id), limit: 10, ..all.clone() };
    assert_eq!(list(of_one).await.map(|page| ids(&page.rows)), Ok(vec![other.id]));
    let elsewhere = ApprovalQuery { org_id: Some(id()), limit: 10, ..all };
    assert_eq!(list(elsewhere).await.map(|page| page.rows), Ok(vec![]));
    let late = |ms| store.read::<_, Error, _>(move |tx| Ok(tx.late_approvals(NOW.plus_ms(ms), 10)?.rows));
    assert_eq!(late(999).await, Ok(vec![]));
    assert_eq!(late(1_000).await.map(|rows| ids(&rows)), Ok(vec![first.id]));
    let (one, another) = (first.workspace_id, other.workspace_id);
    let counts = store.read::<_, Error, _>(move |tx| {
        Ok((tx.count_pending_approvals(one)?, tx.count_pending_approvals(another)?))
    });
    assert_eq!(counts.await, Ok((2, 0)));
}

// F42, F8
pub async fn what_was_decided_goes_after_its_time_and_all_with_the_workspace(store: Arc<dyn Store>) {
    let mut place = workspace();
    insert(&*store, &place).await;
    let (open, over) = (approval(place.id), approval(place.id));
    for row in [&open, &over] {
        assert_eq!(put(&*store, row).await, Ok(()));
    }
    let row = decided(&over, ApprovalState::Denied);
    assert_eq!(store.write::<_, Error, _>(move |tx| tx.settle_approval(&row)).await, Ok(true));
    let prune = |ms| store.write::<_, Error, _>(move |tx| tx.prune_approvals(NOW.plus_ms(ms), 10));
    assert_eq!(prune(3).await, Ok(0));
    assert_eq!(prune(99_999).await, Ok(1), "what is open stays");
    place.status = Status::Removed;
    place.version = update(&*store, &place).await.expect("a workspace is removed");
    let (of, left) = (place.id, open.id);
    assert_eq!(store.write(move |tx| tx.erase_workspace(of)).await, Ok(true));
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.approval(left)).await, Ok(None));
}

// A30
pub async fn a_question_about_a_call_comes_back_with_what_it_is_about(store: Arc<dyn Store>) {
    let session = new_session(&*store).await;
    let subject = ApprovalSubject {
        session_id: session.id,
        step: 2,
        call_id: "c".into(),
        tool: "workspace_run".into(),
        arguments: json!({ "command": "rm — 日本" }),
        arguments_hash: "h".into(),
        agent_hash: "ab".into(),
        generation: 3,
    };
    let ask = || Approval { subject: Some(subject.clone()), ..approval(session.workspace_id) };
    let (first, second, third) = (ask(), ask(), approval(session.workspace_id));
    for row in [&first, &second, &third] {
        assert_eq!(put(&*store, row).await, Ok(()));
    }
    let of = session.id;
    let pending = || store.read::<_, Error, _>(move |tx| tx.pending_approvals_of(of));
    assert_eq!(pending().await, Ok(vec![first.clone(), second.clone()]));
    let edited =
        Approval { edited: Some(json!({ "command": "ls" })), ..decided(&first, ApprovalState::Approved) };
    let void = Approval { decided_by: None, note: None, ..decided(&second, ApprovalState::Void) };
    for row in [&edited, &void] {
        let answer = row.clone();
        assert_eq!(store.write::<_, Error, _>(move |tx| tx.settle_approval(&answer)).await, Ok(true));
        let of = row.id;
        assert_eq!(store.read::<_, Error, _>(move |tx| tx.approval(of)).await, Ok(Some(row.clone())));
    }
    let late = decided(&second, ApprovalState::Approved);
    assert_eq!(
        store.write::<_, Error, _>(move |tx| tx.settle_approval(&late)).await,
        Ok(false),
        "it is void"
    );
    assert_eq!(pending().await, Ok(vec![]));
}
