//! Removing: a durable intent, told honestly, finished whatever happens.

use std::sync::Arc;

use serde_json::json;
use warren_model::{Status, WorkspaceId};
use warren_testkit::{Faults, Warren};

use crate::fleet::{eventually, show};
use crate::{local, memory};

fn path(id: WorkspaceId) -> String {
    format!("/api/v1/workspaces/{id}")
}

async fn exists(warren: &Warren, id: WorkspaceId) -> bool {
    warren.get(&format!("{}?include_removed=true", path(id))).await.status == 200
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

// F8: told with counts; what is done is 200, what is not done yet is 202
#[tokio::test]
async fn a_removal_answers_with_its_counts_and_202_while_something_is_left() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).start().await;
    let id = warren.workspace(local()).await;
    let told = |failed: u32| {
        let finished = 1 - failed;
        json!({ "marked": 1, "finished": finished, "failed": failed, "pending": 0 })
    };
    // Nobody else is at work on it when it is removed.
    warren.wait_for_status(id, Status::Online).await;
    faults.fail_destroys(1);
    let removed = warren.delete(&path(id)).await;
    assert_eq!((removed.status, &removed.json()["removal"]), (202, &told(1)), "{}", removed.text());
    assert_eq!(removed.json()["status"], "removed");
    // Warren tries again by itself; whoever asks while it does is told that it is under way.
    eventually("nothing is left of it", async || {
        let again = warren.delete(&path(id)).await;
        (again.status, &again.json()["removal"]) == (200, &told(0))
    })
    .await;
    let purged = warren.delete(&format!("{}?purge=true", path(id))).await;
    assert_eq!(purged.status, 200, "{}", purged.text());
    eventually("its row is erased", async || !exists(&warren, id).await).await;
}
