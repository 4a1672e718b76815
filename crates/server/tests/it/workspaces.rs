use serde_json::json;
use warren_model::Status;
use warren_testkit::Warren;

use crate::{local, memory};

// S20, F1, F4
#[tokio::test]
async fn a_new_workspace_comes_online_and_says_so_in_events() {
    let warren = Warren::start().await;
    let body = json!({ "name": "first", "provider": local() });
    let answer = warren.post("/api/v1/workspaces", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made = answer.json();
    assert_eq!((&made["status"], &made["name"]), (&json!("provisioning"), &json!("first")));
    assert_eq!(made["capabilities"], json!(["fs", "shell"]));
    let id = made["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/api/v1/workspaces/{id}").as_str()));
    warren.wait_for_status(id, Status::Online).await;
    let page = warren.call("GET", "/api/v1/events?after=0").token(&warren.token);
    let page = page.header("accept", "application/json").send().await.json();
    let of_workspace = |event: &&serde_json::Value| event["workspace_id"] == json!(id.to_string());
    let kinds: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_workspace)
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, [json!("workspace.lifecycle.created"), json!("workspace.status.changed")]);
}

// S21
#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repetition() {
    let warren = Warren::start().await;
    for number in 0..7 {
        let body = json!({ "name": format!("n{number}"), "provider": memory() });
        assert_eq!(warren.post("/api/v1/workspaces", &body).await.status, 201);
    }
    let mut names = Vec::new();
    let mut path = "/api/v1/workspaces?limit=3".to_owned();
    loop {
        let page = warren.get(&path).await.json();
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/api/v1/workspaces?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    let expected: Vec<_> = (0..7).map(|number| json!(format!("n{number}"))).collect();
    assert_eq!(names, expected);
}

// spec/README rule 6 (absent means unchanged)
#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let before = warren.get(&path).await.json();
    let renamed = warren.patch(&path, &json!({ "name": "other" })).await.json();
    assert_eq!(renamed["name"], "other");
    for field in ["provider", "capabilities", "parent_id", "desired", "generation", "status", "created_at"] {
        assert_eq!(renamed[field], before[field], "{field}");
    }
    assert!(renamed["version"].as_u64() > before["version"].as_u64());
    let same = warren.patch(&path, &json!({ "name": "other" })).await.json();
    assert_eq!(same["version"], renamed["version"], "a change to the same is none");
}

// S21
#[tokio::test]
async fn if_match_lets_only_the_current_version_through() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let etag = warren.get(&path).await.header("etag").unwrap().to_owned();
    let patch = |etag: &str, name: &str| {
        let call = warren.call("PATCH", &path).token(&warren.token).header("if-match", etag);
        call.json(&json!({ "name": name }))
    };
    assert_eq!(patch(&etag, "a").send().await.status, 200);
    let stale = patch(&etag, "b").send().await;
    assert_eq!((stale.status, stale.code()), (412, "precondition_failed".into()));
    assert_eq!(warren.get(&path).await.json()["name"], "a");
    assert_eq!(patch("banana", "c").send().await.code(), "invalid_request");
}

// F7, F3
#[tokio::test]
async fn a_paused_workspace_is_closed_to_use_until_it_is_resumed() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let files = format!("{path}/files?path=kept.txt");
    assert_eq!(warren.put(&files, "kept").await.status, 201);
    let paused = warren.patch(&path, &json!({ "desired": "paused" })).await.json();
    assert_eq!((&paused["status"], &paused["generation"]), (&json!("paused"), &json!(2)));
    let refused = warren.get(&files).await;
    assert_eq!((refused.status, refused.code()), (409, "workspace_not_ready".into()));
    let resumed = warren.patch(&path, &json!({ "desired": "running" })).await.json();
    assert_eq!(resumed["status"], "provisioning");
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(warren.get(&files).await.text(), "kept");
}

