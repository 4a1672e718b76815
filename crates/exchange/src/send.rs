//! Accepting a message: what is acknowledged is a row, and the row alone leads to its end (X12 to X16).

use serde_json::{Map, json};
use warren_fleet::access::{Action, Target};
use warren_fleet::{Error, Identity, require_budget, upload_rules as uploads};
use warren_model::{
    ChatMessage, ChatMessageId, Delivery, DeliveryId, DeliveryState, ErrorCode, EventKind, Message, NewEvent,
    OrgId, Principal, PrincipalKind, Status, Task, TaskId, TaskOrigin, TaskState, Timestamp, TokenKind,
    Vitals, Workspace, WorkspaceId,
};
use warren_rules::messages::dispatch;
use warren_rules::messages::queue::{self, Admission, Door};
use warren_rules::messages::tasks::{self, InvalidMessage};
use warren_store::{Repeat, WriteTx};

use crate::dispatcher::InHand;
use crate::{Exchange, Sight, Terms, chat, files, tree};

/// Who speaks, when it is not a caller with a token: a schedule, a channel, a part of Warren.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub principal: Principal,
    pub org_id: OrgId,
}

impl Sender {
    /// A caller with a token.
    pub(crate) fn of(who: &Identity) -> Self {
        Self { principal: who.principal.clone(), org_id: who.token.org_id }
    }
}

/// A message to a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    pub workspace_id: WorkspaceId,
    pub message: Message,
    /// Groups tasks; absent: a new group, or the task's own.
    pub context_id: Option<String>,
    /// Another message to work that waits for one; absent: new work.
    pub task_id: Option<TaskId>,
    /// Higher goes first.
    pub priority: i32,
    /// The same key of the same sender is the same message (X16).
    pub idempotency_key: Option<String>,
    /// The end of all patience for the work.
    pub deadline_at: Option<Timestamp>,
    /// Not delivered by then: expired. Absent: the usual lifetime.
    pub expires_at: Option<Timestamp>,
    pub metadata: Map<String, serde_json::Value>,
}

impl Send {
    pub fn new(workspace_id: WorkspaceId, message: Message) -> Self {
        Self {
            workspace_id,
            message,
            context_id: None,
            task_id: None,
            priority: 0,
            idempotency_key: None,
            deadline_at: None,
            expires_at: None,
            metadata: Map::new(),
        }
    }
}

/// Priorities that callers may name.
pub const PRIORITIES: std::ops::RangeInclusive<i32> = -100..=100;
const MAX_KEY_BYTES: usize = 255;

/// A message that was accepted: from here on it ends exactly once.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    pub task: Task,
    pub delivery_id: DeliveryId,
    /// How many are before it; absent: it is on its way.
    pub position: Option<u64>,
    /// It was accepted before, under the same key.
    pub is_repeat: bool,
    /// As it stands in the conversation that its context is, if it is one (X30).
    pub chat_message: Option<ChatMessage>,
}

impl Accepted {
    /// One that was accepted before may have been answered since.
    fn seen_with(self, sight: Sight) -> Self {
        Self { task: sight.task(self.task), ..self }
    }
}

/// What was decided in the transaction, and what is left to do after it.
pub(crate) enum Taken {
    Repeated(Accepted),
    Started(Accepted, Box<InHand>),
    Queued { accepted: Accepted, wakes: bool },
}

impl Exchange {
    /// Accepts a message of somebody who may use the workspace, or of one of its peers.
    pub async fn send(&self, who: &Identity, send: Send) -> Result<Accepted, Error> {
        let row = self.reach(who, send.workspace_id).await?;
        self.send_reached(who, row, send).await
    }

    /// The same for a caller of whom it was just found that they reach the workspace.
    pub(crate) async fn send_reached(
        &self,
        who: &Identity,
        row: Workspace,
        send: Send,
    ) -> Result<Accepted, Error> {
        let (sender, sight) = (Sender::of(who), Sight::of(who, row.id));
        if uploads::named_files(&send.message).is_empty() {
            return self.accept(sender, send, None).await.map(|accepted| accepted.seen_with(sight));
        }
        let Some(own) = speaks_for(who).filter(|own| *own != row.id) else {
            files::check_own_files(&send.message)?;
            return self.accept(sender, send, None).await;
        };
        let from = self.fleet().workspace(who, Action::UseWorkspace, own).await?;
        let exchange = self.clone();
        let work = async move { exchange.send_with_files(&from, row, sender, send).await };
        self.fleet().context().run_detached(work).await?.map(|accepted| accepted.seen_with(sight))
    }

