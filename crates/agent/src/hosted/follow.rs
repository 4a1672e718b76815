//! Reads a session's stream and tells the exchange what it says about one task.

use std::time::Duration;

use serde_json::json;
use tokio::time::MissedTickBehavior;
use warren_exchange::{AgentUpdate, Outcome, UpdateSink};
use warren_model::session::{Block, CallState, CallWait, Phase, QueuedState, Session, Step, Suspension};
use warren_model::{Artifact, Message, Part, Role, TaskState, TaskUpdate, Timestamp};
use warren_rules::sessions::task_progress::{TaskProgress, TaskStanding, TaskWord};
use warren_service::Error;
use warren_store::ReadTx;

use super::place::Placed;
use super::{HostedAgents, RemoteTask};
use crate::tools::ASK_USER;

/// The answer as it is being given; at the end it is the whole.
const ANSWER: &str = "answer";
/// How often a session that works and says nothing is known to work: a tool may take long, and shows what it does only
/// when it ends.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

impl HostedAgents {
    /// Follows until the run ends, or waits for somebody.
    pub(super) async fn follow(&self, placed: Placed, sink: &UpdateSink) -> Result<Outcome, Error> {
        let Placed { remote, session, progress, after, silent_until } = placed;
        let mut following = Following { agents: self, remote, session, progress, sink, told: 0 };
        if !following.begin().await {
            return Ok(Outcome::Unknown);
        }
        following.run(after, silent_until).await
    }
}

/// Whether somebody still listens, and what follows.
enum Next {
    GoesOn,
    Over(Outcome),
}

struct Following<'a> {
    agents: &'a HostedAgents,
    remote: RemoteTask,
    session: Session,
    progress: TaskProgress,
    sink: &'a UpdateSink,
    /// Messages that were told, which numbers them.
    told: u64,
}

