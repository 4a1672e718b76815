//! How Warren speaks with a runtime that can be called. The dispatcher knows this trait alone.

use async_trait::async_trait;
use tokio::sync::mpsc;
use warren_model::{
    DeliveryId, DeliveryReason, Message, Principal, TaskId, TaskUpdate, Timestamp, WorkspaceId,
};
pub use warren_rules::messages::dispatch::Outcome;

/// Where a runtime is called, as its agent card says.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    pub workspace_id: WorkspaceId,
    /// The card as it was registered; which of its interfaces is taken is the transport's business.
    pub card: serde_json::Value,
}

/// One message to deliver.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub delivery_id: DeliveryId,
    /// Which try this is, from 1.
    pub attempt: u32,
    pub task_id: TaskId,
    pub context_id: String,
    /// The runtime's own name for the task, from an earlier turn.
    pub remote_id: Option<String>,
    /// The runtime has this very message already and works on `remote_id`: it is asked how that goes, and nothing is
    /// sent again.
    pub resumes: bool,
    pub author: Principal,
    pub message: Message,
    /// The end of all patience.
    pub deadline_at: Option<Timestamp>,
}

/// What comes back while a turn goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// The runtime keeps a task of its own under this name.
    RemoteId(String),
    Update(TaskUpdate),
}

/// Where a transport puts what comes back. What it was told last is the state of the task.
#[derive(Debug, Clone)]
pub struct UpdateSink(mpsc::Sender<Told>);

impl UpdateSink {
    pub fn new(sender: mpsc::Sender<Told>) -> Self {
        Self(sender)
    }

    /// Waits while the other side is behind. Answers whether anybody still listens.
    pub async fn tell(&self, told: Told) -> bool {
        self.0.send(told).await.is_ok()
    }
}

#[async_trait]
pub trait Transport: Send + Sync + std::fmt::Debug {
    /// Whether a runtime with this card can be called at all.
    fn can_call(&self, card: &serde_json::Value) -> bool;

    /// Delivers one message and follows the work until it ends or stops for input. Dropping the future lets go of the
    /// connection and says nothing to the runtime.
    async fn deliver(&self, endpoint: &Endpoint, turn: &Turn, sink: &UpdateSink) -> Outcome;

    /// Asks the runtime to stop working on a task of its own.
    async fn cancel(&self, endpoint: &Endpoint, remote_id: &str) -> Outcome;
}

/// For a Warren that calls nobody: every runtime has to come and ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTransport;

#[async_trait]
impl Transport for NoTransport {
    fn can_call(&self, _card: &serde_json::Value) -> bool {
        false
    }

    async fn deliver(&self, _endpoint: &Endpoint, _turn: &Turn, _sink: &UpdateSink) -> Outcome {
        Outcome::Failed { reason: DeliveryReason::CannotBeCalled }
    }

    async fn cancel(&self, _endpoint: &Endpoint, _remote_id: &str) -> Outcome {
        Outcome::Failed { reason: DeliveryReason::CannotBeCalled }
    }
}
