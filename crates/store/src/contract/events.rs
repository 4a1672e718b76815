//! What holds for events: numbers without gaps, in commit order, and nothing passed by (F40).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use warren_model::{Event, EventKind, NewEvent, OrgId, Principal, PrincipalKind, Timestamp, WorkspaceId};

use super::samples::{NOW, all_events, append, assert_gap_free, event, id, log, newest_seq};
use crate::{Error, EventQuery, Store};

/// Longer than anything here takes; a wait past it is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

// F40
pub async fn every_kind_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let mut written = Vec::new();
    for (position, kind) in EventKind::ALL.iter().enumerate() {
        let new = NewEvent {
            at: NOW.plus_ms(position as i64),
            kind: *kind,
            org_id: id(),
            workspace_id: (position % 2 == 0).then(id),
            principal: Principal {
                kind: PrincipalKind::ALL[position % PrincipalKind::ALL.len()],
                id: format!("an id: with a colon {position}"),
            },
            data: json!({"position": position}),
        };
        append(&*store, &new).await;
        written.push(new);
    }
    let expected: Vec<_> = (1..).zip(written).map(|(seq, new)| numbered(seq, new)).collect();
    assert_eq!(log(&*store).await, expected);
}

fn numbered(seq: u64, new: NewEvent) -> Event {
    Event {
        seq,
        at: new.at,
        kind: new.kind,
        org_id: new.org_id,
        workspace_id: new.workspace_id,
        principal: new.principal,
        data: new.data,
    }
}

// F40
pub async fn numbers_begin_at_one_and_rollbacks_leave_no_gap(store: Arc<dyn Store>) {
    assert_eq!(newest_seq(&*store).await, 0, "an empty log");
    for round in 1..=3 {
        append(&*store, &event(json!(round))).await;
        let undone: Result<(), Error> = store
            .write(|tx| {
                tx.append_event(&event(json!("undone")))?;
                Err(Error::Conflict)
            })
            .await;
        assert_eq!(undone, Err(Error::Conflict));
        assert_eq!(newest_seq(&*store).await, round);
    }
    let events = log(&*store).await;
    assert_gap_free(&events);
    let data: Vec<_> = events.into_iter().map(|event| event.data).collect();
    assert_eq!(data, [json!(1), json!(2), json!(3)]);
}

/// Whether this transaction rolls back, and how many events it writes: the same each time, but without pattern.
fn fate(writer: u64, round: u64) -> (bool, u64) {
    let mixed = (writer * 1_000 + round).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (mixed.is_multiple_of(3), 1 + mixed / 3 % 3)
}

const WRITERS: u64 = 64;
const ROUNDS: u64 = 6;

/// One writer's transactions; answers with how many events were acknowledged.
async fn write_rounds(store: Arc<dyn Store>, writer: u64) -> u64 {
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let (rolls_back, count) = fate(writer, round);
        let result: Result<(), Error> = store
            .write(move |tx| {
                for part in 0..count {
                    tx.append_event(&event(json!([writer, round, part])))?;
                }
                if rolls_back { Err(Error::LeaseLost) } else { Ok(()) }
            })
            .await;
        match result {
            Ok(()) => acknowledged += count,
            Err(Error::LeaseLost) if rolls_back => {}
            Err(other) => panic!("writer {writer} fails with {other:?}"),
        }
    }
    acknowledged
}

fn start_writers(store: &Arc<dyn Store>) -> tokio::task::JoinSet<u64> {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write_rounds(Arc::clone(store), writer));
    }
    writers
}

async fn join_writers(mut writers: tokio::task::JoinSet<u64>) -> u64 {
    let mut acknowledged = 0;
    while let Some(count) = writers.join_next().await {
        acknowledged += count.expect("a writer ends well");
    }
    acknowledged
}

// F40
pub async fn numbers_have_no_gap_under_concurrent_writers_and_rollbacks(store: Arc<dyn Store>) {
    let acknowledged = join_writers(start_writers(&store)).await;
    let events = log(&*store).await;
    assert_gap_free(&events);
    assert_eq!(events.len() as u64, acknowledged, "every acknowledged event, and no other");
    assert_eq!(newest_seq(&*store).await, acknowledged);
    assert_whole_transactions(&events);
}

/// The events of one transaction stand side by side and in order, and each writer's transactions follow each other.
fn assert_whole_transactions(events: &[Event]) {
    let mut last_round = vec![None; WRITERS as usize];
    let mut rest = events;
    while let [first, ..] = rest {
        let (writer, round) = (first.data[0].as_u64(), first.data[1].as_u64());
        let (Some(writer), Some(round)) = (writer, round) else {
            panic!("not an event of this case: {first:?}");
        };
        let (_, count) = fate(writer, round);
        let (transaction, others) = rest.split_at(count as usize);
        for (part, event) in transaction.iter().enumerate() {
            assert_eq!(event.data, json!([writer, round, part]), "a transaction was torn");
        }
        let before = last_round[writer as usize].replace(round);
        assert!(before < Some(round), "writer {writer}: round {round} came after {before:?}");
        rest = others;
    }
}

