//! Accepting a message: what is acknowledged is a row, and the row alone leads to its end (X12 to X16).

use warren_fleet::require_budget;
use warren_model::event::TaskSubmitted;
use warren_model::{
    ChatMessage, Delivery, DeliveryState, ErrorCode, NewEvent, PrincipalKind, Status, Task, TaskState,
    Timestamp, Vitals, Workspace,
};
use warren_rules::messages::dispatch;
use warren_rules::messages::queue::{self, QueueFacts, Verdict};
use warren_rules::messages::tasks;
use warren_service::Error;
use warren_store::{Repeat, WriteTx};

use super::{Accepted, ClaimedDelivery, NewMessage, Submission};
use crate::agents::{AgentAddress, Reach};
use crate::conversations;

/// What was decided in the transaction, and what is left to do after it.
pub(crate) enum Admission {
    Repeated(Accepted),
    Started(Accepted, Box<ClaimedDelivery>, Option<BusyAnswer>),
    Queued {
        accepted: Accepted,
        wakes: bool,
        /// Nothing was heard of its agent, which Warren can call.
        is_looked_for: bool,
    },
}

/// The runtime keeps its own session: whoever sends is answered if it says that it is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BusyAnswer {
    /// What the task comes back to: it waited for this message. Absent: the message began it.
    pub(super) task_before: Option<TaskState>,
}

/// Accepts a message inside a transaction.
pub(crate) fn accept(tx: &mut dyn WriteTx, submission: &Submission) -> Result<Admission, Error> {
    let id = submission.new.workspace_id;
    let queue_state = tx.lock_queue(id)?;
    // Only now: of two at once, the second waits for the lock and then finds the first.
    let keys_until = match find_repeat(tx, submission)? {
        Known::Repeat(accepted) => return Ok(Admission::Repeated(*accepted)),
        // Keys of this moment and before count no more.
        Known::TurnedAway => submission.now,
        Known::Nothing => submission.oldest_repeat(),
    };
    let row = tx.workspace(id)?.filter(|row| row.status != Status::Removed);
    let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
    if row.org_id != submission.sender.org_id && submission.sender.principal.kind != PrincipalKind::User {
        return Err(Error::new(ErrorCode::WorkspaceNotFound));
    }
    let agent = AgentAddress::of(tx, &row)?;
    let reach = submission.agents.require_reach(&agent)?;
    // Told now rather than by work that waits for a month and expires (F36).
    require_budget(tx, &row, submission.now)?;
    let vitals = tx.vitals(id)?;
    let (running, waiting) = tx.crowd(id, submission.config.max_waiting)?;
    let is_looked_for = row.status == Status::Offline && reach == Reach::Called;
    let verdict = queue::admit(&QueueFacts {
        status: row.status,
        can_be_called: reach == Reach::Called && submission.may_start,
        keeps_own_session: vitals.displaced.session,
        max_running: row.spec.max_concurrent_tasks.unwrap_or(DEFAULT_CONCURRENCY),
        running,
        waiting,
        max_waiting: submission.config.max_waiting,
        not_before: queue_state.not_before,
        now: submission.now,
    });
    match verdict {
        Verdict::Busy => Err(Error::new(ErrorCode::RuntimeBusy)),
        Verdict::Full => Err(Error::new(ErrorCode::QueueFull)),
        Verdict::Start | Verdict::Queue | Verdict::QueueAndWake => write(
            tx,
            submission,
            verdict,
            Recipient { row, vitals, turn: queue_state.turn, agent, keys_until, is_looked_for },
        ),
    }
}

/// Tasks at once, where the workspace says nothing (X14).
pub(super) const DEFAULT_CONCURRENCY: u32 = warren_model::WorkspaceSpec::DEFAULT_CONCURRENCY;

/// The workspace that a message is for, as it stands in this transaction.
struct Recipient {
    row: Workspace,
    vitals: Vitals,
    /// Of its queue: who sends next stands behind it.
    turn: u64,
    agent: AgentAddress,
    /// Keys of messages that were sent until then may be used again.
    keys_until: Timestamp,
    is_looked_for: bool,
}

