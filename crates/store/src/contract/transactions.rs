//! What holds for transactions, whatever is in them.

use std::sync::Arc;

use warren_model::{Status, Workspace, WorkspaceId};

use super::samples::{NOW, append, event, get, id, insert, log, token, workspace};
use crate::{Error, Store};

/// A caller's own error, as the crates above have.
#[derive(Debug, PartialEq)]
enum CallerError {
    ChangedMyMind,
    Store(Error),
}

impl From<Error> for CallerError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

pub async fn an_error_leaves_nothing_behind(store: Arc<dyn Store>) {
    let (row, credential) = (workspace(), token());
    let (row_id, token_id) = (row.id, credential.id);
    let result: Result<(), CallerError> = store
        .write(move |tx| {
            tx.insert_workspace(&row)?;
            tx.insert_token(&credential)?;
            tx.append_event(&event(""))?;
            tx.take_lease("sweep", "a", NOW, NOW.plus_ms(1))?;
            Err(CallerError::ChangedMyMind)
        })
        .await;
    assert_eq!(result, Err(CallerError::ChangedMyMind));
    assert_eq!(get(&*store, row_id).await, None);
    assert_eq!(log(&*store).await, []);
    let rest: Result<_, Error> = store.read(move |tx| Ok((tx.token(token_id)?, tx.lease("sweep")?))).await;
    assert_eq!(rest, Ok((None, None)));
}

pub async fn a_transaction_sees_its_own_writes_and_others_do_not(store: Arc<dyn Store>) {
    let row = workspace();
    let row_id = row.id;
    let (inside, wait_inside) = tokio::sync::oneshot::channel();
    let (go_on, wait_to_go_on) = std::sync::mpsc::channel::<()>();
    let mut inside = Some(inside);
    let writing = Arc::clone(&store);
    let writer = tokio::spawn(async move {
        let result: Result<Option<Workspace>, Error> = writing
            .write(move |tx| {
                tx.insert_workspace(&row)?;
                if let Some(inside) = inside.take() {
                    let _ = inside.send(());
                    let _ = wait_to_go_on.recv();
                }
                tx.workspace(row.id)
            })
            .await;
        result
    });
    wait_inside.await.expect("the writer comes to its middle");
    assert_eq!(get(&*store, row_id).await, None, "not yet committed");
    go_on.send(()).expect("the writer waits");
    let seen = writer.await.expect("the writer ends well");
    assert_eq!(seen.map(|row| row.map(|row| row.id)), Ok(Some(row_id)));
    assert!(get(&*store, row_id).await.is_some(), "committed");
}

pub async fn a_read_is_one_consistent_snapshot(store: Arc<dyn Store>) {
    let row = workspace();
    let row_id = row.id;
    insert(&*store, &row).await;
    let (inside, wait_inside) = tokio::sync::oneshot::channel();
    let (go_on, wait_to_go_on) = std::sync::mpsc::channel::<()>();
    let mut inside = Some(inside);
    let reading = Arc::clone(&store);
    let reader = tokio::spawn(async move {
        let result: Result<_, Error> = reading
            .read(move |tx| {
                let before = tx.workspace(row_id)?.map(|row| row.version);
                if let Some(inside) = inside.take() {
                    let _ = inside.send(());
                    let _ = wait_to_go_on.recv();
                }
                let after = tx.workspace(row_id)?.map(|row| row.version);
                Ok((before, after, tx.newest_event_seq()?))
            })
            .await;
        result
    });
    wait_inside.await.expect("the reader comes to its middle");
    let change: Result<u64, Error> = store
        .write(move |tx| {
            tx.append_event(&event(""))?;
            tx.update_workspace(&row, 1)
        })
        .await;
    assert_eq!(change, Ok(2), "a reader does not hold up a writer");
    go_on.send(()).expect("the reader waits");
    let seen = reader.await.expect("the reader ends well");
    assert_eq!(seen, Ok((Some(1), Some(1), 0)), "the change is not in the snapshot");
}

/// A caller that looks away from an error must not be told that all was written.
pub async fn a_refused_statement_dooms_its_transaction(store: Arc<dyn Store>) {
    let orphan = Workspace { parent_id: Some(id()), ..workspace() };
    let (before, after) = (workspace(), workspace());
    let ids = [before.id, after.id];
    let result: Result<(), Error> = store
        .write(move |tx| {
            tx.insert_workspace(&before)?;
            let refused = tx.insert_workspace(&orphan);
            assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
            let later = tx.insert_workspace(&after);
            assert!(later.is_err(), "a doomed transaction takes no more");
            Ok(())
        })
        .await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
    for id in ids {
        assert_eq!(get(&*store, id).await, None);
    }
}

