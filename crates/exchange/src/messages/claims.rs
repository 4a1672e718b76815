//! Agents that come and ask: behind a network that nobody calls into, or in a box without one. They claim, tell how it
//! goes, and answer, each time naming the attempt, so that one that was given up cannot write late (X15).

use std::time::Duration;

use warren_fleet::Fleet;
use warren_model::{
    Delivery, DeliveryId, DeliveryState, ErrorCode, PrincipalKind, Task, TaskUpdate, TokenKind, Workspace,
    WorkspaceId,
};
use warren_rules::messages::dispatch::{DeliveryEvent, Outcome, dies_with_its_runtime, runtime_as_owner};
use warren_rules::messages::queue;
use warren_service::{Action, Error, Identity, Target};
use warren_store::DeliveryQuery;

use super::accept::DEFAULT_CONCURRENCY;
use super::lanes::{Claim, Occasion, Taker, claim_waiting};
use super::{AgentRef, DeliveryReport, Queue};
use crate::agents::AgentAddress;

/// How long a runtime may wait for work in one request.
pub const MAX_WAIT_MS: u64 = 60_000;
/// How long a claim may hold without a word.
pub const LEASES_MS: std::ops::RangeInclusive<i64> = 1_000..=3_600_000;
/// Claims of a runner that is gone, looked at together.
const CLAIMS_AT_A_TIME: u32 = 100;
/// Another replica may have what this one waits for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a runtime got.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub delivery: Delivery,
    pub task: Task,
}

/// How a runtime says that it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub delivery_id: DeliveryId,
    pub attempt: u32,
    pub outcome: Outcome,
    /// What is said with it; the last state told is the task's.
    pub updates: Vec<TaskUpdate>,
}

