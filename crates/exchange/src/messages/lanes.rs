//! The queues of workspaces: when they are looked at, and how the next message is claimed (X12 to X15).
//!
//! ```text
//!   accepted, ended, heartbeat, woken, time ─▶ wake_queue(workspace) ─▶ claim while there is room ─▶ deliver each
//! ```
//!
//! To be woken is a hint: whatever it misses, the look over all queues finds. An agent that asks claims by the same
//! function (`claims.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tracing::info_span;
use warren_model::{DeliveryState, ErrorCode, Principal, Status, TaskState, Timestamp, WorkspaceId};
use warren_rules::messages::{dispatch, queue};
use warren_service::Error;
use warren_store::{QueueState, WriteTx};

use super::accept::DEFAULT_CONCURRENCY;
use super::record::append_change;
use super::settle::update_delegation;
use super::{ClaimedDelivery, Deliveries, Speaker, TxInputs};
use crate::agents::{AgentAddress, Reach};

/// Queues that a look over all reads at once.
const LANES_AT_A_TIME: u32 = 500;
/// Agents that wait for work may be so many wake-ups behind before they look by themselves.
const WAKE_BUFFER: usize = 1_024;

/// Queues that are being drained, those that were woken meanwhile, and agents that wait to be told of work.
#[derive(Debug)]
pub(super) struct Lanes {
    under_way: Mutex<HashMap<WorkspaceId, Again>>,
    /// Queues in which something waited when they were last looked at: only these are worth a look at a heartbeat.
    waiting: Mutex<HashSet<WorkspaceId>>,
    pub(super) woken: broadcast::Sender<WorkspaceId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    No,
    Yes,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            under_way: Mutex::default(),
            waiting: Mutex::default(),
            woken: broadcast::channel(WAKE_BUFFER).0,
        }
    }
}

impl Lanes {
    /// Returns true if the caller is to drain; if somebody does already, they look once more.
    fn begin(&self, id: WorkspaceId) -> bool {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let again = if under_way.contains_key(&id) { Again::Yes } else { Again::No };
        under_way.insert(id, again).is_none()
    }

    /// Returns true if the queue is to be looked at once more.
    fn again(&self, id: WorkspaceId) -> bool {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.get_mut(&id) {
            Some(again) if *again == Again::Yes => {
                *again = Again::No;
                true
            }
            _ => {
                under_way.remove(&id);
                false
            }
        }
    }

    pub(super) fn set_waiting(&self, id: WorkspaceId, is_waiting: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if is_waiting {
            waiting.insert(id)
        } else {
            waiting.remove(&id)
        };
    }

    pub(super) fn is_anybody_waiting(&self) -> bool {
        !self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn is_waiting(&self, id: WorkspaceId) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

/// Why a queue is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// Its time may have come.
    Usual,
    /// Its agent gave a sign of life: what rested because it was busy need not rest any longer.
    SignOfLife,
}

impl Deliveries {
    /// Something may be done for this workspace.
    pub(crate) fn wake_queue(&self, id: WorkspaceId) {
        self.wake_queue_for(id, Occasion::Usual);
    }

    pub(super) fn wake_queue_for(&self, id: WorkspaceId, occasion: Occasion) {
        let lanes = &self.0.lanes;
        lanes.set_waiting(id, true);
        let _ = lanes.woken.send(id);
        if self.0.context.is_stopping() || !lanes.begin(id) {
            return;
        }
        let deliveries = self.clone();
        let span = info_span!("exchange.messages.drain_queue", workspace.id = %id);
        self.0.context.spawn(span, async move {
            let mut occasion = occasion;
            loop {
                if let Err(error) = deliveries.drain(id, occasion).await {
                    tracing::warn!(%error, "a queue could not be drained; it is tried again");
                }
                occasion = Occasion::Usual;
                if !deliveries.0.lanes.again(id) || deliveries.0.context.is_stopping() {
                    return;
                }
            }
        });
    }

    /// The same, later. If this process ends before, the look over all queues does it.
    pub(super) fn wake_queue_at(&self, id: WorkspaceId, at: Timestamp) {
        let wait = at.ms_since(self.0.context.now()).max(0).unsigned_abs();
        let deliveries = self.clone();
        let span = info_span!("exchange.messages.wake_queue_later", workspace.id = %id);
        self.0.context.spawn(span, async move {
            tokio::select! {
                () = deliveries.0.context.stopping().cancelled() => {}
                () = tokio::time::sleep(Duration::from_millis(wait)) => deliveries.wake_queue(id),
            }
        });
    }

    /// Hears of queues that are woken.
    pub(super) fn woken(&self) -> broadcast::Receiver<WorkspaceId> {
        self.0.lanes.woken.subscribe()
    }

