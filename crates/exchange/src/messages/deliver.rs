//! Brings a claimed message to an agent that Warren calls, and follows the work until it ends (X10, X11).
//!
//! ```text
//!   ClaimedDelivery ─▶ DeliveryAttempt ─▶ agent ─▶ AgentUpdate ─┬▶ followers, at once
//!                                                               └▶ rows, every 250 ms and at the end
//! ```
//!
//! A delivery renews its lease while it goes on. Once the row says that it has ended (silence, a deadline, somebody
//! cancelled it), the agent is asked to stop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::info_span;
use warren_model::{
    Delivery, DeliveryId, DeliveryReason, ErrorCode, Message, Principal, Task, TaskState, TaskUpdate,
};
use warren_rules::messages::dispatch::{self, DeliveryEvent, Outcome};
use warren_rules::messages::tasks;
use warren_service::{Context, Error};

use super::accept::BusyAnswer;
use super::files::{forget_copies, has_files};
use super::follow::settles;
use super::{AgentRef, Deliveries, DeliveryReport};
use crate::agents::{AgentAddress, AgentRuntime, AgentUpdate, DeliveryAttempt, UpdateSink};

/// Updates that may be on their way between an agent and the database.
const UPDATE_BUFFER: usize = 64;
/// What comes in pieces is written down together, this often.
const WRITE_PROGRESS: Duration = Duration::from_millis(250);
/// How long an agent has to answer that it stops.
pub(super) const CANCEL_PATIENCE: Duration = Duration::from_secs(10);
/// How long work may take to end by itself once Warren stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// A message that is somebody's now, as it stood when it became so.
#[derive(Debug, Clone)]
pub(crate) struct ClaimedDelivery {
    pub(crate) delivery: Delivery,
    pub(crate) task: Task,
    pub(crate) agent: AgentAddress,
}

/// Whether the agent has time for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstWord {
    /// It works on it, or has ended it.
    Taken,
    /// It keeps its own session, and said that it is busy.
    Busy { retry_after_ms: Option<u64> },
}

/// The sender waits for the agent's first word. Dropped without one, nothing is said.
#[derive(Debug)]
pub(super) struct WaitingSender {
    pub(super) sender: oneshot::Sender<FirstWord>,
    pub(super) busy_answer: BusyAnswer,
}

/// Deliveries of this process that are under way, and how to stop each.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashMap<DeliveryId, DeliveryHandle>>);

/// How a delivery is stopped.
#[derive(Debug, Clone, Default)]
struct DeliveryHandle {
    ended: CancellationToken,
    /// The agent was asked to stop already, by whoever cancelled the work.
    was_asked: Arc<AtomicBool>,
}

impl Running {
    fn begin(&self, id: DeliveryId) -> DeliveryHandle {
        let handle = DeliveryHandle::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, handle.clone());
        handle
    }

    /// The agent was asked to stop: whoever delivers to it need not ask again.
    pub(super) fn note_asked(&self, id: DeliveryId) {
        if let Some(handle) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            handle.was_asked.store(true, Ordering::SeqCst);
        }
    }

    fn end(&self, id: DeliveryId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// The row has ended: whoever still delivers stops.
    pub(super) fn let_go(&self, id: DeliveryId) {
        if let Some(handle) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            handle.ended.cancel();
        }
    }
}

impl Deliveries {
    /// Delivers what this process has claimed.
    pub(super) fn deliver_in_background(&self, claimed: ClaimedDelivery, waiting: Option<WaitingSender>) {
        let deliveries = self.clone();
        let span = info_span!(
            "exchange.messages.deliver",
            workspace.id = %claimed.agent.workspace_id, task.id = %claimed.task.id,
            delivery.id = %claimed.delivery.id, delivery.attempt = claimed.delivery.attempts,
        );
        self.0.context.spawn(span, async move {
            // Boxed: what is handed to the async runtime is moved several times, and this is large.
            if let Err(error) = Box::pin(deliveries.deliver(claimed, waiting)).await {
                tracing::warn!(%error, "what became of a message could not be written; its lease decides");
            }
        });
    }