    async fn send_with_files(
        &self,
        from: &Workspace,
        to: Workspace,
        sender: Sender,
        mut send: Send,
    ) -> Result<Accepted, Error> {
        let landing = self.bring_files(from, to, &sender, &mut send).await?;
        let by = sender.principal.clone();
        match self.accept(sender, send, None).await {
            Ok(accepted) => {
                landing.keep(&by);
                Ok(accepted)
            }
            Err(error) => {
                landing.take_back().await;
                Err(error)
            }
        }
    }

    /// The same for a schedule, a channel or a part of Warren, which have no token.
    pub async fn send_as(&self, sender: &Sender, send: Send) -> Result<Accepted, Error> {
        self.accept(sender.clone(), send, None).await
    }

    /// A workspace that the caller may talk to; to others it does not exist (X3).
    pub async fn reach(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        let Some(own) = speaks_for(who).filter(|own| *own != id) else {
            return self.fleet().workspace(who, Action::UseWorkspace, id).await;
        };
        // What the token may do at all is asked of its own workspace.
        who.may(Action::UseWorkspace, Target::Workspace { id: own, org_id: who.token.org_id })?;
        let asker = self.fleet().workspace(who, Action::UseWorkspace, own).await?;
        self.peer(asker, id).await
    }

    /// Somebody that a workspace may talk to.
    pub(crate) async fn peer(&self, asker: Workspace, id: WorkspaceId) -> Result<Workspace, Error> {
        self.store()
            .read(move |tx| {
                let hidden = || Error::new(ErrorCode::WorkspaceNotFound);
                let row = tx.workspace(id)?.filter(|row| row.org_id == asker.org_id).ok_or_else(hidden)?;
                if row.status != Status::Removed && tree::may_talk(tx, &asker, &row)? {
                    Ok(row)
                } else {
                    Err(hidden())
                }
            })
            .await
    }

    pub(crate) async fn accept(
        &self,
        sender: Sender,
        send: Send,
        origin: Option<TaskOrigin>,
    ) -> Result<Accepted, Error> {
        self.accept_request(self.request(sender, send, origin)?).await
    }

