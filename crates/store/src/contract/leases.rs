//! What holds for leases: one owner at a time, and a fence that only grows (F22).

use std::sync::Arc;

use warren_model::Timestamp;

use super::samples::{NOW, event, log};
use crate::{Error, Lease, Store};

async fn take(store: &dyn Store, owner: &str, now: Timestamp, expires_at: Timestamp) -> Option<Lease> {
    let owner = owner.to_owned();
    store
        .write(move |tx| tx.take_lease("sweep", &owner, now, expires_at))
        .await
        .expect("taking a lease is answered")
}

async fn check(store: &dyn Store, lease: &Lease, now: Timestamp) -> Result<(), Error> {
    let lease = lease.clone();
    store.write(move |tx| tx.check_lease(&lease, now)).await
}

async fn release(store: &dyn Store, lease: &Lease) {
    let lease = lease.clone();
    let released: Result<(), Error> = store.write(move |tx| tx.release_lease(&lease)).await;
    assert_eq!(released, Ok(()));
}

async fn current(store: &dyn Store) -> Option<Lease> {
    store.read(|tx| tx.lease("sweep")).await.expect("a lease is read")
}

// F22, Q6
pub async fn a_lease_is_taken_once_of_many(store: Arc<dyn Store>) {
    for round in 0..5 {
        let now = NOW.plus_ms(round * 1_000);
        let mut takers = tokio::task::JoinSet::new();
        for taker in 0..16 {
            let store = Arc::clone(&store);
            takers.spawn(
                async move { take(&*store, &format!("replica {taker}"), now, now.plus_ms(500)).await },
            );
        }
        let mut taken = Vec::new();
        while let Some(lease) = takers.join_next().await {
            taken.extend(lease.expect("a taker ends well"));
        }
        assert_eq!(taken.len(), 1, "round {round}: {taken:?}");
        assert_eq!(current(&*store).await.as_ref(), taken.first());
    }
}

// F22
pub async fn an_expired_lease_is_taken_over_with_a_larger_fence(store: Arc<dyn Store>) {
    assert_eq!(current(&*store).await, None);
    let expires_at = NOW.plus_ms(1_000);
    let first = take(&*store, "a", NOW, expires_at).await.expect("a free lease is taken");
    assert_eq!((first.name.as_str(), first.owner.as_str()), ("sweep", "a"));
    assert_eq!(first.expires_at, expires_at);
    assert_eq!(take(&*store, "b", NOW.plus_ms(999), expires_at).await, None, "it is held");
    let second = take(&*store, "b", expires_at, expires_at.plus_ms(1_000)).await;
    let second = second.expect("an expired lease is taken over");
    assert!(second.fence > first.fence, "{first:?} {second:?}");
    assert_eq!(current(&*store).await, Some(second));
}

// F22
pub async fn an_old_fence_is_refused(store: Arc<dyn Store>) {
    let first = take(&*store, "a", NOW, NOW.plus_ms(10)).await.expect("taken");
    let later = NOW.plus_ms(20);
    let second = take(&*store, "b", later, later.plus_ms(1_000)).await.expect("taken over");
    assert_eq!(check(&*store, &second, later).await, Ok(()));
    // The stalled owner believes in its clock; its fence tells on it.
    assert_eq!(check(&*store, &first, NOW).await, Err(Error::LeaseLost));
    let forged = Lease { fence: second.fence, ..first };
    assert_eq!(check(&*store, &forged, later).await, Err(Error::LeaseLost), "the owner counts too");
    let unknown = Lease { name: "no such".into(), ..second };
    assert_eq!(check(&*store, &unknown, later).await, Err(Error::LeaseLost));
}

// F22
pub async fn the_same_owner_keeps_the_fence(store: Arc<dyn Store>) {
    let first = take(&*store, "a", NOW, NOW.plus_ms(10)).await.expect("taken");
    let renewed = take(&*store, "a", NOW.plus_ms(5), NOW.plus_ms(100)).await.expect("renewed");
    assert_eq!((renewed.fence, renewed.expires_at), (first.fence, NOW.plus_ms(100)));
    // Also when it was late, as long as nobody else came.
    let late = take(&*store, "a", NOW.plus_ms(500), NOW.plus_ms(900)).await.expect("renewed");
    assert_eq!(late.fence, first.fence);
    assert_eq!(check(&*store, &first, NOW.plus_ms(600)).await, Ok(()), "the fence still stands");
}

// F22
pub async fn a_lease_ends_at_the_very_moment_it_expires(store: Arc<dyn Store>) {
    let expires_at = NOW.plus_ms(1_000);
    let lease = take(&*store, "a", NOW, expires_at).await.expect("taken");
    let just_before = Timestamp::from_micros(expires_at.as_micros() - 1);
    assert_eq!(check(&*store, &lease, just_before).await, Ok(()));
    assert_eq!(check(&*store, &lease, expires_at).await, Err(Error::LeaseLost));
    assert_eq!(take(&*store, "b", just_before, expires_at).await, None);
    assert!(take(&*store, "b", expires_at, expires_at.plus_ms(1)).await.is_some());
}

// F22
pub async fn a_released_lease_is_free_and_its_fence_still_grows(store: Arc<dyn Store>) {
    let first = take(&*store, "a", NOW, NOW.plus_ms(1_000)).await.expect("taken");
    release(&*store, &first).await;
    assert_eq!(current(&*store).await, None);
    assert_eq!(check(&*store, &first, NOW).await, Err(Error::LeaseLost));
    let second = take(&*store, "a", NOW, NOW.plus_ms(1_000)).await.expect("it is free");
    assert!(second.fence > first.fence, "{first:?} {second:?}");
    // A late release of the old claim does not touch the new one.
    release(&*store, &first).await;
    assert_eq!(current(&*store).await, Some(second));
}

// F22
pub async fn a_lost_lease_rolls_back_the_write_it_guards(store: Arc<dyn Store>) {
    let stalled = take(&*store, "a", NOW, NOW.plus_ms(10)).await.expect("taken");
    let later = NOW.plus_ms(20);
    take(&*store, "b", later, later.plus_ms(1_000)).await.expect("taken over");
    let result: Result<(), Error> = store
        .write(move |tx| {
            tx.append_event(&event("too late"))?;
            tx.check_lease(&stalled, later)
        })
        .await;
    assert_eq!(result, Err(Error::LeaseLost));
    assert_eq!(log(&*store).await, []);
}