    async fn deliver(&self, claimed: ClaimedDelivery, waiting: Option<WaitingSender>) -> Result<(), Error> {
        let ClaimedDelivery { delivery, task, agent } = claimed;
        let Some(runtime) = self.0.agents.runtime_of(&agent) else {
            let report = DeliveryReport::of_agent(&delivery, DeliveryEvent::GivenBack);
            return self.settle(report).await.map(drop);
        };
        let references = references_of(&self.0.context, &delivery).await?;
        let attempt = DeliveryAttempt {
            delivery_id: delivery.id,
            attempt: delivery.attempts,
            task_id: delivery.task_id,
            resumes: delivery.has_begun && task.remote_id.is_some(),
            context_id: task.context_id,
            remote_id: task.remote_id,
            author: delivery.author.clone(),
            message: Message { reference_task_ids: references, ..delivery.message.clone() },
            deadline_at: delivery.deadline_at,
        };
        let handle = self.0.running.begin(delivery.id);
        let version = task.version;
        let delivering =
            Delivering { deliveries: self, runtime, agent: &agent, delivery: &delivery, handle, version };
        let delivered = delivering.until_settled(&attempt, waiting).await;
        self.0.running.end(delivery.id);
        delivered
    }
}

/// What the agent said and no row holds yet.
#[derive(Debug, Default)]
struct Heard {
    updates: Vec<TaskUpdate>,
    /// How many of the updates, from the front, are masked, and told to followers.
    told: usize,
    remote_id: Option<String>,
}

impl Heard {
    fn is_empty(&self) -> bool {
        self.updates.is_empty() && self.remote_id.is_none()
    }

    /// Takes out what can be written before the end, and how many of it were told: how the work stands at last is written
    /// with the end itself.
    fn split(&mut self) -> (Vec<TaskUpdate>, usize) {
        let at = self.updates.iter().position(settles).unwrap_or(self.updates.len());
        (self.updates.drain(..at).collect(), std::mem::take(&mut self.told))
    }
}

/// One delivery while it goes on.
struct Delivering<'a> {
    deliveries: &'a Deliveries,
    runtime: &'a dyn AgentRuntime,
    agent: &'a AgentAddress,
    delivery: &'a Delivery,
    handle: DeliveryHandle,
    /// Of the task's row, as it was written last.
    version: u64,
}

