//! Pausing, sleeping, restarting: what is wanted comes about, whatever happens meanwhile.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_model::{Status, WorkspaceId};
use warren_testkit::{Faults, PostgresDatabase, Warren};

use crate::fleet::{
    arrivals, ask, beat, clock, create, eventually, reporting, show, status, status_after, sweep, try_beat,
};
use crate::{local, memory};

async fn child_of(warren: &Warren, parent: WorkspaceId) -> WorkspaceId {
    let body = json!({ "name": "child", "provider": memory(), "parent_id": parent.to_string() });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

// F7
#[tokio::test]
async fn pause_and_resume_reach_all_below_and_a_resume_below_a_paused_one_is_refused() {
    let warren = Warren::start().await;
    let root = warren.workspace(memory()).await;
    let middle = child_of(&warren, root).await;
    let leaf = child_of(&warren, middle).await;
    let beside = warren.workspace(memory()).await;
    assert_eq!(ask(&warren, root, "pause").await.json()["status"], "paused");
    for id in [root, middle, leaf] {
        let row = show(&warren, id).await;
        assert_eq!((&row["status"], &row["desired"]), (&json!("paused"), &json!("paused")));
    }
    assert_eq!(status(&warren, beside).await, "online");
    for id in [middle, leaf] {
        let refused = ask(&warren, id, "resume").await;
        assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()));
        assert!(refused.text().contains("above it is paused"), "{}", refused.text());
        assert_eq!(show(&warren, id).await["desired"], "paused", "a refused wish leaves no trace");
    }
    assert_eq!(ask(&warren, root, "pause").await.status, 200, "twice is fine");
    assert_eq!(ask(&warren, root, "resume").await.status, 200);
    for id in [root, middle, leaf] {
        warren.wait_for_status(id, Status::Online).await;
    }
    let refused = ask(&warren, root, "resume").await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()), "it is not paused");
    assert_eq!(ask(&warren, middle, "pause").await.status, 200);
    assert_eq!(status(&warren, root).await, "online", "nothing reaches upwards");
    assert_eq!(ask(&warren, middle, "resume").await.status, 200);
}

// F7
#[tokio::test]
async fn a_workspace_with_tasks_sleeps_only_by_force_and_wakes_when_asked() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    beat(&warren, &runtime, &json!({ "active_tasks": 2 })).await;
    let refused = ask(&warren, id, "hibernate").await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()));
    assert_eq!(status(&warren, id).await, "online");
    let refused = ask(&warren, id, "wake").await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()), "it does not sleep");
    assert_eq!(ask(&warren, id, "hibernate?force=true").await.json()["status"], "hibernated");
    let refused = ask(&warren, id, "restart").await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()));
    let refused = warren.get(&format!("/api/v1/workspaces/{id}/files")).await;
    assert_eq!((refused.status, refused.code()), (409, "workspace_not_ready".into()));
    assert_eq!(ask(&warren, id, "wake").await.json()["status"], "provisioning");
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    assert_eq!(status_after(&warren, &runtime, &json!({})).await, "online");
}

// F7: idle is the time since the last task, never since the last heartbeat
#[tokio::test]
async fn an_idle_workspace_falls_asleep_however_lively_its_heartbeats_are() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let body = json!({
        "name": "sleepy", "provider": local(), "runtime": "external", "hibernate_after_seconds": 300,
    });
    let id = create(&warren, &body).await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    let runtime = crate::fleet::register(&warren, id).await;
    beat(&warren, &runtime, &json!({ "active_tasks": 1 })).await;
    for _ in 0..20 {
        clock.advance_ms(30_000);
        beat(&warren, &runtime, &json!({ "last_progress_at": null })).await;
    }
    sweep(&warren, "hibernation").await;
    assert_ne!(status(&warren, id).await, "hibernated", "it has a task");
    beat(&warren, &runtime, &json!({ "active_tasks": 0 })).await;
    for _ in 0..9 {
        clock.advance_ms(30_000);
        beat(&warren, &runtime, &json!({})).await;
        sweep(&warren, "hibernation").await;
        assert_eq!(status(&warren, id).await, "online", "not idle for long enough");
    }
    clock.advance_ms(30_000);
    beat(&warren, &runtime, &json!({})).await;
    sweep(&warren, "hibernation").await;
    let row = show(&warren, id).await;
    assert_eq!((&row["status"], &row["desired"]), (&json!("hibernated"), &json!("hibernated")));
}

