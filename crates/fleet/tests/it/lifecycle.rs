//! What people ask of workspaces that are there.

use warren_fleet::{CreateWorkspace, PatchWorkspace, WorkspaceOptions};
use warren_model::{
    Desired, ErrorCode, EventKind, OrgRole, Principal, Runtime, RuntimeReport, Status, WorkspaceId,
};
use warren_service::Action;
use warren_testkit::{Bed, BedOptions, eventually};
use warren_workspace::shell::{Command, Start};

// F7
#[tokio::test]
async fn a_pause_reaches_all_below_and_the_resume_too() {
    for bed in Bed::on_each_store().await {
        let root = bed.workspace().await;
        let child = bed.workspace_below(Some(root.id)).await;
        let paused = bed.fleet.lifecycle.pause(&bed.operator, root.id).await.unwrap();
        assert_eq!((paused.status, bed.row(child.id).await.status), (Status::Paused, Status::Paused));
        let refused = bed.fleet.lifecycle.resume(&bed.operator, child.id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused, "its parent rests");
        bed.fleet.lifecycle.resume(&bed.operator, root.id).await.unwrap();
        for id in [root.id, child.id] {
            bed.wait_for(id, Status::Online).await;
        }
    }
}

// F7
#[tokio::test]
async fn a_message_wakes_one_that_sleeps_and_leaves_one_that_was_paused() {
    for bed in Bed::on_each_store().await {
        let (asleep, paused) = (bed.workspace().await, bed.workspace().await);
        bed.fleet.lifecycle.hibernate(&bed.operator, asleep.id, false).await.unwrap();
        bed.fleet.lifecycle.pause(&bed.operator, paused.id).await.unwrap();
        for id in [asleep.id, paused.id] {
            bed.fleet.lifecycle.wake_for_message(id, &Principal::system("test")).await.unwrap();
        }
        bed.wait_for(asleep.id, Status::Online).await;
        assert_eq!(bed.row(paused.id).await.spec.desired, Desired::Paused);
    }
}

// F3
#[tokio::test]
async fn a_restart_raises_the_generation_and_brings_the_workspace_up_again() {
    for bed in Bed::on_each_store().await {
        let (row, opens) = (bed.workspace().await, bed.faults.opens());
        let restarted = bed.fleet.lifecycle.restart(&bed.operator, row.id).await.unwrap();
        assert_eq!(restarted.generation, row.generation + 1);
        let up = bed.wait_for(row.id, Status::Online).await;
        assert_eq!(up.observed_generation, restarted.generation);
        assert_eq!(bed.faults.opens(), opens + 1);
    }
}

// W14
#[tokio::test]
async fn what_failed_is_tried_again_by_operators_alone() {
    for bed in Bed::on_each_store().await {
        bed.faults.fail_opens(1);
        let made = bed.fleet.workspaces.create(&bed.operator, Bed::request("shaky")).await.unwrap();
        bed.wait_for(made.id, Status::Failed).await;
        let user = bed.user(OrgRole::Member.scopes()).await;
        let refused = bed.fleet.lifecycle.reset(&user, made.id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        bed.fleet.lifecycle.reset(&bed.operator, made.id).await.unwrap();
        bed.wait_for(made.id, Status::Online).await;
    }
}

// F3
#[tokio::test]
async fn of_many_pauses_at_once_each_is_answered_and_one_is_told() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let before = bed.events(EventKind::WorkspaceStatusChanged).await.len();
        let pauses = (0..8).map(|_| bed.fleet.lifecycle.pause(&bed.operator, row.id));
        for paused in futures_util::future::join_all(pauses).await {
            assert_eq!(paused.unwrap().status, Status::Paused);
        }
        assert_eq!(bed.events(EventKind::WorkspaceStatusChanged).await.len(), before + 1);
    }
}

