//! What is reported about a delivery is written here, and nowhere else: the row of the delivery, its task, its delegation
//! and the events about them change together, or not at all. A word on the way and the end are the same report; the end has
//! an event.

use serde_json::json;
use warren_model::event::{DeliveryRequeued, TaskChanged, TaskProgressed};
use warren_model::{
    Delivery, DeliveryEnd, DeliveryId, DeliveryReason, DeliveryState, ErrorCode, EventData, Message,
    NewEvent, Part, Principal, Role, Task, TaskId, TaskState, TaskUpdate, Timestamp, Vitals, WorkspaceId,
};
use warren_rules::lifecycle::hosted;
use warren_rules::messages::dispatch::{self, DeliveryEvent, Next, RuntimeFacts};
use warren_rules::messages::{delegation, outcomes, queue, tasks};
use warren_service::Error;
use warren_store::{QueueState, WriteTx};

use super::accept::BusyAnswer;
use super::settle::update_delegation;
use super::{AgentRef, Speaker, TxInputs};
use crate::conversations;

/// What is said about a claim: a word on the way, or its end.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryReport {
    pub(crate) delivery_id: DeliveryId,
    pub(crate) agent: AgentRef,
    /// Which attempt it is about; an old one changes nothing.
    pub(crate) attempt: u32,
    /// What happened; absent: the work goes on.
    pub(crate) event: Option<DeliveryEvent>,
    /// What the agent said.
    pub(crate) updates: Vec<TaskUpdate>,
    /// How many of the updates, from the front, are masked, and told to followers.
    pub(crate) told: usize,
    /// The agent's own name for the task.
    pub(crate) remote_id: Option<String>,
    /// Who says so.
    pub(crate) by: Principal,
    /// The sender waits to be told whether the agent has time.
    pub(crate) busy_answer: Option<BusyAnswer>,
}

impl DeliveryReport {
    /// In the name of the agent, without a word of it.
    pub(super) fn of_agent(delivery: &Delivery, event: DeliveryEvent) -> Self {
        Self { by: Principal::workspace(delivery.workspace_id), ..Self::of_warren(delivery, event) }
    }

    /// What Warren found out by itself.
    pub(super) fn of_warren(delivery: &Delivery, event: DeliveryEvent) -> Self {
        Self {
            delivery_id: delivery.id,
            agent: AgentRef::of(delivery),
            attempt: delivery.attempts,
            event: Some(event),
            updates: Vec::new(),
            told: 0,
            remote_id: None,
            by: Principal::system("exchange"),
            busy_answer: None,
        }
    }

    /// The updates that are not masked yet, and of which nobody has heard.
    pub(super) fn untold(&mut self) -> &mut [TaskUpdate] {
        let told = self.told.min(self.updates.len());
        &mut self.updates[told..]
    }

    /// An agent that has a message works on it, by whatever word it says so: a task does not go back to `submitted`.
    pub(super) fn begin_work(&mut self) {
        for update in self.untold() {
            if let TaskUpdate::Status { state: state @ TaskState::Submitted, .. } = update {
                *state = TaskState::Working;
            }
        }
    }

    fn is_about(&self, delivery: &Delivery) -> bool {
        let is_open = match self.event {
            None => delivery.state == DeliveryState::Claimed,
            Some(_) => delivery.state != DeliveryState::Ended,
        };
        is_open && delivery.attempts == self.attempt
    }
}

/// The rows as they were written.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) task: Task,
    pub(super) delivery: Delivery,
    /// What is to be done after the end of a delivery.
    pub(super) follow_up: Option<FollowUp>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct FollowUp {
    /// When it is to be tried again.
    pub(super) again_at: Option<Timestamp>,
    /// Whether others wait in the same queue.
    pub(super) has_waiting: bool,
    /// Delegations that were made out of this work, which is not wanted any more.
    pub(super) orphans: Vec<TaskId>,
    /// Workspaces for which something new waits.
    pub(super) notified: Vec<WorkspaceId>,
    /// With this end, too much of the agent's work fails (F13).
    pub(super) begins_to_fail: bool,
}

