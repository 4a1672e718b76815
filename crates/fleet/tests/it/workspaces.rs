//! Workspaces: what is accepted, what is refused, and what is written with it.

use std::time::Duration;

use warren_fleet::{CreateWorkspace, PatchWorkspace};
use warren_model::{AuditAction, AuditOutcome, Desired, ErrorCode, EventKind, Limits, Status, Workspace};
use warren_service::Action;
use warren_store::WorkspaceQuery;
use warren_testkit::Bed;

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

// spec/README rule 6 (absent means unchanged)
#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    for bed in Bed::on_each_store().await {
        let before = bed.workspace().await;
        let rename = || PatchWorkspace { name: Some("other".parse().unwrap()), ..Default::default() };
        let workspaces = &bed.fleet.workspaces;
        let renamed = workspaces.patch(&bed.operator, before.id, rename(), None).await.unwrap();
        assert!(renamed.version > before.version);
        let expected = Workspace {
            name: "other".parse().unwrap(),
            version: renamed.version,
            updated_at: renamed.updated_at,
            ..before
        };
        assert_eq!(renamed, expected);
        let same = workspaces.patch(&bed.operator, renamed.id, rename(), None).await.unwrap();
        assert_eq!(same.version, renamed.version, "a change to the same is none");
    }
}

// F7, F3
#[tokio::test]
async fn a_paused_workspace_is_closed_to_use_until_it_is_resumed() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        std::fs::write(bed.place(id).join("kept.txt"), "kept").unwrap();
        let workspaces = &bed.fleet.workspaces;
        let want = |desired| PatchWorkspace { desired: Some(desired), ..Default::default() };
        let paused = workspaces.patch(&bed.operator, id, want(Desired::Paused), None).await.unwrap();
        assert_eq!((paused.status, paused.generation), (Status::Paused, 2));
        let refused = workspaces.usable(&bed.operator, Action::UseWorkspace, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceNotReady);
        let resumed = workspaces.patch(&bed.operator, id, want(Desired::Running), None).await.unwrap();
        assert_eq!(resumed.status, Status::Provisioning);
        bed.wait_for(id, Status::Online).await;
        workspaces.usable(&bed.operator, Action::UseWorkspace, id).await.unwrap();
        assert_eq!(std::fs::read_to_string(bed.place(id).join("kept.txt")).unwrap(), "kept");
    }
}

// F7
#[tokio::test]
async fn a_patch_cannot_resume_what_is_below_a_paused_one() {
    for bed in Bed::on_each_store().await {
        let parent = bed.workspace().await.id;
        let child = bed.workspace_below(Some(parent)).await.id;
        let want = |desired| PatchWorkspace { desired: Some(desired), ..Default::default() };
        for id in [child, parent] {
            bed.fleet.workspaces.patch(&bed.operator, id, want(Desired::Paused), None).await.unwrap();
        }
        let refused = bed.fleet.workspaces.patch(&bed.operator, child, want(Desired::Running), None).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TransitionRefused);
        assert!(refused.detail.as_ref().unwrap().contains("above it is paused"), "{refused}");
    }
}

// F9
#[tokio::test]
async fn a_workspace_is_put_below_known_ones_only_and_can_become_a_root() {
    for bed in Bed::on_each_store().await {
        let top = bed.workspace().await;
        let below = bed.workspace_below(Some(top.id)).await;
        let put = |parent_id| PatchWorkspace { parent_id: Some(parent_id), ..Default::default() };
        let unknown = put(Some(bed.fleet.context.new_id()));
        let refused = bed.fleet.workspaces.patch(&bed.operator, top.id, unknown, None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::ParentNotFound);
        let root = bed.fleet.workspaces.patch(&bed.operator, below.id, put(None), None).await.unwrap();
        assert_eq!(root.parent_id, None);
    }
}

// O2 incident 2, W71, W70
#[tokio::test]
async fn after_a_restart_local_files_are_there_and_memory_says_that_it_lost_its_own() {
    for bed in Bed::on_each_store().await {
        let (kept, lost) = (bed.local_workspace().await.id, bed.workspace().await.id);
        std::fs::write(bed.place(kept).join("b.txt"), "bytes").unwrap();
        let bed = bed.restart().await;
        bed.fleet.registry.acquire(kept).await.unwrap();
        assert_eq!(std::fs::read_to_string(bed.place(kept).join("b.txt")).unwrap(), "bytes");
        let row = bed.row(lost).await;
        assert_eq!(row.status, Status::Failed);
        assert!(row.reason.unwrap().as_str().contains("ended with the process"));
        let refused =
            bed.fleet.workspaces.usable(&bed.operator, Action::UseWorkspace, lost).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceFailed);
    }
}

