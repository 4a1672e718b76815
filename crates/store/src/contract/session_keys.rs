//! What holds for the keys under which something was done to a session.

use std::sync::Arc;

use serde_json::json;
use warren_model::{OrgId, Principal};

use super::samples::NOW;
use super::session_samples::new_session;
use crate::{Error, KeyScope, SessionKey, Store};

// A7
pub async fn a_session_key_is_taken_once_and_forgotten_after_its_time(store: Arc<dyn Store>) {
    let of = new_session(&*store).await.id;
    let key = SessionKey {
        scope: KeyScope::Session(of),
        sender: Principal::system("asker"),
        key: "k".into(),
        fingerprint: "f".into(),
        answer: json!({ "message": "m — 日本" }),
        at: NOW,
    };
    let take = async |key: &SessionKey| {
        let key = key.clone();
        store.write::<_, Error, _>(move |tx| tx.insert_session_key(&key, key.at.plus_ms(-10))).await
    };
    let find = async |key: &SessionKey| {
        let key = key.clone();
        store.read::<_, Error, _>(move |tx| tx.session_key(key.scope, &key.sender, &key.key)).await
    };
    let takers = (0..8).map(|number| {
        let (store, key) = (Arc::clone(&store), SessionKey { answer: json!(number), ..key.clone() });
        tokio::spawn(async move {
            let row = key.clone();
            let taken: Result<bool, Error> =
                store.write(move |tx| tx.insert_session_key(&row, NOW.plus_ms(-10))).await;
            taken.expect("it is taken or not").then_some(key)
        })
    });
    let mut won = Vec::new();
    for taker in takers.collect::<Vec<_>>() {
        won.extend(taker.await.expect("a taker ends"));
    }
    assert_eq!(won.len(), 1);
    assert_eq!(find(&key).await, Ok(won.pop()));
    for other in [
        SessionKey { scope: KeyScope::Org(OrgId::DEFAULT), ..key.clone() },
        SessionKey { sender: Principal::system("other"), ..key.clone() },
        SessionKey { key: "l".into(), ..key.clone() },
    ] {
        assert_eq!(take(&other).await, Ok(true), "{other:?}");
        assert_eq!(find(&other).await, Ok(Some(other)));
    }
    assert_eq!(
        take(&SessionKey { at: NOW.plus_ms(9), ..key.clone() }).await,
        Ok(false),
        "the key still counts"
    );
    let later = SessionKey { at: NOW.plus_ms(10), fingerprint: "later".into(), ..key.clone() };
    assert_eq!(take(&later).await, Ok(true), "the key is forgotten, though its row is there");
    assert_eq!(find(&key).await, Ok(Some(later)));
    let pruned = store.write::<_, Error, _>(move |tx| tx.prune_session_keys(NOW.plus_ms(10), 10)).await;
    assert_eq!(pruned, Ok(3));
}