    /// Wakes all queues in which something waits.
    pub(super) async fn wake_all_queues(&self) -> Result<(), Error> {
        let mut after = None;
        loop {
            let from = after;
            let store = self.0.context.store();
            let lanes: Vec<WorkspaceId> =
                store.read(move |tx| tx.waiting_queues(from, LANES_AT_A_TIME).map_err(Error::from)).await?;
            for id in &lanes {
                self.wake_queue(*id);
            }
            match lanes.last() {
                Some(last) if lanes.len() >= LANES_AT_A_TIME as usize => after = Some(*last),
                _ => return Ok(()),
            }
        }
    }

    /// Claims while there is room, and delivers what was claimed.
    async fn drain(&self, id: WorkspaceId, occasion: Occasion) -> Result<(), Error> {
        while !self.0.context.is_stopping() {
            let inputs = self.inputs();
            match self.0.context.store().write(move |tx| claim_next(tx, id, occasion, &inputs)).await? {
                Claim::Got(claimed) => self.deliver_in_background(*claimed, None),
                Claim::NotNow => return Ok(()),
                Claim::WorkspaceRemoved => return self.end_removed(id).await,
                Claim::Empty => {
                    self.0.lanes.set_waiting(id, false);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// How a claim went.
pub(super) enum Claim {
    Got(Box<ClaimedDelivery>),
    /// Something waits, and has to.
    NotNow,
    /// Nobody will come for what waits.
    WorkspaceRemoved,
    Empty,
}

/// Claims the next message for an agent that Warren calls.
fn claim_next(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    occasion: Occasion,
    inputs: &TxInputs,
) -> Result<Claim, Error> {
    let Some(row) = tx.workspace(id)? else { return Ok(Claim::Empty) };
    if row.status == Status::Removed {
        return Ok(Claim::WorkspaceRemoved);
    }
    if !queue::may_be_called(row.status) {
        return Ok(Claim::NotNow);
    }
    let agent = AgentAddress::of(tx, &row)?;
    match inputs.agents.reach(&agent) {
        Reach::Called => {}
        Reach::Asks | Reach::NoAgent => return Ok(Claim::NotNow),
    }
    let queue_state = tx.lock_queue(id)?;
    if queue_state.not_before > inputs.now && occasion == Occasion::Usual {
        return Ok(Claim::NotNow);
    }
    let max_running = row.spec.max_concurrent_tasks.unwrap_or(DEFAULT_CONCURRENCY);
    let taker = Taker { owner: &inputs.owner, lease_ms: inputs.config.lease_ms, occasion, max_running };
    claim_waiting(tx, agent, queue_state, &taker, inputs)
}

/// Who claims.
pub(super) struct Taker<'a> {
    pub(super) owner: &'a str,
    pub(super) lease_ms: i64,
    pub(super) occasion: Occasion,
    /// How many messages the agent works on at once.
    pub(super) max_running: u32,
}

/// Claims the next message if there is room; its queue is locked.
pub(super) fn claim_waiting(
    tx: &mut dyn WriteTx,
    agent: AgentAddress,
    queue_state: QueueState,
    taker: &Taker<'_>,
    inputs: &TxInputs,
) -> Result<Claim, Error> {
    let id = agent.workspace_id;
    let (running, waiting) = tx.crowd(id, 1)?;
    if waiting == 0 {
        return Ok(Claim::Empty);
    }
    if queue::room(taker.max_running, running) == 0 {
        return Ok(Claim::NotNow);
    }
    let ready_by = match taker.occasion {
        Occasion::Usual => inputs.now,
        Occasion::SignOfLife => Timestamp::from_micros(i64::MAX),
    };
    let Some(mut delivery) = tx.next_waiting(id, ready_by, inputs.now)? else { return Ok(Claim::NotNow) };
    let attempts = delivery.attempts;
    dispatch::claim(&mut delivery, taker.owner, inputs.now, taker.lease_ms);
    tx.update_delivery(&delivery, DeliveryState::Queued, attempts)?;
    tx.put_queue_state(
        id,
        QueueState { turn: queue_state.turn.max(delivery.turn), not_before: Timestamp::from_micros(0) },
    )?;
    let mut task = tx.task(delivery.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    let was = task.state;
    task.state = TaskState::Working;
    task.updated_at = inputs.now;
    task.version = tx.update_task(&task, task.version)?;
    if was != task.state {
        append_change(tx, &task, &delivery, was, &Principal::workspace(id), inputs.now)?;
    }
    update_delegation(tx, &task, &delivery, Speaker::Agent, inputs)?;
    Ok(Claim::Got(Box::new(ClaimedDelivery { delivery, task, agent })))
}
