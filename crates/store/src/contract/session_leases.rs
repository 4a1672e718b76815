//! What holds for who works on a session: one at a time, under an epoch that only grows.

use std::sync::Arc;

use warren_model::session::{Phase, Session, StopReason, StreamEntry, StreamItem};
use warren_model::{SessionId, Timestamp};

use super::samples::{NOW, new_workspace};
use super::session_samples::{change, claim, new_session, put, read, session, step};
use crate::{Error, Store};

async fn renew(store: &dyn Store, id: SessionId, epoch: u64, expires_at: Timestamp) -> bool {
    let renewed = store.write::<_, Error, _>(move |tx| tx.renew_session_lease(id, epoch, expires_at));
    renewed.await.expect("a renewal is answered")
}

async fn release(store: &dyn Store, id: SessionId, epoch: u64, now: Timestamp) {
    let released = store.write::<_, Error, _>(move |tx| tx.release_session(id, epoch, now)).await;
    assert_eq!(released, Ok(()));
}

async fn claimable(store: &dyn Store, now: Timestamp) -> Vec<SessionId> {
    let found = store.read::<_, Error, _>(move |tx| tx.claimable_sessions(now, 10));
    found.await.expect("a list is read")
}

// A2, A3: two owners at once
pub async fn a_session_is_claimed_by_one_of_many(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    for round in 1..=5 {
        let now = NOW.plus_ms(round * 1_000);
        let mut claimers = tokio::task::JoinSet::new();
        for number in 0..8 {
            let (store, of) = (Arc::clone(&store), row.id);
            claimers.spawn(async move { claim(&*store, of, &format!("replica {number}"), now).await });
        }
        let won: Vec<Session> = claimers.join_all().await.into_iter().flatten().collect();
        assert_eq!(won.len(), 1, "round {round}");
        let epoch = u64::try_from(round).expect("it counts up");
        assert_eq!((won[0].epoch, won[0].lease.as_ref().map(|lease| lease.epoch)), (epoch, Some(epoch)));
        assert_eq!(read(&*store, row.id).await.as_ref(), won.first());
    }
}

// A3
pub async fn only_an_active_session_without_a_live_lease_is_claimed(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    let first = claim(&*store, row.id, "a", NOW).await.expect("it is free");
    assert_eq!(claim(&*store, row.id, "a", NOW.plus_ms(999)).await, None, "not even by its owner");
    assert_eq!(claimable(&*store, NOW.plus_ms(999)).await, []);
    assert_eq!(claimable(&*store, NOW.plus_ms(1_000)).await, [row.id]);
    release(&*store, row.id, first.epoch, NOW.plus_ms(10)).await;
    assert_eq!(read(&*store, row.id).await.map(|row| (row.lease, row.epoch)), Some((None, 1)));
    let second = claim(&*store, row.id, "b", NOW.plus_ms(10)).await.expect("it was given back");
    assert_eq!(second.epoch, 2);
    release(&*store, row.id, first.epoch, NOW.plus_ms(11)).await;
    assert!(
        read(&*store, row.id).await.is_some_and(|row| row.lease.is_some()),
        "an old epoch gives nothing back"
    );
    let resting = Session { phase: Phase::Completed { finish: StopReason::EndTurn }, ..second.clone() };
    assert!(change(&*store, &second, &resting).await.is_ok());
    release(&*store, row.id, second.epoch, NOW.plus_ms(12)).await;
    assert_eq!(claim(&*store, row.id, "b", NOW.plus_ms(9_000)).await, None, "there is nothing to do");
    assert_eq!(claimable(&*store, NOW.plus_ms(9_000)).await, []);
}

