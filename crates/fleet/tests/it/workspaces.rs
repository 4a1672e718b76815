//! Workspaces: what is accepted, what is refused, and what is written with it.

use std::time::Duration;

use warren_fleet::{CreateWorkspace, PatchWorkspace};
use warren_model::{AuditAction, AuditOutcome, ErrorCode, EventKind, Limits, Status};
use warren_service::Action;
use warren_store::WorkspaceQuery;

use crate::bed::Bed;

// F1, F35
#[tokio::test]
async fn a_new_workspace_has_its_event_and_its_audit_entry() {
    for bed in Bed::on_each_store().await {
        let made = bed.fleet.workspaces.create(&bed.operator, Bed::request("first")).await.unwrap();
        assert_eq!(made.status, Status::Provisioning, "the answer does not wait for the open");
        bed.wait_for(made.id, Status::Online).await;
        let created = bed.events(EventKind::WorkspaceCreated).await;
        assert_eq!(created.iter().map(|event| event.workspace_id).collect::<Vec<_>>(), [Some(made.id)]);
        let entries = bed.audit().await;
        let entry = entries.iter().find(|entry| entry.action == AuditAction::WorkspaceCreated.as_str());
        assert_eq!(entry.unwrap().target_id, made.id.to_string());
    }
}

// F1
#[tokio::test]
async fn an_org_has_no_more_workspaces_than_it_may_and_a_refused_one_leaves_nothing() {
    let limits = Limits { max_workspaces_per_org: 2, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        bed.workspace().await;
        bed.workspace().await;
        let refused = bed.fleet.workspaces.create(&bed.operator, Bed::request("third")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceLimit);
        assert_eq!(bed.events(EventKind::WorkspaceCreated).await.len(), 2);
        let listed = bed.fleet.workspaces.list(&bed.operator, WorkspaceQuery::all(10)).await.unwrap();
        assert_eq!(listed.rows.len(), 2);
    }
}

// F30, F35
#[tokio::test]
async fn to_a_stranger_a_workspace_does_not_exist_and_the_attempt_is_noted() {
    for bed in Bed::on_each_store().await {
        let (row, stranger) = (bed.workspace().await, bed.stranger().await);
        let refused = bed.fleet.workspaces.get(&stranger, Action::ReadWorkspaces, row.id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceNotFound);
        assert_eq!(refused.detail, None, "nothing tells it from one that is not there");
        let listed = bed.fleet.workspaces.list(&stranger, WorkspaceQuery::all(10)).await.unwrap();
        assert!(listed.rows.is_empty());
        let noted = async {
            while !bed.audit().await.iter().any(|entry| entry.outcome == AuditOutcome::Refused.as_str()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), noted).await.expect("the attempt is noted");
    }
}

// F3
#[tokio::test]
async fn a_change_of_an_old_version_is_refused_and_one_without_a_version_is_made() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let rename = |name: &str| PatchWorkspace { name: Some(name.parse().unwrap()), ..Default::default() };
        let workspaces = &bed.fleet.workspaces;
        let current = row.version;
        workspaces.patch(&bed.operator, row.id, rename("newer"), Some(current)).await.unwrap();
        let refused = workspaces.patch(&bed.operator, row.id, rename("late"), Some(current)).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::PreconditionFailed);
        let made = workspaces.patch(&bed.operator, row.id, rename("newest"), None).await.unwrap();
        assert_eq!(made.name.as_str(), "newest");
        assert_eq!(bed.events(EventKind::WorkspaceSpecChanged).await.len(), 2);
    }
}

// F9
#[tokio::test]
async fn a_workspace_does_not_come_below_itself() {
    for bed in Bed::on_each_store().await {
        let root = bed.workspace().await;
        let child = bed.workspace_below(Some(root.id)).await;
        let below = |id| PatchWorkspace { parent_id: Some(Some(id)), ..Default::default() };
        for parent in [root.id, child.id] {
            let refused = bed.fleet.workspaces.patch(&bed.operator, root.id, below(parent), None).await;
            assert_eq!(refused.unwrap_err().code, ErrorCode::ParentCycle);
        }
        let nobody = bed.fleet.context.new_id();
        let orphan = CreateWorkspace { parent_id: Some(nobody), ..Bed::request("orphan") };
        let refused = bed.fleet.workspaces.create(&bed.operator, orphan).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::ParentNotFound);
    }
}

// F8
#[tokio::test]
async fn a_removal_takes_the_subtree_and_tells_what_is_not_done() {
    for bed in Bed::on_each_store().await {
        let root = bed.workspace().await;
        let child = bed.workspace_below(Some(root.id)).await;
        bed.faults.fail_destroys(1);
        let removal = bed.fleet.workspaces.remove(&bed.operator, root.id, None, false).await.unwrap();
        assert_eq!(removal.workspace.status, Status::Removed);
        assert_eq!(removal.counts.finished + removal.counts.failed, 2, "{:?}", removal.counts);
        assert_eq!(removal.counts.failed, 1);
        assert_eq!(bed.events(EventKind::WorkspaceRemovalFailed).await.len(), 1);
        for id in [root.id, child.id] {
            assert_eq!(bed.row(id).await.status, Status::Removed);
        }
        // Removing it again tries again.
        let again = bed.fleet.workspaces.remove(&bed.operator, root.id, None, false).await.unwrap();
        assert_eq!((again.counts.finished, again.counts.failed), (2, 0));
    }
}

// F9
#[tokio::test]
async fn a_collapse_takes_all_below_and_leaves_the_workspace() {
    for bed in Bed::on_each_store().await {
        let root = bed.workspace().await;
        let child = bed.workspace_below(Some(root.id)).await;
        let collapse = bed.fleet.workspaces.collapse(&bed.operator, root.id, true).await.unwrap();
        assert_eq!(collapse.counts.finished, 1);
        assert_eq!(bed.row(root.id).await.status, Status::Online);
        let gone = bed.fleet.workspaces.get(&bed.operator, Action::ReadWorkspaces, child.id).await;
        assert_eq!(gone.unwrap_err().code, ErrorCode::WorkspaceNotFound, "a purge erases the row");
    }
}
