//! The one seam to agents: how a workspace's agent is reached, handed a message, asked to stop, and asked whether it lives.
//!
//! ```text
//!   workspace's runtime ──▶ Agents::runtime_of ──┬▶ external, its card names an interface ─▶ ByA2a   Warren calls it
//!                                                ├▶ external, otherwise ─────────────────▶ Asking  it comes and asks
//!                                                ├▶ resident ────────────────────────────▶ Asking  its runner asks
//!                                                └▶ hosted, its spec names an agent ──────▶ Warren's own agents (`agent`)
//! ```
//!
//! Whoever sends, queues or delivers a message asks for a [`Reach`] and never looks at an agent card.

mod asking;
mod by_a2a;
mod registration;

pub use by_a2a::ByA2a;
pub use registration::Registrations;

use std::sync::{Arc, OnceLock};

use asking::Asking;
use async_trait::async_trait;
use tokio::sync::mpsc;
use warren_fleet::RuntimeProbe;
pub use warren_model::Finding;
use warren_model::{
    DeliveryId, ErrorCode, Message, Principal, Runtime, TaskId, TaskUpdate, Timestamp, Workspace, WorkspaceId,
};
use warren_rules::lifecycle::hosted;
pub use warren_rules::messages::dispatch::Outcome;
use warren_service::Error;
use warren_store::ReadTx;

/// Where the agent of a workspace is.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentAddress {
    pub workspace_id: WorkspaceId,
    pub runtime: Runtime,
    /// Its spec names an agent that Warren runs itself.
    pub is_hosted: bool,
    /// As the agent registered it. What it means is the implementations' business.
    pub card: Option<serde_json::Value>,
}

impl AgentAddress {
    /// As it stands in this transaction.
    pub(crate) fn of(tx: &mut dyn ReadTx, row: &Workspace) -> Result<Self, Error> {
        let card = tx.registration(row.id)?.and_then(|registration| registration.agent_card);
        Ok(Self::with_card(row, card))
    }

    fn with_card(row: &Workspace, card: Option<serde_json::Value>) -> Self {
        let is_hosted = hosted::has_agent(&row.spec);
        Self { workspace_id: row.id, runtime: row.spec.runtime, is_hosted, card }
    }
}

/// How messages come to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Warren calls it.
    Called,
    /// It comes and asks; until then messages wait.
    Asks,
    /// There is none, so that a message to it would wait for ever.
    NoAgent,
}

/// One message to deliver.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryAttempt {
    pub delivery_id: DeliveryId,
    /// Which try this is, from 1.
    pub attempt: u32,
    pub task_id: TaskId,
    pub context_id: String,
    /// The agent's own name for the task, from an earlier attempt.
    pub remote_id: Option<String>,
    /// The agent has this very message already and works on `remote_id`: it is asked how that goes, and nothing is sent
    /// again.
    pub resumes: bool,
    pub author: Principal,
    pub message: Message,
    /// The end of all patience.
    pub deadline_at: Option<Timestamp>,
}

/// What an agent says while it works on a message.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentUpdate {
    /// It keeps a task of its own under this name.
    RemoteId(String),
    Task(TaskUpdate),
}

/// Where an implementation puts what the agent says. The last state that was told is the task's.
#[derive(Debug, Clone)]
pub struct UpdateSink(mpsc::Sender<AgentUpdate>);

impl UpdateSink {
    pub fn new(sender: mpsc::Sender<AgentUpdate>) -> Self {
        Self(sender)
    }

    /// Waits while the other side is behind. Returns false once nobody listens any more.
    pub async fn tell(&self, update: AgentUpdate) -> bool {
        self.0.send(update).await.is_ok()
    }
}

/// How the agents of one kind of runtime are spoken with.
#[async_trait]
pub trait AgentRuntime: Send + Sync + std::fmt::Debug {
    /// How messages come to this agent. Asked within transactions, so that it looks nothing up.
    fn reach(&self, agent: &AgentAddress) -> Reach;

    /// Delivers one message and follows the work until it ends or stops for input. Dropping the future lets go of the
    /// connection and says nothing to the agent. Only for agents that are called.
    async fn deliver(&self, agent: &AgentAddress, attempt: &DeliveryAttempt, sink: &UpdateSink) -> Outcome;

    /// Asks the agent to stop working on a task of its own.
    async fn cancel(&self, agent: &AgentAddress, remote_id: &str) -> Outcome;

