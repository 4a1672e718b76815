//! What holds for which replica holds a box.

use std::sync::Arc;

use super::samples::{NOW, id, insert, update, workspace};
use crate::{BoxHolder, Error, ReplicaRow, Store};

// O10
pub async fn a_box_has_one_holder_and_a_late_claim_is_refused(store: Arc<dyn Store>) {
    let row = workspace();
    insert(&*store, &row).await;
    let row_id = row.id;
    let place = async || store.read(move |tx| tx.place(row_id)).await.expect("a holder is read");
    let put = async |replica: &str, epoch, known| {
        let place = BoxHolder { workspace_id: row_id, replica: replica.to_owned(), epoch };
        store.write(move |tx| tx.put_place(&place, known)).await
    };
    assert_eq!(place().await, None);
    assert_eq!(put("a", 1, None).await, Ok(()));
    assert_eq!(put("b", 1, None).await, Err(Error::Conflict), "somebody was first");
    assert_eq!(put("b", 2, Some(1)).await, Ok(()));
    assert_eq!(put("a", 2, Some(1)).await, Err(Error::Conflict), "it is not what was read");
    assert_eq!(place().await, Some(BoxHolder { workspace_id: row_id, replica: "b".into(), epoch: 2 }));
    let nowhere = BoxHolder { workspace_id: id(), replica: "a".into(), epoch: 1 };
    let refused: Result<(), Error> = store.write(move |tx| tx.put_place(&nowhere, None)).await;
    assert!(refused.is_err(), "of a workspace that is not there");
    let removed = warren_model::Workspace { status: warren_model::Status::Removed, ..row };
    update(&*store, &removed).await.expect("it is removed");
    let erased: Result<bool, Error> = store.write(move |tx| tx.erase_workspace(row_id)).await;
    assert_eq!(erased, Ok(true));
    assert_eq!(place().await, None);
}

// O10
pub async fn replicas_are_known_by_name_until_they_leave_or_are_forgotten(store: Arc<dyn Store>) {
    let row = |name: &str, url: Option<&str>, after_ms| ReplicaRow {
        name: name.to_owned(),
        url: url.map(str::to_owned),
        seen_at: NOW.plus_ms(after_ms),
    };
    let put = async |replica: ReplicaRow| {
        let put: Result<(), Error> = store.write(move |tx| tx.put_replica(&replica)).await;
        assert_eq!(put, Ok(()));
    };
    let seen = async |after_ms| {
        let read: Result<_, Error> = store.read(move |tx| tx.replicas_seen(NOW.plus_ms(after_ms))).await;
        read.expect("replicas are read")
    };
    put(row("b", Some("http://10.0.0.2:7878"), 0)).await;
    put(row("a", None, 5)).await;
    assert_eq!(seen(0).await, [row("a", None, 5), row("b", Some("http://10.0.0.2:7878"), 0)]);
    put(row("b", Some("https://b.example"), 10)).await;
    assert_eq!(seen(6).await, [row("b", Some("https://b.example"), 10)], "one row for each name");
    let known: Result<_, Error> = store.read(|tx| Ok((tx.replica("a")?, tx.replica("c")?))).await;
    assert_eq!(known, Ok((Some(row("a", None, 5)), None)));
    let pruned: Result<_, Error> = store.write(|tx| tx.prune_replicas(NOW.plus_ms(10))).await;
    assert_eq!(pruned, Ok(1));
    let removed: Result<(), Error> = store.write(|tx| tx.remove_replica("b")).await;
    assert_eq!(removed, Ok(()));
    assert_eq!(seen(0).await, []);
}
