//! What people ask of workspaces that are there.

use warren_model::{Desired, ErrorCode, EventKind, Principal, ScopeSet, Status};

use crate::bed::Bed;

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
        let user = bed.user(ScopeSet::all()).await;
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
