//! Brings messages to runtimes that can be called, and follows the work until it ends (X10 to X15).
//!
//! ```text
//!   accepted, ended, heartbeat, woken, time ─▶ kick(workspace) ─▶ claim while there is room ─▶ run each ─▶ settle
//! ```
//!
//! A kick is a hint: whatever it misses, the look over all lanes finds. A run renews its lease while it goes on; once
//! the row says that it has ended (silence, a deadline, somebody cancelled it), the run asks the runtime to stop.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use warren_fleet::Error;
use warren_model::{
    Delivery, DeliveryId, DeliveryReason, DeliveryState, ErrorCode, EventKind, Message, NewEvent, Principal,
    Task, TaskState, TaskUpdate, Timestamp, WorkspaceId,
};
use warren_rules::messages::dispatch::{self, Happening, Outcome};
use warren_rules::{messages::feed, messages::queue, messages::tasks};
use warren_store::{Lane, WriteTx};

use crate::Exchange;
use crate::agent_words::Voice;
use crate::answer_files::{Attempt, forget_copies, has_files};
use crate::chat::Speaker;
use crate::endings::{Moment, Report, stitch};
use crate::send::{CanCall, DEFAULT_CONCURRENCY};
use crate::transport::{Endpoint, Told, Turn, UpdateSink};

/// Updates that may be on their way between a transport and the database.
const TOLD_BUFFER: usize = 64;
/// What comes in pieces is written down together, this often.
const WRITE_PROGRESS: Duration = Duration::from_millis(250);
/// How long a runtime has to answer that it stops.
pub(crate) const CANCEL_PATIENCE: Duration = Duration::from_secs(10);
/// How long work may take to end by itself once Warren stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);
/// Lanes that a look over all reads at once.
const LANES: u32 = 500;

/// Deliveries that this process runs, and how to stop each.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<HashMap<DeliveryId, Rein>>);

/// How a run is stopped.
#[derive(Debug, Clone, Default)]
struct Rein {
    token: CancellationToken,
    /// The runtime was asked to stop already, by whoever cancelled the work.
    was_asked: Arc<AtomicBool>,
}

impl Runs {
    fn begin(&self, id: DeliveryId) -> Rein {
        let rein = Rein::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, rein.clone());
        rein
    }

    /// The runtime was asked to stop: whoever runs it need not ask again.
    pub(crate) fn note_asked(&self, id: DeliveryId) {
        if let Some(rein) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            rein.was_asked.store(true, Ordering::SeqCst);
        }
    }

    fn end(&self, id: DeliveryId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// The row has ended: whoever still runs it stops.
    pub(crate) fn let_go(&self, id: DeliveryId) {
        if let Some(rein) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            rein.token.cancel();
        }
    }
}

/// Lanes that are being drained, those that were kicked meanwhile, and runtimes that wait to be told of work.
#[derive(Debug)]
pub(crate) struct Kicks {
    under_way: Mutex<HashMap<WorkspaceId, Again>>,
    /// Lanes for which something waited when they were last looked at: only these are worth a look at a heartbeat.
    waiting: Mutex<HashSet<WorkspaceId>>,
    pub(crate) told: broadcast::Sender<WorkspaceId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    No,
    Yes,
}

impl Default for Kicks {
    fn default() -> Self {
        Self { under_way: Mutex::default(), waiting: Mutex::default(), told: broadcast::channel(1_024).0 }
    }
}

impl Kicks {
    /// Whether the caller is to drain; if somebody does already, they look once more.
    fn begin(&self, id: WorkspaceId) -> bool {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let again = if under_way.contains_key(&id) { Again::Yes } else { Again::No };
        under_way.insert(id, again).is_none()
    }

    /// Whether to look once more.
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

    fn set_waiting(&self, id: WorkspaceId, is_waiting: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if is_waiting {
            waiting.insert(id)
        } else {
            waiting.remove(&id)
        };
    }

    pub(crate) fn is_anybody_waiting(&self) -> bool {
        !self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(crate) fn is_waiting(&self, id: WorkspaceId) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

/// Why a lane is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// Its time may have come.
    Usual,
    /// Its runtime gave a sign of life: what rested because it was busy need not rest any longer.
    SignOfLife,
}

impl Exchange {
    /// Something may be done for this workspace.
    pub(crate) fn kick(&self, id: WorkspaceId) {
        self.kick_for(id, Occasion::Usual);
    }

