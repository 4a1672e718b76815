//! Removing: a durable intent, told honestly, finished whatever happens.

use std::time::Duration;

use warren_fleet::{Config, CreateWorkspace, Removal};
use warren_model::{ErrorCode, EventKind, Status, WorkspaceId};
use warren_service::Action;
use warren_store::WorkspaceQuery;
use warren_testkit::{Bed, BedOptions, eventually};

/// What the caller of a removal is told: (marked, finished, failed, pending).
fn counts(removal: &Removal) -> [u32; 4] {
    let told = &removal.counts;
    [told.marked, told.finished, told.failed, told.pending]
}

async fn purge(bed: &Bed, id: WorkspaceId) -> Removal {
    bed.fleet.workspaces.remove(&bed.operator, id, None, true).await.unwrap()
}

async fn has_row(bed: &Bed, id: WorkspaceId) -> bool {
    bed.fleet.workspaces.get(&bed.operator, Action::ReadWorkspaces, id).await.is_ok()
}

async fn local_below(bed: &Bed, parent: WorkspaceId) -> WorkspaceId {
    bed.online(CreateWorkspace { parent_id: Some(parent), ..Bed::local_request("child") }).await.id
}

/// A caller who does not wait for an open that does not end.
fn impatient() -> BedOptions {
    let usual = BedOptions::default();
    let config = Config { removal_patience: Duration::from_millis(50), ..usual.config };
    BedOptions { config, ..usual }
}

// F8
#[tokio::test]
async fn removing_takes_the_subtree_and_the_files_and_is_idempotent() {
    for bed in Bed::on_each_store().await {
        let parent = bed.local_workspace().await.id;
        let child = local_below(&bed, parent).await;
        assert!(bed.place(child).exists(), "the child's place is on disk");
        for _ in 0..2 {
            assert_eq!(bed.remove(parent).await.workspace.status, Status::Removed);
        }
        for id in [parent, child] {
            let refused = bed.fleet.workspaces.usable(&bed.operator, Action::UseWorkspace, id).await;
            assert_eq!(refused.unwrap_err().code, ErrorCode::WorkspaceNotFound);
        }
        let listed = bed.fleet.workspaces.list(&bed.operator, WorkspaceQuery::all(10)).await.unwrap();
        assert!(listed.rows.is_empty());
        eventually("the files are deleted", async || !bed.place(child).exists()).await;
    }
}

// F8
#[tokio::test]
async fn a_removal_that_was_cut_off_is_finished_by_the_next_start() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        // What a crash between the commit and the clean-up leaves: the row says removed, the ref is still there.
        let marked: Result<_, warren_store::Error> = bed
            .store
            .write(move |tx| {
                let mut row = tx.workspace(id)?.expect("the row is there");
                row.status = Status::Removed;
                tx.update_workspace(&row, row.version)
            })
            .await;
        marked.unwrap();
        assert!(bed.place(id).exists());
        let bed = bed.restart().await;
        eventually("the files are deleted", async || !bed.place(id).exists()).await;
    }
}

// F8
#[tokio::test]
async fn a_stop_that_fails_keeps_the_files_is_told_with_counts_and_is_finished_by_a_sweep() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        bed.faults.fail_destroys(3);
        let removed = bed.remove(id).await;
        assert_eq!((counts(&removed), removed.workspace.status), ([1, 0, 1, 0], Status::Removed));
        assert!(bed.place(id).exists(), "a place that could not be stopped keeps its files");
        assert_eq!(counts(&bed.remove(id).await), [1, 0, 1, 0], "a retry tries, and may fail again");
        assert_eq!(bed.faults.destroys(), 2);
        bed.sweep("mending").await;
        assert_eq!(bed.faults.destroys(), 2, "the sweep does not hurry");
        for tries in [3, 4] {
            bed.clock.advance_ms(15 * 60_000);
            bed.sweep("mending").await;
            eventually("the sweep tries it", async || bed.faults.destroys() == tries).await;
        }
        eventually("the files are deleted", async || !bed.place(id).exists()).await;
        assert_eq!(counts(&bed.remove(id).await), [1, 1, 0, 0], "and a further retry is fine");
        assert_eq!(bed.faults.destroys(), 4, "what is gone is not deleted again");
        assert_eq!(bed.events(EventKind::WorkspaceRemovalFailed).await.len(), 3);
        assert_eq!(bed.events(EventKind::WorkspaceRemoved).await.len(), 1, "removed once");
    }
}

// F8: of a subtree, one that cannot be stopped does not keep the others
#[tokio::test]
async fn the_counts_of_a_subtree_tell_what_is_done_and_what_is_not() {
    for bed in Bed::on_each_store().await {
        let root = bed.workspace().await.id;
        for _ in 0..9 {
            let child = bed.workspace_below(Some(root)).await.id;
            bed.workspace_below(Some(child)).await;
        }
        bed.faults.fail_destroys(2);
        assert_eq!(counts(&bed.remove(root).await), [19, 17, 2, 0]);
        assert_eq!(counts(&bed.remove(root).await), [19, 19, 0, 0]);
        let listed = bed.fleet.workspaces.list(&bed.operator, WorkspaceQuery::all(10)).await.unwrap();
        assert!(listed.rows.is_empty());
    }
}