// F7
#[tokio::test]
async fn resume_below_a_paused_parent_is_refused() {
    let warren = Warren::start().await;
    let parent = warren.workspace(memory()).await;
    let child = json!({ "name": "child", "provider": memory(), "parent_id": parent.to_string() });
    let child = warren.post("/api/v1/workspaces", &child).await.json()["id"].as_str().unwrap().to_owned();
    let pause = json!({ "desired": "paused" });
    for id in [child.as_str(), &parent.to_string()] {
        assert_eq!(warren.patch(&format!("/api/v1/workspaces/{id}"), &pause).await.status, 200);
    }
    let refused =
        warren.patch(&format!("/api/v1/workspaces/{child}"), &json!({ "desired": "running" })).await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()));
    assert!(refused.text().contains("above it is paused"), "{}", refused.text());
}

// F8
#[tokio::test]
async fn removing_takes_the_subtree_and_the_files_and_is_idempotent() {
    let warren = Warren::start().await;
    let parent = warren.workspace(local()).await;
    let child = json!({ "name": "child", "provider": local(), "parent_id": parent.to_string() });
    let child: warren_model::WorkspaceId =
        warren.post("/api/v1/workspaces", &child).await.json()["id"].as_str().unwrap().parse().unwrap();
    warren.wait_for_status(child, Status::Online).await;
    let place = warren.folder().join("workspaces").join(child.to_string());
    assert!(place.exists(), "the child's place is on disk");
    let path = format!("/api/v1/workspaces/{parent}");
    for _ in 0..2 {
        let removed = warren.delete(&path).await;
        assert_eq!((removed.status, &removed.json()["status"]), (200, &json!("removed")));
    }
    for id in [parent, child] {
        assert_eq!(warren.get(&format!("/api/v1/workspaces/{id}")).await.code(), "workspace_not_found");
    }
    assert_eq!(warren.get("/api/v1/workspaces").await.json()["items"], json!([]));
    let gone = async {
        while place.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), gone).await.expect("the files are deleted");
}

// F8
#[tokio::test]
async fn a_removal_that_was_cut_off_is_finished_by_the_next_start() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let place = warren.folder().join("workspaces").join(id.to_string());
    // What a crash between the commit and the clean-up leaves: the row says removed, the ref is still there.
    let marked: Result<_, warren_store::Error> = warren
        .store
        .write(move |tx| {
            let mut row = tx.workspace(id)?.expect("the row is there");
            row.status = Status::Removed;
            tx.update_workspace(&row, row.version)
        })
        .await;
    marked.unwrap();
    assert!(place.exists());
    let _warren = warren.restart().await;
    let gone = async {
        while place.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), gone).await.expect("the files are deleted");
}

// O2 incident 2, W71, W70
#[tokio::test]
async fn after_a_restart_local_files_are_there_and_memory_says_that_it_lost_its_own() {
    let warren = Warren::start().await;
    let kept = warren.workspace(local()).await;
    let lost = warren.workspace(memory()).await;
    for id in [kept, lost] {
        let path = format!("/api/v1/workspaces/{id}/files?path=a/b.txt");
        assert_eq!(warren.put(&path, "bytes").await.status, 201);
    }
    let warren = warren.restart().await;
    let read = warren.get(&format!("/api/v1/workspaces/{kept}/files?path=a/b.txt")).await;
    assert_eq!((read.status, read.text()), (200, "bytes".into()));
    let row = warren.get(&format!("/api/v1/workspaces/{lost}")).await.json();
    assert_eq!(row["status"], "failed");
    assert!(row["reason"].as_str().unwrap().contains("ended with the process"), "{row}");
    let refused = warren.get(&format!("/api/v1/workspaces/{lost}/files?path=a/b.txt")).await;
    assert_eq!((refused.status, refused.code()), (409, "workspace_failed".into()));
}

// W14, F7
#[tokio::test]
async fn only_a_failed_workspace_can_be_reset() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let refused = warren.post(&format!("/api/v1/workspaces/{id}/reset"), &json!({})).await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()));
}

