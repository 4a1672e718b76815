//! Sending a message, and following what becomes of it.

use std::time::Duration;

use tokio::sync::oneshot;
use tracing::Span;
use warren_fleet::{Fleet, Landing};
use warren_model::event::MessageRefused;
use warren_model::{
    DeliveryReason, ErrorCode, NewEvent, Task, TaskId, TaskKind, TaskOrigin, Timestamp, Workspace,
    WorkspaceId,
};
use warren_rules::messages::{tasks, uploads};
use warren_service::{Action, Context, Error, Identity};

use super::accept::{Admission, BusyAnswer, accept};
use super::deliver::{ClaimedDelivery, FirstWord, WaitingSender};
use super::new_message::{check_key, invalid_message, strip_own_names};
use super::{Accepted, Deliveries, FileView, Follower, NewMessage, PRIORITIES, Sender, Submission, files};
use crate::Config;
use crate::agents::Agents;
use crate::peers::{Peers, speaks_for};

/// How long a sender waits to hear whether an agent with a session of its own has time.
const BUSY_PATIENCE: Duration = Duration::from_secs(3);

/// Messages to workspaces, and the tasks that they begin. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Messages {
    pub(super) context: Context,
    pub(super) fleet: Fleet,
    config: Config,
    agents: Agents,
    pub(super) peers: Peers,
    pub(super) deliveries: Deliveries,
}

impl Messages {
    pub(crate) fn new(
        context: Context,
        fleet: Fleet,
        config: Config,
        agents: Agents,
        peers: Peers,
        deliveries: Deliveries,
    ) -> Self {
        Self { context, fleet, config, agents, peers, deliveries }
    }

    /// Accepts a message of somebody who may use the workspace, or of one of its peers.
    pub async fn send(&self, who: &Identity, new: NewMessage) -> Result<Accepted, Error> {
        let row = self.peers.reach(who, new.workspace_id).await?;
        self.send_reached(who, row, new).await
    }

    /// The same for a caller of whom it was just found that they reach the workspace.
    async fn send_reached(&self, who: &Identity, row: Workspace, new: NewMessage) -> Result<Accepted, Error> {
        let (sender, view) = (Sender::of(who), FileView::of(who, row.id));
        if uploads::named_files(&new.message).is_empty() {
            return self.accept(sender, new).await.map(|accepted| accepted.seen_with(view));
        }
        let Some(own) = speaks_for(who).filter(|own| *own != row.id) else {
            files::check_own_files(&new.message)?;
            return self.accept(sender, new).await;
        };
        let from = self.fleet.workspaces.get(who, Action::UseWorkspace, own).await?;
        let messages = self.clone();
        let work = async move { messages.send_with_files(&from, row, sender, new).await };
        self.context.run_detached(work).await?.map(|accepted| accepted.seen_with(view))
    }

    async fn send_with_files(
        &self,
        from: &Workspace,
        to: Workspace,
        sender: Sender,
        mut new: NewMessage,
    ) -> Result<Accepted, Error> {
        let landing = self.bring_files(from, to, &sender, &mut new).await?;
        let by = sender.principal.clone();
        match self.accept(sender, new).await {
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

    /// Brings the files that a message names to its receiver; from then on it names the receiver's own.
    pub(crate) async fn bring_files(
        &self,
        from: &Workspace,
        to: Workspace,
        sender: &Sender,
        new: &mut NewMessage,
    ) -> Result<Landing, Error> {
        files::bring(&self.fleet, from, to, sender, new).await
    }

    /// The same for a schedule, a channel or a part of Warren, which have no token.
    pub async fn send_as(&self, sender: &Sender, new: NewMessage) -> Result<Accepted, Error> {
        self.accept(sender.clone(), new).await
    }

    async fn accept(&self, sender: Sender, new: NewMessage) -> Result<Accepted, Error> {
        self.accept_submission(self.submission(sender, new, None)?).await
    }

    #[tracing::instrument(
        name = "exchange.messages.accept", skip_all,
        fields(workspace.id = %submission.new.workspace_id, task.id = tracing::field::Empty)
    )]
    async fn accept_submission(&self, submission: Submission) -> Result<Accepted, Error> {
        let (id, sender) = (submission.new.workspace_id, submission.sender.clone());
        let admitted = self.context.store().write(move |tx| accept(tx, &submission)).await;
        let accepted = match admitted {
            Ok(admission) => self.begin(admission, id, &sender).await?,
            Err(error) => return Err(self.note_refusal(error, id, &sender).await),
        };
        Span::current().record("task.id", tracing::field::display(accepted.task.id));
        Ok(accepted)
    }

    /// Begins what the transaction decided. Whoever asks an agent that keeps its own session is told if it says that it is
    /// busy: nothing is queued (X12).
    pub(crate) async fn begin(
        &self,
        admission: Admission,
        id: WorkspaceId,
        sender: &Sender,
    ) -> Result<Accepted, Error> {
        match admission {
            Admission::Repeated(accepted) => Ok(accepted),
            Admission::Started(accepted, claimed, None) => {
                self.deliveries.deliver_in_background(*claimed, None);
                Ok(accepted)
            }
            Admission::Started(accepted, claimed, Some(busy_answer)) => {
                match self.deliver_unless_busy(*claimed, busy_answer).await {
                    Ok(()) => Ok(accepted),
                    Err(error) => Err(self.note_refusal(error, id, sender).await),
                }
            }
            Admission::Queued { accepted, wakes, is_looked_for } => {
                if wakes {
                    self.deliveries.0.signals.wake(id, &sender.principal);
                }
                if is_looked_for {
                    self.fleet.runtimes.look_for(id);
                }
                self.deliveries.wake_queue(id);
                Ok(accepted)
            }
        }
    }

