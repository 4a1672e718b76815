//! What holds for sessions.

use std::sync::Arc;

use serde_json::json;
use warren_model::session::{
    FailureKind, LoopWatch, Phase, PhaseKind, RunLimits, RunUsage, Session, SessionFailure, SessionLease,
    StopKind, StopReason, StopRequest, Suspension,
};
use warren_model::{
    AgentVersion, Approval, ApprovalState, ApprovalSubject, OrgId, Principal, SessionId, Status,
};

use super::samples::{NOW, id, insert, new_workspace, update, workspace};
use super::session_samples::{change, claim, lineage, new_session, put, put_step, read, session, step};
use crate::{Error, KeyScope, SessionKey, SessionQuery, Store};

fn every_phase() -> Vec<Phase> {
    let failure = SessionFailure { kind: FailureKind::Model, message: "it is \"away\"".into() };
    vec![
        Phase::Idle,
        Phase::Active,
        Phase::Suspended { by: Suspension::Approval, reason: "asks — 日本".into() },
        Phase::Completed { finish: StopReason::EndTurn },
        Phase::Failed { failure },
        Phase::Interrupted,
    ]
}

/// Everything that an update writes, changed.
fn changed(of: &Session) -> Session {
    let usage = RunUsage { cost_micros: 1, tokens: 2, steps: 3, tool_calls: 4, active_ms: 5, ..of.usage };
    Session {
        title: "another".into(),
        agent: AgentVersion { hash: "cd".into(), ..of.agent.clone() },
        phase: Phase::Suspended { by: Suspension::Budget, reason: "money".into() },
        generation: 2,
        run: 3,
        last_step: 4,
        open_step: Some(4),
        lineage: lineage(&[(of.id, 1), (of.id, 2)]),
        state: [("count".to_owned(), json!(7))].into(),
        stop: Some(StopRequest {
            kind: StopKind::Interrupt,
            deadline: NOW.plus_ms(5),
            by: Principal::system("person"),
        }),
        limits: RunLimits { steps: Some(5), ..RunLimits::default() },
        usage,
        total_usage: usage,
        reserved_micros: 8,
        reserved_at: Some(NOW),
        loop_watch: LoopWatch { error: "e".into(), same_errors: 2, ..LoopWatch::default() },
        wake_at: Some(NOW.plus_ms(6)),
        latest_sequence: 9,
        updated_at: NOW.plus_ms(7),
        ..of.clone()
    }
}

// A2, A72
pub async fn a_session_comes_back_as_it_was_written_in_every_phase(store: Arc<dyn Store>) {
    let home = new_workspace(&*store).await;
    for phase in every_phase() {
        let row = Session { phase, ..session(home) };
        assert_eq!(put(&*store, &row).await, Ok(()));
        assert_eq!(read(&*store, row.id).await, Some(row));
    }
    let lease = SessionLease { owner: "a".into(), epoch: 3, expires_at: NOW.plus_ms(5) };
    let held = Session {
        lease: Some(lease),
        epoch: 3,
        branched_from: Some((id(), 4)),
        name: "chat:1".parse().expect("a good name"),
        ..session(home)
    };
    assert_eq!(put(&*store, &held).await, Ok(()));
    let name = held.name.clone();
    let found = store.read::<_, Error, _>(move |tx| {
        Ok((tx.session_by_name(OrgId::DEFAULT, &name)?, tx.session_by_name(id(), &name)?, tx.session(id())?))
    });
    assert_eq!(found.await, Ok((Some(held), None, None)));
    let homeless = session(id());
    assert!(put(&*store, &homeless).await.is_err(), "its workspace is unknown");
}

// A72
pub async fn a_name_is_taken_once_in_an_org(store: Arc<dyn Store>) {
    let first = new_session(&*store).await;
    let second = Session { name: first.name.clone(), ..session(first.workspace_id) };
    assert_eq!(put(&*store, &second).await, Err(Error::AlreadyExists));
    assert_eq!(put(&*store, &Session { org_id: id(), ..second.clone() }).await, Ok(()));
    let (row, other) = (Session { id: id(), ..second }, session(first.workspace_id));
    let next = other.id;
    let got_over: Result<(), Error> = store
        .write(move |tx| {
            assert_eq!(tx.insert_session(&row), Err(Error::AlreadyExists));
            tx.insert_session(&other)
        })
        .await;
    assert_eq!(got_over, Ok(()), "whoever is told goes on");
    assert!(read(&*store, next).await.is_some());
}

