//! What follows from a report: files are brought, rows are written, followers are told, and the next is begun.

use serde_json::json;
use warren_fleet::Fleet;
use warren_model::event::{DelegationChanged, DelegationCompleted};
use warren_model::{
    Delegation, Delivery, DeliveryEnd, DeliveryReason, DeliveryState, ErrorCode, EventData, Message,
    NewEvent, Part, Principal, Role, Task, TaskUpdate, Timestamp, WorkspaceId,
};
use warren_rules::messages::{delegation, dispatch, feed};
use warren_service::{Context, Error};
use warren_store::WriteTx;

use super::accept::accept;
use super::files::{Attempt, for_asker, forget_copies, has_files};
use super::record::{Recorded, record};
use super::{Deliveries, DeliveryReport, NewMessage, Sender, Speaker, Submission, TxInputs};

/// The rows at the end of a claim.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) task: Task,
    pub(super) delivery: Delivery,
}

impl Deliveries {
    /// Renews a claim, with what the agent said on the way.
    pub(super) async fn go_on(&self, report: DeliveryReport) -> Result<(Task, Delivery), Error> {
        debug_assert!(report.event.is_none(), "an end is settled");
        let recorded = self.take_report(report).await.map_err(|error| match error.code {
            ErrorCode::VersionConflict => Error::new(ErrorCode::ClaimLost),
            _ => error,
        })?;
        Ok((recorded.task, recorded.delivery))
    }

