//! What the absence of reports leads to, and how long provisioning may take.

use warren_fleet::{Config, CreateWorkspace, PatchWorkspace, WorkspaceOptions};
use warren_model::{Runtime, RuntimeReport, Status};
use warren_testkit::{Bed, BedOptions, eventually};

// F16
#[tokio::test]
async fn silence_takes_a_runtime_offline_and_one_that_lives_elsewhere_is_left_to_come_back() {
    for bed in Bed::on_each_store().await {
        let (silent, runner) = bed.reporting().await;
        let (lively, lively_runner) = bed.reporting().await;
        let hosted = bed.local_workspace().await.id;
        bed.clock.advance_ms(89_999);
        bed.beat(&lively_runner, RuntimeReport::default()).await;
        bed.sweep("liveness").await;
        assert_eq!(bed.status(silent).await, Status::Online);
        bed.clock.advance_ms(1);
        bed.sweep("liveness").await;
        assert_eq!(bed.status(silent).await, Status::Offline);
        assert_eq!(bed.status(lively).await, Status::Online);
        assert_eq!(bed.status(hosted).await, Status::Online, "nobody expects a hosted runtime to report");
        bed.clock.advance_ms(3_600_000);
        for name in ["liveness", "mending", "provisioning"] {
            bed.sweep(name).await;
        }
        assert_eq!(bed.status(silent).await, Status::Offline, "Warren did not bring it up and cannot");
        assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Online);
    }
}

// F16: the deadline is a column, so that a restart of Warren forgets nobody
#[tokio::test]
async fn a_runtime_that_falls_silent_while_warren_restarts_is_found_out_all_the_same() {
    for bed in Bed::on_each_store().await {
        let (id, _) = bed.reporting().await;
        let bed = bed.restart().await;
        bed.sweep("liveness").await;
        assert_eq!(bed.status(id).await, Status::Online, "a restart of Warren is not its silence");
        bed.clock.advance_ms(90_000);
        bed.sweep("liveness").await;
        assert_eq!(bed.status(id).await, Status::Offline);
        assert_eq!(bed.arrivals(id, Status::Offline).await, 1);
    }
}

// F16
#[tokio::test]
async fn a_silent_resident_is_restarted_at_once_and_then_with_growing_waits() {
    for bed in Bed::on_each_store().await {
        let id = bed.awaiting(Runtime::Resident).await;
        for wait in [0, 15_000, 30_000, 60_000] {
            bed.wait_for(id, Status::AwaitingAgent).await;
            let before = bed.row(id).await.generation;
            let runner = bed.register(id).await;
            bed.clock.advance_ms(90_000);
            bed.sweep("liveness").await;
            assert_eq!(bed.status(id).await, Status::Offline);
            if wait > 0 {
                bed.clock.advance_ms(wait - 1);
                bed.sweep("mending").await;
                assert_eq!(bed.status(id).await, Status::Offline, "not before {wait} ms");
                bed.clock.advance_ms(1);
            }
            bed.sweep("mending").await;
            assert_ne!(bed.status(id).await, Status::Offline, "after {wait} ms");
            assert_eq!(bed.row(id).await.generation, before + 1);
            assert!(!bed.is_valid(&runner).await, "its credential was the boot's");
        }
    }
}

// F5
#[tokio::test]
async fn provisioning_has_a_time_of_its_own_and_past_it_a_public_reason() {
    for bed in Bed::on_each_store().await {
        let usual = bed.external().await;
        let options = WorkspaceOptions { provision_timeout_seconds: Some(60), ..Default::default() };
        let quick = CreateWorkspace { runtime: Runtime::External, options, ..Bed::request("quick") };
        let quick = bed.create(quick).await.id;
        bed.wait_for(quick, Status::AwaitingAgent).await;
        let workspaces = &bed.fleet.workspaces;
        assert_eq!(workspaces.provision_timeout_ms(&bed.row(usual).await), 600_000);
        assert_eq!(workspaces.provision_timeout_ms(&bed.row(quick).await), 60_000);
        bed.clock.advance_ms(59_999);
        // Touching the row does not move the clock: it started with provisioning.
        let touch = PatchWorkspace { name: Some("touched".parse().unwrap()), ..Default::default() };
        workspaces.patch(&bed.operator, quick, touch, None).await.unwrap();
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(quick).await, Status::AwaitingAgent);
        bed.clock.advance_ms(1);
        bed.sweep("provisioning").await;
        let failed = bed.row(quick).await;
        assert_eq!(failed.status, Status::Failed);
        assert_eq!(failed.reason.unwrap().as_str(), "The agent did not register in time.");
        assert_eq!(bed.status(usual).await, Status::AwaitingAgent, "its own time is longer");
        bed.clock.advance_ms(540_000);
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(usual).await, Status::Failed);
    }
}

// F5
#[tokio::test]
async fn a_fleet_wide_time_for_provisioning_holds_for_all() {
    let usual = BedOptions::default();
    let config = Config { provision_timeout_ms: Some(30_000), ..usual.config };
    for bed in Bed::with(BedOptions { config, ..usual }).await {
        bed.faults.hold_opens();
        let mut ids = Vec::new();
        for provision_timeout_seconds in [None, Some(5), Some(3_600)] {
            let options = WorkspaceOptions { provision_timeout_seconds, ..Default::default() };
            let made = bed.create(CreateWorkspace { options, ..Bed::request("slow") }).await;
            assert_eq!(bed.fleet.workspaces.provision_timeout_ms(&made), 30_000);
            ids.push(made.id);
        }
        // What is marked as failed before its open began is not opened any more.
        eventually("the opens begin", async || bed.faults.opens() == 3).await;
        bed.clock.advance_ms(29_999);
        bed.sweep("provisioning").await;
        for id in &ids {
            assert_eq!(bed.status(*id).await, Status::Provisioning);
        }
        bed.clock.advance_ms(1);
        bed.sweep("provisioning").await;
        for id in &ids {
            let row = bed.row(*id).await;
            assert_eq!(row.status, Status::Failed);
            assert_eq!(row.reason.unwrap().as_str(), "The workspace was not ready in time.");
        }
        // A place that is ready too late is ready all the same.
        bed.faults.release_opens();
        for id in ids {
            bed.wait_for(id, Status::Online).await;
        }
    }
}

// F5: found by the simulation
#[tokio::test]
async fn an_agent_is_not_waited_for_without_end_when_its_place_was_late() {
    for bed in Bed::on_each_store().await {
        bed.faults.hold_opens();
        let request = CreateWorkspace { runtime: Runtime::External, ..Bed::request("late") };
        let id = bed.create(request).await.id;
        eventually("the open begins", async || bed.faults.opens() == 1).await;
        bed.clock.advance_ms(600_000);
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(id).await, Status::Failed);
        bed.faults.release_opens();
        bed.wait_for(id, Status::AwaitingAgent).await;
        bed.clock.advance_ms(599_999);
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(id).await, Status::AwaitingAgent);
        bed.clock.advance_ms(1);
        bed.sweep("provisioning").await;
        assert_eq!(bed.status(id).await, Status::Failed);
    }
}
