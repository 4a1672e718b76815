//! What goes on in the background: what is due is dealt with, lanes are looked over, signs of life are followed, and
//! what is old is cleared. Each change is a compare-and-set, so that several replicas may do all of it at once.

use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use warren_fleet::Error;
use warren_model::{ErrorCode, EventKind, WorkspaceId};
use warren_rules::messages::dispatch;

use crate::Exchange;
use crate::dispatcher::Occasion;
use crate::endings::Report;

/// How often what is due is asked for: one read by an index.
const LOOK: Duration = Duration::from_millis(250);
/// How often all lanes are looked over, as a kick may be lost with its process.
const LANES_EVERY: u32 = 4;
/// How often old rows are cleared.
const CLEAR_EVERY: u32 = 240;
const BATCH: u32 = 200;
/// Between two looks at new events, however fast they come.
const PACE: Duration = Duration::from_millis(10);

impl Exchange {
    pub(crate) fn start_upkeep(&self) {
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move { exchange.keep_up().await });
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move { exchange.follow_signs_of_life().await });
    }

    async fn keep_up(&self) {
        let mut round = 0_u32;
        loop {
            if round.is_multiple_of(LANES_EVERY) {
                warn_of(self.look_over_lanes().await, "the queues could not be looked over");
            }
            warn_of(self.deal_with_due().await, "messages that are due could not be dealt with");
            warn_of(self.expire_approvals().await, "questions that are late could not be noted");
            if round.is_multiple_of(CLEAR_EVERY) {
                warn_of(self.clear_old().await, "what is old could not be cleared");
                self.watchers().clear();
            }
            round = round.wrapping_add(1);
            tokio::select! {
                () = self.stopping().cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Expired, silent, past their deadline, or left by whoever held them.
    pub(crate) async fn deal_with_due(&self) -> Result<(), Error> {
        loop {
            let now = self.clock().now();
            let due = self.store().read(move |tx| tx.due_deliveries(now, BATCH).map_err(Error::from)).await?;
            let due = self.fleet().context().readable(due);
            let (count, mut failed) = (due.len(), None);
            for delivery in due {
                let Some(happening) = dispatch::overdue(&delivery, now) else { continue };
                let report = Report::unspoken(&delivery, happening);
                // What one cannot get over, such as a task that cannot be read, is not the others' business.
                match self.settle(report).await {
                    Err(error) if error.code == ErrorCode::DatabaseDamaged => failed = Some(error),
                    settled => drop(settled?),
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if count < BATCH as usize || self.stopping().is_cancelled() {
                return Ok(());
            }
        }
    }

    async fn clear_old(&self) -> Result<(), Error> {
        let (now, terms) = (self.clock().now(), *self.terms());
        let repeats_before = now.plus_ms(-terms.repeat_window_ms);
        let tasks_before = terms.keep_tasks_ms.map(|kept| now.plus_ms(-kept));
        let runs_before = terms.keep_schedule_runs_ms.map(|kept| now.plus_ms(-kept));
        let chat_before = terms.keep_chat_ms.map(|kept| now.plus_ms(-kept));
        let approvals_before = terms.keep_approvals_ms.map(|kept| now.plus_ms(-kept));
        loop {
            let cleared: u64 = self
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
            if cleared < u64::from(BATCH) || self.stopping().is_cancelled() {
                return Ok(());
            }
        }
    }

    /// A heartbeat, or a status in which a runtime can be called again: what waits for it is tried at once (X15).
    async fn follow_signs_of_life(&self) {
        let mut heartbeats = self.fleet().live_events();
        let mut newest = self.store().newest_event();
        let mut seen = *newest.borrow_and_update();
        loop {
            tokio::select! {
                () = self.stopping().cancelled() => return,
                heard = heartbeats.recv() => match heard {
                    Ok(event) => {
                        if let Some(id) = event.workspace_id.filter(|id| self.kicks().is_waiting(*id)) {
                            self.kick_for(id, Occasion::SignOfLife);
                        }
                    }
                    // The look over all lanes makes up for what was missed.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                changed = newest.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    tokio::time::sleep(PACE).await;
                    let known = *newest.borrow_and_update();
                    // Whoever begins to wait after this looks at the status itself.
                    if !self.kicks().is_anybody_waiting() {
                        seen = seen.max(known);
                        continue;
                    }
                    match self.new_statuses(seen).await {
                        Ok((ids, next)) => {
                            seen = next;
                            for id in ids {
                                self.kick_for(id, Occasion::SignOfLife);
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
        let page = self.store().read(move |tx| tx.events(&query).map_err(Error::from)).await?;
        let next = page.rows.last().map_or(after, |event| event.seq).max(page.next.unwrap_or(0));
        let is_sign =
            |kind| matches!(kind, EventKind::WorkspaceStatusChanged | EventKind::WorkspaceRegistered);
        let ids = page.rows.iter().filter(|event| is_sign(event.kind)).filter_map(|event| event.workspace_id);
        Ok((ids.filter(|id| self.kicks().is_waiting(*id)).collect(), next))
    }
}

fn warn_of(result: Result<(), Error>, what: &str) {
    if let Err(error) = result {
        tracing::warn!(%error, "{what}; it is tried again");
    }
}
