//! What holds for messages to sessions.

use std::sync::Arc;

use serde_json::json;
use warren_model::session::{BusyMode, DropReason, QueuedState, SessionMessage};
use warren_model::{Part, Principal, SessionId, SessionMessageId};

use super::samples::{NOW, id};
use super::session_samples::new_session;
use crate::{Error, SessionMessageQuery, Store};

fn message(session_id: SessionId, mode: BusyMode) -> SessionMessage {
    SessionMessage {
        id: id(),
        session_id,
        author: Principal::system("asker"),
        parts: vec![Part::text("do — 日本"), Part::data(json!({ "k": [1, null] }))],
        mode,
        state: QueuedState::Queued,
        client_id: Some("m-1".into()),
        created_at: NOW,
    }
}

async fn put(store: &dyn Store, message: &SessionMessage) {
    let row = message.clone();
    let written = store.write::<_, Error, _>(move |tx| tx.insert_session_message(&row)).await;
    assert_eq!(written, Ok(()));
}

async fn settle(store: &dyn Store, of: &SessionMessage, state: QueuedState) -> bool {
    let (session_id, id) = (of.session_id, of.id);
    let settled = store.write::<_, Error, _>(move |tx| tx.settle_session_message(session_id, id, state));
    settled.await.expect("it is settled or not")
}

// A34: exactly one of the two
pub async fn a_message_is_delivered_or_dropped_once(store: Arc<dyn Store>) {
    let of = new_session(&*store).await.id;
    let row = message(of, BusyMode::Steer);
    put(&*store, &row).await;
    let settlers = (1..=8).map(|step| {
        let (store, row) = (Arc::clone(&store), row.clone());
        let state = if step % 2 == 0 {
            QueuedState::Delivered { step }
        } else {
            QueuedState::Dropped { reason: DropReason::Cancelled }
        };
        tokio::spawn(async move { settle(&*store, &row, state).await.then_some(state) })
    });
    let mut won = Vec::new();
    for settler in settlers.collect::<Vec<_>>() {
        won.extend(settler.await.expect("a settler ends"));
    }
    assert_eq!(won.len(), 1);
    let expected = SessionMessage { state: won[0], ..row.clone() };
    let found = store.read::<_, Error, _>(move |tx| tx.session_message(of, row.id)).await;
    assert_eq!(found, Ok(Some(expected)));
}

// A34, P16
pub async fn messages_are_found_queued_by_ids_and_in_pages(store: Arc<dyn Store>) {
    let (of, other) = (new_session(&*store).await.id, new_session(&*store).await.id);
    let rows: Vec<SessionMessage> = BusyMode::ALL.iter().map(|mode| message(of, *mode)).collect();
    for row in &rows {
        put(&*store, row).await;
    }
    put(&*store, &message(other, BusyMode::Queue)).await;
    let first = SessionMessage { state: QueuedState::Delivered { step: 3 }, ..rows[0].clone() };
    assert!(settle(&*store, &rows[0], first.state).await);
    let queued = store.read::<_, Error, _>(move |tx| tx.queued_messages(of)).await;
    assert_eq!(queued, Ok(rows[1..].to_vec()));
    let asked = [rows[2].id, rows[0].id, id()];
    let found = store.read::<_, Error, _>(move |tx| tx.session_messages_of(of, &asked)).await;
    assert_eq!(found, Ok(vec![rows[2].clone(), first.clone()]));
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.session_messages_of(of, &[])).await, Ok(vec![]));
    let list = |after: Option<SessionMessageId>| {
        let query = SessionMessageQuery { session_id: of, after, limit: 3 };
        store.read::<_, Error, _>(move |tx| tx.session_messages(&query))
    };
    let page = list(None).await.expect("a page is read");
    assert_eq!(page.rows, [first, rows[1].clone(), rows[2].clone()]);
    let rest = list(page.next).await.expect("a page is read");
    assert_eq!((rest.rows, rest.next), (rows[3..].to_vec(), None));
}
