//! What Warren counts itself of the work that it hands out (F13).

use warren_exchange::Outcome;
use warren_model::{
    DeliveryReason, Displacement, RuntimeReport, RuntimeState, Status, TaskState, WorkspaceId,
};
use warren_testkit::{Act, ExchangeBed, eventually};

const BROKEN: Act = Act::Outcome(Outcome::Failed { reason: DeliveryReason::BadAnswer });

fn failed() -> Act {
    Act::SayIn(TaskState::Failed, "no".into())
}

fn well() -> RuntimeReport {
    RuntimeReport { error_rate: Some(0.0), ..RuntimeReport::default() }
}

fn state(text: &str) -> RuntimeReport {
    RuntimeReport { runtime_state: Some(RuntimeState::from_report(text)), ..RuntimeReport::default() }
}

/// Sends as many messages, one after the other, and has each end like this.
async fn work(bed: &ExchangeBed, id: WorkspaceId, ends: &[Act]) {
    for act in ends {
        bed.agent.next([act.clone()]);
        let accepted = bed.say(id, "work").await;
        let state = if matches!(act, Act::Say(_)) { TaskState::Completed } else { TaskState::Failed };
        bed.task_in(&accepted, state).await;
    }
}

/// (how many ended, how many of them failed), as Warren saw.
async fn seen(bed: &ExchangeBed, id: WorkspaceId) -> (usize, usize) {
    let outcomes = bed.vitals(id).await.outcomes;
    (outcomes.recent.len(), outcomes.failures())
}

// F13
#[tokio::test]
async fn work_that_fails_degrades_a_runtime_that_says_all_is_well_and_a_restart_forgets_nothing() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, runner) = bed.called().await;
        work(&bed, id, &[BROKEN, failed(), BROKEN]).await;
        assert_eq!(bed.status_after(&runner, well()).await, Status::Online, "three are no trend");
        work(&bed, id, &[failed()]).await;
        eventually("the fourth is one too many", async || bed.status(id).await == Status::Degraded).await;
        let reason = bed.row(id).await.reason.unwrap();
        assert_eq!(reason.as_str(), "At least half of the recent work failed.");
        assert_eq!(bed.arrivals(id, Status::Degraded).await, 1);
        assert_eq!(bed.status_after(&runner, well()).await, Status::Degraded, "its own word is not worse");
        let bed = bed.restart().await;
        assert_eq!(seen(&bed, id).await, (4, 4));
        assert_eq!(bed.status_after(&runner, well()).await, Status::Degraded);
        work(&bed, id, &[const { Act::Say(String::new()) }; 9]).await;
        assert_eq!(bed.status_after(&runner, well()).await, Status::Degraded, "one of the last ten failed");
        work(&bed, id, &[Act::Say("ok".into())]).await;
        assert_eq!(seen(&bed, id).await, (10, 0));
        let draining = bed.status_after(&runner, state("draining")).await;
        assert_eq!(draining, Status::Degraded, "its own word is not empty");
        assert_eq!(bed.status_after(&runner, state("")).await, Status::Online);
    }
}

// F13
#[tokio::test]
async fn a_runtime_that_manages_its_status_is_not_judged_by_what_warren_saw() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let manages = |is_own| Displacement { status_mgmt: Some(is_own), ..Default::default() };
        let runner = bed.boot(id, manages(true)).await;
        work(&bed, id, &vec![BROKEN; 6]).await;
        assert_eq!(seen(&bed, id).await, (6, 6));
        assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Online);
        let back = RuntimeReport { displaced: manages(false), ..Default::default() };
        assert_eq!(bed.status_after(&runner, back).await, Status::Degraded, "the switch alone kept it so");
    }
}

// F13
#[tokio::test]
async fn failures_of_a_while_ago_do_not_count() {
    for bed in ExchangeBed::with_clock().await {
        let (id, runner) = bed.called().await;
        work(&bed, id, &vec![failed(); 5]).await;
        eventually("it is degraded", async || bed.status(id).await == Status::Degraded).await;
        for _ in 0..14 {
            bed.clock.advance_ms(60_000);
            assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Degraded);
        }
        bed.clock.advance_ms(60_000);
        assert_eq!(bed.status_after(&runner, RuntimeReport::default()).await, Status::Online);
    }
}
