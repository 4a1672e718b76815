//! What holds for what is counted, and for what is cleared away.

use std::sync::Arc;

use warren_model::{NewEvent, Timestamp, Token};

use super::samples::{NOW, append, event, id, log, token};
use crate::{Error, Store};

// F36
pub async fn spending_adds_up_by_workspace_and_month(store: Arc<dyn Store>) {
    let (one, other) = (id(), id());
    let mut adders = tokio::task::JoinSet::new();
    for micros in 1..=20_u64 {
        let store = Arc::clone(&store);
        adders.spawn(async move { store.write(move |tx| tx.add_spending(one, "2026-11", micros)).await });
    }
    let sums: Vec<Result<u64, Error>> = adders.join_all().await;
    assert!(sums.iter().all(Result::is_ok), "{sums:?}");
    let read = store
        .read(move |tx| {
            Ok::<_, Error>((
                tx.spent(one, "2026-11")?,
                tx.spent(one, "2026-12")?,
                tx.spent(other, "2026-11")?,
            ))
        })
        .await;
    assert_eq!(read, Ok((210, 0, 0)));
}

// F42
pub async fn old_events_are_cleared_from_the_front_and_numbers_go_on(store: Arc<dyn Store>) {
    for ms in [1, 2, 3, 9, 4, 5] {
        append(&*store, &NewEvent { at: NOW.plus_ms(ms), ..event(ms.to_string()) }).await;
    }
    let prune = async |before: Timestamp, limit: u32| -> Result<u64, Error> {
        store.write(move |tx| tx.prune_events(before, limit)).await
    };
    assert_eq!(prune(NOW, 100).await, Ok(0));
    assert_eq!(prune(NOW.plus_ms(6), 2).await, Ok(2), "no more than the limit");
    // The fourth is young: what follows it stays, whatever its time says.
    assert_eq!(prune(NOW.plus_ms(6), 100).await, Ok(1));
    assert_eq!(prune(NOW.plus_ms(6), 100).await, Ok(0));
    append(&*store, &event("")).await;
    let left: Vec<_> = log(&*store).await.iter().map(|event| event.seq).collect();
    assert_eq!(left, [4, 5, 6, 7]);
    let ends = store.read(|tx| Ok::<_, Error>((tx.oldest_event_seq()?, tx.newest_event_seq()?))).await;
    assert_eq!(ends, Ok((Some(4), 7)));
    assert_eq!(prune(NOW.plus_ms(60_000), 100).await, Ok(4));
    let empty = store.read(|tx| tx.oldest_event_seq()).await;
    assert_eq!(empty, Ok::<_, Error>(None));
    append(&*store, &event("")).await;
    assert_eq!(log(&*store).await[0].seq, 8, "a number is given once");
}

// F42
pub async fn tokens_that_ended_long_ago_are_cleared(store: Arc<dyn Store>) {
    let ended = [
        Token { revoked_at: Some(NOW), ..token() },
        Token { used_at: Some(NOW), ..token() },
        Token { expires_at: Some(NOW), ..token() },
    ];
    let kept = [
        token(),
        Token { expires_at: Some(NOW.plus_ms(10)), ..token() },
        Token { revoked_at: Some(NOW.plus_ms(5)), ..token() },
    ];
    let rows: Vec<_> = ended.iter().chain(&kept).cloned().collect();
    let written: Result<(), Error> =
        store.write(move |tx| rows.iter().try_for_each(|row| tx.insert_token(row))).await;
    assert_eq!(written, Ok(()));
    let prune = async |limit: u32| -> Result<u64, Error> {
        store.write(move |tx| tx.prune_tokens(NOW.plus_ms(5), limit)).await
    };
    assert_eq!((prune(2).await, prune(2).await, prune(2).await), (Ok(2), Ok(1), Ok(0)));
    for row in kept {
        let found = store.read(move |tx| tx.token(row.id)).await;
        assert_eq!(found, Ok::<_, Error>(Some(row)));
    }
}