// A2
pub async fn an_update_writes_what_differs_at_its_version_and_leaves_the_lease(store: Arc<dyn Store>) {
    let old = new_session(&*store).await;
    let held = claim(&*store, old.id, "a", NOW).await.expect("it is free");
    assert_eq!(held.version, old.version, "a claim raises no version");
    let mut new = changed(&old);
    assert_eq!(change(&*store, &old, &new).await, Ok(2), "what was read before the claim can be written");
    (new.version, new.lease, new.epoch) = (2, held.lease.clone(), held.epoch);
    assert_eq!(read(&*store, old.id).await, Some(new.clone()));
    assert_eq!(change(&*store, &old, &changed(&old)).await, Err(Error::Conflict));
    assert_eq!(read(&*store, old.id).await, Some(new.clone()));
    let back = Session { version: 3, lease: new.lease.clone(), epoch: new.epoch, ..old };
    assert_eq!(change(&*store, &new, &back).await, Ok(3));
    assert_eq!(read(&*store, back.id).await, Some(back), "absence is written too");
}

// A2, A34
pub async fn those_who_hold_a_session_write_one_after_the_other(store: Arc<dyn Store>) {
    let old = new_session(&*store).await;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (store, of) = (Arc::clone(&store), old.id);
        writers.spawn(async move {
            let written: Result<u64, Error> = store
                .write(move |tx| {
                    let from = tx.hold_session(of)?.expect("it is there");
                    let to = Session { latest_sequence: from.latest_sequence + 1, ..from.clone() };
                    tx.update_session(&from, &to)
                })
                .await;
            written
        });
    }
    let written = writers.join_all().await;
    assert!(written.iter().all(Result::is_ok), "nobody is told of a conflict: {written:?}");
    assert_eq!(read(&*store, old.id).await.map(|row| (row.latest_sequence, row.version)), Some((16, 17)));
}

// A70
pub async fn sessions_are_listed_newest_first_filtered_and_in_pages(store: Arc<dyn Store>) {
    let (home, other) = (new_workspace(&*store).await, new_workspace(&*store).await);
    let mut rows = Vec::new();
    for (number, phase) in every_phase().into_iter().enumerate() {
        let mut row = Session { phase, workspace_id: if number < 2 { other } else { home }, ..session(home) };
        row.agent.name = if number == 0 { "poet" } else { "helper" }.parse().expect("a good name");
        assert_eq!(put(&*store, &row).await, Ok(()));
        rows.insert(0, row);
    }
    let ids = |rows: &[Session]| rows.iter().map(|row| row.id).collect::<Vec<SessionId>>();
    let list = |query: SessionQuery| store.read::<_, Error, _>(move |tx| tx.sessions(&query));
    let all = SessionQuery { org_id: Some(OrgId::DEFAULT), limit: 4, ..SessionQuery::default() };
    let page = list(all.clone()).await.expect("a page is read");
    assert_eq!(ids(&page.rows), ids(&rows[..4]));
    let rest = list(SessionQuery { before: page.next, ..all.clone() }).await.expect("a page is read");
    assert_eq!((ids(&rest.rows), rest.next), (ids(&rows[4..]), None));
    let ten = SessionQuery { limit: 10, ..all };
    let of_home = SessionQuery { workspace_id: Some(home), ..ten.clone() };
    assert_eq!(list(of_home.clone()).await.map(|page| ids(&page.rows)), Ok(ids(&rows[..4])));
    for row in &rows {
        let phase = Some(row.phase.kind());
        let found = list(SessionQuery { phase, ..ten.clone() }).await.map(|page| ids(&page.rows));
        assert_eq!(found, Ok(vec![row.id]), "{phase:?}");
    }
    let none = SessionQuery { phase: Some(PhaseKind::Active), ..of_home };
    assert_eq!(list(none).await.map(|page| page.rows), Ok(vec![]));
    let agent = Some("poet".parse().expect("a good name"));
    let of_agent = SessionQuery { agent, ..ten.clone() };
    assert_eq!(list(of_agent).await.map(|page| ids(&page.rows)), Ok(vec![rows[5].id]));
    assert_eq!(list(SessionQuery { org_id: Some(id()), ..ten }).await.map(|page| page.rows), Ok(vec![]));
}

/// A branch that shows the first step of a session.
fn branch_of(source: &Session) -> Session {
    let branched_from = Some((source.id, 1));
    Session { lineage: lineage(&[(source.id, 1)]), branched_from, ..session(source.workspace_id) }
}

async fn delete(store: &dyn Store, id: SessionId) -> Result<bool, Error> {
    store.write(move |tx| tx.delete_session(id)).await
}