// F7
#[tokio::test]
async fn a_pause_reaches_downwards_alone_and_a_refused_resume_leaves_no_trace() {
    for bed in Bed::on_each_store().await {
        let lifecycle = &bed.fleet.lifecycle;
        let root = bed.workspace().await.id;
        let middle = bed.workspace_below(Some(root)).await.id;
        let leaf = bed.workspace_below(Some(middle)).await.id;
        let beside = bed.workspace().await.id;
        lifecycle.pause(&bed.operator, root).await.unwrap();
        for id in [root, middle, leaf] {
            let row = bed.row(id).await;
            assert_eq!((row.status, row.spec.desired), (Status::Paused, Desired::Paused));
        }
        assert_eq!(bed.status(beside).await, Status::Online);
        for id in [middle, leaf] {
            let refused = lifecycle.resume(&bed.operator, id).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::TransitionRefused);
            assert!(refused.detail.as_ref().unwrap().contains("above it is paused"), "{refused}");
            assert_eq!(bed.row(id).await.spec.desired, Desired::Paused);
        }
        lifecycle.pause(&bed.operator, root).await.expect("twice is fine");
        lifecycle.resume(&bed.operator, root).await.unwrap();
        for id in [root, middle, leaf] {
            bed.wait_for(id, Status::Online).await;
        }
        let refused = lifecycle.resume(&bed.operator, root).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused, "it is not paused");
        lifecycle.pause(&bed.operator, middle).await.unwrap();
        assert_eq!(bed.status(root).await, Status::Online, "nothing reaches upwards");
        lifecycle.resume(&bed.operator, middle).await.unwrap();
    }
}

// F7
#[tokio::test]
async fn a_workspace_with_tasks_sleeps_only_by_force_and_wakes_when_asked() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        let lifecycle = &bed.fleet.lifecycle;
        bed.beat(&runner, RuntimeReport { active_tasks: Some(2), ..Default::default() }).await;
        let refused = lifecycle.hibernate(&bed.operator, id, false).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused);
        assert_eq!(bed.status(id).await, Status::Online);
        let refused = lifecycle.wake(&bed.operator, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused, "it does not sleep");
        let asleep = lifecycle.hibernate(&bed.operator, id, true).await.unwrap();
        assert_eq!(asleep.status, Status::Hibernated);
        let refused = lifecycle.restart(&bed.operator, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused);
        let refused = bed.fleet.workspaces.usable(&bed.operator, Action::UseWorkspace, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceNotReady);
        assert_eq!(lifecycle.wake(&bed.operator, id).await.unwrap().status, Status::Provisioning);
        bed.wait_for(id, Status::AwaitingAgent).await;
        assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Online);
    }
}

// F7: idle is the time since the last task, never since the last heartbeat
#[tokio::test]
async fn an_idle_workspace_falls_asleep_however_lively_its_heartbeats_are() {
    for bed in Bed::on_each_store().await {
        let options = WorkspaceOptions { hibernate_after_seconds: Some(300), ..Default::default() };
        let request = Bed::local_request("sleepy");
        let id = bed.create(CreateWorkspace { runtime: Runtime::External, options, ..request }).await.id;
        bed.wait_for(id, Status::AwaitingAgent).await;
        let runner = bed.register(id).await;
        let tasks = |count| RuntimeReport { active_tasks: Some(count), ..Default::default() };
        bed.beat(&runner, tasks(1)).await;
        for _ in 0..20 {
            bed.clock.advance_ms(30_000);
            bed.beat(&runner, RuntimeReport::default()).await;
        }
        bed.sweep("hibernation").await;
        assert_ne!(bed.status(id).await, Status::Hibernated, "it has a task");
        bed.beat(&runner, tasks(0)).await;
        for _ in 0..9 {
            bed.clock.advance_ms(30_000);
            bed.beat(&runner, RuntimeReport::default()).await;
            bed.sweep("hibernation").await;
            assert_eq!(bed.status(id).await, Status::Online, "not idle for long enough");
        }
        bed.clock.advance_ms(30_000);
        bed.beat(&runner, RuntimeReport::default()).await;
        bed.sweep("hibernation").await;
        let row = bed.row(id).await;
        assert_eq!((row.status, row.spec.desired), (Status::Hibernated, Desired::Hibernated));
    }
}

// F3, F7
#[tokio::test]
async fn a_restart_ends_processes_and_keeps_files() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        let lease = bed.fleet.registry.acquire(id).await.unwrap();
        let script = "echo $$ > pid; exec sleep 1000";
        let request = Start { command: Command::script(script), pty: None };
        lease.workspace().shell().unwrap().start(request).await.unwrap();
        drop(lease);
        let file = bed.place(id).join("pid");
        let number = || std::fs::read_to_string(&file).unwrap_or_default();
        eventually("the process writes its number", async || number().ends_with('\n')).await;
        let pid = number().trim().to_owned();
        let proc = std::path::Path::new("/proc").join(&pid);
        assert!(proc.exists(), "it runs");
        bed.fleet.lifecycle.restart(&bed.operator, id).await.unwrap();
        bed.wait_for(id, Status::Online).await;
        assert!(!proc.exists(), "the restart ended it");
        assert_eq!(number().trim(), pid, "its files are there");
    }
}

