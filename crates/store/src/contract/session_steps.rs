//! What holds for steps and their tool calls.

use std::sync::Arc;

use serde_json::json;
use warren_model::session::{
    CallOutcome, CallState, Decision, ModelOrigin, StartMode, Step, StepPhase, StopReason,
};

use super::samples::{NOW, id};
use super::session_samples::{call, done, lineage, new_session, put, put_step, session, step, waiting};
use crate::{Error, Store};

async fn change(store: &dyn Store, from: &Step, to: &Step) -> Result<(), Error> {
    let (from, to) = (from.clone(), to.clone());
    store.write(move |tx| tx.update_step(&from, &to)).await
}

// A4, A8
pub async fn a_step_and_its_calls_come_back_as_they_were_written(store: Arc<dyn Store>) {
    let of = new_session(&*store).await.id;
    let get = || store.read::<_, Error, _>(move |tx| tx.step(of, 1));
    assert_eq!(get().await, Ok(None));
    let asking = Step {
        phase: StepPhase::Asking,
        messages: vec![id(), id()],
        notices: vec!["you go in circles".into()],
        failed_attempts: 2,
        asked_under: Some(3),
        resume_token: Some(json!({ "id": "r", "at": [1, null] })),
        blocks: Vec::new(),
        calls: Vec::new(),
        deltas: Vec::new(),
        answered_at: None,
        ended_at: None,
        ..step(of, 1)
    };
    assert_eq!(put_step(&*store, &asking).await, Ok(()));
    assert_eq!(get().await, Ok(Some(asking.clone())));
    assert_eq!(put_step(&*store, &asking).await, Err(Error::AlreadyExists));
    let origin = ModelOrigin { model: "scripted/hello".parse().expect("a good name"), account: "f".into() };
    let acting = Step {
        phase: StepPhase::Acting,
        request_head: Some("5f0c".into()),
        origin: Some(origin),
        stop_reason: Some(StopReason::ToolUse),
        asked_under: None,
        state: Some([("count".to_owned(), json!(1))].into()),
        calls: (0..70).map(|number| call(&format!("c{number}"), waiting())).collect(),
        ..step(of, 1)
    };
    assert_eq!(change(&*store, &asking, &acting).await, Ok(()));
    assert_eq!(get().await, Ok(Some(acting.clone())));
    let mut closed = Step { phase: StepPhase::Closed, ..acting.clone() };
    for call in &mut closed.calls {
        call.decision = Some(Decision::Allowed);
        call.state = done("x");
        (call.started_at, call.ended_at) = (Some(NOW), Some(NOW.plus_ms(1)));
    }
    assert_eq!(change(&*store, &acting, &closed).await, Ok(()));
    assert_eq!(get().await, Ok(Some(closed.clone())));
    let found = store.read::<_, Error, _>(move |tx| Ok((tx.call(of, "c69")?, tx.call(of, "none")?)));
    assert_eq!(found.await, Ok((Some((1, closed.calls[69].clone())), None)));
}

// A4, A8: whatever a program believes
pub async fn a_call_gets_one_outcome_and_a_closed_step_does_not_change(store: Arc<dyn Store>) {
    let of = new_session(&*store).await.id;
    let started = CallState::Started { epoch: 1, attempt: 1, how: StartMode::Run };
    let acting = Step { phase: StepPhase::Acting, calls: vec![call("c", started)], ..step(of, 1) };
    assert_eq!(put_step(&*store, &acting).await, Ok(()));
    let with = |state: CallState| Step { calls: vec![call("c", state)], ..acting.clone() };
    let enders = (0..8).map(|number| {
        let (store, from, to) = (Arc::clone(&store), acting.clone(), with(done(&format!("by {number}"))));
        tokio::spawn(async move { (change(&*store, &from, &to).await, to) })
    });
    let mut won = Vec::new();
    for ender in enders.collect::<Vec<_>>() {
        match ender.await.expect("one who ends it ends") {
            (Ok(()), step) => won.push(step),
            (Err(error), _) => assert_eq!(error, Error::Conflict),
        }
    }
    assert_eq!(won.len(), 1);
    let get = || store.read::<_, Error, _>(move |tx| tx.step(of, 1));
    assert_eq!(get().await, Ok(won.first().cloned()));
    let unknown = with(CallState::Closed(CallOutcome::Unknown { evidence: "?".into() }));
    assert_eq!(change(&*store, &acting, &unknown).await, Err(Error::Conflict));
    let closed = Step { phase: StepPhase::Closed, ..won[0].clone() };
    assert_eq!(change(&*store, &won[0], &closed).await, Ok(()));
    let again = Step { cost_micros: 99, ..closed.clone() };
    assert_eq!(change(&*store, &closed, &again).await, Err(Error::Conflict));
    assert_eq!(get().await, Ok(Some(closed)));
}

// A8
pub async fn a_calls_name_is_used_once_in_a_session(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    assert_eq!(put_step(&*store, &step(row.id, 1)).await, Ok(()));
    let same = Step { calls: step(row.id, 1).calls, ..step(row.id, 2) };
    assert_eq!(put_step(&*store, &same).await, Err(Error::AlreadyExists));
    let of = row.id;
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.step(of, 2)).await, Ok(None), "nothing of it is left");
    let other = session(row.workspace_id);
    assert_eq!(put(&*store, &other).await, Ok(()));
    assert_eq!(put_step(&*store, &step(other.id, 1)).await, Ok(()), "another session has names of its own");
}

// A70, P16
pub async fn a_lineage_is_read_in_its_order_over_sessions(store: Arc<dyn Store>) {
    let one = new_session(&*store).await;
    let other = session(one.workspace_id);
    assert_eq!(put(&*store, &other).await, Ok(()));
    for (of, number) in [(one.id, 1), (one.id, 2), (one.id, 3), (other.id, 3), (one.id, 7), (other.id, 4)] {
        let mut row = step(of, number);
        if number == 2 {
            row.calls.clear();
        }
        assert_eq!(put_step(&*store, &row).await, Ok(()));
    }
    let numbers = |steps: Vec<Step>| {
        let told = steps.into_iter().map(|step| (step.session_id, step.number, step.calls.len()));
        told.collect::<Vec<_>>()
    };
    let spans = lineage(&[(one.id, 1), (one.id, 2), (other.id, 3), (other.id, 4)]);
    let read = store.read::<_, Error, _>(move |tx| tx.steps_of(&spans)).await.map(numbers);
    assert_eq!(read, Ok(vec![(one.id, 1, 1), (one.id, 2, 0), (other.id, 3, 1), (other.id, 4, 1)]));
    let gap = lineage(&[(one.id, 3), (one.id, 4)]);
    let read = store.read::<_, Error, _>(move |tx| tx.steps_of(&gap)).await;
    assert!(matches!(read, Err(Error::Corrupt(_))), "{read:?}");
    let of = one.id;
    let page = store.read::<_, Error, _>(move |tx| tx.steps(of, 1, 2)).await.map(numbers);
    assert_eq!(page, Ok(vec![(of, 2, 0), (of, 3, 1)]), "also those that are in no lineage");
    let rest = store.read::<_, Error, _>(move |tx| tx.steps(of, 3, 9)).await.map(numbers);
    assert_eq!(rest, Ok(vec![(of, 7, 1)]));
}
