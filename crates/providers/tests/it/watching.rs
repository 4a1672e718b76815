//! W20: watching a tree that others change, by programs that do not use our API.

use std::time::Duration;

use futures_util::StreamExt;
use warren_model::ErrorCode;
use warren_workspace::fs::{Change, ChangeStream};

use crate::fixture::{Local, assert_code, path, resident_bytes};

const PATIENCE: Duration = Duration::from_secs(10);

/// Changes until the wanted one, which is the last.
async fn until(changes: &mut ChangeStream, wanted: &Change) -> Vec<Change> {
    let mut told = Vec::new();
    while told.last() != Some(wanted) {
        let next = tokio::time::timeout(PATIENCE, changes.next()).await;
        let next = next.unwrap_or_else(|_| panic!("{wanted:?} was not told, only {told:?}"));
        told.push(next.unwrap().unwrap());
    }
    told
}

fn created(at: &str) -> Change {
    Change::Created(at.into())
}

fn removed(at: &str) -> Change {
    Change::Removed(at.into())
}

// W20
#[tokio::test]
async fn a_directory_made_later_is_watched_with_all_that_is_in_it_by_then() {
    let local = Local::open().await;
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    // Deep and at once: most of it exists before the watch of its parent can be set.
    std::fs::create_dir_all(local.root().join("a/b/c")).unwrap();
    std::fs::write(local.root().join("a/b/c/early"), "x").unwrap();
    let told = until(&mut changes, &created("a/b/c/early")).await;
    for directory in ["a", "a/b", "a/b/c"] {
        assert!(told.contains(&created(directory)), "{directory}: {told:?}");
    }
    std::fs::write(local.root().join("a/b/c/late"), "x").unwrap();
    until(&mut changes, &created("a/b/c/late")).await;
}

// W20
#[tokio::test]
async fn a_renamed_directory_tells_under_its_new_name_and_no_longer_under_its_old() {
    let local = Local::open().await;
    std::fs::create_dir_all(local.root().join("old/deep")).unwrap();
    std::fs::write(local.root().join("old/deep/f"), "x").unwrap();
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    std::fs::rename(local.root().join("old"), local.root().join("new")).unwrap();
    let told = until(&mut changes, &created("new/deep/f")).await;
    assert!(told.contains(&removed("old")) && told.contains(&created("new")), "{told:?}");
    std::fs::write(local.root().join("new/deep/g"), "x").unwrap();
    let told = until(&mut changes, &created("new/deep/g")).await;
    let is_old = |change: &Change| match change {
        Change::Created(at) | Change::Modified(at) | Change::Removed(at) => at.starts_with("old"),
        Change::Lagged => false,
    };
    assert!(!told.iter().any(is_old), "{told:?}");
    // The old name is free for another directory, which is watched as itself.
    std::fs::create_dir(local.root().join("old")).unwrap();
    std::fs::write(local.root().join("old/h"), "x").unwrap();
    until(&mut changes, &created("old/h")).await;
}

// W20, sec/F03: moved out of the workspace, a directory tells nothing more.
#[tokio::test]
async fn a_directory_that_leaves_the_workspace_is_watched_no_longer() {
    let local = Local::open().await;
    std::fs::create_dir(local.root().join("leaving")).unwrap();
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    let away = local.outside().join("away");
    std::fs::rename(local.root().join("leaving"), &away).unwrap();
    until(&mut changes, &removed("leaving")).await;
    std::fs::write(away.join("private"), "x").unwrap();
    std::fs::write(local.root().join("last"), "x").unwrap();
    assert_eq!(until(&mut changes, &created("last")).await, [created("last")]);
}

// W20: what is kept for a reader that does not look is bounded, and the watch goes on after the flood.
#[tokio::test]
async fn a_flood_is_told_as_lagged_in_bounded_memory_and_new_directories_are_watched_after_it() {
    let local = Local::open().await;
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    let before = resident_bytes();
    for number in 0..30_000 {
        let name = local.root().join(format!("{number}-{}", "n".repeat(200)));
        std::fs::File::create(&name).unwrap();
        std::fs::remove_file(&name).unwrap();
    }
    let mut lagged = 0;
    loop {
        match tokio::time::timeout(Duration::from_secs(2), changes.next()).await {
            Ok(Some(Ok(change))) => lagged += u32::from(change == Change::Lagged),
            Ok(other) => panic!("{other:?}"),
            Err(_) => break,
        }
    }
    assert!(lagged > 0, "60,000 changes are more than are kept");
    let grown = resident_bytes().saturating_sub(before) >> 20;
    assert!(grown < 64, "{grown} MB more");
    std::fs::create_dir_all(local.root().join("after/flood")).unwrap();
    std::fs::write(local.root().join("after/flood/f"), "x").unwrap();
    until(&mut changes, &created("after/flood/f")).await;
}

// W20: a directory of which the kernel could not tell, since its queue was full, is found by looking.
#[tokio::test]
async fn directories_made_during_a_flood_are_watched_after_it() {
    let local = Local::open().await;
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    for number in 0..20_000 {
        std::fs::write(local.root().join(format!("f{}", number % 7)), "x").unwrap();
    }
    std::fs::create_dir_all(local.root().join("missed/deep")).unwrap();
    until(&mut changes, &Change::Lagged).await;
    while tokio::time::timeout(Duration::from_secs(1), changes.next()).await.is_ok() {}
    std::fs::write(local.root().join("missed/deep/f"), "x").unwrap();
    until(&mut changes, &created("missed/deep/f")).await;
}

// W20
#[tokio::test]
async fn a_watch_ends_with_its_workspace_and_refuses_what_is_no_directory() {
    let local = Local::open().await;
    local.put("file", "x").await;
    assert_code(local.fs().watch(&path("file")).await.map(drop), ErrorCode::NotADirectory);
    assert_code(local.fs().watch(&path("absent")).await.map(drop), ErrorCode::FileNotFound);
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    let (next, closed) =
        tokio::join!(tokio::time::timeout(PATIENCE, changes.next()), local.workspace.close());
    closed.unwrap();
    assert!(next.unwrap().is_none(), "the stream ends though nothing changes");
}
