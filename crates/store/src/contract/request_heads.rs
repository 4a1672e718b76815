//! What holds for what models were asked with.

use std::sync::Arc;

use super::session_samples::new_session;
use crate::{Error, Store};

// A19
pub async fn the_same_head_is_kept_once_and_found_in_its_org(store: Arc<dyn Store>) {
    let (org, other) = (new_session(&*store).await.org_id, super::samples::id());
    let get = |org, hash: &'static str| store.read::<_, Error, _>(move |tx| tx.request_head(org, hash));
    let put =
        |bytes: &'static [u8]| store.write::<_, Error, _>(move |tx| tx.put_request_head(org, "h", bytes));
    assert_eq!(get(org, "h").await, Ok(None));
    assert_eq!(put(b"first").await, Ok(()));
    assert_eq!(put(b"first").await, Ok(()), "the same again");
    assert_eq!(get(org, "h").await, Ok(Some(b"first".to_vec())));
    assert_eq!(get(org, "i").await, Ok(None));
    assert_eq!(get(other, "h").await, Ok(None));
}