// A2: SIGSTOP longer than the lease
pub async fn an_owner_who_was_taken_over_cannot_write_or_renew(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    let frozen = claim(&*store, row.id, "frozen", NOW).await.expect("it is free");
    let write = |epoch: u64, number: u32, now: Timestamp| {
        let (of, new) = (row.id, step(row.id, number));
        store.write::<_, Error, _>(move |tx| {
            tx.check_session_epoch(of, epoch, now)?;
            tx.insert_step(&new)
        })
    };
    assert_eq!(write(frozen.epoch, 1, NOW.plus_ms(999)).await, Ok(()));
    assert_eq!(write(frozen.epoch, 2, NOW.plus_ms(1_000)).await, Err(Error::LeaseLost), "it has expired");
    // Nobody took it over: it goes on under its epoch.
    assert!(renew(&*store, row.id, frozen.epoch, NOW.plus_ms(3_000)).await);
    assert_eq!(write(frozen.epoch, 2, NOW.plus_ms(2_000)).await, Ok(()));
    let late = NOW.plus_ms(3_000);
    let next = claim(&*store, row.id, "next", late).await.expect("it has expired");
    assert_eq!(write(frozen.epoch, 3, late).await, Err(Error::LeaseLost));
    assert!(!renew(&*store, row.id, frozen.epoch, late.plus_ms(9_000)).await);
    assert_eq!(write(next.epoch, 3, late).await, Ok(()));
    release(&*store, row.id, next.epoch, late).await;
    assert_eq!(write(next.epoch, 4, late).await, Err(Error::LeaseLost), "it was given back");
    assert!(!renew(&*store, row.id, next.epoch, late.plus_ms(9_000)).await);
}

// A2, A3: the only process on a database knows that whoever held a lease is gone
pub async fn leases_that_are_ended_can_be_claimed_at_once(store: Arc<dyn Store>) {
    let (held, resting) = (new_session(&*store).await, new_session(&*store).await);
    let before = claim(&*store, held.id, "gone", NOW).await.expect("it is free");
    let end = || store.write::<_, Error, _>(|tx| tx.end_leases_of_others("next", NOW.plus_ms(1)));
    let own = claim(&*store, new_session(&*store).await.id, "next", NOW).await.expect("it is free");
    assert_eq!((end().await, end().await), (Ok(1), Ok(0)));
    assert!(renew(&*store, own.id, own.epoch, NOW.plus_ms(2_000)).await, "its own it keeps");
    assert!(claimable(&*store, NOW.plus_ms(1)).await.contains(&resting.id));
    let late = store
        .write::<_, Error, _>(move |tx| tx.check_session_epoch(before.id, before.epoch, NOW.plus_ms(1)))
        .await;
    assert_eq!(late, Err(Error::LeaseLost), "one that is not gone after all cannot write");
    let next = claim(&*store, held.id, "next", NOW.plus_ms(1)).await.expect("its lease was ended");
    assert_eq!(next.epoch, before.epoch + 1);
}

// A62: pieces are numbered without the session's row being written
pub async fn pieces_are_numbered_by_the_owner_of_an_open_step(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    let open = Session { open_step: Some(3), latest_sequence: 7, ..row.clone() };
    assert!(change(&*store, &row, &open).await.is_ok());
    let owner = claim(&*store, row.id, "a", NOW).await.expect("it is free");
    let (of, epoch) = (row.id, owner.epoch);
    let show = |epoch: u64, step: u32, ms: i64, count: u64| {
        store.write::<_, Error, _>(move |tx| {
            let Some(latest) = tx.hold_open_step(of, epoch, step, NOW.plus_ms(ms))? else { return Ok(None) };
            let piece = StreamItem::TextDelta { step, block: 0, text: "a".into() };
            let pieces: Vec<StreamEntry> = (latest + 1..=latest + count)
                .map(|sequence| StreamEntry { sequence, at: NOW, item: piece.clone() })
                .collect();
            tx.append_stream(of, &pieces)?;
            Ok(Some(latest + count))
        })
    };
    assert_eq!(show(epoch, 3, 1, 2).await, Ok(Some(9)));
    assert_eq!(show(epoch, 3, 1, 1).await, Ok(Some(10)));
    assert_eq!(show(epoch, 2, 1, 1).await, Ok(None), "the step is over");
    assert_eq!(show(epoch + 1, 3, 1, 1).await, Ok(None), "somebody else's epoch");
    assert_eq!(show(epoch, 3, 1_000, 1).await, Ok(None), "the lease has expired");
    let before = read(&*store, of).await.expect("it is there");
    assert_eq!((before.latest_sequence, before.version), (10, owner.version), "whoever reads it counts them");
    let by_name = (before.org_id, before.name.clone());
    let found = store.read::<_, Error, _>(move |tx| tx.session_by_name(by_name.0, &by_name.1)).await;
    assert_eq!(found, Ok(Some(before.clone())));
    let held = store.write::<_, Error, _>(move |tx| tx.hold_session(of)).await;
    assert_eq!(held, Ok(Some(before.clone())));
    let next = claim(&*store, of, "b", NOW.plus_ms(1_000)).await.expect("the lease has expired");
    assert_eq!(next.latest_sequence, 10, "the next owner goes on behind them");
    // Their numbers are used up when they are gone, also if nothing else was told.
    let resting = Session { phase: Phase::Interrupted, open_step: None, ..before.clone() };
    let ended = store.write::<_, Error, _>({
        let (before, resting) = (before.clone(), resting.clone());
        move |tx| {
            tx.update_session(&before, &resting)?;
            tx.delete_finished_pieces(NOW.plus_ms(-1), NOW).map(drop)
        }
    });
    assert_eq!(ended.await, Ok(()));
    assert_eq!(read(&*store, of).await.map(|row| row.latest_sequence), Some(10));
    assert_eq!(show(next.epoch, 3, 1_001, 1).await, Ok(None), "nothing is under way");
}