/// Applies a report to the rows. `line` is what people who watch are shown of a word on the way.
pub(super) fn record(
    tx: &mut dyn WriteTx,
    report: &DeliveryReport,
    line: Option<&str>,
    inputs: &TxInputs,
) -> Result<Recorded, Error> {
    let known = tx.delivery(report.delivery_id)?.ok_or_else(|| Error::new(ErrorCode::DeliveryNotFound))?;
    if !report.is_about(&known) {
        return Err(Error::new(ErrorCode::ClaimLost));
    }
    let task = tx.task(known.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    let mut change = Change { was: task.state, delivery: known.clone(), known, task };
    let overflow = change.take_updates(report, inputs.now);
    let follow_up = match (&report.event, overflow) {
        (None, None) => {
            change.go_on(tx, report, line, inputs)?;
            None
        }
        (None, Some(problem)) => return Err(Error::with_detail(ErrorCode::PayloadTooLarge, problem)),
        (Some(event), overflow) => Some(change.end(tx, report, event, overflow.is_some(), inputs)?),
    };
    Ok(Recorded { task: change.task, delivery: change.delivery, follow_up })
}

/// The rows of a delivery while they change.
struct Change {
    /// As it was read.
    known: Delivery,
    delivery: Delivery,
    task: Task,
    /// The task's state before.
    was: TaskState,
}

impl Change {
    /// Puts what the agent said into the task. Returns why the task cannot hold all of it, if it cannot.
    fn take_updates(&mut self, report: &DeliveryReport, now: Timestamp) -> Option<String> {
        let mut problem = None;
        for update in &report.updates {
            if let Err(overflow) = tasks::apply(&mut self.task, update, now) {
                problem.get_or_insert_with(|| overflow.to_string());
            }
        }
        if report.remote_id.is_some() {
            self.task.remote_id.clone_from(&report.remote_id);
        }
        problem
    }

    /// A word on the way renews the claim; with updates, the work has moved (X10: without any, it has not).
    fn go_on(
        &mut self,
        tx: &mut dyn WriteTx,
        report: &DeliveryReport,
        line: Option<&str>,
        inputs: &TxInputs,
    ) -> Result<(), Error> {
        let (now, has_moved) = (inputs.now, !report.updates.is_empty());
        self.delivery.lease_until = Some(now.plus_ms(inputs.config.lease_ms));
        if has_moved {
            self.delivery.progress_at = Some(now);
        }
        self.delivery.has_begun |= has_moved || report.remote_id.is_some();
        self.write_delivery(tx)?;
        if !has_moved && report.remote_id.is_none() {
            return Ok(());
        }
        let mut states = report.updates.iter().rev().filter_map(dispatch::state_of);
        if let Some(state) = states.find(|state| !state.is_final()) {
            self.task.state = state;
        }
        self.task.version = tx.update_task(&self.task, self.task.version)?;
        if self.was != self.task.state {
            append_change(tx, &self.task, &self.delivery, self.was, &report.by, now)?;
        }
        if let Some(line) = line {
            tx.append_event(&NewEvent {
                at: now,
                org_id: self.task.org_id,
                workspace_id: Some(self.task.workspace_id),
                principal: report.by.clone(),
                data: TaskProgressed { task_id: self.task.id, line: line.to_owned() }.into(),
            })?;
        }
        Ok(())
    }

    /// The claim has ended: so has the delivery, or it is tried again.
    fn end(
        &mut self,
        tx: &mut dyn WriteTx,
        report: &DeliveryReport,
        event: &DeliveryEvent,
        is_too_large: bool,
        inputs: &TxInputs,
    ) -> Result<FollowUp, Error> {
        let now = inputs.now;
        let queue_state = tx.lock_queue(self.known.workspace_id)?;
        let vitals = tx.hold_vitals(self.known.workspace_id)?;
        let facts = RuntimeFacts {
            deduplicates: vitals.displaced.deduplication || is_hosted(tx, self.known.workspace_id, event)?,
            can_resume: self.task.remote_id.is_some(),
            answers_busy: vitals.displaced.session && report.busy_answer.is_some(),
            now,
            fraction: inputs.fraction,
        };
        let next = if is_too_large {
            dispatch::after_overflow()
        } else {
            dispatch::after(&self.known, event, facts)
        };
        let mut speaker = Speaker::Agent;
        let again_at = match next {
            Next::End { how, reason } => {
                end_delivery(&mut self.delivery, how, reason, now);
                let told = report.updates.iter().rev().find_map(dispatch::state_of);
                // A reply that was turned away can be given again.
                let before = report.busy_answer.and_then(|answer| answer.task_before);
                self.task.state = before
                    .filter(|_| dispatch::was_turned_away(&self.delivery))
                    .unwrap_or_else(|| dispatch::task_after(told, how));
                if explain(&mut self.task, how, reason, now) {
                    speaker = Speaker::Warren;
                }
                None
            }
            Next::Again { not_before, reason } => {
                // The task stays as those who follow it know it: what works does not go back to what was submitted.
                put_back(&mut self.delivery, not_before, reason);
                Some(not_before)
            }
        };
        self.write_delivery(tx)?;
        put_queue_state(tx, &self.delivery, queue_state, event)?;
        self.task.updated_at = now;
        self.task.version = tx.update_task(&self.task, self.task.version)?;
        self.append_end(tx, report, now)?;
        if self.delivery.state == DeliveryState::Ended {
            conversations::show_answer(tx, &self.task, &report.updates, speaker, inputs)?;
        }
        let begins_to_fail = count_outcome(tx, &self.task, &self.delivery, &vitals, now)?;
        let notified = update_delegation(tx, &self.task, &self.delivery, speaker, inputs)?;
        let orphans = if delegation::takes_back(self.task.state) {
            tx.open_delegations_from(self.task.id)?.iter().map(|one| one.task_id).collect()
        } else {
            Vec::new()
        };
        let (_, waiting) = tx.crowd(self.task.workspace_id, 1)?;
        Ok(FollowUp { again_at, has_waiting: waiting > 0, orphans, notified, begins_to_fail })
    }

    fn write_delivery(&mut self, tx: &mut dyn WriteTx) -> Result<(), Error> {
        self.delivery.due_at = dispatch::due_at(&self.delivery);
        Ok(tx.update_delivery(&self.delivery, self.known.state, self.known.attempts)?)
    }

    fn append_end(&self, tx: &mut dyn WriteTx, report: &DeliveryReport, now: Timestamp) -> Result<(), Error> {
        let (task, delivery) = (&self.task, &self.delivery);
        let (task_id, delivery_id, reason) = (task.id, delivery.id, delivery.reason);
        let data: EventData = if delivery.state == DeliveryState::Queued {
            DeliveryRequeued { task_id, delivery_id, reason, attempts: delivery.attempts }.into()
        } else {
            TaskChanged { task_id, delivery_id, from: self.was, to: task.state, reason }.into()
        };
        Ok(tx.append_event(&NewEvent {
            at: now,
            org_id: task.org_id,
            workspace_id: Some(task.workspace_id),
            principal: report.by.clone(),
            data,
        })?)
    }
}

/// Agents that Warren runs itself take a message once. Asked only where it matters.
fn is_hosted(tx: &mut dyn WriteTx, id: WorkspaceId, event: &DeliveryEvent) -> Result<bool, Error> {
    match event {
        DeliveryEvent::LeaseLost | DeliveryEvent::Spoken(dispatch::Outcome::Unknown) => {
            Ok(tx.workspace(id)?.is_some_and(|row| hosted::has_agent(&row.spec)))
        }
        _ => Ok(false),
    }
}

/// What the end says of the runtime is counted with it, so that a message costs no further commit. Returns true if
/// this was one failure too many.
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

fn end_delivery(delivery: &mut Delivery, how: DeliveryEnd, reason: Option<DeliveryReason>, now: Timestamp) {
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

/// Who asked learns why, in words, where the agent said nothing itself. Returns true if Warren wrote the
/// reason itself.
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

/// The queue of an agent that is busy rests; that of one that answered is free.
fn put_queue_state(
    tx: &mut dyn WriteTx,
    delivery: &Delivery,
    queue_state: QueueState,
    event: &DeliveryEvent,
) -> Result<(), Error> {
    let not_before = queue::rest_after(event, delivery.not_before, queue_state.not_before);
    if not_before == queue_state.not_before {
        return Ok(());
    }
    Ok(tx.put_queue_state(delivery.workspace_id, QueueState { not_before, ..queue_state })?)
}

/// The task came to another state on the way.
pub(super) fn append_change(
    tx: &mut dyn WriteTx,
    task: &Task,
    delivery: &Delivery,
    was: TaskState,
    by: &Principal,
    now: Timestamp,
) -> Result<(), Error> {
    let data =
        TaskChanged { task_id: task.id, delivery_id: delivery.id, from: was, to: task.state, reason: None };
    Ok(tx.append_event(&NewEvent {
        at: now,
        org_id: task.org_id,
        workspace_id: Some(task.workspace_id),
        principal: by.clone(),
        data: data.into(),
    })?)
}