    /// Writes down what happened. `None`: somebody was faster, and it is settled already.
    pub(super) async fn settle(&self, report: DeliveryReport) -> Result<Option<Settled>, Error> {
        debug_assert!(report.event.is_some(), "a word on the way settles nothing");
        match self.take_report(report).await {
            Ok(recorded) => Ok(Some(Settled { task: recorded.task, delivery: recorded.delivery })),
            Err(error) if matches!(error.code, ErrorCode::ClaimLost | ErrorCode::VersionConflict) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Masks what the agent said, brings its files, writes the rows and tells those who follow.
    async fn take_report(&self, mut report: DeliveryReport) -> Result<Recorded, Error> {
        let agent = report.agent;
        report.begin_work();
        self.0.masking.mask_updates(agent, report.untold()).await?;
        forget_copies(report.untold());
        if !has_files(report.untold()) {
            return self.write_report(report).await;
        }
        // Beside the request, so that copies are not left behind by one who hangs up.
        let deliveries = self.clone();
        let work = async move {
            let attempt = Attempt { delivery_id: report.delivery_id, number: report.attempt };
            let brought = deliveries.0.answer_files.bring(attempt, report.untold()).await?;
            let recorded = deliveries.write_report(report).await;
            deliveries.0.answer_files.conclude(brought).await;
            recorded
        };
        self.0.context.run_detached(work).await?
    }

    async fn write_report(&self, report: DeliveryReport) -> Result<Recorded, Error> {
        let inputs = self.inputs();
        let line = match report.event {
            None => line_of(&self.0.context, &self.0.fleet, &report).await?,
            Some(_) => None,
        };
        let work = report.clone();
        let recorded =
            self.0.context.store().write(move |tx| record(tx, &work, line.as_deref(), &inputs)).await?;
        self.0.followers.note_written(&recorded.task);
        match recorded.follow_up {
            None => {
                for update in report.updates.into_iter().skip(report.told) {
                    self.0.followers.tell(&recorded.task, update);
                }
            }
            Some(_) => {
                self.tell_end(&recorded.task, &report);
                self.follow_up(&recorded);
            }
        }
        Ok(recorded)
    }

    /// Tells those who follow what they have not heard, and last of all the state.
    fn tell_end(&self, task: &Task, report: &DeliveryReport) {
        let has_state = |update: &&TaskUpdate| dispatch::state_of(update).is_some();
        let untold = &report.updates[report.told.min(report.updates.len())..];
        for update in untold.iter().filter(|update| !has_state(update)) {
            self.0.followers.tell(task, update.clone());
        }
        let last = report.updates.iter().rfind(has_state);
        let says_the_same = last.is_some_and(|update| dispatch::state_of(update) == Some(task.state));
        let update = match last {
            Some(update) if says_the_same => update.clone(),
            _ => TaskUpdate::Status {
                state: task.state,
                message: task.status_message.clone(),
                at: task.updated_at,
            },
        };
        self.0.followers.tell(task, update);
    }

    /// Takes up what follows from the end of a claim.
    fn follow_up(&self, recorded: &Recorded) {
        let Recorded { task, delivery, follow_up: Some(next) } = recorded else { return };
        if delivery.state == DeliveryState::Ended {
            self.0.running.let_go(delivery.id);
        }
        match next.again_at {
            Some(at) => self.wake_queue_at(task.workspace_id, at),
            // Nobody waits: whoever comes next finds the room by itself, as it looks at the queue after this did.
            None if !next.has_waiting => {}
            None => self.wake_queue(task.workspace_id),
        }
        for id in &next.notified {
            self.wake_queue(*id);
        }
        for id in &next.orphans {
            self.cancel_in_background(*id);
        }
        if delivery.reason == Some(DeliveryReason::Gone) {
            self.0.signals.report_gone(task.workspace_id);
        }
        if next.begins_to_fail {
            self.0.signals.report_failing(task.workspace_id);
        }
    }
}

/// What people who watch are shown of it. Where the secrets cannot be read that it may hold, nothing is.
async fn line_of(context: &Context, fleet: &Fleet, report: &DeliveryReport) -> Result<Option<String>, Error> {
    let Some(said) = feed::last_said(&report.updates) else { return Ok(None) };
    let id = report.agent.workspace_id;
    let row = context.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
    let Some(row) = row else { return Ok(None) };
    match fleet.redactors.of_workspace(&row).await {
        Ok(known) => Ok(Some(feed::kept_line(&said, &known))),
        Err(error) if error.code == ErrorCode::SecretUnreadable => Ok(None),
        Err(error) => Err(error),
    }
}

/// A delegation follows its task, in the same transaction (X21). Returns the
/// workspaces that were told something.
pub(super) fn update_delegation(
    tx: &mut dyn WriteTx,
    task: &Task,
    delivery: &Delivery,
    speaker: Speaker,
    inputs: &TxInputs,
) -> Result<Vec<WorkspaceId>, Error> {
    let Some(mut row) = tx.delegation_of_task(task.id)? else { return Ok(Vec::new()) };
    let known = row.state;
    let has_expired = delivery.end == Some(DeliveryEnd::Expired);
    row.state = delegation::state_of(known, task.state, delivery.state, has_expired);
    if row.state == known {
        return Ok(Vec::new());
    }
    row.updated_at = inputs.now;
    row.ended_at = row.state.is_final().then_some(inputs.now);
    tx.update_delegation(&row, known)?;
    append_delegation_event(tx, &row, inputs.now)?;
    // Whoever is told that the other is busy holds that answer already.
    if row.state.is_final() && row.is_told && !dispatch::was_turned_away(delivery) {
        tell_delegator(tx, &row, task, speaker, inputs)
    } else {
        Ok(Vec::new())
    }
}

pub(crate) fn append_delegation_event(
    tx: &mut dyn WriteTx,
    row: &Delegation,
    now: Timestamp,
) -> Result<(), Error> {
    let (delegation_id, task_id, to, state) = (row.id, row.task_id, row.to, row.state);
    let data: EventData = if state.is_final() {
        DelegationCompleted { delegation_id, task_id, to, state }.into()
    } else {
        DelegationChanged { delegation_id, task_id, to, state }.into()
    };
    Ok(tx.append_event(&NewEvent {
        at: now,
        org_id: row.org_id,
        workspace_id: Some(row.from),
        principal: Principal::workspace(row.to),
        data,
    })?)
}

/// The result as a message to the one that handed the work on. Its author is who did it, or Warren where it says why
/// there is none (X4).
fn tell_delegator(
    tx: &mut dyn WriteTx,
    row: &Delegation,
    task: &Task,
    speaker: Speaker,
    inputs: &TxInputs,
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
    let submission = Submission {
        sender: Sender { principal: author, org_id: row.org_id },
        new: NewMessage { context_id: context, ..NewMessage::new(row.from, message) },
        now: inputs.now,
        task_id: inputs.task_id,
        delivery_id: inputs.delivery_id,
        chat_message_id: inputs.chat_message_id,
        new_context: format!("delegation-{}", row.id),
        owner: inputs.owner.clone(),
        default_idle_ms: inputs.default_idle_ms,
        config: inputs.config,
        agents: inputs.agents.clone(),
        // Nobody is called from here: it waits in the queue, and whoever settles this wakes it.
        may_start: false,
        origin: None,
    };
    match accept(tx, &submission) {
        Ok(_) => Ok(vec![row.from]),
        // The delegator is gone, full, out of budget, has no agent, or keeps its own session: the result stands in the
        // delegation, to be asked for.
        Err(error)
            if matches!(
                error.code,
                ErrorCode::WorkspaceNotFound
                    | ErrorCode::QueueFull
                    | ErrorCode::RuntimeBusy
                    | ErrorCode::BudgetExhausted
                    | ErrorCode::NoAgent
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