/// What a change of secrets does: raises the generation, whatever goes on.
async fn raise_generation(bed: &Bed, ids: &[WorkspaceId]) {
    let ids = ids.to_vec();
    let raised: Result<(), warren_store::Error> = bed
        .store
        .write(move |tx| {
            for id in ids.iter().copied() {
                let mut row = tx.workspace(id)?.unwrap();
                row.generation += 1;
                tx.update_workspace(&row, row.version)?;
            }
            Ok(())
        })
        .await;
    raised.unwrap();
}

// F3: "a change that arrives during a restart is never lost"
#[tokio::test]
async fn a_change_that_comes_while_the_place_is_opened_is_brought_about_too() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        bed.faults.hold_opens();
        let opens = bed.faults.opens();
        assert_eq!(bed.fleet.lifecycle.restart(&bed.operator, id).await.unwrap().generation, 2);
        eventually("the open begins", async || bed.faults.opens() == opens + 1).await;
        raise_generation(&bed, &[id]).await;
        bed.faults.release_opens();
        eventually("the change is brought about", async || {
            let row = bed.row(id).await;
            (row.status, row.generation, row.observed_generation) == (Status::Online, 3, 3)
        })
        .await;
        assert!(bed.faults.opens() >= opens + 2, "what was opened without the change was opened again");
    }
}

// F3: the same for what is asked of it, and the last request wins
#[tokio::test]
async fn requests_that_come_during_a_slow_open_end_with_the_last_one() {
    for bed in Bed::on_each_store().await {
        let lifecycle = &bed.fleet.lifecycle;
        bed.faults.hold_opens();
        let id = bed.create(Bed::local_request("slow")).await.id;
        eventually("the open begins", async || bed.faults.opens() == 1).await;
        assert_eq!(lifecycle.pause(&bed.operator, id).await.unwrap().status, Status::Paused);
        assert_eq!(lifecycle.resume(&bed.operator, id).await.unwrap().status, Status::Provisioning);
        assert_eq!(lifecycle.pause(&bed.operator, id).await.unwrap().status, Status::Paused);
        bed.faults.release_opens();
        eventually("it rests", async || {
            let row = bed.row(id).await;
            row.observed_generation == row.generation
        })
        .await;
        assert_eq!(bed.status(id).await, Status::Paused);
        assert!(!bed.fleet.registry.open_ids().contains(&id), "nothing is left open");
        lifecycle.resume(&bed.operator, id).await.unwrap();
        bed.wait_for(id, Status::Online).await;
    }
}

// F3, F16: whoever carried a change died before it was done
#[tokio::test]
async fn a_restart_that_is_cut_off_by_a_crash_is_finished_by_the_next_start() {
    for bed in Bed::with(BedOptions::crashable()).await {
        let id = bed.local_workspace().await.id;
        std::fs::write(bed.place(id).join("kept"), "kept").unwrap();
        bed.faults.hold_opens();
        bed.restart_workspace(id).await;
        let bed = bed.crash().await;
        assert_eq!(bed.status(id).await, Status::Provisioning);
        bed.faults.release_opens();
        let row = bed.wait_for(id, Status::Online).await;
        assert_eq!((row.generation, row.observed_generation), (2, 2));
        assert_eq!(std::fs::read_to_string(bed.place(id).join("kept")).unwrap(), "kept");
    }
}

// F3: a replica that dies leaves its work to the sweep of another, without any restart
#[tokio::test]
async fn a_change_whose_carrier_died_is_taken_up_by_the_mending_sweep() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        // As a replica leaves it that died right after its commit.
        let now = bed.now();
        let left: Result<_, warren_store::Error> = bed
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
        bed.sweep("mending").await;
        assert_eq!(bed.status(id).await, Status::Provisioning, "its carrier may be alive");
        bed.clock.advance_ms(60_000);
        bed.sweep("mending").await;
        bed.wait_for(id, Status::Online).await;
    }
}

