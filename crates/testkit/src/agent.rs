//! An agent that can be called and does what the test says: a fake at the exchange's own trait, with a ledger of what
//! reached it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Semaphore;
use warren_exchange::{
    AgentAddress, AgentRuntime, AgentUpdate, DeliveryAttempt, Finding, Outcome, Reach, UpdateSink,
};
use warren_model::{
    Artifact, DeliveryReason, Message, Part, Role, TaskState, TaskUpdate, Timestamp, WorkspaceId,
};

/// What the agent does with one message.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Answers with a text.
    Say(String),
    /// Answers with a text that ends the task in this state.
    SayIn(TaskState, String),
    /// Says this outcome and nothing else.
    Outcome(Outcome),
    /// Tells its own name for the task, then goes on.
    Name(String),
    /// Says something on the way.
    Work(String),
    /// Leaves a piece of an artifact.
    Leave(String),
    /// Waits until the test lets it go on.
    Hold,
}

#[derive(Debug, Default)]
struct State {
    scripts: VecDeque<Vec<Act>>,
    seen: Vec<(WorkspaceId, DeliveryAttempt)>,
    cancelled: Vec<String>,
    refuses_to_stop: bool,
    is_away: bool,
    at_once: usize,
    most_at_once: usize,
}

/// The agent behind every workspace whose card says `"scripted": true`. Without a script it repeats what it is told.
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    state: Arc<Mutex<State>>,
    gate: Arc<Semaphore>,
}

impl Default for ScriptedAgent {
    fn default() -> Self {
        Self { state: Arc::default(), gate: Arc::new(Semaphore::new(0)) }
    }
}

impl ScriptedAgent {
    /// What it does with the next message that has no script yet.
    pub fn next(&self, acts: impl IntoIterator<Item = Act>) {
        self.state().scripts.push_back(acts.into_iter().collect());
    }

    /// Lets one that holds go on.
    pub fn let_go(&self) {
        self.gate.add_permits(1);
    }

    /// What reached it, in order.
    pub fn seen(&self) -> Vec<DeliveryAttempt> {
        self.state().seen.iter().map(|(_, turn)| turn.clone()).collect()
    }

    /// The text of what reached it, in order.
    pub fn heard(&self) -> Vec<String> {
        self.seen().iter().map(|turn| turn.message.text()).collect()
    }

    /// Tasks that it was asked to stop.
    pub fn cancelled(&self) -> Vec<String> {
        self.state().cancelled.clone()
    }

    /// From now on it does not stop when asked.
    pub fn refuse_to_stop(&self) {
        self.state().refuses_to_stop = true;
    }

    /// From now on it does not answer when it is asked whether it is there.
    pub fn go_away(&self) {
        self.state().is_away = true;
    }

    pub fn come_back(&self) {
        self.state().is_away = false;
    }

    /// The most that it ever worked on at once.
    pub fn most_at_once(&self) -> usize {
        self.state().most_at_once
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn perform(&self, turn: &DeliveryAttempt, acts: Vec<Act>, sink: &UpdateSink) -> Outcome {
        let message = |text: String| {
            Message::new(format!("a-{}", turn.delivery_id), Role::Agent, vec![Part::text(text)])
        };
        let status = |state, text| {
            AgentUpdate::Task(TaskUpdate::Status {
                state,
                message: Some(message(text)),
                at: Timestamp::from_micros(0),
            })
        };
        for act in acts {
            let told = match act {
                Act::Say(text) => {
                    sink.tell(AgentUpdate::Task(TaskUpdate::Message(message(text)))).await;
                    return Outcome::Answered;
                }
                Act::SayIn(state, text) => {
                    sink.tell(status(state, text)).await;
                    return Outcome::Answered;
                }
                Act::Outcome(outcome) => return outcome,
                Act::Hold => {
                    self.gate.acquire().await.expect("the gate stays").forget();
                    continue;
                }
                Act::Name(name) => AgentUpdate::RemoteId(name),
                Act::Work(text) => status(TaskState::Working, text),
                Act::Leave(text) => AgentUpdate::Task(TaskUpdate::Artifact {
                    artifact: Artifact {
                        id: "artifact".into(),
                        name: None,
                        description: None,
                        parts: vec![Part::text(text)],
                        metadata: serde_json::Map::new(),
                        extensions: Vec::new(),
                    },
                    is_append: true,
                    is_last: false,
                }),
            };
            sink.tell(told).await;
        }
        Outcome::Answered
    }
}

/// Counts down also when the call is dropped.
struct Working<'a>(&'a ScriptedAgent);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.state().at_once -= 1;
    }
}

#[async_trait]
impl AgentRuntime for ScriptedAgent {
    fn reach(&self, agent: &AgentAddress) -> Reach {
        let is_scripted = agent.card.as_ref().is_some_and(|card| card["scripted"] == Value::Bool(true));
        if is_scripted { Reach::Called } else { Reach::Asks }
    }

    async fn deliver(&self, endpoint: &AgentAddress, turn: &DeliveryAttempt, sink: &UpdateSink) -> Outcome {
        let acts = {
            let mut state = self.state();
            state.seen.push((endpoint.workspace_id, turn.clone()));
            state.at_once += 1;
            state.most_at_once = state.most_at_once.max(state.at_once);
            state.scripts.pop_front()
        };
        let _working = Working(self);
        let echo = || vec![Act::Say(format!("echo: {}", turn.message.text()))];
        self.perform(turn, acts.unwrap_or_else(echo), sink).await
    }

    async fn cancel(&self, _endpoint: &AgentAddress, remote_id: &str) -> Outcome {
        let mut state = self.state();
        state.cancelled.push(remote_id.to_owned());
        if state.refuses_to_stop {
            Outcome::Failed { reason: DeliveryReason::NotCancelable }
        } else {
            Outcome::Answered
        }
    }

    async fn probe(&self, _agent: &AgentAddress) -> Finding {
        if self.state().is_away { Finding::Silent } else { Finding::Answers }
    }
}