// F8
#[tokio::test]
async fn a_workspace_that_is_removed_while_it_boots_leaves_nothing() {
    for bed in Bed::with(impatient()).await {
        bed.faults.hold_opens();
        let id = bed.create(Bed::local_request("booting")).await.id;
        eventually("the open begins", async || bed.faults.opens() == 1).await;
        let removed = bed.remove(id).await;
        assert_eq!(counts(&removed), [1, 0, 0, 1], "it cannot be done yet, and says so");
        assert_eq!(removed.workspace.status, Status::Removed);
        bed.faults.release_opens();
        eventually("the removal is finished", async || counts(&bed.remove(id).await) == [1, 1, 0, 0]).await;
        assert!(!bed.place(id).exists(), "what the open made is deleted");
        assert_eq!(bed.status(id).await, Status::Removed);
    }
}

// F8
#[tokio::test]
async fn a_caller_that_hangs_up_does_not_stop_the_removal() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        let child = local_below(&bed, id).await;
        let opens = bed.faults.opens();
        bed.faults.hold_opens();
        // The child is being opened again, so that its removal has to wait.
        bed.fleet.lifecycle.restart(&bed.operator, child).await.unwrap();
        eventually("the open begins", async || bed.faults.opens() > opens).await;
        let caller = tokio::spawn({
            let (fleet, operator) = (bed.fleet.clone(), bed.operator.clone());
            async move { fleet.workspaces.remove(&operator, id, None, false).await }
        });
        eventually("the intent is durable", async || bed.status(child).await == Status::Removed).await;
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled(), "nobody waits for the answer");
        bed.faults.release_opens();
        // Whoever hangs up between the commit and the first step leaves the rest to the sweep.
        bed.clock.advance_ms(15 * 60_000);
        bed.sweep("mending").await;
        eventually("both are gone", async || !bed.place(id).exists() && !bed.place(child).exists()).await;
        assert_eq!(counts(&bed.remove(id).await), [2, 2, 0, 0]);
    }
}

// F8
#[tokio::test]
async fn a_crash_between_the_mark_and_the_stop_is_made_good_by_the_next_start() {
    for bed in Bed::with(BedOptions::crashable()).await {
        let id = bed.local_workspace().await.id;
        let child = local_below(&bed, id).await;
        bed.faults.fail_destroys(u32::MAX);
        assert_eq!(counts(&bed.remove(id).await), [2, 0, 2, 0]);
        bed.faults.fail_destroys(0);
        let bed = bed.crash().await;
        for id in [id, child] {
            eventually("its files are deleted", async || !bed.place(id).exists()).await;
        }
        eventually("nothing is left to do", async || counts(&bed.remove(id).await) == [2, 2, 0, 0]).await;
    }
}

// F8: a crash in the middle of a boot whose workspace was removed meanwhile
#[tokio::test]
async fn a_crash_while_a_removed_workspace_was_booting_leaves_no_place_behind() {
    for bed in Bed::with(BedOptions { is_crashable: true, ..impatient() }).await {
        bed.faults.hold_opens();
        let id = bed.create(Bed::local_request("booting")).await.id;
        eventually("the open begins", async || bed.faults.opens() == 1).await;
        assert_eq!(counts(&bed.remove(id).await), [1, 0, 0, 1]);
        let bed = bed.crash().await;
        bed.faults.release_opens();
        bed.sweep("orphans").await;
        assert!(!bed.place(id).exists());
        assert_eq!(counts(&bed.remove(id).await), [1, 1, 0, 0]);
        assert_eq!(bed.status(id).await, Status::Removed);
    }
}

// F8
#[tokio::test]
async fn a_purge_erases_the_rows_and_leaves_the_events() {
    for bed in Bed::on_each_store().await {
        let root = bed.local_workspace().await.id;
        let child = local_below(&bed, root).await;
        let leaf = bed.workspace_below(Some(child)).await.id;
        bed.register(root).await;
        assert_eq!(counts(&purge(&bed, root).await), [3, 3, 0, 0]);
        let events = bed.all_events().await;
        for id in [root, child, leaf] {
            assert!(!has_row(&bed, id).await, "its row is erased");
            let kinds: Vec<_> = events
                .iter()
                .filter(|event| event.workspace_id == Some(id))
                .map(|event| event.kind)
                .collect();
            assert!(kinds.contains(&EventKind::WorkspaceCreated), "{kinds:?}");
            assert!(kinds.contains(&EventKind::WorkspaceRemoved), "{kinds:?}");
        }
        assert!(!bed.place(root).exists());
    }
}

// F8: a purge waits for the stop, and outlives a crash between the two
#[tokio::test]
async fn a_purge_whose_stop_fails_keeps_the_row_until_it_is_done() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        bed.faults.fail_destroys(1);
        assert_eq!(counts(&purge(&bed, id).await), [1, 0, 1, 0]);
        assert!(has_row(&bed, id).await && bed.place(id).exists());
        bed.clock.advance_ms(15 * 60_000);
        bed.sweep("mending").await;
        eventually("the row is erased", async || !has_row(&bed, id).await).await;
        assert!(!bed.place(id).exists());
    }
}

// F8
#[tokio::test]
async fn a_purge_that_was_cut_off_after_the_stop_is_finished_by_the_next_start_or_the_sweep() {
    for bed in Bed::on_each_store().await {
        let (by_sweep, by_start) = (bed.local_workspace().await.id, bed.local_workspace().await.id);
        for id in [by_sweep, by_start] {
            bed.remove(id).await;
        }
        let now = bed.now();
        // As a carrier leaves it that died between the last file and the rows.
        let left: Result<(), warren_store::Error> = bed
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
        bed.sweep("mending").await;
        eventually("the sweep erases it", async || !has_row(&bed, by_sweep).await).await;
        let bed = bed.restart().await;
        eventually("the start erases it", async || !has_row(&bed, by_start).await).await;
    }
}