// W14, F7
#[tokio::test]
async fn only_a_failed_workspace_can_be_reset() {
    for bed in Bed::on_each_store().await {
        bed.faults.fail_opens(1);
        let id = bed.create(Bed::local_request("unlucky")).await.id;
        bed.wait_for(id, Status::Failed).await;
        let refused = bed.fleet.workspaces.usable(&bed.operator, Action::UseWorkspace, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceFailed);
        let reset = bed.fleet.lifecycle.reset(&bed.operator, id).await.unwrap();
        assert_eq!(reset.status, Status::Provisioning);
        bed.wait_for(id, Status::Online).await;
        let refused = bed.fleet.lifecycle.reset(&bed.operator, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused);
    }
}

// F7: what was wanted of a removed workspace is not asked any more
#[tokio::test]
async fn nothing_can_be_asked_of_a_removed_workspace() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        bed.remove(id).await;
        let (lifecycle, who) = (&bed.fleet.lifecycle, &bed.operator);
        let asked = [
            ("pause", lifecycle.pause(who, id).await),
            ("resume", lifecycle.resume(who, id).await),
            ("hibernate", lifecycle.hibernate(who, id, false).await),
            ("wake", lifecycle.wake(who, id).await),
            ("restart", lifecycle.restart(who, id).await),
            ("reset", lifecycle.reset(who, id).await),
        ];
        for (what, answer) in asked {
            let code = answer.unwrap_err().code;
            let refusals = [ErrorCode::WorkspaceNotFound, ErrorCode::TransitionRefused];
            assert!(refusals.contains(&code), "{what}: {code:?}");
        }
        assert_eq!(bed.status(id).await, Status::Removed);
        assert!(!bed.is_valid(&runner).await);
    }
}

// F3, F33: the one that raised the generation died, or is another process
#[tokio::test]
async fn what_runs_with_something_older_than_is_wanted_is_brought_up_by_a_sweep() {
    for bed in Bed::on_each_store().await {
        let hosted = bed.local_workspace().await.id;
        let (agents, _) = bed.reporting().await;
        raise_generation(&bed, &[hosted, agents]).await;
        let opens = bed.faults.opens();
        assert_eq!(bed.swept("catching_up").await.0, 2);
        eventually("both are brought up", async || {
            let (one, other) = (bed.row(hosted).await, bed.row(agents).await);
            [one, other].iter().all(|row| row.observed_generation == row.generation)
        })
        .await;
        for id in [hosted, agents] {
            assert_eq!(bed.arrivals(id, Status::Provisioning).await, 1);
        }
        eventually("both were opened anew", async || bed.faults.opens() == opens + 2).await;
        assert_eq!(bed.swept("catching_up").await.0, 0);
    }
}

// F7: nobody reports for a hosted workspace, and it sleeps all the same
#[tokio::test]
async fn a_hosted_workspace_falls_asleep_when_nothing_has_worked_in_it_for_long_enough() {
    for bed in Bed::on_each_store().await {
        let options = WorkspaceOptions { hibernate_after_seconds: Some(300), ..Default::default() };
        let id = bed.create(CreateWorkspace { options, ..Bed::local_request("idle") }).await.id;
        bed.wait_for(id, Status::Online).await;
        let later = bed.local_workspace().await.id;
        bed.clock.advance_ms(299_000);
        bed.sweep("hibernation").await;
        assert_eq!(bed.status(id).await, Status::Online);
        bed.clock.advance_ms(1_000);
        bed.sweep("hibernation").await;
        bed.wait_for(id, Status::Hibernated).await;
        // Awake again, it has its whole time.
        bed.fleet.lifecycle.wake(&bed.operator, id).await.unwrap();
        bed.wait_for(id, Status::Online).await;
        bed.sweep("hibernation").await;
        assert_eq!(bed.status(id).await, Status::Online);
        // One that is told so later counts from then.
        let patch = PatchWorkspace { hibernate_after_seconds: Some(Some(60)), ..Default::default() };
        bed.fleet.workspaces.patch(&bed.operator, later, patch, None).await.unwrap();
        bed.clock.advance_ms(60_000);
        bed.sweep("hibernation").await;
        bed.wait_for(later, Status::Hibernated).await;
    }
}
