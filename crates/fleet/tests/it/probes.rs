//! Runtimes whose work does not move, asked whether they are there (F14), and boxes that are looked at (F20).

use warren_model::{EventData, EventKind, Runtime, RuntimeReport, Status, WorkspaceId};
use warren_service::Identity;
use warren_testkit::{Bed, BedOptions, eventually};
use warren_workspace::Presence;

const IDLE_MS: i64 = 5 * 60_000;

/// Has it say that it works, and lets so much time pass that this is not believed.
async fn stall(bed: &Bed, id: WorkspaceId, runner: &Identity) {
    let busy = || RuntimeReport { active_tasks: Some(1), ..RuntimeReport::default() };
    bed.beat(runner, busy()).await;
    for _ in 0..5 {
        bed.clock.advance_ms(IDLE_MS / 5);
        bed.beat(runner, busy()).await;
    }
    bed.sweep("stalls").await;
    assert_eq!(bed.status(id).await, Status::Degraded);
}

/// Has what is due be asked, and waits until as many answers are in the log; returns (way, found) of the last.
async fn probe(bed: &Bed, times: usize) -> (String, String) {
    bed.sweep("probes").await;
    let probed = async || bed.events(EventKind::WorkspaceProbed).await;
    eventually("it was asked", async || probed().await.len() == times).await;
    match probed().await.pop().unwrap().read().unwrap() {
        EventData::WorkspaceProbed(probed) => (probed.way.to_string(), probed.found.to_string()),
        other => panic!("{other:?}"),
    }
}

fn said(way: &str, found: &str) -> (String, String) {
    (way.to_owned(), found.to_owned())
}

// F14
#[tokio::test]
async fn a_stalled_runtime_that_moves_again_is_not_asked() {
    for bed in Bed::on_each_store().await {
        let (id, runner) = bed.reporting().await;
        stall(&bed, id, &runner).await;
        let progress = RuntimeReport { last_progress_at: Some(bed.now()), ..RuntimeReport::default() };
        assert_eq!(bed.status_after(&runner, progress).await, Status::Online);
        assert_eq!(bed.swept("probes").await.0, 0);
        assert!(bed.events(EventKind::WorkspaceProbed).await.is_empty());
    }
}

// F14, F16
#[tokio::test]
async fn a_stalled_resident_whose_box_is_gone_is_restarted_and_a_crash_loses_no_question() {
    for bed in Bed::with(BedOptions::crashable()).await {
        let id = bed.awaiting(Runtime::Resident).await;
        let runner = bed.register(id).await;
        stall(&bed, id, &runner).await;
        let bed = bed.crash().await;
        // The new process has not opened it: nothing can be said of its box.
        assert_eq!(probe(&bed, 1).await, said("box", "unknown"));
        bed.fleet.registry.acquire(id).await.unwrap();
        bed.faults.show_presence(Some(Presence::Gone("the box has ended")));
        bed.clock.advance_ms(60_000);
        assert_eq!(probe(&bed, 2).await, said("box", "silent"));
        assert_eq!(bed.status(id).await, Status::Offline);
        bed.faults.show_presence(None);
        bed.sweep("mending").await;
        bed.wait_for(id, Status::AwaitingAgent).await;
    }
}

// F20
#[tokio::test]
async fn a_box_that_is_gone_is_found_out_without_anybody_using_it_and_is_brought_up_again() {
    for bed in Bed::on_each_store().await {
        let hosted = bed.local_workspace().await.id;
        let (elsewhere, _) = bed.reporting().await;
        assert_eq!(bed.swept("health").await, (2, 0, 0));
        // What cannot be asked is no verdict.
        bed.faults.show_presence(Some(Presence::Unknown));
        let (_, acted_on, failed) = bed.swept("health").await;
        assert_eq!((acted_on, failed), (0, 2));
        assert_eq!(bed.status(hosted).await, Status::Online);
        bed.faults.show_presence(Some(Presence::Gone("the box has ended")));
        bed.sweep("health").await;
        let gone = bed.row(hosted).await;
        assert_eq!((gone.status, gone.reason.unwrap().as_str()), (Status::Offline, "The box has ended."));
        assert_eq!(bed.status(elsewhere).await, Status::Online, "its runtime is not in the box");
        bed.faults.show_presence(None);
        let opens = bed.faults.opens();
        bed.sweep("mending").await;
        bed.wait_for(hosted, Status::Online).await;
        assert_eq!((bed.faults.opens(), bed.arrivals(hosted, Status::Offline).await), (opens + 1, 1));
        // Nothing is left to be found.
        assert_eq!(bed.swept("health").await.1, 0);
    }
}