    pub(crate) async fn accept_request(&self, request: Request) -> Result<Accepted, Error> {
        let workspace_id = request.send.workspace_id;
        let work = request.clone();
        let transport = self.transport();
        let taken = self
            .store()
            .write(move |tx| {
                let can_call = |card: &serde_json::Value| transport.can_call(card);
                take(tx, &work, &can_call)
            })
            .await;
        match taken {
            Ok(taken) => Ok(self.take_up(taken, workspace_id, &request.sender.principal)),
            Err(error) if error.code == ErrorCode::RuntimeBusy => {
                self.note_refusal(&request).await;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Begins what the transaction decided.
    pub(crate) fn take_up(&self, taken: Taken, id: WorkspaceId, by: &Principal) -> Accepted {
        match taken {
            Taken::Repeated(accepted) => accepted,
            Taken::Started(accepted, claimed) => {
                self.run_in_background(*claimed);
                accepted
            }
            Taken::Queued { accepted, wakes } => {
                if wakes {
                    self.wake(id, by);
                }
                self.kick(id);
                accepted
            }
        }
    }

    /// Everything that can be refused without a look at the database is refused here.
    pub(crate) fn request(
        &self,
        sender: Sender,
        mut send: Send,
        origin: Option<TaskOrigin>,
    ) -> Result<Request, Error> {
        let terms = *self.terms();
        tasks::check(&send.message, send.context_id.as_deref(), terms.max_message_bytes)
            .map_err(|problem| invalid_message(&problem))?;
        if !PRIORITIES.contains(&send.priority) {
            return Err(Error::with_detail(ErrorCode::InvalidRequest, "priority: expected -100 to 100"));
        }
        check_key(send.idempotency_key.as_deref())?;
        strip_own_names(&mut send.message.metadata);
        strip_own_names(&mut send.metadata);
        let now = self.clock().now();
        Ok(Request {
            sender,
            now,
            task_id: self.entropy().id(now),
            delivery_id: self.entropy().id(now),
            chat_message_id: self.entropy().id(now),
            new_context: self.entropy().id::<warren_model::TaskKind>(now).to_string(),
            owner: self.instance().to_owned(),
            default_idle_ms: self.fleet().idle_timeout_ms(),
            terms,
            origin,
            send,
        })
    }

    /// Nothing was queued; that somebody asked is still written down (X12).
    async fn note_refusal(&self, request: &Request) {
        let event = NewEvent {
            at: request.now,
            kind: EventKind::MessageRefused,
            org_id: request.sender.org_id,
            workspace_id: Some(request.send.workspace_id),
            principal: request.sender.principal.clone(),
            data: json!({ "reason": "busy" }),
        };
        let noted = self.store().write(move |tx| tx.append_event(&event).map_err(Error::from)).await;
        if let Err(error) = noted {
            tracing::warn!(%error, "a refused message could not be recorded");
        }
    }
}

pub(crate) fn check_key(key: Option<&str>) -> Result<(), Error> {
    if key.is_none_or(|key| (1..=MAX_KEY_BYTES).contains(&key.len())) {
        return Ok(());
    }
    let detail = format!("Idempotency-Key: expected 1 to {MAX_KEY_BYTES} bytes");
    Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
}

pub(crate) fn invalid_message(problem: &InvalidMessage) -> Error {
    let code = match problem {
        InvalidMessage::TooLarge { .. } => ErrorCode::PayloadTooLarge,
        InvalidMessage::Id
        | InvalidMessage::ContextId
        | InvalidMessage::NoParts
        | InvalidMessage::SaysNothing
        | InvalidMessage::TooManyParts
        | InvalidMessage::PartName(_) => ErrorCode::InvalidMessage,
    };
    Error::with_detail(code, problem.to_string())
}

/// The workspace in whose name the caller talks to its peers.
pub(crate) fn speaks_for(who: &Identity) -> Option<WorkspaceId> {
    let talks = matches!(who.token.kind, TokenKind::Workspace | TokenKind::Runner);
    who.token.workspace_id.filter(|_| talks)
}

/// Names that only Warren puts into metadata: what a sender writes there is not passed on (X4).
pub const OWN_NAMESPACE: &str = "warren/";

fn strip_own_names(metadata: &mut Map<String, serde_json::Value>) {
    metadata.retain(|name, _| !name.starts_with(OWN_NAMESPACE));
}

/// One message on its way in, with all that the transaction may not make up itself: it can be run twice.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) sender: Sender,
    pub(crate) send: Send,
    pub(crate) now: Timestamp,
    pub(crate) task_id: TaskId,
    pub(crate) delivery_id: DeliveryId,
    /// Of what is shown of it, if its context is a conversation.
    pub(crate) chat_message_id: ChatMessageId,
    pub(crate) new_context: String,
    pub(crate) owner: String,
    pub(crate) default_idle_ms: i64,
    pub(crate) terms: Terms,
    /// Through whom it came, if another workspace handed it on.
    pub(crate) origin: Option<TaskOrigin>,
}

impl Request {
    /// Keys of this moment and before count no more.
    fn oldest_repeat(&self) -> Timestamp {
        self.now.plus_ms(-self.terms.repeat_window_ms)
    }
}

/// Whether a runtime with this card can be called.
pub(crate) type CanCall<'a> = dyn Fn(&serde_json::Value) -> bool + 'a;

/// Accepts a message inside a transaction.
pub(crate) fn take(tx: &mut dyn WriteTx, request: &Request, can_call: &CanCall<'_>) -> Result<Taken, Error> {
    let id = request.send.workspace_id;
    let lane = tx.hold_lane(id)?;
    // Only now: of two at once, the second waits at the lane and then finds the first.
    if let Some(repeated) = find_repeat(tx, request)? {
        return Ok(Taken::Repeated(repeated));
    }
    let row = tx.workspace(id)?.filter(|row| row.status != Status::Removed);
    let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
    if row.org_id != request.sender.org_id && request.sender.principal.kind != PrincipalKind::User {
        return Err(Error::new(ErrorCode::WorkspaceNotFound));
    }
    // Told now rather than by work that waits for a month and expires (F36).
    require_budget(tx, &row, request.now)?;
    let vitals = tx.vitals(id)?;
    let card = tx.registration(id)?.and_then(|registration| registration.agent_card);
    let (running, waiting) = tx.crowd(id, request.terms.max_waiting)?;
    let admission = queue::admit(&Door {
        status: row.status,
        can_be_called: card.as_ref().is_some_and(can_call),
        keeps_own_session: vitals.displaced.session,
        max_running: row.spec.max_concurrent_tasks.unwrap_or(DEFAULT_CONCURRENCY),
        running,
        waiting,
        max_waiting: request.terms.max_waiting,
        not_before: lane.not_before,
        now: request.now,
    });
    match admission {
        Admission::Busy => Err(Error::new(ErrorCode::RuntimeBusy)),
        Admission::Full => Err(Error::new(ErrorCode::QueueFull)),
        Admission::Start | Admission::Queue | Admission::QueueAndWake => {
            let mut taken = write(tx, request, &row, &vitals, lane.turn, admission)?;
            if let Taken::Started(_, claimed) = &mut taken {
                claimed.card = card;
            }
            Ok(taken)
        }
    }
}

/// Tasks at once, where the workspace says nothing (X14).
pub(crate) const DEFAULT_CONCURRENCY: u32 = warren_model::WorkspaceSpec::DEFAULT_CONCURRENCY;

fn write(
    tx: &mut dyn WriteTx,
    request: &Request,
    row: &Workspace,
    vitals: &Vitals,
    current_turn: u64,
    admission: Admission,
) -> Result<Taken, Error> {
    let starts = admission == Admission::Start;
    let task = put_task(tx, request, row, starts)?;
    let mut delivery = new_delivery(tx, request, row, vitals, &task, current_turn)?;
    if starts {
        dispatch::claim(&mut delivery, &request.owner, request.now, request.terms.lease_ms);
    }
    delivery.due_at = dispatch::due_at(&delivery);
    tx.insert_delivery(&delivery)?;
    for key in keys(request) {
        let repeat = Repeat {
            sender: request.sender.principal.clone(),
            key,
            fingerprint: request.send.message.fingerprint(),
            task_id: task.id,
            delivery_id: delivery.id,
            at: request.now,
        };
        if !tx.insert_repeat(&repeat, request.oldest_repeat())? {
            return Err(warren_store::Error::Conflict.into());
        }
    }
    let position = if starts { None } else { Some(tx.position(&delivery)?) };
    tx.append_event(&NewEvent {
        at: request.now,
        kind: EventKind::TaskSubmitted,
        org_id: row.org_id,
        workspace_id: Some(row.id),
        principal: request.sender.principal.clone(),
        data: json!({
            "task_id": task.id, "delivery_id": delivery.id, "context_id": task.context_id, "position": position,
        }),
    })?;
    let chat_message = chat::show_request(tx, request, &task)?;
    note_task(tx, row, request.now)?;
    let accepted = Accepted { task, delivery_id: delivery.id, position, is_repeat: false, chat_message };
    Ok(match admission {
        Admission::Start => {
            let task = accepted.task.clone();
            Taken::Started(accepted, Box::new(InHand { delivery, task, card: None }))
        }
        _ => Taken::Queued { accepted, wakes: admission == Admission::QueueAndWake },
    })
}

/// Idleness counts from the last task (F7); only those that may fall asleep pay for a write.
pub(crate) fn note_task(tx: &mut dyn WriteTx, row: &Workspace, now: Timestamp) -> Result<(), Error> {
    let Some(after) = row.spec.hibernate_after_seconds else { return Ok(()) };
    let mut vitals = tx.hold_vitals(row.id)?;
    vitals.last_task_at = Some(now);
    vitals.idle_deadline = vitals.idle_deadline.map(|_| now.plus_ms(i64::from(after) * 1_000));
    Ok(tx.put_vitals(row.id, &vitals)?)
}

/// A new task, or one that waits for this message.
fn put_task(tx: &mut dyn WriteTx, request: &Request, row: &Workspace, starts: bool) -> Result<Task, Error> {
    let state = if starts { TaskState::Working } else { TaskState::Submitted };
    let Some(id) = request.send.task_id else {
        let context_id = request.send.context_id.as_ref().unwrap_or(&request.new_context);
        let author = request.sender.principal.clone();
        let task = Task {
            state,
            history: vec![request.send.message.clone()],
            metadata: request.send.metadata.clone(),
            origin: request.origin.clone().unwrap_or_default(),
            ..Task::submitted(request.task_id, row.org_id, row.id, context_id, author, request.now)
        };
        tx.insert_task(&task)?;
        return Ok(task);
    };
    let mut task = tx
        .task(id)?
        .filter(|task| task.workspace_id == row.id)
        .ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
    if request.send.context_id.as_ref().is_some_and(|context| *context != task.context_id) {
        let detail = "context_id: the task belongs to another one";
        return Err(Error::with_detail(ErrorCode::InvalidMessage, detail));
    }
    if !dispatch::takes_message(task.state) {
        return Err(Error::with_detail(ErrorCode::TaskNotOpen, format!("the task is {}", task.state)));
    }
    let before = task.status_message.take();
    tasks::remember(&mut task, before);
    tasks::remember(&mut task, Some(request.send.message.clone()));
    task.state = state;
    task.updated_at = request.now;
    task.version = tx.update_task(&task, task.version)?;
    Ok(task)
}

fn new_delivery(
    tx: &mut dyn WriteTx,
    request: &Request,
    row: &Workspace,
    vitals: &Vitals,
    task: &Task,
    current_turn: u64,
) -> Result<Delivery, Error> {
    let (now, terms, sender) = (request.now, &request.terms, &request.sender.principal);
    let last = tx.last_turn_of(row.id, sender)?;
    let idle_ms =
        vitals.idle_timeout_seconds.map_or(request.default_idle_ms, |seconds| i64::from(seconds) * 1_000);
    let asked = request.send.deadline_at;
    Ok(Delivery {
        id: request.delivery_id,
        org_id: row.org_id,
        workspace_id: row.id,
        task_id: task.id,
        author: sender.clone(),
        message: request.send.message.clone(),
        priority: request.send.priority,
        turn: queue::turn_of(current_turn, last),
        state: DeliveryState::Queued,
        end: None,
        reason: None,
        attempts: 0,
        not_before: now,
        expires_at: request.send.expires_at.unwrap_or_else(|| now.plus_ms(terms.message_lifetime_ms)),
        idle_timeout_ms: idle_ms.unsigned_abs(),
        deadline_at: dispatch::deadline_of(asked, sender.kind, terms.agent_call_ceiling_ms, now),
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
fn keys(request: &Request) -> impl Iterator<Item = String> {
    let id = request.send.workspace_id;
    let own =
        request.terms.message_ids_are_unique.then(|| format!("message/{id}/{}", request.send.message.id));
    let chosen = request.send.idempotency_key.as_ref().map(|key| format!("key/{id}/{key}"));
    own.into_iter().chain(chosen)
}

/// Whether the sender means this task, as far as they name one: the same words to other work are another message.
fn is_about(send: &Send, task: &Task) -> bool {
    send.task_id.is_none_or(|id| id == task.id)
        && send.context_id.as_ref().is_none_or(|context| *context == task.context_id)
}

fn find_repeat(tx: &mut dyn WriteTx, request: &Request) -> Result<Option<Accepted>, Error> {
    for key in keys(request) {
        let known = tx.repeat(&request.sender.principal, &key)?;
        let known = known.filter(|known| known.at > request.oldest_repeat());
        let Some(known) = known else { continue };
        if known.fingerprint != request.send.message.fingerprint() {
            return Err(Error::new(ErrorCode::KeyReused));
        }
        let task = tx.task(known.task_id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
        if !is_about(&request.send, &task) {
            return Err(Error::new(ErrorCode::KeyReused));
        }
        let delivery = tx.delivery(known.delivery_id)?;
        let waits = delivery.filter(|delivery| delivery.state == DeliveryState::Queued);
        let position = waits.map(|delivery| tx.position(&delivery)).transpose()?;
        let shown = tx.chat_messages_of(task.id)?;
        let said = |message: &ChatMessage| message.parts == request.send.message.parts;
        let chat_message = shown.into_iter().find(said);
        let delivery_id = known.delivery_id;
        return Ok(Some(Accepted { task, delivery_id, position, is_repeat: true, chat_message }));
    }
    Ok(None)
}