    /// Asks whether the agent is there, with a short deadline.
    async fn probe(&self, agent: &AgentAddress) -> Finding;

    /// Whether the agent says that it shows more of itself to those it knows. Looks nothing up.
    fn has_extended_card(&self, _agent: &AgentAddress) -> bool {
        false
    }

    /// What the agent shows of itself to those it knows; absent: nothing more than its card.
    async fn extended_card(&self, _agent: &AgentAddress) -> Result<Option<serde_json::Value>, Outcome> {
        Ok(None)
    }
}

/// Chooses the implementation for a workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents {
    called: Arc<dyn AgentRuntime>,
    hosted: Arc<OnceLock<Arc<dyn AgentRuntime>>>,
}

impl Agents {
    /// `called` speaks with external agents that Warren can call.
    pub fn new(called: Arc<dyn AgentRuntime>) -> Self {
        Self { called, hosted: Arc::default() }
    }

    /// Says who speaks with the agents that Warren runs itself. Once, where everything is put together: they are made from
    /// the fleet, which is given this to probe with.
    pub fn host_with(&self, hosted: Arc<dyn AgentRuntime>) {
        let _ = self.hosted.set(hosted);
    }

    /// Who speaks with this agent; nobody, if there is none.
    pub(crate) fn runtime_of(&self, agent: &AgentAddress) -> Option<&dyn AgentRuntime> {
        match agent.runtime {
            Runtime::External if self.called.reach(agent) == Reach::Called => Some(&*self.called),
            Runtime::External | Runtime::Resident => Some(&Asking),
            Runtime::Hosted => self.hosted.get().filter(|_| agent.is_hosted).map(|hosted| &**hosted),
        }
    }

    pub(crate) fn reach(&self, agent: &AgentAddress) -> Reach {
        self.runtime_of(agent).map_or(Reach::NoAgent, |runtime| runtime.reach(agent))
    }

    /// How this agent is reached. Where there is none, that is the error: what waits for it would wait for ever.
    pub(crate) fn require_reach(&self, agent: &AgentAddress) -> Result<Reach, Error> {
        match self.reach(agent) {
            Reach::NoAgent => Err(Error::new(ErrorCode::NoAgent)),
            reach @ (Reach::Called | Reach::Asks) => Ok(reach),
        }
    }
}

/// The fleet asks runtimes that are called; those that ask themselves it knows by their boxes and queues.
#[async_trait]
impl RuntimeProbe for Agents {
    async fn probe(&self, workspace: &Workspace, card: Option<serde_json::Value>) -> Option<Finding> {
        let agent = AgentAddress::with_card(workspace, card);
        let runtime = self.runtime_of(&agent)?;
        match runtime.reach(&agent) {
            Reach::Called => Some(runtime.probe(&agent).await),
            Reach::Asks | Reach::NoAgent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct CallsAll;

    #[async_trait]
    impl AgentRuntime for CallsAll {
        fn reach(&self, _agent: &AgentAddress) -> Reach {
            Reach::Called
        }

        async fn deliver(&self, _: &AgentAddress, _: &DeliveryAttempt, _: &UpdateSink) -> Outcome {
            Outcome::Answered
        }

        async fn cancel(&self, _: &AgentAddress, _: &str) -> Outcome {
            Outcome::Answered
        }

        async fn probe(&self, _: &AgentAddress) -> Finding {
            Finding::Answers
        }
    }

    // X15
    #[test]
    fn the_runtime_of_a_workspace_says_how_its_agent_is_reached() {
        let agents = Agents::new(Arc::new(CallsAll));
        let reach = |runtime, is_hosted| {
            let workspace_id = WorkspaceId::from_bytes([1; 16]);
            let card = Some(serde_json::json!({}));
            agents.reach(&AgentAddress { workspace_id, runtime, is_hosted, card })
        };
        assert_eq!(reach(Runtime::External, false), Reach::Called);
        assert_eq!(reach(Runtime::Resident, false), Reach::Asks, "whatever its card says");
        assert_eq!(reach(Runtime::Hosted, true), Reach::NoAgent, "nobody hosts agents here");
        agents.host_with(Arc::new(CallsAll));
        assert_eq!(reach(Runtime::Hosted, true), Reach::Called);
        assert_eq!(reach(Runtime::Hosted, false), Reach::NoAgent, "it names none");
    }
}