// A70, A76
pub async fn a_session_goes_with_all_its_rows_but_not_before_those_that_show_its_steps(
    store: Arc<dyn Store>,
) {
    let source = new_session(&*store).await;
    assert_eq!(put_step(&*store, &step(source.id, 1)).await, Ok(()));
    let branch = branch_of(&source);
    assert_eq!(put(&*store, &branch).await, Ok(()));
    // A branch of the branch shows the same step.
    let twig = Session { lineage: branch.lineage.clone(), ..branch_of(&branch) };
    assert_eq!(put(&*store, &twig).await, Ok(()));
    let asked = asked_about(&source);
    let key = SessionKey {
        scope: KeyScope::Session(source.id),
        sender: Principal::system("asker"),
        key: "k".into(),
        fingerprint: "f".into(),
        answer: json!({}),
        at: NOW,
    };
    let (approval, kept) = (asked.clone(), key.clone());
    let written: Result<bool, Error> = store
        .write(move |tx| {
            tx.insert_approval(&approval)?;
            tx.insert_session_key(&kept, NOW.plus_ms(-9))
        })
        .await;
    assert_eq!(written, Ok(true));

    assert_eq!(delete(&*store, source.id).await, Err(Error::InUse));
    assert_eq!(delete(&*store, branch.id).await, Ok(true), "nobody shows a step that was taken in it");
    assert_eq!(delete(&*store, source.id).await, Err(Error::InUse), "the twig shows it still");
    // A way back to the beginning shows none of them.
    let back = Session { lineage: lineage(&[]), ..twig.clone() };
    assert_eq!(change(&*store, &twig, &back).await, Ok(2));
    assert_eq!(delete(&*store, source.id).await, Ok(true));
    assert_eq!(delete(&*store, source.id).await, Ok(false));
    let left = store.read::<_, Error, _>(move |tx| {
        let call = tx.call(source.id, "call-1")?.is_some();
        let key = tx.session_key(key.scope, &key.sender, &key.key)?.is_some();
        Ok((tx.step(source.id, 1)?.is_some(), call, tx.approval(asked.id)?.is_some(), key))
    });
    assert_eq!(left.await, Ok((false, false, false, false)));
    assert!(put_step(&*store, &step(source.id, 2)).await.is_err(), "nothing is written to what is gone");
    assert!(read(&*store, twig.id).await.is_some());
}

fn asked_about(session: &Session) -> Approval {
    Approval {
        id: id(),
        org_id: session.org_id,
        workspace_id: session.workspace_id,
        task_id: None,
        action: "workspace_run".into(),
        reason: String::new(),
        context: json!({}),
        subject: Some(ApprovalSubject {
            session_id: session.id,
            step: 1,
            call_id: "call-1".into(),
            tool: "workspace_run".into(),
            arguments: json!({}),
            arguments_hash: "h".into(),
            agent_hash: session.agent.hash.clone(),
            generation: session.generation,
        }),
        asked_by: Principal::workspace(session.workspace_id),
        state: ApprovalState::Pending,
        decided_by: None,
        decided_at: None,
        note: None,
        edited: None,
        created_at: NOW,
        expires_at: NOW.plus_ms(9),
    }
}

// A70
pub async fn a_branch_stays_in_its_workspace(store: Arc<dyn Store>) {
    let source = new_session(&*store).await;
    let elsewhere = Session { workspace_id: new_workspace(&*store).await, ..branch_of(&source) };
    assert!(matches!(put(&*store, &elsewhere).await, Err(Error::Refused(_))));
    assert_eq!(read(&*store, elsewhere.id).await, None);
}

// F8
pub async fn sessions_go_with_their_workspace(store: Arc<dyn Store>) {
    let mut place = workspace();
    insert(&*store, &place).await;
    let source = session(place.id);
    assert_eq!(put(&*store, &source).await, Ok(()));
    assert_eq!(put_step(&*store, &step(source.id, 1)).await, Ok(()));
    let branch = branch_of(&source);
    assert_eq!(put(&*store, &branch).await, Ok(()));
    let other = new_session(&*store).await;
    place.status = Status::Removed;
    place.version = update(&*store, &place).await.expect("a workspace is removed");
    let of = place.id;
    assert_eq!(store.write(move |tx| tx.erase_workspace(of)).await, Ok(true));
    assert_eq!(read(&*store, source.id).await, None);
    assert_eq!(read(&*store, branch.id).await, None);
    assert!(read(&*store, other.id).await.is_some());
}
