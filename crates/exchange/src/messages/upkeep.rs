//! What goes on in the background: what is due is dealt with, queues are looked over, signs of life are followed, and
//! what is old is cleared. Each change is a compare-and-set, so that several replicas may do all of it at once.

use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tracing::info_span;
use warren_model::{ErrorCode, EventKind, WorkspaceId};
use warren_rules::messages::dispatch;
use warren_service::{Context, Error};

use super::lanes::Occasion;
use super::{Deliveries, DeliveryReport};
use crate::Config;
use crate::approvals::Approvals;

/// How often what is due is asked for: one read by an index.
const LOOK: Duration = Duration::from_millis(250);
/// How often all queues are looked over, as a wake-up may be lost with its process.
const LANES_EVERY: u32 = 4;
/// How often old rows are cleared.
const CLEAR_EVERY: u32 = 240;
const BATCH: u32 = 200;
/// Between two looks at new events, however fast they come.
const PACE: Duration = Duration::from_millis(10);

/// Looks after messages in the background. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Upkeep {
    context: Context,
    config: Config,
    deliveries: Deliveries,
    approvals: Approvals,
}

impl Upkeep {
    pub(crate) fn new(
        context: Context,
        config: Config,
        deliveries: Deliveries,
        approvals: Approvals,
    ) -> Self {
        Self { context, config, deliveries, approvals }
    }

    pub(crate) fn start(&self) {
        let upkeep = self.clone();
        let span = info_span!("exchange.upkeep.look_for_due");
        self.context.spawn(span, async move { upkeep.keep_up().await });
        let upkeep = self.clone();
        let span = info_span!("exchange.upkeep.follow_signs_of_life");
        self.context.spawn(span, async move { upkeep.follow_signs_of_life().await });
    }

    async fn keep_up(&self) {
        let mut round = 0_u32;
        loop {
            if round.is_multiple_of(LANES_EVERY) {
                warn_of(self.deliveries.wake_all_queues().await, "the queues could not be looked over");
            }
            warn_of(self.deal_with_due().await, "messages that are due could not be dealt with");
            warn_of(self.approvals.expire_late().await, "questions that are late could not be noted");
            if round.is_multiple_of(CLEAR_EVERY) {
                warn_of(self.clear_old().await, "what is old could not be cleared");
                self.deliveries.0.followers.clear();
            }
            round = round.wrapping_add(1);
            tokio::select! {
                () = self.context.stopping().cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Expired, silent, past their deadline, or left by whoever held them.
    async fn deal_with_due(&self) -> Result<(), Error> {
        loop {
            let now = self.context.now();
            let due = self
                .context
                .store()
                .read(move |tx| tx.due_deliveries(now, BATCH).map_err(Error::from))
                .await?;
            let due = self.context.readable(due);
            let (count, mut failed) = (due.len(), None);
            for delivery in due {
                let Some(event) = dispatch::overdue(&delivery, now) else { continue };
                let report = DeliveryReport::of_warren(&delivery, event);
                // What one cannot get over, such as a task that cannot be read, is not the others' business.
                match self.deliveries.settle(report).await {
                    Err(error) if error.code == ErrorCode::DatabaseDamaged => failed = Some(error),
                    settled => drop(settled?),
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if count < BATCH as usize || self.context.stopping().is_cancelled() {
                return Ok(());
            }
        }
    }

    async fn clear_old(&self) -> Result<(), Error> {
        let (now, config) = (self.context.now(), self.config);
        let repeats_before = now.plus_ms(-config.repeat_window_ms);
        let tasks_before = config.keep_tasks_ms.map(|kept| now.plus_ms(-kept));
        let runs_before = config.keep_schedule_runs_ms.map(|kept| now.plus_ms(-kept));
        let chat_before = config.keep_chat_ms.map(|kept| now.plus_ms(-kept));
        let approvals_before = config.keep_approvals_ms.map(|kept| now.plus_ms(-kept));
        loop {
            let cleared: u64 = self
                .context
                .store()
                .write(move |tx| {
                    let repeats = tx.prune_repeats(repeats_before, BATCH)?;
                    let notices = tx.prune_notice_keys(repeats_before, BATCH)?;
                    let tasks = tasks_before.map_or(Ok(0), |before| tx.prune_tasks(before, BATCH))?;
                    let runs = runs_before.map_or(Ok(0), |before| tx.prune_schedule_runs(before, BATCH))?;
                    let approvals =
                        approvals_before.map_or(Ok(0), |before| tx.prune_approvals(before, BATCH))?;
                    let chat = chat_before.map_or(Ok(0), |before| tx.prune_chat(before, BATCH))?;
                    let memories = tx.prune_memories(now, BATCH)?;
                    let counts = [repeats, notices, tasks, runs, approvals, chat, memories];
                    Ok::<_, Error>(counts.into_iter().max().unwrap_or(0))
                })
                .await?;
            if cleared < u64::from(BATCH) || self.context.stopping().is_cancelled() {
                return Ok(());
            }
        }
    }

    /// A heartbeat, or a status in which a runtime can be called again: what waits for it is tried at once (X15).
    async fn follow_signs_of_life(&self) {
        let mut heartbeats = self.context.live_events();
        let mut removed = self.deliveries.0.fleet.workspaces.removals();
        let mut newest = self.context.store().newest_event();
        let mut seen = *newest.borrow_and_update();
        loop {
            tokio::select! {
                () = self.context.stopping().cancelled() => return,
                heard = heartbeats.recv() => match heard {
                    Ok(event) => {
                        if let Some(id) = event.workspace_id.filter(|id| self.deliveries.0.lanes.is_waiting(*id)) {
                            self.deliveries.wake_queue_for(id, Occasion::SignOfLife);
                        }
                    }
                    // The look over all queues makes up for what was missed.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                // What is missed here waits for the look over all queues.
                Ok(id) = removed.recv() => self.deliveries.wake_queue(id),
                changed = newest.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    tokio::time::sleep(PACE).await;
                    let known = *newest.borrow_and_update();
                    // Whoever begins to wait after this looks at the status itself.
                    if !self.deliveries.0.lanes.is_anybody_waiting() {
                        seen = seen.max(known);
                        continue;
                    }
                    match self.new_statuses(seen).await {
                        Ok((ids, next)) => {
                            seen = next;
                            for id in ids {
                                self.deliveries.wake_queue_for(id, Occasion::SignOfLife);
                            }
                        }
                        Err(error) => tracing::debug!(%error, "statuses could not be followed"),
                    }
                }
            }
        }
    }

    /// Workspaces whose status changed, or whose runtime registered, after this event.
    async fn new_statuses(&self, after: u64) -> Result<(Vec<WorkspaceId>, u64), Error> {
        let query = warren_store::EventQuery { after, org_id: None, workspace_id: None, limit: 500 };
        let page = self.context.store().read(move |tx| tx.events(&query).map_err(Error::from)).await?;
        let next = page.rows.last().map_or(after, |event| event.seq).max(page.next.unwrap_or(0));
        let is_sign = |kind| {
            use EventKind::{WorkspaceRegistered, WorkspaceRemoved, WorkspaceStatusChanged};
            matches!(kind, WorkspaceStatusChanged | WorkspaceRegistered | WorkspaceRemoved)
        };
        let ids = page.rows.iter().filter(|event| is_sign(event.kind)).filter_map(|event| event.workspace_id);
        Ok((ids.filter(|id| self.deliveries.0.lanes.is_waiting(*id)).collect(), next))
    }
}

fn warn_of(result: Result<(), Error>, what: &str) {
    if let Err(error) = result {
        tracing::warn!(%error, "{what}; it is tried again");
    }
}
