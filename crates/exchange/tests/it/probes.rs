//! Agents whose work does not move, asked whether they are there (F14).

use warren_model::{EventData, EventKind, RuntimeReport, Status, TaskState, WorkspaceId};
use warren_service::Identity;
use warren_testkit::{ExchangeBed, eventually};

const IDLE_MS: i64 = 5 * 60_000;

/// Has it say that it works, and lets so much time pass that this is not believed.
async fn stall(bed: &ExchangeBed, id: WorkspaceId, runner: &Identity) {
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
async fn probe(bed: &ExchangeBed, times: usize) -> (String, String) {
    bed.sweep("probes").await;
    let probed = async || bed.events(EventKind::WorkspaceProbed).await;
    eventually("it was asked", async || probed().await.len() == times).await;
    match probed().await.pop().unwrap().read().unwrap() {
        EventData::WorkspaceProbed(probed) => (probed.way.to_string(), probed.found.to_string()),
        other => panic!("{other:?}"),
    }
}

// F14
#[tokio::test]
async fn a_stalled_runtime_that_comes_and_asks_is_judged_by_what_it_takes() {
    for bed in ExchangeBed::with_clock().await {
        let (id, runner) = bed.reporting().await;
        stall(&bed, id, &runner).await;
        let nothing_to_take = probe(&bed, 1).await;
        assert_eq!(nothing_to_take, ("claims".to_owned(), "unknown".to_owned()));
        assert_eq!(bed.status(id).await, Status::Degraded);
        bed.say(id, "anybody there?").await;
        bed.clock.advance_ms(60_000);
        assert_eq!(probe(&bed, 2).await, ("claims".to_owned(), "silent".to_owned()));
        assert_eq!(bed.status(id).await, Status::Offline);
    }
}

// F16: an agent that Warren calls need not report
#[tokio::test]
async fn an_agent_that_answers_calls_is_alive_without_heartbeats() {
    for bed in ExchangeBed::with_clock().await {
        let (id, _) = bed.called().await;
        for _ in 0..3 {
            bed.clock.advance_ms(90_000);
            bed.sweep("liveness").await;
            let now = bed.fleet.context.now();
            eventually("it was asked", async || bed.vitals(id).await.last_heartbeat_at == Some(now)).await;
            assert_eq!(bed.status(id).await, Status::Online);
        }
        assert_eq!(bed.arrivals(id, Status::Offline).await, 0);
        let accepted = bed.say(id, "hello").await;
        bed.task_in(&accepted, TaskState::Completed).await;
    }
}

// F16, X15
#[tokio::test]
async fn an_agent_that_was_away_is_found_again_by_itself_or_by_what_waits_for_it() {
    for bed in ExchangeBed::with_clock().await {
        let (id, _) = bed.called().await;
        bed.agent.go_away();
        bed.clock.advance_ms(90_000);
        bed.sweep("liveness").await;
        bed.wait_for(id, Status::Offline).await;
        // It is asked again from time to time, and nothing else is needed.
        bed.agent.come_back();
        bed.clock.advance_ms(60_000);
        bed.sweep("liveness").await;
        bed.wait_for(id, Status::Online).await;
        bed.agent.go_away();
        bed.clock.advance_ms(90_000);
        bed.sweep("liveness").await;
        bed.wait_for(id, Status::Offline).await;
        // A message does not wait for the next time.
        bed.agent.come_back();
        let accepted = bed.say(id, "are you back?").await;
        assert_eq!(accepted.position, Some(0));
        bed.task_in(&accepted, TaskState::Completed).await;
        assert_eq!(bed.status(id).await, Status::Online);
    }
}
