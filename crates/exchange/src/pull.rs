//! Runtimes that come and ask: behind a network that nobody calls into, or in a box without one. They claim, tell how it
//! goes, and answer, each time naming the attempt, so that one that was given up cannot write late (X15).

use std::time::Duration;

use warren_model::{
    Delivery, DeliveryId, DeliveryState, ErrorCode, PrincipalKind, Task, TaskUpdate, TokenKind, Workspace,
    WorkspaceId,
};
use warren_rules::messages::dispatch::{Happening, Outcome, dies_with_its_runtime, runtime_as_owner};
use warren_rules::messages::queue;
use warren_service::{Action, Target};
use warren_service::{Error, Identity};
use warren_store::DeliveryQuery;

use crate::Exchange;
use crate::agent_words::Voice;
use crate::dispatcher::{Claim, Occasion, Step, Taker, claim_waiting};
use crate::endings::Report;
use crate::send::DEFAULT_CONCURRENCY;

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

impl Exchange {
    /// The next message for the caller's own workspace; waits for one if it may.
    pub async fn claim(
        &self,
        who: &Identity,
        id: WorkspaceId,
        wait_ms: u64,
        lease_ms: Option<i64>,
    ) -> Result<Option<Claimed>, Error> {
        let row = self.own(who, id).await?;
        self.fleet().runtimes.note_sign_of_life(who).await;
        if !queue::may_ask(row.status) {
            let detail = format!("the workspace is {}", row.status);
            return Err(Error::with_detail(ErrorCode::WorkspaceNotReady, detail));
        }
        let lease_ms = lease_ms.unwrap_or(self.terms().lease_ms);
        if !LEASES_MS.contains(&lease_ms) || wait_ms > MAX_WAIT_MS {
            let detail = "lease_ms: expected 1000 to 3600000; wait_ms: at most 60000";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let mut told = self.kicks().told.subscribe();
        let waiting = async {
            loop {
                if let Some(claimed) = self.try_claim(who, id, lease_ms).await? {
                    return Ok::<_, Error>(Some(claimed));
                }
                let about_this = async { while !matches!(told.recv().await, Ok(kicked) if kicked == id) {} };
                tokio::select! {
                    () = self.stopping().cancelled() => return Ok(None),
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
        let (moment, owner) = (self.moment(), runtime_as_owner(who.token.id));
        let waits = self.store().read(move |tx| tx.crowd(id, 1).map_err(Error::from)).await?.1 > 0;
        if !waits {
            return Ok(None);
        }
        self.store()
            .write(move |tx| {
                let row = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                let max = row.spec.max_concurrent_tasks.unwrap_or(DEFAULT_CONCURRENCY);
                let lane = tx.hold_lane(id)?;
                // It asks, so it has time: what rested because it was busy need not rest any longer.
                let taker = Taker { owner: &owner, lease_ms, occasion: Occasion::SignOfLife };
                match claim_waiting(tx, id, max, lane, &taker, &moment)? {
                    Claim::Got(got) => Ok(Some(Claimed { delivery: got.delivery, task: got.task })),
                    Claim::NotNow | Claim::Empty => Ok(None),
                }
            })
            .await
    }

    /// Renews a claim; with updates, the work has moved.
    pub async fn progress(
        &self,
        who: &Identity,
        id: WorkspaceId,
        delivery_id: DeliveryId,
        attempt: u32,
        updates: Vec<TaskUpdate>,
    ) -> Result<(Task, Delivery), Error> {
        let voice = self.check_claim(who, id, delivery_id).await?;
        let step = Step {
            voice,
            delivery_id,
            attempt,
            lease_ms: self.terms().lease_ms,
            updates,
            remote_id: None,
            by: who.principal.clone(),
        };
        self.step(step).await
    }

    /// Ends a claim: answered, busy, failed.
    pub async fn answer(&self, who: &Identity, id: WorkspaceId, answer: Answer) -> Result<Task, Error> {
        let voice = self.check_claim(who, id, answer.delivery_id).await?;
        let report = Report {
            delivery_id: answer.delivery_id,
            voice,
            attempt: answer.attempt,
            happening: Happening::Spoken(answer.outcome),
            updates: answer.updates,
            remote_id: None,
            by: who.principal.clone(),
        };
        let settled = self.settle(report).await?;
        settled.map(|settled| settled.task).ok_or_else(|| Error::new(ErrorCode::ClaimLost))
    }

    /// A new runner begins in the place of one that is gone: what that one had claimed ends now, and not with its lease.
    pub async fn end_claims_of_former_runner(&self, id: WorkspaceId) -> Result<(), Error> {
        let mut after = None;
        loop {
            let query = DeliveryQuery {
                workspace_id: id,
                state: DeliveryState::Claimed,
                after,
                limit: CLAIMS_AT_A_TIME,
            };
            let page = self.store().read(move |tx| tx.deliveries(&query).map_err(Error::from)).await?;
            for delivery in page.rows {
                let Some(happening) = dies_with_its_runtime(&delivery) else { continue };
                self.settle(Report::unspoken(&delivery, happening)).await?;
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
    ) -> Result<Voice, Error> {
        self.own(who, id).await?;
        self.fleet().runtimes.note_sign_of_life(who).await;
        let row = self.store().read(move |tx| tx.delivery(delivery_id).map_err(Error::from)).await?;
        match row.filter(|row| row.workspace_id == id) {
            Some(row) => Ok(Voice::of(&row)),
            None => Err(Error::new(ErrorCode::DeliveryNotFound)),
        }
    }

    /// Only the workspace's own runtime takes its messages; a person would answer in its name (X4).
    pub(crate) async fn own(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        let row = self.fleet().workspaces.get(who, Action::UseWorkspace, id).await?;
        let is_runtime = matches!(who.token.kind, TokenKind::Runner | TokenKind::Workspace)
            && who.principal.kind == PrincipalKind::Workspace;
        if is_runtime {
            who.may(Action::UseWorkspace, Target::Workspace { id, org_id: row.org_id })?;
            return Ok(row);
        }
        let detail = "only the workspace's own runtime takes its messages";
        Err(Error::with_detail(ErrorCode::Forbidden, detail))
    }
}