/// These are answers, not failures of the database: a caller may go on.
pub async fn a_conflict_can_be_got_over(store: Arc<dyn Store>) {
    let taken = workspace();
    insert(&*store, &taken).await;
    let fresh = workspace();
    let fresh_id = fresh.id;
    let result: Result<(), Error> = store
        .write(move |tx| {
            assert_eq!(tx.insert_workspace(&taken), Err(Error::AlreadyExists));
            assert_eq!(tx.update_workspace(&taken, 77), Err(Error::Conflict));
            tx.insert_workspace(&fresh)
        })
        .await;
    assert_eq!(result, Ok(()));
    assert!(get(&*store, fresh_id).await.is_some());
}

pub async fn a_panic_is_the_callers_own(store: Arc<dyn Store>) {
    let row = workspace();
    let row_id = row.id;
    let result: Result<(), Error> = store
        .write(move |tx| {
            tx.insert_workspace(&row)?;
            panic!("a panic on purpose");
        })
        .await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
    let result: Result<(), Error> = store.read(|_| panic!("a panic on purpose")).await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
    assert_eq!(get(&*store, row_id).await, None, "nothing of it was kept");
    insert(&*store, &workspace()).await;
}

pub async fn one_failure_does_not_touch_its_neighbours(store: Arc<dyn Store>) {
    let removed = Workspace { status: Status::Removed, ..workspace() };
    insert(&*store, &removed).await;
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..60 {
        callers.spawn(misbehave(Arc::clone(&store), removed.clone(), caller));
    }
    let mut expected = 0;
    while let Some(kept) = callers.join_next().await {
        let (id, is_kept) = kept.expect("a caller ends well");
        assert_eq!(get(&*store, id).await.is_some(), is_kept);
        expected += usize::from(is_kept);
    }
    assert_eq!(log(&*store).await.len(), expected);
}

/// Writes a row and an event, and then goes wrong in one of three ways, or not at all.
async fn misbehave(store: Arc<dyn Store>, removed: Workspace, caller: usize) -> (WorkspaceId, bool) {
    let row = workspace();
    let id = row.id;
    let result: Result<(), CallerError> = store
        .write(move |tx| {
            tx.insert_workspace(&row)?;
            tx.append_event(&event(caller.to_string()))?;
            match caller % 4 {
                0 => Err(CallerError::ChangedMyMind),
                1 => panic!("a panic on purpose"),
                2 => {
                    let risen = Workspace { status: Status::Online, ..removed.clone() };
                    Ok(tx.update_workspace(&risen, 1).map(drop)?)
                }
                _ => Ok(()),
            }
        })
        .await;
    assert_eq!(result.is_ok(), caller % 4 == 3, "{result:?}");
    (id, result.is_ok())
}

// Q20
pub async fn health_tells_engine_schema_and_durability(store: Arc<dyn Store>) {
    let health = store.health().await.expect("the database answers");
    assert!(["sqlite", "postgres"].contains(&health.engine), "{health:?}");
    assert!(!health.engine_version.is_empty());
    assert!(health.schema_version > 0);
    let durable = ["wal, synchronous=FULL", "synchronous_commit=on, fsync=on"];
    assert!(durable.contains(&health.durability.as_str()), "{health:?}");
}

pub async fn closing_finishes_what_was_accepted_and_refuses_the_rest(store: Arc<dyn Store>) {
    append(&*store, &event("")).await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let store = Arc::clone(&store);
        callers.spawn(async move {
            let result: Result<(), Error> = store.write(|tx| tx.append_event(&event(""))).await;
            result
        });
    }
    store.close().await;
    while let Some(result) = callers.join_next().await {
        let result = result.expect("a caller ends well");
        assert!(matches!(result, Ok(()) | Err(Error::Unavailable(_))), "{result:?}");
    }
    let write: Result<(), Error> = store.write(|tx| tx.append_event(&event(""))).await;
    assert!(matches!(write, Err(Error::Unavailable(_))), "{write:?}");
    let read: Result<u64, Error> = store.read(|tx| tx.newest_event_seq()).await;
    assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
    store.close().await;
}