// F40, I13: a reader that follows by number while others commit sees each event once.
pub async fn a_reader_that_follows_misses_nothing(store: Arc<dyn Store>) {
    let writers = start_writers(&store);
    let reader = tokio::spawn(follow(Arc::clone(&store)));
    let acknowledged = join_writers(writers).await;
    append(&*store, &event(json!("the end"))).await;
    let seen = tokio::time::timeout(PATIENCE, reader)
        .await
        .expect("the reader comes to the end")
        .expect("the reader ends well");
    assert_gap_free(&seen);
    assert_eq!(seen.len() as u64, acknowledged + 1);
}

async fn follow(store: Arc<dyn Store>) -> Vec<Event> {
    let mut signal = store.newest_event();
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let after = seen.last().map_or(0, |event| event.seq);
        let page = store.read(move |tx| tx.events(&all_events(after, 7))).await.expect("a page is read");
        seen.extend(page.rows);
        if seen.last().is_some_and(|event| event.data == json!("the end")) {
            return seen;
        }
        if page.next.is_none() {
            // A hint to read again; the poll stands behind it.
            let _ = tokio::time::timeout(Duration::from_millis(50), signal.changed()).await;
        }
    }
}

pub async fn events_of_one_transaction_keep_their_order(store: Arc<dyn Store>) {
    let result: Result<(), Error> =
        store.write(|tx| (0..200).try_for_each(|position| tx.append_event(&event(json!(position))))).await;
    assert_eq!(result, Ok(()));
    let events = log(&*store).await;
    assert_gap_free(&events);
    let positions: Vec<_> = events.iter().map(|event| event.data.as_u64()).collect();
    assert_eq!(positions, (0..200).map(Some).collect::<Vec<_>>());
}

/// Reads by pages of `limit` until told that the log ends; answers with the numbers seen.
async fn numbers(store: &dyn Store, query: EventQuery) -> Vec<u64> {
    let mut seen = Vec::new();
    let mut after = query.after;
    for _ in 0..1_000 {
        let asked = EventQuery { after, ..query.clone() };
        let page = store.read(move |tx| tx.events(&asked)).await.expect("a page is read");
        assert!(page.rows.len() <= query.limit as usize, "a page is not longer than asked for");
        seen.extend(page.rows.iter().map(|event| event.seq));
        match page.next {
            Some(next) => {
                assert!(next > after, "a reader moves on");
                assert!(page.rows.iter().all(|event| event.seq <= next), "next is past the page");
                after = next;
            }
            None => return seen,
        }
    }
    panic!("the log never ends");
}

// F40
pub async fn filters_hide_what_belongs_to_others(store: Arc<dyn Store>) {
    let (other_org, first, second): (OrgId, WorkspaceId, WorkspaceId) = (id(), id(), id());
    let about = [
        (OrgId::DEFAULT, Some(first)),
        (other_org, None),
        (OrgId::DEFAULT, None),
        (other_org, Some(second)),
        (OrgId::DEFAULT, Some(second)),
        (OrgId::DEFAULT, Some(first)),
    ];
    for (org_id, workspace_id) in about {
        let new = NewEvent { org_id, workspace_id, ..event(json!({})) };
        append(&*store, &new).await;
    }
    let cases: [(Option<OrgId>, Option<WorkspaceId>, &[u64]); 6] = [
        (None, None, &[1, 2, 3, 4, 5, 6]),
        (Some(OrgId::DEFAULT), None, &[1, 3, 5, 6]),
        (Some(other_org), None, &[2, 4]),
        (None, Some(first), &[1, 6]),
        (Some(other_org), Some(second), &[4]),
        (Some(id()), None, &[]),
    ];
    for (org_id, workspace_id, expected) in cases {
        for limit in [1, 2, 3, 100] {
            let query = EventQuery { after: 0, org_id, workspace_id, limit };
            assert_eq!(numbers(&*store, query.clone()).await, expected, "{query:?}");
        }
    }
}

