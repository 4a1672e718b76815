//! Agents of hosted workspaces, as the exchange calls them: a message to the workspace is a message to a session.
//!
//! ```text
//!   DeliveryAttempt ─▶ place: one transaction ─────────▶ session of the task's context, its message
//!                        └▶ follow: the session's stream ─▶ AgentUpdate: words, calls, waits, the end
//!
//!   the session waits for people ─▶ the task waits for input, and the delivery has ended
//!   it goes on ─ commit ──────────▶ tasks: a new delivery of the same message, which only follows
//! ```
//!
//! - The tasks of one context are one session, found again by its name. The message's id in it is the delivery's, so that
//!   a delivery that is made again finds what it sent.
//! - Dropping a delivery stops nothing: the session goes on, and whoever has the delivery next reads its stream.

mod follow;
mod place;
mod tasks;

use async_trait::async_trait;
use warren_exchange::{AgentAddress, AgentRuntime, AgentUpdate, DeliveryAttempt, Outcome, Reach, UpdateSink};
use warren_model::session::{QueuedState, StopKind, StopRequest};
use warren_model::{
    DeliveryReason, ErrorCode, Finding, Message, Part, Role, SessionId, SessionMessageId, TaskState,
    TaskUpdate,
};
use warren_rules::sessions::Input;
use warren_service::Error;

use crate::commit::Change;
use crate::engine::Engine;
use crate::streams::Streams;

pub(crate) use place::session_name;
pub(crate) use tasks::{go_on_with_tasks, has_tasks};

/// The agents of hosted workspaces. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HostedAgents {
    engine: Engine,
    streams: Streams,
}

/// A message in a session, as tasks of the exchange name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RemoteTask {
    session_id: SessionId,
    message_id: SessionMessageId,
}

impl std::fmt::Display for RemoteTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.session_id, self.message_id)
    }
}

impl RemoteTask {
    fn read(text: &str) -> Option<Self> {
        let (session_id, message_id) = text.split_once('/')?;
        Some(Self { session_id: session_id.parse().ok()?, message_id: message_id.parse().ok()? })
    }
}

impl HostedAgents {
    pub(crate) fn new(engine: Engine, streams: Streams) -> Self {
        Self { engine, streams }
    }

    /// What went wrong before the session had the message. What passes is tried again; the rest is told.
    async fn refused(&self, attempt: &DeliveryAttempt, error: &Error, sink: &UpdateSink) -> Outcome {
        match error.code {
            ErrorCode::PlatformUnavailable | ErrorCode::VersionConflict => {
                Outcome::Busy { retry_after_ms: None }
            }
            ErrorCode::NoAgent | ErrorCode::WorkspaceNotFound => {
                Outcome::Failed { reason: DeliveryReason::CannotBeCalled }
            }
            code => {
                tracing::warn!(%error, "a message could not be put into its session");
                let sentence = error.detail.clone().unwrap_or_else(|| code.entry().sentence.to_owned());
                let id = format!("{}-refused", attempt.delivery_id);
                let message = Message::new(id, Role::Agent, vec![Part::text(sentence)]);
                let at = self.engine.context().now();
                let update = TaskUpdate::Status { state: TaskState::Failed, message: Some(message), at };
                sink.tell(AgentUpdate::Task(update)).await;
                Outcome::Answered
            }
        }
    }

    /// Takes a message back that the model has not seen, or fails the run that has it.
    async fn stop(&self, remote: RemoteTask) -> Result<(), Error> {
        let RemoteTask { session_id, message_id } = remote;
        let read = move |tx: &mut dyn warren_store::ReadTx| {
            let session = tx.session(session_id)?;
            let message = tx.session_message(session_id, message_id)?;
            let step = match message.as_ref().map(|message| message.state) {
                Some(QueuedState::Delivered { step }) => tx.step(session_id, step)?,
                Some(QueuedState::Queued | QueuedState::Dropped { .. }) | None => None,
            };
            Ok::<_, Error>((session, message, step))
        };
        let context = self.engine.context();
        let (session, message, step) = context.store().read(read).await?;
        let (Some(session), Some(message)) = (session, message) else { return Ok(()) };
        let (now, by) = (context.now(), tasks::canceller());
        let input = match (message.state, step) {
            (QueuedState::Queued, _) => Input::CancelMessage(message_id),
            (QueuedState::Delivered { .. }, Some(step))
                if step.run == session.run && session.phase.has_run() =>
            {
                let request = StopRequest { kind: StopKind::Abort, deadline: now, by: by.clone() };
                Input::Stop { run: step.run, request }
            }
            (QueuedState::Delivered { .. } | QueuedState::Dropped { .. }, _) => return Ok(()),
        };
        match self.engine.change(Change::new(session_id, now, by, vec![input])).await {
            Ok(_) => Ok(()),
            // It ended, or was delivered, in the meantime.
            Err(error) if matches!(error.code, ErrorCode::StaleRun | ErrorCode::NotPending) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl AgentRuntime for HostedAgents {
    fn reach(&self, agent: &AgentAddress) -> Reach {
        if agent.is_hosted { Reach::Called } else { Reach::NoAgent }
    }

    async fn deliver(&self, agent: &AgentAddress, attempt: &DeliveryAttempt, sink: &UpdateSink) -> Outcome {
        let known = attempt.remote_id.as_deref().filter(|_| attempt.resumes).and_then(RemoteTask::read);
        let placed = match known {
            Some(remote) => self.found(remote).await,
            None => self.place(agent.workspace_id, attempt).await,
        };
        let followed = match placed {
            Ok(placed) => self.follow(placed, sink).await,
            Err(error) => return self.refused(attempt, &error, sink).await,
        };
        followed.unwrap_or_else(|error| {
            tracing::warn!(%error, "a session could not be followed; it is looked at again");
            Outcome::Unknown
        })
    }

    async fn cancel(&self, _agent: &AgentAddress, remote_id: &str) -> Outcome {
        let Some(remote) = RemoteTask::read(remote_id) else {
            return Outcome::Failed { reason: DeliveryReason::TaskUnknown };
        };
        match self.stop(remote).await {
            Ok(()) => Outcome::Answered,
            Err(error) => {
                tracing::warn!(%error, "a session's run could not be stopped");
                Outcome::Unknown
            }
        }
    }

    /// It is part of this process: as long as sessions can be read, it is there.
    async fn probe(&self, agent: &AgentAddress) -> Finding {
        let id = agent.workspace_id;
        let read =
            self.engine.context().store().read_few(move |tx| tx.workspace(id).map_err(Error::from)).await;
        if read.is_ok() { Finding::Answers } else { Finding::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_a_session_is_found_again_by_its_name() {
        let remote = RemoteTask {
            session_id: SessionId::from_bytes([1; 16]),
            message_id: SessionMessageId::from_bytes([2; 16]),
        };
        assert_eq!(RemoteTask::read(&remote.to_string()), Some(remote));
        for other in ["", "far", "a/b"] {
            assert_eq!(RemoteTask::read(other), None, "{other}");
        }
    }
}