fn write(
    tx: &mut dyn WriteTx,
    submission: &Submission,
    verdict: Verdict,
    recipient: Recipient,
) -> Result<Admission, Error> {
    let Recipient { row, vitals, turn, agent, keys_until, is_looked_for } = recipient;
    let row = &row;
    let starts = verdict == Verdict::Start;
    let (task, task_before) = put_task(tx, submission, row, starts)?;
    let mut delivery = new_delivery(tx, submission, row, &vitals, &task, turn)?;
    if starts {
        dispatch::claim(&mut delivery, &submission.owner, submission.now, submission.config.lease_ms);
    }
    delivery.due_at = dispatch::due_at(&delivery);
    tx.insert_delivery(&delivery)?;
    for key in keys(submission) {
        let repeat = Repeat {
            sender: submission.sender.principal.clone(),
            key,
            fingerprint: submission.new.message.fingerprint(),
            task_id: task.id,
            delivery_id: delivery.id,
            at: submission.now,
        };
        if !tx.insert_repeat(&repeat, keys_until)? {
            return Err(warren_store::Error::Conflict.into());
        }
    }
    let position = if starts { None } else { Some(tx.position(&delivery)?) };
    tx.append_event(&NewEvent {
        at: submission.now,
        org_id: row.org_id,
        workspace_id: Some(row.id),
        principal: submission.sender.principal.clone(),
        data: TaskSubmitted {
            task_id: task.id,
            delivery_id: delivery.id,
            context_id: task.context_id.clone(),
            position,
        }
        .into(),
    })?;
    let chat_message = conversations::show_request(tx, submission, &task)?;
    note_task(tx, row, submission.now)?;
    let accepted = Accepted { task, delivery_id: delivery.id, position, is_repeat: false, chat_message };
    Ok(if starts {
        let task = accepted.task.clone();
        let busy_answer = vitals.displaced.session.then_some(BusyAnswer { task_before });
        Admission::Started(accepted, Box::new(ClaimedDelivery { delivery, task, agent }), busy_answer)
    } else {
        Admission::Queued { accepted, wakes: verdict == Verdict::QueueAndWake, is_looked_for }
    })
}

/// Idleness counts from the last task (F7); only those that may fall asleep pay for a write.
fn note_task(tx: &mut dyn WriteTx, row: &Workspace, now: Timestamp) -> Result<(), Error> {
    let Some(after) = row.spec.hibernate_after_seconds else { return Ok(()) };
    let mut vitals = tx.hold_vitals(row.id)?;
    vitals.last_task_at = Some(now);
    vitals.idle_deadline = vitals.idle_deadline.map(|_| now.plus_ms(i64::from(after) * 1_000));
    Ok(tx.put_vitals(row.id, &vitals)?)
}

/// A new task, or one that waits for this message, with the state in which it waited.
fn put_task(
    tx: &mut dyn WriteTx,
    submission: &Submission,
    row: &Workspace,
    starts: bool,
) -> Result<(Task, Option<TaskState>), Error> {
    let state = if starts { TaskState::Working } else { TaskState::Submitted };
    let Some(id) = submission.new.task_id else {
        let context_id = submission.new.context_id.as_ref().unwrap_or(&submission.new_context);
        let author = submission.sender.principal.clone();
        let task = Task {
            state,
            history: vec![submission.new.message.clone()],
            metadata: submission.new.metadata.clone(),
            origin: submission.origin.clone().unwrap_or_default(),
            ..Task::submitted(submission.task_id, row.org_id, row.id, context_id, author, submission.now)
        };
        tx.insert_task(&task)?;
        return Ok((task, None));
    };
    let mut task = tx
        .task(id)?
        .filter(|task| task.workspace_id == row.id)
        .ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    if submission.new.context_id.as_ref().is_some_and(|context| *context != task.context_id) {
        let detail = "context_id: the task belongs to another one";
        return Err(Error::with_detail(ErrorCode::InvalidMessage, detail));
    }
    if !dispatch::takes_message(task.state) {
        return Err(Error::with_detail(ErrorCode::TaskNotOpen, format!("the task is {}", task.state)));
    }
    let was = task.state;
    let before = task.status_message.take();
    tasks::remember(&mut task, before);
    tasks::remember(&mut task, Some(submission.new.message.clone()));
    task.state = state;
    task.updated_at = submission.now;
    task.version = tx.update_task(&task, task.version)?;
    Ok((task, Some(was)))
}