// F9
#[tokio::test]
async fn a_workspace_cannot_become_its_own_ancestor_or_have_an_unknown_parent() {
    let warren = Warren::start().await;
    let top = warren.workspace(memory()).await;
    let body = json!({ "name": "below", "provider": memory(), "parent_id": top.to_string() });
    let below = warren.post("/api/v1/workspaces", &body).await.json()["id"].clone();
    for parent in [&json!(top.to_string()), &below] {
        let answer =
            warren.patch(&format!("/api/v1/workspaces/{top}"), &json!({ "parent_id": parent })).await;
        assert_eq!((answer.status, answer.code()), (422, "parent_cycle".into()));
    }
    let unknown = json!({ "parent_id": "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e" });
    let answer = warren.patch(&format!("/api/v1/workspaces/{top}"), &unknown).await;
    assert_eq!((answer.status, answer.code()), (422, "parent_not_found".into()));
    let to_root = json!({ "parent_id": null });
    let answer = warren.patch(&format!("/api/v1/workspaces/{}", below.as_str().unwrap()), &to_root).await;
    assert_eq!(answer.json()["parent_id"], json!(null));
}

// W11, S23
#[tokio::test]
async fn health_tells_what_the_registry_knows() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let health = warren.get(&format!("/api/v1/workspaces/{id}/health")).await.json();
    assert_eq!((&health["status"], &health["registry"]["state"]), (&json!("online"), &json!("open")));
    assert_eq!(health["registry"]["opens"], 1);
    assert!(health["registry"]["limits"].is_object(), "{health}");
}

// F1, F40, Q6: racing writers
#[tokio::test]
async fn parallel_changes_are_all_applied_and_versions_do_not_collide() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let before = warren.get(&path).await.json()["version"].as_u64().unwrap();
    let changes = (0..20).map(|number| {
        let (warren, path) = (&warren, &path);
        async move { warren.patch(path, &json!({ "name": format!("n{number}") })).await }
    });
    let answers = futures_util::future::join_all(changes).await;
    let mut versions: Vec<_> =
        answers.iter().map(|answer| answer.json()["version"].as_u64().unwrap()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (before + 1..=before + 20).collect::<Vec<_>>());
}

// W2: the first use opens
#[tokio::test]
async fn a_workspace_can_be_used_as_soon_as_it_is_acknowledged() {
    let warren = Warren::start().await;
    for _ in 0..50 {
        let body = json!({ "name": "eager", "provider": memory() });
        let id = warren.post("/api/v1/workspaces", &body).await.json()["id"].as_str().unwrap().to_owned();
        let written = warren.put(&format!("/api/v1/workspaces/{id}/files?path=a"), "a").await;
        assert_eq!(written.status, 201, "{}", written.text());
    }
}

// O2 incident 6, spec/README rule 5
#[tokio::test]
async fn a_place_that_vanished_is_found_out_by_the_first_use_and_told() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let folder = warren.folder().join("workspaces").join(id.to_string());
    let warren = warren.restart().await;
    std::fs::remove_dir_all(folder).unwrap();
    let files = warren.get(&format!("/api/v1/workspaces/{id}/files")).await;
    assert_eq!(files.code(), "workspace_failed", "{}", files.text());
    // Told before the answer: nobody who was refused finds the status still saying `online`.
    let row = warren.get(&format!("/api/v1/workspaces/{id}")).await.json();
    assert_eq!(row["status"], Status::Failed.as_str(), "{row}");
    assert!(row["reason"].as_str().is_some_and(|reason| reason.contains("gone")), "{row}");
    // What is known already is not written again (spec/README rule 3).
    assert!(warren.fleet.registry.acquire(id).await.is_err());
    let warren = warren.restart().await;
    let later = warren.get(&format!("/api/v1/workspaces/{id}")).await.json();
    assert_eq!(later["version"], row["version"]);
}