// A2: the takeover waits for the write that is under way, or the write is refused
pub async fn a_takeover_and_a_guarded_write_do_not_pass_each_other(store: Arc<dyn Store>) {
    for _ in 0..10 {
        let row = new_session(&*store).await;
        let owner = claim(&*store, row.id, "a", NOW).await.expect("it is free");
        let (writer, taker) = (Arc::clone(&store), Arc::clone(&store));
        let (of, epoch, before) = (row.id, owner.epoch, owner.clone());
        let write = tokio::spawn(async move {
            let written: Result<u64, Error> = writer
                .write(move |tx| {
                    tx.check_session_epoch(of, epoch, NOW.plus_ms(999))?;
                    let to = Session { last_step: 1, ..before.clone() };
                    tx.update_session(&before, &to)
                })
                .await;
            written
        });
        let take = tokio::spawn(async move { claim(&*taker, of, "b", NOW.plus_ms(1_000)).await });
        let written = write.await.expect("a writer ends");
        let taken = take.await.expect("a taker ends").expect("it has expired");
        match written {
            Ok(_) => assert_eq!(taken.last_step, 1, "what was written before is seen"),
            Err(error) => assert_eq!((error, taken.last_step), (Error::LeaseLost, 0)),
        }
    }
}

// A3, A35
pub async fn what_is_due_is_found_the_longest_waiting_first(store: Arc<dyn Store>) {
    let next = || store.read::<_, Error, _>(|tx| tx.next_session_due());
    assert_eq!(next().await, Ok(None));
    let home = new_workspace(&*store).await;
    let resting = |ms: i64| Session { phase: Phase::Idle, wake_at: Some(NOW.plus_ms(ms)), ..session(home) };
    let (late, early) = (resting(20), resting(10));
    for row in [&late, &early, &Session { phase: Phase::Idle, ..session(home) }] {
        assert_eq!(put(&*store, row).await, Ok(()));
    }
    let due = |ms: i64| store.read::<_, Error, _>(move |tx| tx.due_sessions(NOW.plus_ms(ms), 10));
    assert_eq!(due(9).await, Ok(vec![]));
    assert_eq!(due(10).await, Ok(vec![early.id]));
    assert_eq!(due(99).await, Ok(vec![early.id, late.id]));
    assert_eq!(next().await, Ok(Some(NOW.plus_ms(10))));
    let (first, second) = (session(home), session(home));
    for row in [&first, &second] {
        assert_eq!(put(&*store, row).await, Ok(()));
    }
    assert!(next().await.is_ok_and(|at| at.is_some_and(|at| at <= NOW)), "one may be claimed now");
    let held = claim(&*store, first.id, "a", NOW).await.expect("it is free");
    release(&*store, first.id, held.epoch, NOW.plus_ms(1)).await;
    assert_eq!(
        claimable(&*store, NOW.plus_ms(1)).await,
        [second.id, first.id],
        "who was served goes to the end"
    );
}
