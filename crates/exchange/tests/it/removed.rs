//! What was asked of a workspace that is removed ends at once (X20).

use warren_exchange::{Delegate, Error};
use warren_fleet::CreateWorkspace;
use warren_model::{
    DelegationState, DeliveryEnd, DeliveryReason, DeliveryState, PrincipalKind, Runtime, Status, TaskState,
    WorkspaceId,
};
use warren_testkit::{Act, Bed, ExchangeBed, answer_of, eventually};

/// A lead whose agent is called, and below it a worker whose agent comes and asks, and does not.
async fn lead_and_worker(bed: &ExchangeBed) -> ((WorkspaceId, warren_service::Identity), WorkspaceId) {
    let lead = bed.called_with(Bed::local_request("lead")).await;
    let request = CreateWorkspace { parent_id: Some(lead.0), ..Bed::local_request("worker") };
    let worker = bed.create(CreateWorkspace { runtime: Runtime::External, ..request }).await.id;
    bed.wait_for(worker, Status::AwaitingAgent).await;
    (lead, worker)
}

// X20, X21
#[tokio::test]
async fn what_waits_for_a_removed_workspace_ends_at_once_and_whoever_asked_is_told() {
    for bed in ExchangeBed::on_each_store().await {
        let ((lead, own), worker) = lead_and_worker(&bed).await;
        let asked = bed.say(worker, "of a person").await;
        let request =
            Delegate { from: lead, message: bed.text(worker, "of a peer"), parent_task: None, is_told: true };
        let delegated = bed.exchange.delegations.create(&own, request).await.unwrap();
        assert_eq!(delegated.delegation.state, DelegationState::Queued);
        bed.remove(worker).await;
        eventually("nothing waits", async || bed.waiting(worker).await == 0).await;
        let ended = bed.deliveries(worker, DeliveryState::Ended).await;
        assert_eq!(ended.len(), 2);
        for row in &ended {
            let end = (row.end, row.reason);
            assert_eq!(end, (Some(DeliveryEnd::Failed), Some(DeliveryReason::WorkspaceRemoved)));
        }
        let task = {
            let id = asked.task.id;
            bed.store.read(move |tx| tx.task(id).map_err(Error::from)).await.unwrap().unwrap()
        };
        assert_eq!(task.state, TaskState::Failed);
        assert!(answer_of(&task).contains("removed"), "{task:?}");
        let id = delegated.delegation.id;
        let (row, _) = bed.exchange.delegations.get(&own, lead, id).await.unwrap();
        assert_eq!(row.state, DelegationState::Failed);
        eventually("the delegator is told", async || !bed.agent.seen().is_empty()).await;
        let told = &bed.agent.seen()[0];
        assert_eq!(told.author.kind, PrincipalKind::System, "not in the name of one that said nothing");
        assert!(told.message.text().contains("removed"), "{told:?}");
    }
}

// X20, X22
#[tokio::test]
async fn work_in_hand_ends_with_its_workspace_and_its_agent_is_asked_to_stop() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.agent.next([Act::Name("own-name".into()), Act::Hold, Act::Say("too late".into())]);
        let accepted = bed.say(id, "a long walk").await;
        eventually("it is under way", async || bed.agent.seen().len() == 1).await;
        bed.remove(id).await;
        let claimed = async || bed.deliveries(id, DeliveryState::Claimed).await.len();
        eventually("it has ended", async || claimed().await == 0).await;
        let ended = bed.deliveries(id, DeliveryState::Ended).await;
        assert_eq!(ended[0].reason, Some(DeliveryReason::WorkspaceRemoved), "{accepted:?}");
        eventually("asked to stop", async || bed.agent.cancelled() == ["own-name"]).await;
    }
}

// X20, F8
#[tokio::test]
async fn a_workspace_that_is_purged_is_erased_after_whoever_asked_was_told() {
    for bed in ExchangeBed::on_each_store().await {
        let ((lead, own), worker) = lead_and_worker(&bed).await;
        let request =
            Delegate { from: lead, message: bed.text(worker, "help"), parent_task: None, is_told: true };
        bed.exchange.delegations.create(&own, request).await.unwrap();
        let (fleet, operator) = (bed.fleet.clone(), bed.operator.clone());
        let purge = async move { fleet.workspaces.remove(&operator, worker, None, true).await };
        bed.inside(purge).await.unwrap();
        eventually("it is erased", async || {
            bed.store.read(move |tx| tx.workspace(worker).map_err(Error::from)).await.unwrap().is_none()
        })
        .await;
        eventually("the delegator is told", async || !bed.agent.seen().is_empty()).await;
        assert!(bed.agent.heard()[0].contains("removed"));
    }
}

// X20: the word of the removal is lost with its process
#[tokio::test]
async fn a_removal_that_nobody_heard_of_is_found_by_the_look_over_all_queues() {
    for bed in ExchangeBed::on_each_store().await {
        let (_, worker) = lead_and_worker(&bed).await;
        bed.say(worker, "anybody?").await;
        bed.store
            .write(move |tx| {
                let mut row = tx.workspace(worker)?.unwrap();
                row.status = Status::Removed;
                tx.update_workspace(&row, row.version).map_err(Error::from)
            })
            .await
            .unwrap();
        eventually("nothing waits", async || bed.waiting(worker).await == 0).await;
    }
}
