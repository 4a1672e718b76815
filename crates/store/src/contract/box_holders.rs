//! What holds for which replica holds a box.

use std::sync::Arc;

use super::samples::{id, insert, update, workspace};
use crate::{BoxHolder, Error, Store};

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
