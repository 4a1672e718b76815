//! What holds for registrations of runtimes.

use std::sync::Arc;

use serde_json::json;
use warren_model::Registration;

use super::samples::{NOW, id, insert, workspace};
use crate::{Error, Store};

// F10
pub async fn the_last_registration_is_kept(store: Arc<dyn Store>) {
    let row = workspace();
    insert(&*store, &row).await;
    let first = Registration {
        workspace_id: row.id,
        boots: 1,
        registered_at: NOW,
        version: Some("1.2".into()),
        agent_card: Some(json!({ "name": "a", "skills": [] })),
    };
    let second = Registration {
        boots: 2,
        registered_at: NOW.plus_ms(1),
        version: None,
        agent_card: None,
        ..first.clone()
    };
    for one in [first, second] {
        let written = one.clone();
        let put: Result<(), Error> = store.write(move |tx| tx.put_registration(&written)).await;
        assert_eq!(put, Ok(()));
        let row_id = row.id;
        assert_eq!(store.read(move |tx| tx.registration(row_id)).await, Ok::<_, Error>(Some(one)));
    }
    assert_eq!(store.read(move |tx| tx.registration(id())).await, Ok::<_, Error>(None));
}
