//! Removing: a durable intent, told honestly, finished whatever happens.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use warren_fleet::Terms;
use warren_model::{Status, WorkspaceId};
use warren_testkit::{Faults, Warren};

use crate::fleet::{clock, create, events, eventually, show, status, sweep};
use crate::{local, memory};

fn place(warren: &Warren, id: WorkspaceId) -> PathBuf {
    warren.folder().join("workspaces").join(id.to_string())
}

fn path(id: WorkspaceId) -> String {
    format!("/api/v1/workspaces/{id}")
}

/// What the caller of a removal is told: (marked, finished, failed, pending).
fn counts(answer: &Value) -> [u64; 4] {
    ["marked", "finished", "failed", "pending"].map(|name| answer["removal"][name].as_u64().unwrap())
}

async fn exists(warren: &Warren, id: WorkspaceId) -> bool {
    warren.get(&format!("{}?include_removed=true", path(id))).await.status == 200
}

async fn child_of(warren: &Warren, provider: Value, parent: WorkspaceId) -> WorkspaceId {
    let body = json!({ "name": "child", "provider": provider, "parent_id": parent.to_string() });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

// F8
#[tokio::test]
async fn a_stop_that_fails_keeps_the_files_is_told_with_counts_and_is_finished_by_a_sweep() {
    let clock = clock();
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
    let id = warren.workspace(local()).await;
    assert_eq!(warren.put(&format!("{}/files?path=kept", path(id)), "kept").await.status, 201);
    faults.fail_destroys(3);
    let removed = warren.delete(&path(id)).await;
    assert_eq!((removed.status, counts(&removed.json())), (202, [1, 0, 1, 0]), "{}", removed.text());
    assert_eq!(removed.json()["status"], "removed");
    assert!(place(&warren, id).exists(), "a place that could not be stopped keeps its files");
    let again = warren.delete(&path(id)).await;
    assert_eq!(
        (again.status, counts(&again.json())),
        (202, [1, 0, 1, 0]),
        "a retry tries, and may fail again"
    );
    assert_eq!(faults.destroys(), 2);
    sweep(&warren, "mending").await;
    assert_eq!(faults.destroys(), 2, "the sweep does not hurry");
    for tries in [3, 4] {
        clock.advance_ms(15 * 60_000);
        sweep(&warren, "mending").await;
        eventually("the sweep tries it", async || faults.destroys() == tries).await;
    }
    eventually("the files are deleted", async || !place(&warren, id).exists()).await;
    let last = warren.delete(&path(id)).await;
    assert_eq!((last.status, counts(&last.json())), (200, [1, 1, 0, 0]), "and a further retry is fine");
    assert_eq!(faults.destroys(), 4, "what is gone is not deleted again");
    let told = events(&warren, Some(id)).await;
    let failures: Vec<_> = told.iter().filter(|event| event["kind"] == "workspace.removal.failed").collect();
    assert_eq!(failures.len(), 3);
    assert_eq!(told.iter().filter(|event| event["data"]["to"] == "removed").count(), 1, "removed once");
}

// F8: of a subtree, one that cannot be stopped does not keep the others
#[tokio::test]
async fn the_counts_of_a_subtree_tell_what_is_done_and_what_is_not() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).start().await;
    let root = warren.workspace(memory()).await;
    for _ in 0..9 {
        let child = child_of(&warren, memory(), root).await;
        child_of(&warren, memory(), child).await;
    }
    faults.fail_destroys(2);
    let removed = warren.delete(&path(root)).await;
    assert_eq!((removed.status, counts(&removed.json())), (202, [19, 17, 2, 0]), "{}", removed.text());
    let again = warren.delete(&path(root)).await;
    assert_eq!((again.status, counts(&again.json())), (200, [19, 19, 0, 0]), "{}", again.text());
    assert_eq!(warren.get("/api/v1/workspaces").await.json()["items"], json!([]));
}