    pub(crate) fn kick_for(&self, id: WorkspaceId, occasion: Occasion) {
        self.kicks().set_waiting(id, true);
        let _ = self.kicks().told.send(id);
        if self.stopping().is_cancelled() || !self.kicks().begin(id) {
            return;
        }
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move {
            let mut occasion = occasion;
            loop {
                if let Err(error) = exchange.drain(id, occasion).await {
                    tracing::warn!(workspace.id = %id, %error, "a queue could not be drained; it is tried again");
                }
                occasion = Occasion::Usual;
                if !exchange.kicks().again(id) || exchange.stopping().is_cancelled() {
                    return;
                }
            }
        });
    }

    /// The same, later. If this process ends before, the look over all lanes does it.
    pub(crate) fn kick_at(&self, id: WorkspaceId, at: Timestamp) {
        let wait = at.ms_since(self.clock().now()).max(0).unsigned_abs();
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move {
            tokio::select! {
                () = exchange.stopping().cancelled() => {}
                () = tokio::time::sleep(Duration::from_millis(wait)) => exchange.kick(id),
            }
        });
    }

    /// All lanes for which something waits.
    pub(crate) async fn look_over_lanes(&self) -> Result<(), Error> {
        let mut after = None;
        loop {
            let from = after;
            let lanes: Vec<WorkspaceId> =
                self.store().read(move |tx| tx.waiting_lanes(from, LANES).map_err(Error::from)).await?;
            for id in &lanes {
                self.kick(*id);
            }
            match lanes.last() {
                Some(last) if lanes.len() >= LANES as usize => after = Some(*last),
                _ => return Ok(()),
            }
        }
    }

    /// Claims while there is room, and runs what was claimed.
    async fn drain(&self, id: WorkspaceId, occasion: Occasion) -> Result<(), Error> {
        while !self.stopping().is_cancelled() {
            let (transport, moment) = (self.transport(), self.moment());
            let claimed = self
                .store()
                .write(move |tx| {
                    let can_call = |card: &serde_json::Value| transport.can_call(card);
                    claim_next(tx, id, occasion, &moment, &can_call)
                })
                .await?;
            match claimed {
                Claim::Got(claimed) => self.run_in_background(*claimed),
                Claim::NotNow => return Ok(()),
                Claim::Empty => {
                    self.kicks().set_waiting(id, false);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs a delivery that this process has claimed.
    pub(crate) fn run_in_background(&self, claimed: InHand) {
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move {
            let id = claimed.delivery.id;
            // Boxed: what is handed to the runtime is moved several times, and this is large.
            if let Err(error) = Box::pin(exchange.run(claimed)).await {
                tracing::warn!(delivery.id = %id, %error, "what became of a message could not be written; its lease decides");
            }
        });
    }

    /// Other tasks that a message speaks of, as the agent knows them. Most speak of none, which costs no read.
    async fn references_of(&self, delivery: &Delivery) -> Result<Vec<String>, Error> {
        let said = delivery.message.reference_task_ids.clone();
        if said.is_empty() {
            return Ok(said);
        }
        let id = delivery.workspace_id;
        self.store()
            .read(move |tx| {
                tasks::references(&said, |reference| {
                    let task = tx.task(reference)?.filter(|task| task.workspace_id == id);
                    Ok::<_, Error>(task.and_then(|task| task.remote_id))
                })
            })
            .await
    }

    async fn run(&self, claimed: InHand) -> Result<(), Error> {
        let InHand { delivery, task, card } = claimed;
        let Some(card) = card else {
            return self.report(&delivery, Happening::GivenBack, Vec::new(), None).await;
        };
        let (id, task_id) = (delivery.workspace_id, delivery.task_id);
        let references = self.references_of(&delivery).await?;
        let turn = Turn {
            delivery_id: delivery.id,
            attempt: delivery.attempts,
            task_id,
            resumes: delivery.has_begun && task.remote_id.is_some(),
            context_id: task.context_id,
            remote_id: task.remote_id,
            author: delivery.author.clone(),
            message: Message { reference_task_ids: references, ..delivery.message.clone() },
            deadline_at: delivery.deadline_at,
        };
        let rein = self.runs().begin(delivery.id);
        let endpoint = Endpoint { workspace_id: id, card };
        let ran = Run { exchange: self, delivery: &delivery, endpoint: &endpoint, turn, rein }
            .until_settled()
            .await;
        self.runs().end(delivery.id);
        ran
    }

    async fn report(
        &self,
        delivery: &Delivery,
        happening: Happening,
        updates: Vec<TaskUpdate>,
        remote_id: Option<String>,
    ) -> Result<(), Error> {
        let report = Report {
            delivery_id: delivery.id,
            voice: Voice::of(delivery),
            attempt: delivery.attempts,
            happening,
            updates,
            remote_id,
            by: Principal::workspace(delivery.workspace_id),
        };
        self.settle(report).await.map(drop)
    }
}

/// One delivery while it is run.
struct Run<'a> {
    exchange: &'a Exchange,
    delivery: &'a Delivery,
    endpoint: &'a Endpoint,
    turn: Turn,
    rein: Rein,
}

/// What was heard and is not yet written.
#[derive(Debug, Default)]
struct Heard {
    updates: Vec<TaskUpdate>,
    remote_id: Option<String>,
}

impl Heard {
    fn take(&mut self, told: Told) {
        match told {
            Told::RemoteId(id) => self.remote_id = Some(id),
            Told::Update(update) => self.updates.push(update),
        }
    }

    fn is_empty(&self) -> bool {
        self.updates.is_empty() && self.remote_id.is_none()
    }

    /// What can be written before the end: how the work stands at last is written with the end itself.
    fn split(&mut self) -> Vec<TaskUpdate> {
        let is_last = |update: &TaskUpdate| {
            dispatch::state_of(update).is_some_and(|state| state.is_final() || state.is_interrupted())
        };
        let at = self.updates.iter().position(is_last).unwrap_or(self.updates.len());
        self.updates.drain(..at).collect()
    }
}

impl Run<'_> {
    async fn until_settled(self) -> Result<(), Error> {
        let (sender, mut told) = mpsc::channel(TOLD_BUFFER);
        let sink = UpdateSink::new(sender);
        let transport = self.exchange.transport();
        let deliver = transport.deliver(self.endpoint, &self.turn, &sink);
        let mut deliver = std::pin::pin!(deliver);
        let lease = self.exchange.terms().lease_ms.max(1).unsigned_abs();
        // Not `interval`, whose first tick is said to come at once and comes with the timer's next millisecond.
        let later = |period: Duration| tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        let mut renew = later(Duration::from_millis((lease / 3).max(1)));
        let mut write = later(WRITE_PROGRESS);
        write.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Heard::default();
        let mut remote_id = self.turn.remote_id.clone();
        let mut stop = std::pin::pin!(self.until_left());
        let outcome = loop {
            tokio::select! {
                Some(one) = told.recv() => {
                    if heard.is_empty() {
                        write.reset();
                    }
                    heard.take(one);
                }
                outcome = &mut deliver => break outcome,
                _ = write.tick(), if !heard.is_empty() => {
                    remote_id = heard.remote_id.clone().or(remote_id);
                    let updates = heard.split();
                    match self.progress(updates, heard.remote_id.take()).await {
                        Ok(true) => {}
                        Ok(false) => return self.stop_far_side(remote_id.as_deref()).await,
                        Err(error) if error.code == ErrorCode::PayloadTooLarge => {
                            self.stop_far_side(remote_id.as_deref()).await?;
                            break Outcome::Failed { reason: DeliveryReason::AnswerTooLarge };
                        }
                        Err(error) => return Err(error),
                    }
                }
                _ = renew.tick() => {
                    if !self.progress(Vec::new(), None).await? {
                        return self.stop_far_side(remote_id.as_deref()).await;
                    }
                }
                () = self.rein.token.cancelled() => {
                    return self.stop_far_side(heard.remote_id.or(remote_id).as_deref()).await;
                }
                // Warren stops: the work goes on over there, and the next process asks about it.
                () = &mut stop => {
                    let updates = heard.split();
                    self.progress(updates, heard.remote_id.take()).await?;
                    return self.exchange.report(self.delivery, Happening::LeaseLost, Vec::new(), None).await;
                }
            }
        };
        while let Ok(one) = told.try_recv() {
            heard.take(one);
        }
        let remote_id = heard.remote_id.or(remote_id);
        self.exchange.report(self.delivery, Happening::Spoken(outcome), heard.updates, remote_id).await
    }

    /// Writes what was heard and renews the lease. `false`: the delivery is not ours any more.
    async fn progress(&self, updates: Vec<TaskUpdate>, remote_id: Option<String>) -> Result<bool, Error> {
        let step = Step {
            voice: Voice::of(self.delivery),
            delivery_id: self.delivery.id,
            attempt: self.delivery.attempts,
            lease_ms: self.exchange.terms().lease_ms,
            updates,
            remote_id,
            by: Principal::workspace(self.delivery.workspace_id),
        };
        match self.exchange.step(step).await {
            Ok(_) => Ok(true),
            Err(error) if error.code == ErrorCode::ClaimLost => Ok(false),
            // The database is away for a while: the work goes on, and the lease decides.
            Err(error) if error.code == ErrorCode::PlatformUnavailable => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Short work may still end while Warren stops.
    async fn until_left(&self) {
        self.exchange.stopping().cancelled().await;
        tokio::time::sleep(STOP_PATIENCE).await;
    }

    /// The work is not wanted any more: its runtime is asked to stop (X22).
    async fn stop_far_side(&self, remote_id: Option<&str>) -> Result<(), Error> {
        let is_asked = self.rein.was_asked.load(Ordering::SeqCst);
        let Some(remote_id) = remote_id.filter(|_| !is_asked) else { return Ok(()) };
        let transport = self.exchange.transport();
        let asked = transport.cancel(self.endpoint, remote_id);
        if tokio::time::timeout(CANCEL_PATIENCE, asked).await.is_err() {
            tracing::warn!(delivery.id = %self.delivery.id, "a runtime did not answer that it stops");
        }
        Ok(())
    }
}

/// Progress of a claim.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) voice: Voice,
    pub(crate) delivery_id: DeliveryId,
    pub(crate) attempt: u32,
    pub(crate) lease_ms: i64,
    pub(crate) updates: Vec<TaskUpdate>,
    pub(crate) remote_id: Option<String>,
    pub(crate) by: Principal,
}

impl Exchange {
    /// Renews a claim; with updates, the work has moved (X10: without any, it has not).
    pub(crate) async fn step(&self, mut step: Step) -> Result<(Task, Delivery), Error> {
        self.mask_words(step.voice, &mut step.updates).await?;
        forget_copies(&mut step.updates);
        if !has_files(&mut step.updates) {
            return self.write_progress(step).await;
        }
        let exchange = self.clone();
        let work = async move {
            let attempt = Attempt { delivery_id: step.delivery_id, number: step.attempt };
            let brought = exchange.bring_answer(attempt, &mut step.updates).await?;
            let written = exchange.write_progress(step).await;
            exchange.conclude(brought).await;
            written
        };
        self.fleet().context().run_detached(work).await?
    }

    async fn write_progress(&self, step: Step) -> Result<(Task, Delivery), Error> {
        let now = self.clock().now();
        let line = self.line_of(&step).await?;
        let work = step.clone();
        let written = self.store().write(move |tx| write_step(tx, &work, line.as_deref(), now)).await;
        let (task, delivery) = written.map_err(|error| match error.code {
            ErrorCode::VersionConflict => Error::new(ErrorCode::ClaimLost),
            _ => error,
        })?;
        for update in step.updates {
            self.watchers().tell(&task, update);
        }
        Ok((task, delivery))
    }

    /// What people who watch are shown of it. Where the secrets cannot be read that it may hold, nothing is.
    async fn line_of(&self, step: &Step) -> Result<Option<String>, Error> {
        let Some(said) = feed::last_said(&step.updates) else { return Ok(None) };
        let id = step.voice.workspace_id;
        let row = self.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let Some(row) = row else { return Ok(None) };
        match self.fleet().redactors().of_workspace(&row).await {
            Ok(known) => Ok(Some(feed::kept_line(&said, &known))),
            Err(error) if error.code == ErrorCode::SecretUnreadable => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn write_step(
    tx: &mut dyn WriteTx,
    step: &Step,
    line: Option<&str>,
    now: Timestamp,
) -> Result<(Task, Delivery), Error> {
    let known = tx.delivery(step.delivery_id)?.ok_or_else(|| Error::new(ErrorCode::DeliveryNotFound))?;
    if known.state != DeliveryState::Claimed || known.attempts != step.attempt {
        return Err(Error::new(ErrorCode::ClaimLost));
    }
    let mut delivery = known.clone();
    delivery.lease_until = Some(now.plus_ms(step.lease_ms));
    if !step.updates.is_empty() {
        delivery.progress_at = Some(now);
    }
    delivery.has_begun |= !step.updates.is_empty() || step.remote_id.is_some();
    delivery.due_at = dispatch::due_at(&delivery);
    tx.update_delivery(&delivery, known.state, known.attempts)?;
    let mut task = tx.task(known.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    if step.updates.is_empty() && step.remote_id.is_none() {
        return Ok((task, delivery));
    }
    let was = task.state;
    for update in &step.updates {
        tasks::apply(&mut task, update, now)
            .map_err(|problem| Error::with_detail(ErrorCode::PayloadTooLarge, problem.to_string()))?;
        if let Some(state) = dispatch::state_of(update).filter(|state| !state.is_final()) {
            task.state = state;
        }
    }
    if step.remote_id.is_some() {
        task.remote_id.clone_from(&step.remote_id);
    }
    task.version = tx.update_task(&task, task.version)?;
    if was != task.state {
        append_change(tx, &task, &delivery, was, &step.by, now)?;
    }
    if let Some(line) = line {
        tx.append_event(&NewEvent {
            at: now,
            kind: EventKind::TaskProgressed,
            org_id: task.org_id,
            workspace_id: Some(task.workspace_id),
            principal: step.by.clone(),
            data: serde_json::json!({ "task_id": task.id, "line": line }),
        })?;
    }
    Ok((task, delivery))
}

pub(crate) fn append_change(
    tx: &mut dyn WriteTx,
    task: &Task,
    delivery: &Delivery,
    was: TaskState,
    by: &Principal,
    now: Timestamp,
) -> Result<(), Error> {
    let data = serde_json::json!({
        "task_id": task.id, "delivery_id": delivery.id, "from": was, "to": task.state, "reason": null,
    });
    Ok(tx.append_event(&NewEvent {
        at: now,
        kind: EventKind::TaskChanged,
        org_id: task.org_id,
        workspace_id: Some(task.workspace_id),
        principal: by.clone(),
        data,
    })?)
}

/// A message that is somebody's now, as it stood when it became so.
#[derive(Debug, Clone)]
pub(crate) struct InHand {
    pub(crate) delivery: Delivery,
    pub(crate) task: Task,
    /// Of the runtime that is to be called; one that asks is not.
    pub(crate) card: Option<serde_json::Value>,
}

/// How a claim went.
pub(crate) enum Claim {
    Got(Box<InHand>),
    /// Something waits, and has to.
    NotNow,
    Empty,
}

/// Claims the next message for a runtime that can be called.
fn claim_next(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    occasion: Occasion,
    moment: &Moment,
    can_call: &CanCall<'_>,
) -> Result<Claim, Error> {
    let Some(row) = tx.workspace(id)?.filter(|row| queue::may_be_called(row.status)) else {
        return Ok(Claim::NotNow);
    };
    let card = tx.registration(id)?.and_then(|registration| registration.agent_card);
    if !card.as_ref().is_some_and(can_call) {
        return Ok(Claim::NotNow);
    }
    let lane = tx.hold_lane(id)?;
    if lane.not_before > moment.now && occasion == Occasion::Usual {
        return Ok(Claim::NotNow);
    }
    let max = row.spec.max_concurrent_tasks.unwrap_or(DEFAULT_CONCURRENCY);
    let taker = Taker { owner: &moment.owner, lease_ms: moment.terms.lease_ms, occasion };
    Ok(match claim_waiting(tx, id, max, lane, &taker, moment)? {
        Claim::Got(claimed) => Claim::Got(Box::new(InHand { card, ..*claimed })),
        other => other,
    })
}

/// Who claims.
pub(crate) struct Taker<'a> {
    pub(crate) owner: &'a str,
    pub(crate) lease_ms: i64,
    pub(crate) occasion: Occasion,
}

/// Claims the next message if there is room; the lane is held.
pub(crate) fn claim_waiting(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    max_running: u32,
    lane: Lane,
    taker: &Taker<'_>,
    moment: &Moment,
) -> Result<Claim, Error> {
    let (running, waiting) = tx.crowd(id, 1)?;
    if waiting == 0 {
        return Ok(Claim::Empty);
    }
    if queue::room(max_running, running) == 0 {
        return Ok(Claim::NotNow);
    }
    let ready_by = match taker.occasion {
        Occasion::Usual => moment.now,
        Occasion::SignOfLife => Timestamp::from_micros(i64::MAX),
    };
    let Some(mut delivery) = tx.next_waiting(id, ready_by, moment.now)? else { return Ok(Claim::NotNow) };
    let attempts = delivery.attempts;
    dispatch::claim(&mut delivery, taker.owner, moment.now, taker.lease_ms);
    tx.update_delivery(&delivery, DeliveryState::Queued, attempts)?;
    tx.put_lane(id, Lane { turn: lane.turn.max(delivery.turn), not_before: Timestamp::from_micros(0) })?;
    let mut task = tx.task(delivery.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    let was = task.state;
    task.state = TaskState::Working;
    task.updated_at = moment.now;
    task.version = tx.update_task(&task, task.version)?;
    append_change(tx, &task, &delivery, was, &Principal::workspace(id), moment.now)?;
    stitch(tx, &task, &delivery, Speaker::Agent, moment)?;
    Ok(Claim::Got(Box::new(InHand { delivery, task, card: None })))
}