pub async fn pages_lead_to_the_end_of_the_log(store: Arc<dyn Store>) {
    assert_eq!(numbers(&*store, all_events(0, 5)).await, [0; 0], "an empty log has an end");
    for position in 0..5 {
        append(&*store, &event(json!(position))).await;
    }
    for (after, limit, expected) in [
        (0, 5, &[1, 2, 3, 4, 5][..]),
        (0, 2, &[1, 2, 3, 4, 5]),
        (3, 100, &[4, 5]),
        (5, 1, &[]),
        (u64::MAX, 1, &[]),
    ] {
        assert_eq!(numbers(&*store, all_events(after, limit)).await, expected, "after {after} by {limit}");
    }
    let page = store.read(|tx| tx.events(&all_events(0, 2))).await;
    let page: crate::Page<Event, u64> = page.expect("a page is read");
    assert_eq!(page.next, Some(2), "there is more after a full page");
}

pub async fn the_signal_moves_after_the_commit_and_not_before(store: Arc<dyn Store>) {
    let mut signal = store.newest_event();
    assert_eq!(*signal.borrow_and_update(), 0);
    let inside = store.newest_event();
    let seen_inside: Result<u64, Error> = store
        .write(move |tx| {
            tx.append_event(&event(json!({})))?;
            Ok(*inside.borrow())
        })
        .await;
    assert_eq!(seen_inside, Ok(0), "before the commit the signal stands still");
    assert_eq!(wait_past(&mut signal, 0).await, 1, "after the commit the signal moves");

    let undone: Result<(), Error> = store
        .write(|tx| {
            tx.append_event(&event(json!({})))?;
            Err(Error::Conflict)
        })
        .await;
    assert_eq!(undone, Err(Error::Conflict));
    append(&*store, &event(json!({}))).await;
    assert_eq!(wait_past(&mut signal, 1).await, 2, "a rollback does not move the signal");
    let read = newest_seq(&*store).await;
    assert!(read >= *store.newest_event().borrow(), "what the signal says is there to be read");
}

async fn wait_past(signal: &mut watch::Receiver<u64>, seq: u64) -> u64 {
    let moved = tokio::time::timeout(PATIENCE, signal.wait_for(|newest| *newest > seq)).await;
    *moved.expect("the signal moves in time").expect("the store is open")
}

pub async fn unicode_and_large_data_come_back_as_they_were_written(store: Arc<dyn Store>) {
    let large: Vec<Value> = (0..20_000).map(|n| json!({"n": n, "text": "0123456789 日本 🦀"})).collect();
    let deep = (0..60).fold(json!("leaf"), |inner, _| json!([inner]));
    let samples = [
        json!("\u{0}\u{1}\u{7f}\u{fffd}\u{1f980} \\ \" ' é e\u{301}"),
        json!({"": 1, "\u{0}": 2, "b": 1, "a": 2, "日本": [[], {}, null]}),
        json!([u64::MAX, i64::MIN, 1e16, 1.0, -0.5, 0.1, 1e300, 5e-324]),
        json!(null),
        deep,
        Value::Array(large),
    ];
    for sample in &samples {
        append(&*store, &event(sample.clone())).await;
    }
    let found: Vec<_> = log(&*store).await.into_iter().map(|event| event.data).collect();
    for (position, (found, sample)) in found.iter().zip(&samples).enumerate() {
        assert!(found == sample, "sample {position} came back changed");
    }
    assert_eq!(found.len(), samples.len());
}

// F42
pub async fn old_events_are_cleared_from_the_front_and_numbers_go_on(store: Arc<dyn Store>) {
    for ms in [1, 2, 3, 9, 4, 5] {
        append(&*store, &NewEvent { at: NOW.plus_ms(ms), ..event(json!({ "ms": ms })) }).await;
    }
    let prune = async |before: Timestamp, limit: u32| -> Result<u64, Error> {
        store.write(move |tx| tx.prune_events(before, limit)).await
    };
    assert_eq!(prune(NOW, 100).await, Ok(0));
    assert_eq!(prune(NOW.plus_ms(6), 2).await, Ok(2), "no more than the limit");
    // The fourth is young: what follows it stays, whatever its time says.
    assert_eq!(prune(NOW.plus_ms(6), 100).await, Ok(1));
    assert_eq!(prune(NOW.plus_ms(6), 100).await, Ok(0));
    append(&*store, &event(json!({}))).await;
    let left: Vec<_> = log(&*store).await.iter().map(|event| event.seq).collect();
    assert_eq!(left, [4, 5, 6, 7]);
    let ends = store.read(|tx| Ok::<_, Error>((tx.oldest_event_seq()?, tx.newest_event_seq()?))).await;
    assert_eq!(ends, Ok((Some(4), 7)));
    assert_eq!(prune(NOW.plus_ms(60_000), 100).await, Ok(4));
    let empty = store.read(|tx| tx.oldest_event_seq()).await;
    assert_eq!(empty, Ok::<_, Error>(None));
    append(&*store, &event(json!({}))).await;
    assert_eq!(log(&*store).await[0].seq, 8, "a number is given once");
}
