//! The one place where something happens to a message that was accepted: its row, its task, its delegation and the
//! events about them change together, or not at all.

use serde_json::json;
use warren_fleet::Error;
use warren_model::{
    ChatMessageId, Delegation, Delivery, DeliveryEnd, DeliveryId, DeliveryReason, DeliveryState, ErrorCode,
    EventKind, Message, NewEvent, Part, Principal, Role, Task, TaskId, TaskState, TaskUpdate, Timestamp,
    Vitals, WorkspaceId,
};
use warren_rules::messages::dispatch::{self, Happening, Knowledge, Next};
use warren_rules::{messages::delegation, messages::outcomes, messages::queue, messages::tasks};
use warren_store::{Lane, WriteTx};

use crate::agent_words::Voice;
use crate::answer_files::{Attempt, for_asker, forget_copies, has_files};
use crate::chat::{self, Speaker};
use crate::send::{Request, Send, Sender, Taken, take};
use crate::{Exchange, Terms};

/// What happened, and what the agent said before it did.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) delivery_id: DeliveryId,
    pub(crate) voice: Voice,
    /// Which attempt it is about; an old one changes nothing.
    pub(crate) attempt: u32,
    pub(crate) happening: Happening,
    pub(crate) updates: Vec<TaskUpdate>,
    pub(crate) remote_id: Option<String>,
    /// Who says so.
    pub(crate) by: Principal,
}

impl Report {
    /// Of what Warren found out by itself, without a word of the agent.
    pub(crate) fn unspoken(delivery: &Delivery, happening: Happening) -> Self {
        Self {
            delivery_id: delivery.id,
            voice: Voice::of(delivery),
            attempt: delivery.attempts,
            happening,
            updates: Vec::new(),
            remote_id: None,
            by: Principal::system("exchange"),
        }
    }
}

/// What followed.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    pub(crate) task: Task,
    pub(crate) delivery: Delivery,
    /// When it is to be tried again.
    pub(crate) again_at: Option<Timestamp>,
    /// Whether others wait in the same lane.
    pub(crate) has_followers: bool,
    /// Delegations that were made out of this work, which is not wanted any more.
    pub(crate) orphans: Vec<TaskId>,
    /// Workspaces for which something new waits.
    pub(crate) told: Vec<WorkspaceId>,
    /// With this end, too much of the runtime's work fails (F13).
    pub(crate) begins_to_fail: bool,
}

impl Exchange {
    /// Writes down what happened. `None`: somebody was faster, and it is settled already.
    pub(crate) async fn settle(&self, mut report: Report) -> Result<Option<Settled>, Error> {
        self.mask_words(report.voice, &mut report.updates).await?;
        forget_copies(&mut report.updates);
        if !has_files(&mut report.updates) {
            return self.write_end(report).await;
        }
        // Beside the request, so that copies are not left behind by one who hangs up.
        let exchange = self.clone();
        let work = async move {
            let attempt = Attempt { delivery_id: report.delivery_id, number: report.attempt };
            let brought = exchange.bring_answer(attempt, &mut report.updates).await?;
            let settled = exchange.write_end(report).await;
            exchange.conclude(brought).await;
            settled
        };
        self.fleet().context().run_detached(work).await?
    }