// F8
#[tokio::test]
async fn a_workspace_that_is_removed_while_it_boots_leaves_nothing() {
    let faults = Arc::new(Faults::default());
    faults.hold_opens();
    let terms = Terms { removal_patience: Duration::from_millis(50), ..Terms::default() };
    let warren = Warren::builder().faults(Arc::clone(&faults)).terms(terms).start().await;
    let id = create(&warren, &json!({ "name": "booting", "provider": local() })).await;
    eventually("the open begins", async || faults.opens() == 1).await;
    let removed = warren.delete(&path(id)).await;
    assert_eq!(
        (removed.status, counts(&removed.json())),
        (202, [1, 0, 0, 1]),
        "it cannot be done yet, and says so"
    );
    assert_eq!(removed.json()["status"], "removed");
    faults.release_opens();
    eventually("the removal is finished", async || {
        let again = warren.delete(&path(id)).await;
        (again.status, counts(&again.json())) == (200, [1, 1, 0, 0])
    })
    .await;
    assert!(!place(&warren, id).exists(), "what the open made is deleted");
    assert_eq!(status(&warren, id).await, "removed");
}

// F8
#[tokio::test]
async fn a_caller_that_hangs_up_does_not_stop_the_removal() {
    let faults = Arc::new(Faults::default());
    let warren = Arc::new(Warren::builder().faults(Arc::clone(&faults)).start().await);
    let id = warren.workspace(local()).await;
    let child = child_of(&warren, local(), id).await;
    faults.hold_opens();
    // The child is being opened again, so that its removal has to wait.
    crate::fleet::ask(&warren, child, "restart").await;
    let opens = faults.opens();
    eventually("the open begins", async || faults.opens() > opens || opens >= 3).await;
    let caller = tokio::spawn({
        let warren = Arc::clone(&warren);
        async move { warren.delete(&path(id)).await.status }
    });
    eventually("the intent is durable", async || status(&warren, child).await == "removed").await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled(), "nobody waits for the answer");
    faults.release_opens();
    eventually("both are gone", async || !place(&warren, id).exists() && !place(&warren, child).exists())
        .await;
    assert_eq!(counts(&warren.delete(&path(id)).await.json()), [2, 2, 0, 0]);
}

// F8
#[tokio::test]
async fn a_crash_between_the_mark_and_the_stop_is_made_good_by_the_next_start() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).crashable().start().await;
    let id = warren.workspace(local()).await;
    let child = child_of(&warren, local(), id).await;
    faults.fail_destroys(u32::MAX);
    assert_eq!(counts(&warren.delete(&path(id)).await.json()), [2, 0, 2, 0]);
    faults.fail_destroys(0);
    let warren = warren.crash().await;
    for id in [id, child] {
        eventually("its files are deleted", async || !place(&warren, id).exists()).await;
    }
    eventually("nothing is left to do", async || {
        let answer = warren.delete(&path(id)).await;
        (answer.status, counts(&answer.json())) == (200, [2, 2, 0, 0])
    })
    .await;
}

// F8: a crash in the middle of a boot whose workspace was removed meanwhile
#[tokio::test]
async fn a_crash_while_a_removed_workspace_was_booting_leaves_no_place_behind() {
    let faults = Arc::new(Faults::default());
    let terms = Terms { removal_patience: Duration::from_millis(50), ..Terms::default() };
    let warren = Warren::builder().faults(Arc::clone(&faults)).terms(terms).crashable().start().await;
    faults.hold_opens();
    let id = create(&warren, &json!({ "name": "booting", "provider": local() })).await;
    eventually("the open begins", async || faults.opens() == 1).await;
    assert_eq!(warren.delete(&path(id)).await.status, 202);
    let warren = warren.crash().await;
    faults.release_opens();
    sweep(&warren, "orphans").await;
    assert!(!place(&warren, id).exists());
    assert_eq!(counts(&warren.delete(&path(id)).await.json()), [1, 1, 0, 0]);
    assert_eq!(status(&warren, id).await, "removed");
}

// F8
#[tokio::test]
async fn a_purge_erases_the_rows_and_leaves_the_events() {
    let warren = Warren::start().await;
    let root = warren.workspace(local()).await;
    let child = child_of(&warren, local(), root).await;
    let leaf = child_of(&warren, memory(), child).await;
    crate::fleet::register(&warren, root).await;
    let removed = warren.delete(&format!("{}?purge=true", path(root))).await;
    assert_eq!((removed.status, counts(&removed.json())), (200, [3, 3, 0, 0]), "{}", removed.text());
    for id in [root, child, leaf] {
        assert!(!exists(&warren, id).await, "its row is erased");
        let kinds: Vec<_> = events(&warren, None)
            .await
            .into_iter()
            .filter(|event| event["workspace_id"] == json!(id.to_string()))
            .map(|event| event["kind"].as_str().unwrap().to_owned())
            .collect();
        assert!(kinds.contains(&"workspace.lifecycle.created".to_owned()), "{kinds:?}");
        assert!(kinds.contains(&"workspace.lifecycle.removed".to_owned()), "{kinds:?}");
    }
    assert!(!place(&warren, root).exists());
}