impl Queue {
    /// The next message for the caller's own workspace; waits for one if it may.
    #[tracing::instrument(name = "exchange.queue.claim", skip_all, fields(workspace.id = %id))]
    pub async fn claim(
        &self,
        who: &Identity,
        id: WorkspaceId,
        wait_ms: u64,
        lease_ms: Option<i64>,
    ) -> Result<Option<Claimed>, Error> {
        let row = own_workspace(&self.fleet, who, id).await?;
        self.fleet.runtimes.note_sign_of_life(who).await;
        if !queue::may_ask(row.status) {
            let detail = format!("the workspace is {}", row.status);
            return Err(Error::with_detail(ErrorCode::WorkspaceNotReady, detail));
        }
        let lease_ms = lease_ms.unwrap_or(self.config.lease_ms);
        if !LEASES_MS.contains(&lease_ms) || wait_ms > MAX_WAIT_MS {
            let detail = "lease_ms: expected 1000 to 3600000; wait_ms: at most 60000";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let mut woken = self.deliveries.woken();
        let waiting = async {
            loop {
                if let Some(claimed) = self.try_claim(who, id, lease_ms).await? {
                    return Ok::<_, Error>(Some(claimed));
                }
                let about_this = async { while !matches!(woken.recv().await, Ok(one) if one == id) {} };
                tokio::select! {
                    () = self.context.stopping().cancelled() => return Ok(None),
                    () = about_this => {}
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
            }
        };
        if wait_ms == 0 {
            return self.try_claim(who, id, lease_ms).await;
        }
        match tokio::time::timeout(Duration::from_millis(wait_ms), waiting).await {
            Ok(claimed) => claimed,
            Err(_) => Ok(None),
        }
    }

    async fn try_claim(
        &self,
        who: &Identity,
        id: WorkspaceId,
        lease_ms: i64,
    ) -> Result<Option<Claimed>, Error> {
        let (inputs, owner) = (self.deliveries.inputs(), runtime_as_owner(who.token.id));
        let waits = self.context.store().read(move |tx| tx.crowd(id, 1).map_err(Error::from)).await?.1 > 0;
        if !waits {
            return Ok(None);
        }
        self.context
            .store()
            .write(move |tx| {
                let row = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                let max_running = row.spec.max_concurrent_tasks.unwrap_or(DEFAULT_CONCURRENCY);
                let agent = AgentAddress {
                    workspace_id: id,
                    runtime: row.spec.runtime,
                    is_hosted: false,
                    card: None,
                };
                let queue_state = tx.lock_queue(id)?;
                // It asks, so it has time: what rested because it was busy need not rest any longer.
                let taker = Taker { owner: &owner, lease_ms, occasion: Occasion::SignOfLife, max_running };
                match claim_waiting(tx, agent, queue_state, &taker, &inputs)? {
                    Claim::Got(got) => Ok(Some(Claimed { delivery: got.delivery, task: got.task })),
                    Claim::NotNow | Claim::WorkspaceRemoved | Claim::Empty => Ok(None),
                }
            })
            .await
    }

    /// Renews a claim; with updates, the work has moved.
    #[tracing::instrument(name = "exchange.queue.progress", skip_all, fields(workspace.id = %id, delivery.id = %delivery_id))]
    pub async fn progress(
        &self,
        who: &Identity,
        id: WorkspaceId,
        delivery_id: DeliveryId,
        attempt: u32,
        updates: Vec<TaskUpdate>,
    ) -> Result<(Task, Delivery), Error> {
        let agent = self.check_claim(who, id, delivery_id).await?;
        let report = DeliveryReport {
            delivery_id,
            agent,
            attempt,
            event: None,
            updates,
            told: 0,
            remote_id: None,
            by: who.principal.clone(),
            busy_answer: None,
        };
        self.deliveries.go_on(report).await
    }

    /// Ends a claim: answered, busy, failed.
    #[tracing::instrument(name = "exchange.queue.answer", skip_all, fields(workspace.id = %id, delivery.id = %answer.delivery_id))]
    pub async fn answer(&self, who: &Identity, id: WorkspaceId, answer: Answer) -> Result<Task, Error> {
        let agent = self.check_claim(who, id, answer.delivery_id).await?;
        let report = DeliveryReport {
            delivery_id: answer.delivery_id,
            agent,
            attempt: answer.attempt,
            event: Some(DeliveryEvent::Spoken(answer.outcome)),
            updates: answer.updates,
            told: 0,
            remote_id: None,
            by: who.principal.clone(),
            busy_answer: None,
        };
        let settled = self.deliveries.settle(report).await?;
        settled.map(|settled| settled.task).ok_or_else(|| Error::new(ErrorCode::ClaimLost))
    }

    /// A new runner begins in the place of one that is gone: what that one had claimed ends now, and not with its lease.
    #[tracing::instrument(name = "exchange.queue.end_claims_of_former_runner", skip_all, fields(workspace.id = %id))]
    pub async fn end_claims_of_former_runner(&self, id: WorkspaceId) -> Result<(), Error> {
        let mut after = None;
        loop {
            let query = DeliveryQuery {
                workspace_id: id,
                state: DeliveryState::Claimed,
                after,
                limit: CLAIMS_AT_A_TIME,
            };
            let page =
                self.context.store().read(move |tx| tx.deliveries(&query).map_err(Error::from)).await?;
            for delivery in page.rows {
                let Some(event) = dies_with_its_runtime(&delivery) else { continue };
                self.deliveries.settle(DeliveryReport::of_warren(&delivery, event)).await?;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn check_claim(
        &self,
        who: &Identity,
        id: WorkspaceId,
        delivery_id: DeliveryId,
    ) -> Result<AgentRef, Error> {
        own_workspace(&self.fleet, who, id).await?;
        self.fleet.runtimes.note_sign_of_life(who).await;
        let row = self.context.store().read(move |tx| tx.delivery(delivery_id).map_err(Error::from)).await?;
        match row.filter(|row| row.workspace_id == id) {
            Some(row) => Ok(AgentRef::of(&row)),
            None => Err(Error::new(ErrorCode::DeliveryNotFound)),
        }
    }
}

/// A workspace whose own runtime asks. Only that takes its messages; a person would answer in its name (X4).
pub(crate) async fn own_workspace(
    fleet: &Fleet,
    who: &Identity,
    id: WorkspaceId,
) -> Result<Workspace, Error> {
    let row = fleet.workspaces.get(who, Action::UseWorkspace, id).await?;
    let is_runtime = matches!(who.token.kind, TokenKind::Runner | TokenKind::Workspace)
        && who.principal.kind == PrincipalKind::Workspace;
    if is_runtime {
        who.may(Action::UseWorkspace, Target::Workspace { id, org_id: row.org_id })?;
        return Ok(row);
    }
    let detail = "only the workspace's own runtime takes its messages";
    Err(Error::with_detail(ErrorCode::Forbidden, detail))
}
