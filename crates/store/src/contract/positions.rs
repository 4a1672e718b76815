//! What holds for where people have put workspaces on their maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use warren_model::{Id, Position, Principal, Status};

use super::samples::{NOW, id, insert, update, workspace};
use crate::{Error, Store};

// F9
pub async fn positions_are_kept_per_principal_and_go_with_their_workspace(store: Arc<dyn Store>) {
    let (mut first, second) = (workspace(), workspace());
    insert(&*store, &first).await;
    insert(&*store, &second).await;
    let (anna, ben) = (Principal::user(id()), Principal::user(id()));
    let put = |who: Principal, id, position| store.write(move |tx| tx.put_position(&who, id, position));
    let here = Position { x: 1.5, y: -2.25 };
    assert_eq!(put(anna.clone(), first.id, Some(Position { x: 0.0, y: 0.0 })).await, Ok(()));
    assert_eq!(put(anna.clone(), first.id, Some(here)).await, Ok(()));
    let there = Position { x: 7.0, y: 8.0 };
    assert_eq!(put(ben.clone(), first.id, Some(there)).await, Ok(()));
    let ids = [first.id, second.id, Id::from_parts(NOW, [9; 10])];
    let of = |who: Principal| store.read::<_, Error, _>(move |tx| tx.positions_of(&who, &ids));
    assert_eq!(of(anna.clone()).await, Ok(BTreeMap::from([(first.id, here)])));
    assert_eq!(of(ben.clone()).await, Ok(BTreeMap::from([(first.id, there)])));
    assert_eq!(put(ben.clone(), first.id, None).await, Ok(()));
    assert_eq!(of(ben).await, Ok(BTreeMap::new()));
    first.status = Status::Removed;
    first.version = update(&*store, &first).await.expect("a workspace is removed");
    let erased = first.id;
    assert_eq!(store.write(move |tx| tx.erase_workspace(erased)).await, Ok(true));
    assert_eq!(of(anna).await, Ok(BTreeMap::new()));
    let unknown = Id::from_parts(NOW, [9; 10]);
    let refused = put(Principal::system("x"), unknown, Some(here)).await;
    assert!(refused.is_err(), "a workspace that is not there has no place: {refused:?}");
}
