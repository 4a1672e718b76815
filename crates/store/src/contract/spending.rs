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