impl Delivering<'_> {
    async fn until_settled(
        mut self,
        attempt: &DeliveryAttempt,
        mut waiting: Option<WaitingSender>,
    ) -> Result<(), Error> {
        let (sender, mut said) = mpsc::channel(UPDATE_BUFFER);
        let sink = UpdateSink::new(sender);
        let mut deliver = std::pin::pin!(self.runtime.deliver(self.agent, attempt, &sink));
        let lease = self.deliveries.0.config.lease_ms.max(1).unsigned_abs();
        // Not `interval`, whose first tick is said to come at once and comes with the timer's next millisecond.
        let later = |period: Duration| tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        let mut renew = later(Duration::from_millis((lease / 3).max(1)));
        let mut write = later(WRITE_PROGRESS);
        write.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Heard::default();
        let mut remote_id = attempt.remote_id.clone();
        let deliveries = self.deliveries;
        let mut stop = std::pin::pin!(until_left(deliveries));
        let ended = self.handle.ended.clone();
        let outcome = loop {
            tokio::select! {
                Some(one) = said.recv() => {
                    if let Some(waiting) = waiting.take() {
                        let _ = waiting.sender.send(FirstWord::Taken);
                    }
                    if heard.is_empty() {
                        write.reset();
                    }
                    self.hear(&mut heard, one).await;
                    if has_files(&mut heard.updates[heard.told..]) {
                        // Followers wait for the copies, and what comes after waits for them.
                        write.reset_immediately();
                    }
                }
                outcome = &mut deliver => break outcome,
                _ = write.tick(), if !heard.is_empty() => {
                    remote_id = heard.remote_id.clone().or(remote_id);
                    match self.write_progress(&mut heard).await {
                        Ok(true) => {}
                        Ok(false) => return self.stop_agent(remote_id.as_deref()).await,
                        Err(error) if error.code == ErrorCode::PayloadTooLarge => {
                            self.stop_agent(remote_id.as_deref()).await?;
                            break Outcome::Failed { reason: DeliveryReason::AnswerTooLarge };
                        }
                        Err(error) => return Err(error),
                    }
                }
                _ = renew.tick() => {
                    if !self.write_progress(&mut Heard::default()).await? {
                        return self.stop_agent(remote_id.as_deref()).await;
                    }
                }
                () = ended.cancelled() => {
                    return self.stop_agent(heard.remote_id.or(remote_id).as_deref()).await;
                }
                // Warren stops: the work goes on over there, and the next process asks about it.
                () = &mut stop => {
                    self.write_progress(&mut heard).await?;
                    let report = DeliveryReport::of_agent(self.delivery, DeliveryEvent::LeaseLost);
                    return deliveries.settle(report).await.map(drop);
                }
            }
        };
        while let Ok(one) = said.try_recv() {
            heard.take(one);
        }
        let retry_after_ms = match outcome {
            Outcome::Busy { retry_after_ms } => retry_after_ms,
            _ => None,
        };
        // One that was answered meanwhile was told that the message is on its way.
        let waiting = waiting.filter(|waiting| heard.is_empty() && !waiting.sender.is_closed());
        let report = DeliveryReport {
            busy_answer: waiting.as_ref().map(|waiting| waiting.busy_answer),
            updates: heard.updates,
            told: heard.told,
            remote_id: heard.remote_id.or(remote_id),
            ..DeliveryReport::of_agent(self.delivery, DeliveryEvent::Spoken(outcome))
        };
        let settled = deliveries.settle(report).await?;
        if let Some(waiting) = waiting {
            let is_busy = settled.is_some_and(|settled| dispatch::was_turned_away(&settled.delivery));
            let word = if is_busy { FirstWord::Busy { retry_after_ms } } else { FirstWord::Taken };
            let _ = waiting.sender.send(word);
        }
        Ok(())
    }

    /// Takes in what the agent said. Followers hear of it now, masked; the row is written at its own pace. What ends the
    /// delivery is told with its end, and files are told once they are copied.
    async fn hear(&self, heard: &mut Heard, one: AgentUpdate) {
        heard.take(one);
        let followers = &self.deliveries.0.followers;
        let task_id = self.delivery.task_id;
        // Whatever was not told holds up what comes after it, so that the order stays.
        let [update] = &mut heard.updates[heard.told..] else { return };
        if settles(update) || !followers.has_any(task_id) {
            return;
        }
        let update = std::slice::from_mut(update);
        if has_files(update) {
            return;
        }
        forget_copies(update);
        let agent = AgentRef::of(self.delivery);
        if let Err(error) = self.deliveries.0.masking.mask_updates(agent, update).await {
            tracing::debug!(%error, "what an agent said could not be masked yet; followers hear of it later");
            return;
        }
        if followers.tell_unwritten(task_id, self.version + 1, update[0].clone()) {
            heard.told += 1;
        }
    }

    /// Writes what was heard and renews the lease. Returns false if the delivery is not ours any more.
    async fn write_progress(&mut self, heard: &mut Heard) -> Result<bool, Error> {
        let (updates, told) = heard.split();
        let report = DeliveryReport {
            delivery_id: self.delivery.id,
            agent: AgentRef::of(self.delivery),
            attempt: self.delivery.attempts,
            event: None,
            updates,
            told,
            remote_id: heard.remote_id.take(),
            by: Principal::workspace(self.delivery.workspace_id),
            busy_answer: None,
        };
        match self.deliveries.go_on(report).await {
            Ok((task, _)) => {
                self.version = task.version;
                Ok(true)
            }
            Err(error) if error.code == ErrorCode::ClaimLost => Ok(false),
            // The database is away for a while: the work goes on, and the lease decides.
            Err(error) if error.code == ErrorCode::PlatformUnavailable => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The work is not wanted any more: its agent is asked to stop (X22).
    async fn stop_agent(&self, remote_id: Option<&str>) -> Result<(), Error> {
        let is_asked = self.handle.was_asked.load(Ordering::SeqCst);
        let Some(remote_id) = remote_id.filter(|_| !is_asked) else { return Ok(()) };
        let asked = self.runtime.cancel(self.agent, remote_id);
        if tokio::time::timeout(CANCEL_PATIENCE, asked).await.is_err() {
            tracing::warn!("an agent did not answer that it stops");
        }
        Ok(())
    }
}

impl Heard {
    fn take(&mut self, one: AgentUpdate) {
        match one {
            AgentUpdate::RemoteId(id) => self.remote_id = Some(id),
            // The agent has taken the message: to those who follow, the task works since it was claimed.
            AgentUpdate::Task(TaskUpdate::Status { state: TaskState::Submitted, message, at }) => {
                self.updates.push(TaskUpdate::Status { state: TaskState::Working, message, at });
            }
            AgentUpdate::Task(update) => self.updates.push(update),
        }
    }
}

/// Short work may still end while Warren stops.
async fn until_left(deliveries: &Deliveries) {
    deliveries.0.context.stopping().cancelled().await;
    tokio::time::sleep(STOP_PATIENCE).await;
}

/// Other tasks that a message speaks of, as the agent knows them. Most speak of none, which costs no read.
async fn references_of(context: &Context, delivery: &Delivery) -> Result<Vec<String>, Error> {
    let said = delivery.message.reference_task_ids.clone();
    if said.is_empty() {
        return Ok(said);
    }
    let id = delivery.workspace_id;
    let store = context.store();
    let known = store.read(move |tx| {
        tasks::references(&said, |reference| {
            let task = tx.task(reference)?.filter(|task| task.workspace_id == id);
            Ok::<_, Error>(task.and_then(|task| task.remote_id))
        })
    });
    known.await
}
