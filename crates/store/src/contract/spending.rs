//! What holds for what is spent.

use std::sync::Arc;

use super::samples::id;
use crate::{Error, Store};

// F36
pub async fn spending_adds_up_by_workspace_and_month(store: Arc<dyn Store>) {
    let (one, other) = (id(), id());
    let mut adders = tokio::task::JoinSet::new();
    for micros in 1..=20_i64 {
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

// A14, F36
pub async fn reservations_are_settled_and_the_sum_never_goes_below_zero(store: Arc<dyn Store>) {
    let of = id();
    let add = |micros: i64| store.write::<_, Error, _>(move |tx| tx.add_spending(of, "2026-11", micros));
    assert_eq!(add(-5).await, Ok(0), "nothing was spent");
    assert_eq!(add(1_000).await, Ok(1_000));
    let mut workers = tokio::task::JoinSet::new();
    for cost in 1..=20_i64 {
        let store = Arc::clone(&store);
        workers.spawn(async move {
            let reserved: Result<u64, Error> =
                store.write(move |tx| tx.add_spending(of, "2026-11", 100)).await;
            let settled: Result<u64, Error> =
                store.write(move |tx| tx.add_spending(of, "2026-11", cost - 100)).await;
            reserved.and(settled)
        });
    }
    let sums = workers.join_all().await;
    assert!(sums.iter().all(Result::is_ok), "{sums:?}");
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.spent(of, "2026-11")).await, Ok(1_210));
    assert_eq!(add(-9_999).await, Ok(0));
    assert_eq!(add(7).await, Ok(7));
}