// F3, F7
#[tokio::test]
async fn a_restart_raises_the_generation_ends_processes_and_keeps_files() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let path = format!("/api/v1/workspaces/{id}");
    let script = "echo $$ > pid; exec sleep 1000";
    let body = json!({ "argv": ["sh", "-c", script] });
    let started = warren.post(&format!("{path}/processes"), &body).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let pid_file = format!("{path}/files?path=pid");
    eventually("the process writes its number", async || {
        let answer = warren.get(&pid_file).await;
        answer.status == 200 && answer.text().ends_with('\n')
    })
    .await;
    let pid = warren.get(&pid_file).await.text().trim().to_owned();
    let proc = std::path::Path::new("/proc").join(&pid);
    assert!(proc.exists(), "it runs");
    let before = show(&warren, id).await["generation"].as_u64().unwrap();
    let restarted = ask(&warren, id, "restart").await.json();
    assert_eq!(
        (&restarted["status"], &restarted["generation"]),
        (&json!("provisioning"), &json!(before + 1))
    );
    warren.wait_for_status(id, Status::Online).await;
    assert!(!proc.exists(), "the restart ended it");
    assert_eq!(warren.get(&pid_file).await.text().trim(), pid, "its files are there");
    let row = show(&warren, id).await;
    assert_eq!(row["observed_generation"], row["generation"]);
}

/// What a change of secrets does: raises the generation, whatever goes on.
async fn raise_generation(warren: &Warren, id: WorkspaceId) {
    let raised: Result<_, warren_store::Error> = warren
        .store
        .write(move |tx| {
            let mut row = tx.workspace(id)?.unwrap();
            row.generation += 1;
            tx.update_workspace(&row, row.version)
        })
        .await;
    raised.unwrap();
}

// F3: "a change that arrives during a restart is never lost"
#[tokio::test]
async fn a_change_that_comes_while_the_place_is_opened_is_brought_about_too() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).start().await;
    let id = warren.workspace(local()).await;
    faults.hold_opens();
    let opens = faults.opens();
    assert_eq!(ask(&warren, id, "restart").await.json()["generation"], 2);
    eventually("the open begins", async || faults.opens() == opens + 1).await;
    raise_generation(&warren, id).await;
    faults.release_opens();
    eventually("the change is brought about", async || {
        let row = show(&warren, id).await;
        row["status"] == "online" && row["generation"] == 3 && row["observed_generation"] == 3
    })
    .await;
    assert!(faults.opens() >= opens + 2, "what was opened without the change was opened again");
}

// F3: the same for a wish, and the last wish wins
#[tokio::test]
async fn wishes_that_come_during_a_slow_open_end_with_the_last_one() {
    let faults = Arc::new(Faults::default());
    faults.hold_opens();
    let warren = Warren::builder().faults(Arc::clone(&faults)).start().await;
    let id = create(&warren, &json!({ "name": "slow", "provider": local() })).await;
    eventually("the open begins", async || faults.opens() == 1).await;
    assert_eq!(ask(&warren, id, "pause").await.json()["status"], "paused");
    assert_eq!(ask(&warren, id, "resume").await.json()["status"], "provisioning");
    assert_eq!(ask(&warren, id, "pause").await.json()["status"], "paused");
    faults.release_opens();
    let settled = |row: &Value| row["observed_generation"] == row["generation"];
    eventually("it rests", async || settled(&show(&warren, id).await)).await;
    assert_eq!(status(&warren, id).await, "paused");
    let health = warren.get(&format!("/api/v1/workspaces/{id}/health")).await.json();
    assert_ne!(health["registry"]["state"], "ready", "nothing is left open: {health}");
    assert_eq!(ask(&warren, id, "resume").await.status, 200);
    warren.wait_for_status(id, Status::Online).await;
}

// F3, F16: whoever carried a change died before it was done
#[tokio::test]
async fn a_restart_that_is_cut_off_by_a_crash_is_finished_by_the_next_start() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).crashable().start().await;
    let id = warren.workspace(local()).await;
    let file = format!("/api/v1/workspaces/{id}/files?path=kept");
    assert_eq!(warren.put(&file, "kept").await.status, 201);
    faults.hold_opens();
    assert_eq!(ask(&warren, id, "restart").await.status, 200);
    let warren = warren.crash().await;
    assert_eq!(status(&warren, id).await, "provisioning");
    faults.release_opens();
    warren.wait_for_status(id, Status::Online).await;
    let row = show(&warren, id).await;
    assert_eq!((&row["generation"], &row["observed_generation"]), (&json!(2), &json!(2)));
    assert_eq!(warren.get(&file).await.text(), "kept");
}