    /// Waits for the agent's first word, for a while. One that answers late is heard of like any other.
    async fn deliver_unless_busy(
        &self,
        claimed: ClaimedDelivery,
        busy_answer: BusyAnswer,
    ) -> Result<(), Error> {
        let (sender, first_word) = oneshot::channel();
        self.deliveries.deliver_in_background(claimed, Some(WaitingSender { sender, busy_answer }));
        match tokio::time::timeout(BUSY_PATIENCE, first_word).await {
            Ok(Ok(FirstWord::Busy { retry_after_ms })) => {
                let seconds = retry_after_ms.map(|ms| u32::try_from(ms.div_ceil(1_000)).unwrap_or(u32::MAX));
                Err(Error::new(ErrorCode::RuntimeBusy).retry_after(seconds))
            }
            Ok(Ok(FirstWord::Taken) | Err(_)) | Err(_) => Ok(()),
        }
    }

    /// Everything that can be refused without a look at the database is refused here.
    pub(crate) fn submission(
        &self,
        sender: Sender,
        mut new: NewMessage,
        origin: Option<TaskOrigin>,
    ) -> Result<Submission, Error> {
        tasks::check(&new.message, new.context_id.as_deref(), self.config.max_message_bytes)
            .map_err(|problem| invalid_message(&problem))?;
        if !PRIORITIES.contains(&new.priority) {
            return Err(Error::with_detail(ErrorCode::InvalidRequest, "priority: expected -100 to 100"));
        }
        check_key(new.idempotency_key.as_deref())?;
        strip_own_names(&mut new.message.metadata);
        strip_own_names(&mut new.metadata);
        let (now, entropy) = (self.context.now(), self.context.entropy());
        Ok(Submission {
            sender,
            now,
            task_id: entropy.id(now),
            delivery_id: entropy.id(now),
            chat_message_id: entropy.id(now),
            new_context: entropy.id::<TaskKind>(now).to_string(),
            owner: self.context.instance().to_owned(),
            default_idle_ms: self.fleet.runtimes.idle_timeout_ms(),
            config: self.config,
            agents: self.agents.clone(),
            may_start: true,
            origin,
            new,
        })
    }

    /// Nothing was queued for an agent that is busy; that somebody asked is still written down (X12).
    pub(crate) async fn note_refusal(&self, error: Error, id: WorkspaceId, sender: &Sender) -> Error {
        if error.code != ErrorCode::RuntimeBusy {
            return error;
        }
        let event = NewEvent {
            at: self.context.now(),
            org_id: sender.org_id,
            workspace_id: Some(id),
            principal: sender.principal.clone(),
            data: MessageRefused { reason: DeliveryReason::Busy }.into(),
        };
        if let Err(error) = self.context.append(event).await {
            tracing::warn!(%error, "a refused message could not be recorded");
        }
        error
    }

    /// Follows a task. What happened before is in the task that comes with it.
    pub async fn follow(&self, id: TaskId, view: FileView) -> Result<(Task, Follower), Error> {
        // Listening begins before the row is read, so that nothing falls between.
        let mut follower = self.deliveries.listen(id, view);
        let task = follower.read_row().await?;
        Ok((view.task(task), follower))
    }

    /// How many tasks are followed through this Warren.
    pub fn followed_tasks(&self) -> usize {
        self.deliveries.followed_tasks()
    }

    /// Sends, and follows what becomes of it from its first moment: nothing needs to be read for that.
    pub async fn send_and_follow(
        &self,
        who: &Identity,
        new: NewMessage,
    ) -> Result<(Accepted, Follower), Error> {
        let row = self.peers.reach(who, new.workspace_id).await?;
        self.send_and_follow_reached(who, row, new).await
    }

    /// The same for a caller of whom it was just found that they reach the workspace.
    pub async fn send_and_follow_reached(
        &self,
        who: &Identity,
        row: Workspace,
        new: NewMessage,
    ) -> Result<(Accepted, Follower), Error> {
        let view = FileView::of(who, row.id);
        if !uploads::named_files(&new.message).is_empty() {
            // Boxed: what copies files is large, and most messages have none.
            let mut accepted = Box::pin(self.send_reached(who, row, new)).await?;
            let (task, follower) = self.follow(accepted.task.id, view).await?;
            accepted.task = task;
            return Ok((accepted, follower));
        }
        let submission = self.submission(Sender::of(who), new, None)?;
        let id = submission.new.task_id.unwrap_or(submission.task_id);
        let mut follower = self.deliveries.listen(id, view);
        let accepted = match self.accept_submission(submission).await {
            Ok(accepted) => accepted,
            Err(error) => {
                self.deliveries.stop_listening(follower);
                return Err(error);
            }
        };
        if accepted.task.id != id {
            // A repeat: the task is the one that the first message began.
            self.deliveries.stop_listening(follower);
            let (task, follower) = self.follow(accepted.task.id, view).await?;
            return Ok((Accepted { task, ..accepted }, follower));
        }
        follower.begin_at(&accepted.task);
        Ok((accepted.seen_with(view), follower))
    }

    /// Waits until the task has ended or its agent waits for more; no longer than until then.
    pub async fn settled(&self, id: TaskId, view: FileView, until: Option<Timestamp>) -> Result<Task, Error> {
        let (task, follower) = self.follow(id, view).await?;
        self.settled_of(task, follower, until).await
    }

    /// The same for one who follows it already.
    pub async fn settled_of(
        &self,
        task: Task,
        follower: Follower,
        until: Option<Timestamp>,
    ) -> Result<Task, Error> {
        let wait_ms = until.map(|until| until.ms_since(self.context.now()).max(0).unsigned_abs());
        follower.settled(task, wait_ms).await
    }
}