// F8, X52
#[tokio::test]
async fn a_purge_takes_the_secrets_of_channels_with_it() {
    let warren = Warren::start().await;
    let (id, other) = (warren.workspace(memory()).await, warren.workspace(memory()).await);
    let channel = async |of: WorkspaceId| {
        let made = warren.post(&format!("{}/channels", path(of)), &json!({ "name": "door" })).await.json();
        let id = made["channel"]["id"].as_str().or(made["id"].as_str()).unwrap_or_else(|| panic!("{made}"));
        id.parse::<warren_model::ChannelId>().unwrap()
    };
    let (gone, kept) = (channel(id).await, channel(other).await);
    let has_secret = async |channel: warren_model::ChannelId| {
        let name = warren_service::Sealer::system_secret_name(channel);
        let found = warren.fleet.store().read(move |tx| {
            tx.secret(warren_service::Sealer::SYSTEM_SECRETS, &name).map_err(warren_fleet::Error::from)
        });
        found.await.unwrap().is_some()
    };
    assert!(has_secret(gone).await);
    assert_eq!(warren.delete(&format!("{}?purge=true", path(id))).await.status, 200);
    eventually("the row is erased", async || !exists(&warren, id).await).await;
    assert!(!has_secret(gone).await);
    assert!(has_secret(kept).await, "of others nothing is taken");
}

// F8: a purge waits for the stop, and outlives a crash between the two
#[tokio::test]
async fn a_purge_whose_stop_fails_keeps_the_row_until_it_is_done() {
    let clock = clock();
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
    let id = warren.workspace(local()).await;
    faults.fail_destroys(1);
    let removed = warren.delete(&format!("{}?purge=true", path(id))).await;
    assert_eq!((removed.status, counts(&removed.json())), (202, [1, 0, 1, 0]));
    assert!(exists(&warren, id).await && place(&warren, id).exists());
    clock.advance_ms(15 * 60_000);
    sweep(&warren, "mending").await;
    eventually("the row is erased", async || !exists(&warren, id).await).await;
    assert!(!place(&warren, id).exists());
}

// F8
#[tokio::test]
async fn a_purge_that_was_cut_off_after_the_stop_is_finished_by_the_next_start_or_the_sweep() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = warren.workspace(local()).await;
        warren.delete(&path(id)).await;
        ids.push(id);
    }
    let now = warren_doors::Clock::now(&*clock);
    let (by_sweep, by_start) = (ids[0], ids[1]);
    // As a carrier leaves it that died between the last file and the rows.
    let left: Result<(), warren_store::Error> = warren
        .store
        .write(move |tx| {
            for (id, next_at) in [(by_sweep, Some(now)), (by_start, None)] {
                let mut row = tx.workspace(id)?.unwrap();
                assert_eq!(row.reference, None);
                row.is_purged = true;
                row.mending.next_at = next_at;
                tx.update_workspace(&row, row.version)?;
            }
            Ok(())
        })
        .await;
    left.unwrap();
    sweep(&warren, "mending").await;
    eventually("the sweep erases it", async || !exists(&warren, by_sweep).await).await;
    let warren = warren.restart().await;
    eventually("the start erases it", async || !exists(&warren, by_start).await).await;
}

// F8, F20
#[tokio::test]
async fn a_removed_workspace_is_listed_only_on_request_and_says_when() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    warren.delete(&path(id)).await;
    assert_eq!(warren.get(&path(id)).await.code(), "workspace_not_found");
    let row = show(&warren, id).await;
    assert!(row["removed_at"].is_string(), "{row}");
    assert_eq!(warren.get("/api/v1/workspaces").await.json()["items"], json!([]));
    let all = warren.get("/api/v1/workspaces?include_removed=true").await.json();
    assert_eq!(all["items"][0]["id"], id.to_string());
}