fn new_delivery(
    tx: &mut dyn WriteTx,
    submission: &Submission,
    row: &Workspace,
    vitals: &Vitals,
    task: &Task,
    current_turn: u64,
) -> Result<Delivery, Error> {
    let (now, config, sender) = (submission.now, &submission.config, &submission.sender.principal);
    let last = tx.last_turn_of(row.id, sender)?;
    let idle_ms =
        vitals.idle_timeout_seconds.map_or(submission.default_idle_ms, |seconds| i64::from(seconds) * 1_000);
    let asked = submission.new.deadline_at;
    Ok(Delivery {
        id: submission.delivery_id,
        org_id: row.org_id,
        workspace_id: row.id,
        task_id: task.id,
        author: sender.clone(),
        message: submission.new.message.clone(),
        priority: submission.new.priority,
        turn: queue::turn_of(current_turn, last),
        state: DeliveryState::Queued,
        end: None,
        reason: None,
        attempts: 0,
        not_before: now,
        expires_at: submission.new.expires_at.unwrap_or_else(|| now.plus_ms(config.message_lifetime_ms)),
        idle_timeout_ms: idle_ms.unsigned_abs(),
        deadline_at: dispatch::deadline_of(asked, sender.kind, config.agent_call_ceiling_ms, now),
        owner: None,
        lease_until: None,
        has_begun: false,
        progress_at: None,
        due_at: None,
        created_at: now,
        ended_at: None,
    })
}

/// The keys under which a message is known: its own id, and one that the sender chose.
fn keys(submission: &Submission) -> impl Iterator<Item = String> {
    let id = submission.new.workspace_id;
    let own = submission
        .config
        .message_ids_are_unique
        .then(|| format!("message/{id}/{}", submission.new.message.id));
    let chosen = submission.new.idempotency_key.as_ref().map(|key| format!("key/{id}/{key}"));
    own.into_iter().chain(chosen)
}

/// Whether the sender means this task, as far as they name one: the same words to other work are another message.
fn is_about(new: &NewMessage, task: &Task) -> bool {
    new.task_id.is_none_or(|id| id == task.id)
        && new.context_id.as_ref().is_none_or(|context| *context == task.context_id)
}

/// What is known of the keys of a message.
enum Known {
    Nothing,
    /// It was sent before, and the sender was told to send it again.
    TurnedAway,
    Repeat(Box<Accepted>),
}

fn find_repeat(tx: &mut dyn WriteTx, submission: &Submission) -> Result<Known, Error> {
    let mut found = Known::Nothing;
    for key in keys(submission) {
        let known = tx.repeat(&submission.sender.principal, &key)?;
        let known = known.filter(|known| known.at > submission.oldest_repeat());
        let Some(known) = known else { continue };
        if known.fingerprint != submission.new.message.fingerprint() {
            return Err(Error::new(ErrorCode::KeyReused));
        }
        let task = tx.task(known.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
        if !is_about(&submission.new, &task) {
            return Err(Error::new(ErrorCode::KeyReused));
        }
        let delivery = tx.delivery(known.delivery_id)?;
        if delivery.as_ref().is_some_and(dispatch::was_turned_away) {
            found = Known::TurnedAway;
            continue;
        }
        let waits = delivery.filter(|delivery| delivery.state == DeliveryState::Queued);
        let position = waits.map(|delivery| tx.position(&delivery)).transpose()?;
        let shown = tx.chat_messages_of(task.id)?;
        let said = |message: &ChatMessage| message.parts == submission.new.message.parts;
        let chat_message = shown.into_iter().find(said);
        let delivery_id = known.delivery_id;
        let accepted = Accepted { task, delivery_id, position, is_repeat: true, chat_message };
        return Ok(Known::Repeat(Box::new(accepted)));
    }
    Ok(found)
}