// F1, F40, Q6: racing writers
#[tokio::test]
async fn parallel_changes_are_all_applied_and_versions_do_not_collide() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let changes = (0..20).map(|number| {
            let name = Some(format!("n{number}").parse().unwrap());
            let patch = PatchWorkspace { name, ..Default::default() };
            bed.fleet.workspaces.patch(&bed.operator, row.id, patch, None)
        });
        let changed = futures_util::future::join_all(changes).await;
        let mut versions: Vec<_> = changed.into_iter().map(|row| row.unwrap().version).collect();
        versions.sort_unstable();
        assert_eq!(versions, (row.version + 1..=row.version + 20).collect::<Vec<_>>());
    }
}

// W2: the first use opens
#[tokio::test]
async fn a_workspace_can_be_used_as_soon_as_it_is_acknowledged() {
    for bed in Bed::on_each_store().await {
        for _ in 0..50 {
            let id = bed.create(Bed::request("eager")).await.id;
            bed.fleet.workspaces.usable(&bed.operator, Action::UseWorkspace, id).await.unwrap();
            let lease = bed.fleet.registry.acquire(id).await.unwrap();
            assert!(lease.workspace().fs().is_some());
        }
    }
}

// O2 incident 6, spec/README rule 5
#[tokio::test]
async fn a_place_that_vanished_is_found_out_by_the_first_use_and_told() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        let bed = bed.restart().await;
        std::fs::remove_dir_all(bed.place(id)).unwrap();
        let refused = bed.fleet.registry.acquire(id).await.map(drop).unwrap_err();
        assert_eq!(warren_service::Error::from(refused).code, ErrorCode::WorkspaceFailed);
        // Told before the answer: nobody who was refused finds the status still saying `online`.
        let row = bed.row(id).await;
        assert_eq!(row.status, Status::Failed);
        assert!(row.reason.unwrap().as_str().contains("gone"));
        // What is known already is not written again (spec/README rule 3).
        assert!(bed.fleet.registry.acquire(id).await.is_err());
        let bed = bed.restart().await;
        assert_eq!(bed.row(id).await.version, row.version);
    }
}

// F3, S11: commands are given names, so that a name must lead to one workspace.
#[tokio::test]
async fn a_name_is_given_once_and_is_free_again_when_its_workspace_is_removed() {
    for bed in Bed::on_each_store().await {
        let workspaces = &bed.fleet.workspaces;
        let first = bed.online(Bed::request("demo")).await;
        let refused = workspaces.create(&bed.operator, Bed::request("demo")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceExists);
        assert!(refused.detail.unwrap().contains(&first.id.to_string()), "it says which one has it");

        let other = bed.online(Bed::request("other")).await;
        let rename = |name: &str| PatchWorkspace { name: Some(name.parse().unwrap()), ..Default::default() };
        let refused = workspaces.patch(&bed.operator, other.id, rename("demo"), None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceExists);
        let same = workspaces.patch(&bed.operator, first.id, rename("demo"), None).await.unwrap();
        assert_eq!(same.version, bed.row(first.id).await.version, "one's own name is no change");

        workspaces.remove(&bed.operator, first.id, None, false).await.unwrap();
        let renamed = workspaces.patch(&bed.operator, other.id, rename("demo"), None).await.unwrap();
        assert_eq!(renamed.name.as_str(), "demo");
    }
}

// F3: of many who ask at the same time, one gets the name, and nothing is left of the others.
#[tokio::test]
async fn of_many_who_ask_for_a_name_at_once_one_gets_it() {
    for bed in Bed::on_each_store().await {
        let asked = (0..8).map(|_| bed.fleet.workspaces.create(&bed.operator, Bed::request("demo")));
        let outcomes = futures_util::future::join_all(asked).await;
        let made: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        assert_eq!(made.len(), 1, "{outcomes:?}");
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(refused.into_iter().all(|error| error.code == ErrorCode::WorkspaceExists), "{outcomes:?}");
        assert_eq!(bed.events(EventKind::WorkspaceCreated).await.len(), 1);

        // The same for renames.
        let mut others = Vec::new();
        for number in 0..4 {
            others.push(bed.online(Bed::request(&format!("other {number}"))).await.id);
        }
        let patch = || PatchWorkspace { name: Some("wanted".parse().unwrap()), ..Default::default() };
        let asked = others.iter().map(|id| bed.fleet.workspaces.patch(&bed.operator, *id, patch(), None));
        let outcomes = futures_util::future::join_all(asked).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(refused.into_iter().all(|error| error.code == ErrorCode::WorkspaceExists), "{outcomes:?}");
    }
}