// F3: a replica that dies leaves its work to the sweep of another, without any restart
#[tokio::test]
async fn a_change_whose_carrier_died_is_taken_up_by_the_mending_sweep() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = warren.workspace(local()).await;
    // As a replica leaves it that died right after its commit.
    let now = warren_doors::Clock::now(&*clock);
    let left: Result<_, warren_store::Error> = warren
        .store
        .write(move |tx| {
            let mut row = tx.workspace(id)?.unwrap();
            row.status = Status::Provisioning;
            row.generation += 1;
            row.mending.next_at = Some(now.plus_ms(60_000));
            tx.update_workspace(&row, row.version)
        })
        .await;
    left.unwrap();
    sweep(&warren, "mending").await;
    assert_eq!(status(&warren, id).await, "provisioning", "its carrier may be alive");
    clock.advance_ms(60_000);
    sweep(&warren, "mending").await;
    warren.wait_for_status(id, Status::Online).await;
}

// W14, F7
#[tokio::test]
async fn a_failed_workspace_is_tried_again_by_a_reset_and_no_other_is() {
    let faults = Arc::new(Faults::default());
    let warren = Warren::builder().faults(Arc::clone(&faults)).start().await;
    faults.fail_opens(1);
    let id = create(&warren, &json!({ "name": "unlucky", "provider": local() })).await;
    warren.wait_for_status(id, Status::Failed).await;
    let refused = warren.get(&format!("/api/v1/workspaces/{id}/files")).await;
    assert_eq!(refused.code(), "workspace_failed", "{}", refused.text());
    assert_eq!(ask(&warren, id, "reset").await.json()["status"], "provisioning");
    warren.wait_for_status(id, Status::Online).await;
    let refused = ask(&warren, id, "reset").await;
    assert_eq!((refused.status, refused.code()), (409, "transition_refused".into()));
}

// F7: what was wanted of a removed workspace is not asked any more
#[tokio::test]
async fn nothing_can_be_asked_of_a_removed_workspace() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    warren.delete(&format!("/api/v1/workspaces/{id}")).await;
    for what in ["pause", "resume", "hibernate", "wake", "restart", "reset"] {
        let refused = ask(&warren, id, what).await;
        assert!([404, 409].contains(&refused.status), "{what}: {}", refused.text());
        assert_eq!(status(&warren, id).await, "removed", "{what}");
    }
    assert_eq!(try_beat(&warren, &runtime, &json!({})).await.status, 401);
}

// F3, F33: the one that raised the generation died, or is another process
#[tokio::test]
async fn what_runs_with_something_older_than_is_wanted_is_brought_up_by_a_sweep() {
    let database = PostgresDatabase::create();
    for builder in [Warren::builder(), Warren::builder().database(database.url())] {
        let faults = Arc::new(Faults::default());
        let warren = builder.faults(Arc::clone(&faults)).start().await;
        let hosted = warren.workspace(json!({ "kind": "local" })).await;
        let (agents, _) = reporting(&warren).await;
        let raised: Result<(), warren_store::Error> = warren
            .store
            .write(move |tx| {
                for id in [hosted, agents] {
                    let mut row = tx.workspace(id)?.expect("it is there");
                    row.generation += 1;
                    tx.update_workspace(&row, row.version)?;
                }
                Ok(())
            })
            .await;
        assert_eq!(raised, Ok(()));
        let opens = faults.opens();
        let ran = sweep(&warren, "catching_up").await;
        assert_eq!(ran["last_run"]["outcome"]["looked_at"], 2, "{ran}");
        let is_behind = async |id| {
            let row = warren.store.read(move |tx| tx.workspace(id)).await.unwrap().unwrap();
            row.observed_generation < row.generation
        };
        eventually("both are brought up", async || !is_behind(hosted).await && !is_behind(agents).await)
            .await;
        for id in [hosted, agents] {
            assert_eq!(arrivals(&warren, id, "provisioning").await, 1);
        }
        eventually("both were opened anew", async || faults.opens() == opens + 2).await;
        assert_eq!(sweep(&warren, "catching_up").await["last_run"]["outcome"]["looked_at"], 0);
    }
}
