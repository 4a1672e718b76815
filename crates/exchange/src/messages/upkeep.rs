//! What goes on in the background: what is due is dealt with, queues are looked over, signs of life are followed, and
//! what is old is cleared. Each change is a compare-and-set, so that several replicas may do all of it at once. The fleet
//! looks after the loops as it does after its sweeps: one that panics is started again, and all stand on its board (F21).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, broadcast, watch};
use warren_fleet::{BackgroundLoop, Tally};
use warren_model::{ErrorCode, EventKind, NewEvent, Timestamp, WorkspaceId};
use warren_rules::messages::dispatch;
use warren_service::{Context, Error};
use warren_store::WriteTx;

use super::lanes::Occasion;
use super::{Deliveries, DeliveryReport};
use crate::Config;
use crate::approvals::Approvals;
use crate::webhooks::KEEP_CALLS_MS;

/// How often what is due is asked for: one read by an index.
const LOOK: Duration = Duration::from_millis(250);
/// How often all queues are looked over, as a wake-up may be lost with its process.
const LANES_EVERY: Duration = Duration::from_secs(1);
/// How often old rows are cleared.
const CLEAR_EVERY: Duration = Duration::from_secs(60);
/// Signs of life are followed for so long in one run.
const ROUND: Duration = Duration::from_secs(1);
const BATCH: u32 = 200;
/// Between two looks at new events, however fast they come.
const PACE: Duration = Duration::from_millis(10);

