//! What holds for the streams of sessions.

use std::sync::Arc;

use warren_model::SessionId;
use warren_model::session::{Session, StreamEntry, StreamItem};

use super::samples::NOW;
use super::session_samples::{change, new_session};
use crate::{Error, PieceSpan, Store};

fn entry(sequence: u64, item: StreamItem) -> StreamEntry {
    StreamEntry { sequence, at: NOW.plus_ms(i64::try_from(sequence).expect("it is small")), item }
}

fn text(step: u32, text: &str) -> StreamItem {
    StreamItem::TextDelta { step, block: 0, text: text.into() }
}

async fn append(store: &dyn Store, of: SessionId, entries: Vec<StreamEntry>) -> Result<(), Error> {
    store.write(move |tx| tx.append_stream(of, &entries)).await
}

async fn after(store: &dyn Store, of: SessionId, sequence: u64, limit: u32) -> Vec<StreamEntry> {
    let read = store.read::<_, Error, _>(move |tx| tx.stream_after(of, sequence, limit));
    read.await.expect("a stream is read")
}

fn sequences(entries: &[StreamEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.sequence).collect()
}

// A60
pub async fn a_stream_is_read_on_from_any_sequence(store: Arc<dyn Store>) {
    let (of, other) = (new_session(&*store).await.id, new_session(&*store).await.id);
    // More than one statement takes.
    let entries: Vec<StreamEntry> =
        (1..=150).map(|number| entry(number, text(1, &format!("{number} 日本")))).collect();
    assert_eq!(append(&*store, of, entries.clone()).await, Ok(()));
    assert_eq!(append(&*store, of, Vec::new()).await, Ok(()));
    assert_eq!(append(&*store, other, vec![entry(1, StreamItem::Resumed)]).await, Ok(()));
    assert_eq!(after(&*store, of, 0, 1_000).await, entries);
    assert_eq!(after(&*store, of, 147, 2).await, entries[147..149]);
    assert_eq!(after(&*store, of, 150, 2).await, []);
    let again = vec![entry(151, StreamItem::Resumed), entry(150, StreamItem::Resumed)];
    assert_eq!(append(&*store, of, again).await, Err(Error::AlreadyExists), "a number is given once");
    assert_eq!(after(&*store, of, 149, 9).await, entries[149..]);
}

// A62
pub async fn the_pieces_of_closed_steps_go_and_nothing_else(store: Arc<dyn Store>) {
    let (of, other) = (new_session(&*store).await, new_session(&*store).await);
    let open = Session { open_step: Some(2), ..of.clone() };
    assert!(change(&*store, &of, &open).await.is_ok());
    let (of, other) = (of.id, other.id);
    let output = StreamItem::CallOutput { step: 1, call_id: "c".into(), text: "x".into() };
    let entries = vec![
        entry(1, StreamItem::StepStarted { step: 1, attempt: 1, model: "scripted/hello".into() }),
        entry(2, text(1, "a")),
        entry(3, output),
        entry(4, StreamItem::StepEnded { step: 1 }),
        entry(5, text(2, "b")),
    ];
    for session in [of, other] {
        assert_eq!(append(&*store, session, entries.clone()).await, Ok(()));
    }
    let next = |after: i64, limit: u32| {
        store.read::<_, Error, _>(move |tx| tx.next_pieces(NOW.plus_ms(after), limit))
    };
    let span =
        |until: i64, has_finished: bool| Ok(Some(PieceSpan { until: NOW.plus_ms(until), has_finished }));
    assert_eq!((next(0, 2).await, next(0, 9).await), (span(2, true), span(5, true)));
    assert_eq!(next(5, 9).await, Ok(None));
    let delete = |after: i64, until: i64| {
        let (after, until) = (NOW.plus_ms(after), NOW.plus_ms(until));
        store.write::<_, Error, _>(move |tx| tx.delete_finished_pieces(after, until))
    };
    assert_eq!(delete(0, 2).await, Ok(2), "of both sessions, and no later ones");
    assert_eq!(delete(0, 9).await, Ok(3));
    assert_eq!(sequences(&after(&*store, of, 0, 9).await), [1, 4, 5], "one is of the open step");
    assert_eq!(sequences(&after(&*store, other, 0, 9).await), [1, 4]);
    assert_eq!(next(0, 9).await, span(5, false));
    let back = async |sequence: u64, limit: u32| {
        let read = store.read::<_, Error, _>(move |tx| tx.stream_back_from(of, sequence, limit));
        sequences(&read.await.expect("a stream is read"))
    };
    assert_eq!(back(9, 9).await, [4, 1], "the latest first, without pieces");
    assert_eq!((back(4, 1).await, back(3, 9).await), (vec![4], vec![1]));
}

// A60
pub async fn old_entries_are_cleared_and_open_pieces_stay(store: Arc<dyn Store>) {
    let of = new_session(&*store).await.id;
    let entries = [text(1, "a"), StreamItem::Resumed, StreamItem::Resumed, StreamItem::Resumed];
    let entries = (1..).zip(entries).map(|(number, item)| entry(number, item)).collect();
    assert_eq!(append(&*store, of, entries).await, Ok(()));
    let prune = |limit: u32| store.write::<_, Error, _>(move |tx| tx.prune_stream(NOW.plus_ms(4), limit));
    assert_eq!(prune(1).await, Ok(1));
    assert_eq!(prune(9).await, Ok(1));
    assert_eq!(sequences(&after(&*store, of, 0, 9).await), [1, 4]);
}