    async fn write_end(&self, report: Report) -> Result<Option<Settled>, Error> {
        let moment = self.moment();
        let work = report.clone();
        let settled = self.store().write(move |tx| settle(tx, &work, &moment)).await;
        match settled {
            Ok(settled) => {
                self.after(&settled, &report.updates);
                Ok(Some(settled))
            }
            Err(error) if matches!(error.code, ErrorCode::ClaimLost | ErrorCode::VersionConflict) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells those who follow, and takes up what follows.
    fn after(&self, settled: &Settled, updates: &[TaskUpdate]) {
        let task = &settled.task;
        for update in updates.iter().filter(|update| dispatch::state_of(update).is_none()) {
            self.watchers().tell(task, update.clone());
        }
        let last = updates.iter().rev().find(|update| dispatch::state_of(update).is_some());
        let says_the_same = last.is_some_and(|update| dispatch::state_of(update) == Some(task.state));
        let update = match last {
            Some(update) if says_the_same => update.clone(),
            _ => TaskUpdate::Status {
                state: task.state,
                message: task.status_message.clone(),
                at: task.updated_at,
            },
        };
        self.watchers().tell(task, update);
        if settled.delivery.state == DeliveryState::Ended {
            self.runs().let_go(settled.delivery.id);
        }
        match settled.again_at {
            Some(at) => self.kick_at(task.workspace_id, at),
            // Nobody waits: whoever comes next finds the room by itself, as it looks at the lane after this did.
            None if !settled.has_followers => {}
            None => self.kick(task.workspace_id),
        }
        for id in &settled.told {
            self.kick(*id);
        }
        for id in &settled.orphans {
            self.cancel_in_background(*id);
        }
        if settled.delivery.reason == Some(DeliveryReason::Gone) {
            self.report_gone(task.workspace_id);
        }
        if settled.begins_to_fail {
            self.report_failing(task.workspace_id);
        }
    }

    pub(crate) fn moment(&self) -> Moment {
        let now = self.clock().now();
        Moment {
            now,
            fraction: self.entropy().fraction(),
            terms: *self.terms(),
            default_idle_ms: self.fleet().idle_timeout_ms(),
            owner: self.instance().to_owned(),
            // For a message that tells the delegator, should one be owed.
            task_id: self.entropy().id(now),
            delivery_id: self.entropy().id(now),
            chat_message_id: self.entropy().id(now),
            answer_id: self.entropy().id(now),
        }
    }
}

/// What a transaction may not make up itself.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) now: Timestamp,
    pub(crate) fraction: f64,
    pub(crate) terms: Terms,
    pub(crate) default_idle_ms: i64,
    pub(crate) owner: String,
    pub(crate) task_id: TaskId,
    pub(crate) delivery_id: DeliveryId,
    pub(crate) chat_message_id: ChatMessageId,
    /// Of what is shown of an answer, if the work belongs to a conversation.
    pub(crate) answer_id: ChatMessageId,
}

fn settle(tx: &mut dyn WriteTx, report: &Report, moment: &Moment) -> Result<Settled, Error> {
    let known = tx.delivery(report.delivery_id)?.ok_or_else(|| Error::new(ErrorCode::DeliveryNotFound))?;
    if known.state == DeliveryState::Ended || known.attempts != report.attempt {
        return Err(Error::new(ErrorCode::ClaimLost));
    }
    let mut task = tx.task(known.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    let lane = tx.hold_lane(known.workspace_id)?;
    let vitals = tx.hold_vitals(known.workspace_id)?;
    let knowing = Knowledge {
        deduplicates: vitals.displaced.deduplication,
        can_resume: task.remote_id.is_some(),
        now: moment.now,
        fraction: moment.fraction,
    };
    let mut next = dispatch::after(&known, &report.happening, knowing);
    let was = task.state;
    for update in &report.updates {
        if tasks::apply(&mut task, update, moment.now).is_err() {
            next = dispatch::after_overflow();
        }
    }
    if report.remote_id.is_some() {
        task.remote_id.clone_from(&report.remote_id);
    }
    let mut delivery = known.clone();
    let mut speaker = Speaker::Agent;
    let again_at = match &next {
        Next::End { how, reason } => {
            end(&mut delivery, *how, *reason, moment.now);
            let told = report.updates.iter().rev().find_map(dispatch::state_of);
            task.state = dispatch::task_after(told, *how);
            if explain(&mut task, *how, *reason, moment.now) {
                speaker = Speaker::Warren;
            }
            None
        }
        Next::Again { not_before, reason } => {
            put_back(&mut delivery, *not_before, *reason);
            task.state = TaskState::Submitted;
            Some(*not_before)
        }
    };
    delivery.due_at = dispatch::due_at(&delivery);
    tx.update_delivery(&delivery, known.state, known.attempts)?;
    put_lane(tx, &delivery, lane, &report.happening)?;
    task.updated_at = moment.now;
    task.version = tx.update_task(&task, task.version)?;
    append_events(tx, report, &task, &delivery, was, moment.now)?;
    if delivery.state == DeliveryState::Ended {
        chat::show_answer(tx, &task, &report.updates, speaker, moment)?;
    }
    let begins_to_fail = count_outcome(tx, &task, &delivery, &vitals, moment.now)?;
    let told = stitch(tx, &task, &delivery, speaker, moment)?;
    let orphans = if delegation::takes_back(task.state) {
        tx.open_delegations_from(task.id)?.iter().map(|one| one.task_id).collect()
    } else {
        Vec::new()
    };
    let (_, followers) = tx.crowd(task.workspace_id, 1)?;
    Ok(Settled { task, delivery, again_at, has_followers: followers > 0, orphans, told, begins_to_fail })
}

/// What the end says of the runtime is counted with it, so that a message costs no further commit. Answers whether this
/// was one failure too many.
fn count_outcome(
    tx: &mut dyn WriteTx,
    task: &Task,
    delivery: &Delivery,
    known: &Vitals,
    now: Timestamp,
) -> Result<bool, Error> {
    let counted = delivery.end.and_then(|end| outcomes::counted(end, delivery.reason, task.state));
    let Some(outcome) = counted else { return Ok(false) };
    let next = outcomes::after(&known.outcomes, outcome, now);
    let begins_to_fail = outcomes::begins_to_fail(&known.outcomes, &next, now);
    tx.put_vitals(task.workspace_id, &Vitals { outcomes: next, ..known.clone() })?;
    Ok(begins_to_fail)
}

fn end(delivery: &mut Delivery, how: DeliveryEnd, reason: Option<DeliveryReason>, now: Timestamp) {
    delivery.state = DeliveryState::Ended;
    delivery.end = Some(how);
    delivery.reason = reason;
    delivery.owner = None;
    delivery.lease_until = None;
    delivery.ended_at = Some(now);
}

fn put_back(delivery: &mut Delivery, not_before: Timestamp, reason: DeliveryReason) {
    delivery.state = DeliveryState::Queued;
    delivery.reason = Some(reason);
    delivery.not_before = not_before;
    delivery.owner = None;
    delivery.lease_until = None;
    delivery.progress_at = None;
    // Only work that goes on over there has begun; what was turned away has not.
    delivery.has_begun &= reason == DeliveryReason::Resumed;
}

/// Who asked learns why, in words, where the agent said nothing itself. Answers whether it was so.
fn explain(task: &mut Task, how: DeliveryEnd, reason: Option<DeliveryReason>, now: Timestamp) -> bool {
    let has_spoken = task.status_message.is_some();
    let Some(sentence) = dispatch::words_for(how, reason, has_spoken) else { return false };
    let mut message =
        Message::new(format!("{}-{}", task.id, task.version), Role::Agent, vec![Part::text(sentence)]);
    message.metadata.insert("warren/reason".to_owned(), json!(reason));
    let before = task.status_message.replace(message);
    tasks::remember(task, before);
    task.updated_at = now;
    true
}

/// A lane whose runtime is busy rests with it; one that answered is free.
fn put_lane(
    tx: &mut dyn WriteTx,
    delivery: &Delivery,
    lane: Lane,
    happening: &Happening,
) -> Result<(), Error> {
    let not_before = queue::rest_after(happening, delivery.not_before, lane.not_before);
    if not_before == lane.not_before {
        return Ok(());
    }
    Ok(tx.put_lane(delivery.workspace_id, Lane { not_before, ..lane })?)
}

fn append_events(
    tx: &mut dyn WriteTx,
    report: &Report,
    task: &Task,
    delivery: &Delivery,
    was: TaskState,
    now: Timestamp,
) -> Result<(), Error> {
    let event = |kind, data| NewEvent {
        at: now,
        kind,
        org_id: task.org_id,
        workspace_id: Some(task.workspace_id),
        principal: report.by.clone(),
        data,
    };
    if delivery.state == DeliveryState::Queued {
        let data = json!({
            "task_id": task.id, "delivery_id": delivery.id, "reason": delivery.reason, "attempts": delivery.attempts,
        });
        tx.append_event(&event(EventKind::DeliveryRequeued, data))?;
        return Ok(());
    }
    let data = json!({
        "task_id": task.id, "delivery_id": delivery.id, "from": was, "to": task.state, "reason": delivery.reason,
    });
    Ok(tx.append_event(&event(EventKind::TaskChanged, data))?)
}

/// A delegation follows its task, in the same transaction (X21). Answers who was told something.
pub(crate) fn stitch(
    tx: &mut dyn WriteTx,
    task: &Task,
    delivery: &Delivery,
    speaker: Speaker,
    moment: &Moment,
) -> Result<Vec<WorkspaceId>, Error> {
    let Some(mut row) = tx.delegation_of_task(task.id)? else { return Ok(Vec::new()) };
    let known = row.state;
    let has_expired = delivery.end == Some(DeliveryEnd::Expired);
    row.state = delegation::state_of(known, task.state, delivery.state, has_expired);
    if row.state == known {
        return Ok(Vec::new());
    }
    row.updated_at = moment.now;
    row.ended_at = row.state.is_final().then_some(moment.now);
    tx.update_delegation(&row, known)?;
    append_delegation_event(tx, &row, moment.now)?;
    if row.state.is_final() && row.is_told {
        tell_delegator(tx, &row, task, speaker, moment)
    } else {
        Ok(Vec::new())
    }
}

pub(crate) fn append_delegation_event(
    tx: &mut dyn WriteTx,
    row: &Delegation,
    now: Timestamp,
) -> Result<(), Error> {
    let kind =
        if row.state.is_final() { EventKind::DelegationCompleted } else { EventKind::DelegationChanged };
    Ok(tx.append_event(&NewEvent {
        at: now,
        kind,
        org_id: row.org_id,
        workspace_id: Some(row.from),
        principal: Principal::workspace(row.to),
        data: json!({ "delegation_id": row.id, "task_id": row.task_id, "to": row.to, "state": row.state }),
    })?)
}

/// The result as a message to the one that handed the work on. Its author is who did it, or Warren where it says why
/// there is none (X4).
fn tell_delegator(
    tx: &mut dyn WriteTx,
    row: &Delegation,
    task: &Task,
    speaker: Speaker,
    moment: &Moment,
) -> Result<Vec<WorkspaceId>, Error> {
    let author = match speaker {
        Speaker::Agent => Principal::workspace(row.to),
        Speaker::Warren => Principal::system("exchange"),
    };
    let mut parts = vec![Part::data(json!({
        "delegation_id": row.id, "task_id": task.id, "state": row.state, "from": row.to,
    }))];
    parts.extend(result_of(task));
    let mut message = Message::new(format!("delegation-{}", row.id), Role::User, parts);
    message.metadata.insert("warren/delegation".to_owned(), json!(row.id));
    let context =
        row.parent_task.map(|id| tx.task(id)).transpose()?.flatten().map(|parent| parent.context_id);
    let request = Request {
        sender: Sender { principal: author, org_id: row.org_id },
        send: Send { context_id: context, ..Send::new(row.from, message) },
        now: moment.now,
        task_id: moment.task_id,
        delivery_id: moment.delivery_id,
        chat_message_id: moment.chat_message_id,
        new_context: format!("delegation-{}", row.id),
        owner: moment.owner.clone(),
        default_idle_ms: moment.default_idle_ms,
        terms: moment.terms,
        origin: None,
    };
    // Nobody is called from here: it waits in the queue, and whoever settles this kicks the lane.
    match take(tx, &request, &|_| false) {
        Ok(Taken::Queued { .. } | Taken::Started(..) | Taken::Repeated(_)) => Ok(vec![row.from]),
        // The delegator is gone, full, out of budget, or keeps its own session: the result stands in the delegation, to be
        // asked for.
        Err(error)
            if matches!(
                error.code,
                ErrorCode::WorkspaceNotFound
                    | ErrorCode::QueueFull
                    | ErrorCode::RuntimeBusy
                    | ErrorCode::BudgetExhausted
            ) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// What came of a task, for whoever handed it on: its artifacts, or else the last that the agent said.
pub fn result_of(task: &Task) -> Vec<Part> {
    parts_of(task).into_iter().map(for_asker).collect()
}

fn parts_of(task: &Task) -> Vec<Part> {
    let artifacts: Vec<Part> =
        task.artifacts.iter().flat_map(|artifact| artifact.parts.iter().cloned()).collect();
    if !artifacts.is_empty() {
        return artifacts;
    }
    let said = task.status_message.as_ref();
    let said = said.or_else(|| task.history.iter().rev().find(|message| message.role == Role::Agent));
    said.map(|message| message.parts.clone()).unwrap_or_default()
}