impl Following<'_> {
    fn now(&self) -> Timestamp {
        self.agents.engine.context().now()
    }

    /// The session has the message: it is told under which name, and who works on it.
    async fn begin(&mut self) -> bool {
        let session = json!({ "id": self.session.id.to_string(), "name": self.session.name.as_str() });
        let noted = serde_json::Map::from_iter([("warren/session".to_owned(), session)]);
        self.sink.tell(AgentUpdate::RemoteId(self.remote.to_string())).await
            && self.tell(TaskUpdate::Metadata(noted)).await
    }

    async fn run(&mut self, after: u64, silent_until: u64) -> Result<Outcome, Error> {
        let mut follower = self.agents.streams.follow(self.session.id, after);
        let mut signs = tokio::time::interval(SIGN_OF_LIFE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        signs.reset();
        let mut is_silent = after < silent_until;
        loop {
            let entries = tokio::select! {
                entries = follower.next() => entries?,
                _ = signs.tick() => {
                    match self.show_life().await? {
                        Next::GoesOn => continue,
                        Next::Over(outcome) => return Ok(outcome),
                    }
                }
            };
            signs.reset();
            for entry in &entries {
                for word in self.progress.take(&entry.item) {
                    if entry.sequence > silent_until && !self.say(word).await {
                        return Ok(Outcome::Unknown);
                    }
                }
            }
            if follower.position() < silent_until {
                continue;
            }
            if std::mem::replace(&mut is_silent, false) && !self.progress.text().is_empty() {
                let text = self.progress.text().to_owned();
                if !self.say(TaskWord::Text { text, is_append: false }).await {
                    return Ok(Outcome::Unknown);
                }
            }
            if let Next::Over(outcome) = self.look().await? {
                return Ok(outcome);
            }
        }
    }

    /// Whether there is more to come.
    async fn look(&mut self) -> Result<Next, Error> {
        let is_heard = match self.progress.standing().clone() {
            TaskStanding::Working if self.progress.run().is_none() => return self.look_at_message().await,
            // It is asked again by itself.
            TaskStanding::Working | TaskStanding::Waits { by: Suspension::Timer, .. } => {
                return Ok(Next::GoesOn);
            }
            // Its delivery waits in the queue meanwhile, which nobody is called from, and finds the session again.
            TaskStanding::Waits { by: Suspension::Workspace, .. } => return Ok(Next::Over(Outcome::Unknown)),
            TaskStanding::Waits { by, reason } => {
                let message = self.question(by, reason).await?;
                self.status(TaskState::InputRequired, Some(message)).await
            }
            TaskStanding::Interrupted => {
                let sentence = "The run was interrupted. Resume the session, or say how to go on.";
                let message = self.message(sentence.to_owned());
                self.status(TaskState::InputRequired, Some(message)).await
            }
            TaskStanding::Ended { state, message } => self.end(state, message).await?,
        };
        Ok(Next::Over(if is_heard { Outcome::Answered } else { Outcome::Unknown }))
    }

    /// A message that waits for its turn may have been dropped, of which the stream tells nothing.
    async fn look_at_message(&mut self) -> Result<Next, Error> {
        let RemoteTask { session_id, message_id } = self.remote;
        let read = move |tx: &mut dyn ReadTx| tx.session_message(session_id, message_id).map_err(Error::from);
        let message = self.agents.engine.context().store().read_few(read).await?;
        match message.map(|message| message.state) {
            Some(QueuedState::Queued | QueuedState::Delivered { .. }) => Ok(Next::GoesOn),
            Some(QueuedState::Dropped { reason }) => {
                let words = self.message(format!("The session dropped the message: {reason}."));
                self.status(TaskState::Cancelled, Some(words)).await;
                Ok(Next::Over(Outcome::Answered))
            }
            None => Ok(Next::Over(Outcome::Unknown)),
        }
    }

    /// The session works on, as far as its lease shows: that counts as progress.
    async fn show_life(&mut self) -> Result<Next, Error> {
        let id = self.session.id;
        let store = self.agents.engine.context().store();
        let session = store.read_few(move |tx| tx.session(id).map_err(Error::from)).await?;
        let Some(session) = session else { return Ok(Next::Over(Outcome::Unknown)) };
        let is_alive = session.has_live_lease(self.now())
            || matches!(&session.phase, Phase::Suspended { by: Suspension::Timer, .. });
        if is_alive && !self.status(TaskState::Working, None).await {
            return Ok(Next::Over(Outcome::Unknown));
        }
        self.look().await
    }

    /// The whole answer, or why there is none.
    async fn end(&mut self, state: TaskState, message: Option<String>) -> Result<bool, Error> {
        let text = match (state, message) {
            (TaskState::Completed, _) => self.last_text().await?,
            (_, message) => message.unwrap_or_else(|| "The run was interrupted.".to_owned()),
        };
        if state == TaskState::Completed && !text.is_empty() {
            // In the place of its pieces.
            let artifact = answer(vec![Part::text(text.clone())]);
            if !self.tell(TaskUpdate::Artifact { artifact, is_append: false, is_last: true }).await {
                return Ok(false);
            }
        }
        let message = (!text.is_empty()).then(|| self.message(text));
        Ok(self.status(state, message).await)
    }

    async fn open_step(&self, number: Option<u32>) -> Result<Option<Step>, Error> {
        let (id, Some(number)) = (self.session.id, number) else { return Ok(None) };
        let read = move |tx: &mut dyn ReadTx| tx.step(id, number).map_err(Error::from);
        self.agents.engine.context().store().read_few(read).await
    }

    async fn last_text(&self) -> Result<String, Error> {
        let Some(step) = self.open_step(self.progress.step()).await? else {
            return Ok(self.progress.text().to_owned());
        };
        let texts = step.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Reasoning { .. } | Block::Call { .. } | Block::Other { .. } => None,
        });
        Ok(texts.collect())
    }

    /// What the session waits for, in words; the question itself where it asks one.
    async fn question(&mut self, by: Suspension, reason: String) -> Result<Message, Error> {
        let step = self.open_step(self.progress.step()).await?;
        let mut waiting = step.into_iter().flat_map(|step| step.calls).filter_map(|call| match &call.state {
            CallState::Waiting(CallWait::Turn) | CallState::Started { .. } | CallState::Closed(_) => None,
            CallState::Waiting(wait) => {
                let approval = match wait {
                    CallWait::Approval { approval_id, .. } => Some(approval_id.to_string()),
                    CallWait::Turn | CallWait::Client | CallWait::Answer => None,
                };
                Some((call.id, call.tool, call.proposed, approval))
            }
        });
        let waiting: Vec<_> = waiting.by_ref().collect();
        let asked = waiting.iter().find(|(_, tool, ..)| tool == ASK_USER && by == Suspension::Input);
        let asked = asked.and_then(|(_, _, arguments, _)| arguments["question"].as_str());
        let sentence = match (asked, by) {
            (Some(question), _) => question.to_owned(),
            (None, Suspension::Approval) => {
                format!("Waits: {reason}. It is decided in the inbox of approvals.")
            }
            (None, _) => format!("Waits: {reason}."),
        };
        let calls: Vec<_> = waiting
            .iter()
            .map(|(id, tool, arguments, approval)| {
                json!({ "call_id": id, "tool": tool, "arguments": arguments, "approval_id": approval })
            })
            .collect();
        let mut message = self.message(sentence);
        let waits = json!({ "for": by.as_str(), "calls": calls });
        message.metadata.insert("warren/waits".to_owned(), waits);
        Ok(message)
    }

    async fn say(&mut self, word: TaskWord) -> bool {
        match word {
            TaskWord::Text { text, is_append } => {
                let artifact = answer(vec![Part::text(text)]);
                self.tell(TaskUpdate::Artifact { artifact, is_append, is_last: false }).await
            }
            TaskWord::Said(text) => {
                let message = self.message(text);
                self.status(TaskState::Working, Some(message)).await
            }
            TaskWord::Call { tool, line } => {
                let mut message = self.message(line);
                message.metadata.insert("warren/tool".to_owned(), json!(tool));
                self.status(TaskState::Working, Some(message)).await
            }
        }
    }

    fn message(&mut self, text: String) -> Message {
        self.told += 1;
        let id = format!("{}-{}-{}", self.remote.message_id, self.now().as_micros(), self.told);
        Message::new(id, Role::Agent, vec![Part::text(text)])
    }

    async fn status(&self, state: TaskState, message: Option<Message>) -> bool {
        self.tell(TaskUpdate::Status { state, message, at: self.now() }).await
    }

    async fn tell(&self, update: TaskUpdate) -> bool {
        self.sink.tell(AgentUpdate::Task(update)).await
    }
}

fn answer(parts: Vec<Part>) -> Artifact {
    Artifact {
        id: ANSWER.to_owned(),
        name: None,
        description: None,
        parts,
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
    }
}