/// One of the loops; each runs by itself, so that trouble in one is not the others' (F21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    DueMessages,
    Queues,
    LateApprovals,
    SignsOfLife,
    Retention,
}

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
        let signs = Arc::new(Mutex::new(Signs {
            heartbeats: self.context.live_events(),
            removed: self.deliveries.0.fleet.workspaces.removals(),
            newest: self.context.store().newest_event(),
            seen: *self.context.store().newest_event().borrow(),
        }));
        let duties =
            [Duty::DueMessages, Duty::Queues, Duty::LateApprovals, Duty::SignsOfLife, Duty::Retention];
        for duty in duties {
            let work = UpkeepLoop { upkeep: self.clone(), duty, signs: Arc::clone(&signs) };
            self.deliveries.0.fleet.sweeps.supervise(&self.context, Arc::new(work));
        }
    }

    /// Expired, silent, past their deadline, or left by whoever held them.
    async fn deal_with_due(&self, tally: &mut Tally) -> Result<(), Error> {
        loop {
            let now = self.context.now();
            let due = self
                .context
                .store()
                .read(move |tx| tx.due_deliveries(now, BATCH).map_err(Error::from))
                .await?;
            let due = self.context.readable(due);
            let (count, mut failed) = (due.len(), None);
            tally.looked_at += count as u64;
            for delivery in due {
                let Some(event) = dispatch::overdue(&delivery, now) else { continue };
                let report = DeliveryReport::of_warren(&delivery, event);
                // What one cannot get over, such as a task that cannot be read, is not the others' business.
                match self.deliveries.settle(report).await {
                    Err(error) if error.code == ErrorCode::DatabaseDamaged => {
                        tally.failed += 1;
                        failed = Some(error);
                    }
                    settled => tally.acted_on += u64::from(settled?.is_some()),
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

    /// Each table by itself: one that cannot be cleared keeps no other from it.
    async fn clear_old(&self, tally: &mut Tally) -> Result<(), Error> {
        let (now, config) = (self.context.now(), self.config);
        let before = |kept_ms: Option<i64>| kept_ms.map(|kept| now.plus_ms(-kept));
        let repeats = before(Some(config.repeat_window_ms));
        let tables: [(&str, Option<Timestamp>, Prune); 8] = [
            ("keys of messages", repeats, |tx, before, limit| tx.prune_repeats(before, limit)),
            ("keys of notices", repeats, |tx, before, limit| tx.prune_notice_keys(before, limit)),
            ("tasks", before(config.keep_tasks_ms), |tx, before, limit| tx.prune_tasks(before, limit)),
            ("runs of schedules", before(config.keep_schedule_runs_ms), |tx, before, limit| {
                tx.prune_schedule_runs(before, limit)
            }),
            ("approvals", before(config.keep_approvals_ms), |tx, before, limit| {
                tx.prune_approvals(before, limit)
            }),
            ("chats", before(config.keep_chat_ms), |tx, before, limit| tx.prune_chat(before, limit)),
            ("memories", Some(now), |tx, before, limit| tx.prune_memories(before, limit)),
            ("calls of webhooks", before(Some(KEEP_CALLS_MS)), |tx, before, limit| {
                tx.prune_webhook_calls(before, limit)
            }),
        ];
        for (table, before, prune) in tables {
            let Some(before) = before else { continue };
            match self.clear(before, prune, tally).await {
                Err(error) if error.code == ErrorCode::PlatformUnavailable => return Err(error),
                Err(error) => {
                    tracing::warn!(table, %error, "what is old could not be cleared; it is tried again");
                    tally.failed += 1;
                }
                Ok(()) => {}
            }
        }
        self.deliveries.0.followers.clear();
        Ok(())
    }

    async fn clear(&self, before: Timestamp, prune: Prune, tally: &mut Tally) -> Result<(), Error> {
        loop {
            let store = self.context.store();
            let cleared = store.write(move |tx| prune(tx, before, BATCH).map_err(Error::from)).await?;
            tally.looked_at += cleared;
            tally.acted_on += cleared;
            if cleared < u64::from(BATCH) || self.context.stopping().is_cancelled() {
                return Ok(());
            }
        }
    }

    /// A heartbeat, or a status in which a runtime can be called again: what waits for it is tried at once (X15).
    async fn follow_signs_of_life(&self, signs: &mut Signs, tally: &mut Tally) -> Result<(), Error> {
        let mut round = std::pin::pin!(tokio::time::sleep(ROUND));
        loop {
            tokio::select! {
                () = self.context.stopping().cancelled() => return Ok(()),
                () = &mut round => return Ok(()),
                heard = signs.heartbeats.recv() => match heard {
                    Ok(event) => {
                        if let Some(id) = event.workspace_id.filter(|id| self.deliveries.0.lanes.is_waiting(*id)) {
                            tally.acted_on += 1;
                            self.deliveries.wake_queue_for(id, Occasion::SignOfLife);
                        }
                    }
                    // The look over all queues makes up for what was missed.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Ok(()),
                },
                // What is missed here waits for the look over all queues.
                Ok(id) = signs.removed.recv() => self.deliveries.wake_queue(id),
                changed = signs.newest.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    tokio::time::sleep(PACE).await;
                    let known = *signs.newest.borrow_and_update();
                    // Whoever begins to wait after this looks at the status itself.
                    if !self.deliveries.0.lanes.is_anybody_waiting() {
                        signs.seen = signs.seen.max(known);
                        continue;
                    }
                    let (ids, next) = self.new_statuses(signs.seen).await?;
                    signs.seen = next;
                    for id in ids {
                        tally.acted_on += 1;
                        self.deliveries.wake_queue_for(id, Occasion::SignOfLife);
                    }
                }
            }
        }
    }

    /// Workspaces whose status changed, or whose runtime registered or has another card, after this event.
    async fn new_statuses(&self, after: u64) -> Result<(Vec<WorkspaceId>, u64), Error> {
        let query = warren_store::EventQuery { after, org_id: None, workspace_id: None, limit: 500 };
        let page = self.context.store().read(move |tx| tx.events(&query).map_err(Error::from)).await?;
        let next = page.rows.last().map_or(after, |event| event.seq).max(page.next.unwrap_or(0));
        let is_sign = |kind| {
            use EventKind::{
                WorkspaceCardChanged, WorkspaceRegistered, WorkspaceRemoved, WorkspaceStatusChanged,
            };
            matches!(
                kind,
                WorkspaceStatusChanged | WorkspaceRegistered | WorkspaceCardChanged | WorkspaceRemoved
            )
        };
        let ids = page.rows.iter().filter(|event| is_sign(event.kind)).filter_map(|event| event.workspace_id);
        Ok((ids.filter(|id| self.deliveries.0.lanes.is_waiting(*id)).collect(), next))
    }
}

type Prune = fn(&mut dyn WriteTx, Timestamp, u32) -> Result<u64, warren_store::Error>;

/// Where signs of life come from, from one run to the next.
#[derive(Debug)]
struct Signs {
    heartbeats: broadcast::Receiver<Arc<NewEvent>>,
    removed: broadcast::Receiver<WorkspaceId>,
    newest: watch::Receiver<u64>,
    /// The last event that was looked at.
    seen: u64,
}

/// One duty, as the fleet looks after it.
#[derive(Debug)]
struct UpkeepLoop {
    upkeep: Upkeep,
    duty: Duty,
    signs: Arc<Mutex<Signs>>,
}

#[async_trait]
impl BackgroundLoop for UpkeepLoop {
    fn name(&self) -> &'static str {
        match self.duty {
            Duty::DueMessages => "due_messages",
            Duty::Queues => "queues",
            Duty::LateApprovals => "late_approvals",
            Duty::SignsOfLife => "signs_of_life",
            Duty::Retention => "message_retention",
        }
    }

    fn meaning(&self) -> &'static str {
        match self.duty {
            Duty::DueMessages => {
                "Ends messages that waited or were silent for too long, and takes back what was left."
            }
            Duty::Queues => "Looks over all queues for what can be delivered.",
            Duty::LateApprovals => "Notes questions to people that nobody answered in time.",
            Duty::SignsOfLife => "Delivers what waits as soon as a runtime gives a sign of life.",
            Duty::Retention => {
                "Clears away tasks, chats, memories, keys, runs, approvals and calls that are older than they are kept."
            }
        }
    }

    fn interval(&self) -> Duration {
        match self.duty {
            Duty::DueMessages | Duty::LateApprovals => LOOK,
            Duty::Queues => LANES_EVERY,
            Duty::SignsOfLife => PACE,
            Duty::Retention => CLEAR_EVERY,
        }
    }

    async fn run(&self, tally: &mut Tally) -> Result<(), Error> {
        match self.duty {
            Duty::DueMessages => self.upkeep.deal_with_due(tally).await,
            Duty::Queues => self.upkeep.deliveries.wake_all_queues().await,
            Duty::LateApprovals => self.upkeep.approvals.expire_late().await,
            Duty::SignsOfLife => self.upkeep.follow_signs_of_life(&mut *self.signs.lock().await, tally).await,
            Duty::Retention => self.upkeep.clear_old(tally).await,
        }
    }
}
