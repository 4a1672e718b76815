//! What becomes of a session: `advance(session, input) → session'`, and which work follows from it (A2).
//!
//! ```text
//!   message, decision, result, stop ─┐
//!   answer of the model, end of a    ├─▶ advance ─▶ OpenSession' ─▶ effects(OpenSession'): what has to be under way
//!   tool, new owner, time ───────────┘      └─────▶ Outputs: what was told, decided, spent; written with the session
//! ```
//!
//! Whoever carries this out loads an [`OpenSession`], calls [`advance`] and writes everything it hands back in one
//! transaction. Which work has to be under way follows from the state alone ([`effects`]), so that a new owner after a
//! crash does the same as the old one would have done.
//!
//! What makes that safe:
//! - That a call is begun is written before it is begun, with the epoch of the owner's lease. A new owner finds it under
//!   an older epoch, and then a call that may be repeated is repeated, one whose tool can tell is asked about, and any
//!   other is closed as `unknown`. A call that has its outcome is never begun again (A4).
//! - Only the owner begins work. Others (a decision, a message) change what is wanted, and the owner acts on it.
//! - The model is shown closed steps only, and a call is one value with its outcome ([`request`]), so that no stored
//!   session can be sent as a request that a provider refuses for a missing result (A8).

mod calls;
mod history;
mod inputs;
mod limits;
mod loops;
pub mod policies;
pub mod request;
mod resting;
mod runs;
mod state;
mod stops;
pub mod task_progress;
pub mod versions;

pub use history::{NewBranch, Rewind, branch, rewind};
pub use inputs::{
    CallFinding, Input, ModelFailure, ModelTrouble, PersonDecision, ProposedCall, ReceivedAnswer, Refusal,
};
pub use limits::{DEFAULT_OUTPUT_TOKENS, TokenPrice};
pub use state::fan_in;

use serde_json::Value;
use warren_model::session::{
    CallState, CallWait, Phase, QueuedState, Session, SessionMessage, StartMode, Step, StepPhase, StreamItem,
    ToolPlace,
};
use warren_model::{AgentDefinition, ApprovalId, PolicyRule, Timestamp};

use crate::lifecycle::Usability;

/// How often one model is asked in a step before the next one is, or the run fails (A11).
pub const MAX_ATTEMPTS: u32 = 6;

/// A session with what is not over yet: its open step, and the messages that wait.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenSession {
    pub session: Session,
    /// The step `session.open_step`.
    pub step: Option<Step>,
    /// In the order in which they came. All of them are `Queued`.
    pub queue: Vec<SessionMessage>,
}

/// What a decision may depend on besides the session and the input.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub now: Timestamp,
    /// The version that the session keeps.
    pub agent: &'a AgentDefinition,
    /// Rules that people made, the narrowest first; they come before the agent's own (A23).
    pub rules: &'a [PolicyRule],
    /// Of the agent's models, in their order; nothing where a price is not known.
    pub prices: &'a [Option<TokenPrice>],
    /// What the workspace may still spend this month; absent: no limit (F36).
    pub workspace_left_micros: Option<u64>,
    /// Whether its workspace can be worked in. While that rests, nothing is begun.
    pub workspace: Usability,
    /// The caller holds the session's lease. Only the owner begins work.
    pub is_owner: bool,
}

/// A question to people that has to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub approval_id: ApprovalId,
    pub step: u32,
    pub call_id: String,
    pub tool: String,
    pub arguments: Value,
    pub reason: String,
    pub expires_at: Timestamp,
}

/// What has to be written together with the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outputs {
    /// For the session's stream, in this order.
    pub told: Vec<StreamItem>,
    /// Steps that were closed.
    pub closed: Vec<Step>,
    /// Messages that have their final state now.
    pub settled: Vec<SessionMessage>,
    pub questions: Vec<Question>,
    /// Questions that nobody needs to decide any more.
    pub void: Vec<ApprovalId>,
    /// What is added to the workspace's spending, or taken back from it: in the month of this moment.
    pub spending: Vec<(Timestamp, i64)>,
    /// False where the input came too late to matter: nothing has to be written.
    pub has_changed: bool,
}

/// A session after an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Advanced {
    pub open: OpenSession,
    pub outputs: Outputs,
}

/// Work that has to be under way. The key of each is stable, so that what is begun is not begun twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Ask the agent's model with this index for the step's answer.
    AskModel { step: u32, attempt: u32, model_index: u32 },
    /// Carry out the call at this place of the step.
    RunCall { step: u32, index: u32, attempt: u32 },
    /// Ask the tool how far the call came.
    ProbeCall { step: u32, index: u32, attempt: u32 },
    /// Wait for the end of a call that still runs.
    AttachCall { step: u32, index: u32, attempt: u32 },
}

/// Takes one input. An error changes nothing.
pub fn advance(facts: &Facts<'_>, open: OpenSession, input: Input) -> Result<Advanced, Refusal> {
    let mut change = Change { facts, open, outputs: Outputs::default(), output_problem: None };
    change.apply(input)?;
    change.settle();
    Ok(Advanced { open: change.open, outputs: change.outputs })
}

/// Which work has to be under way, by the owner of the session. What is under way and not named here is to be dropped.
pub fn effects(open: &OpenSession) -> Vec<Effect> {
    let (session, Some(step)) = (&open.session, &open.step) else { return Vec::new() };
    if session.phase != Phase::Active {
        return Vec::new();
    }
    match step.phase {
        StepPhase::Asking if step.asked_under == Some(session.epoch) => {
            vec![Effect::AskModel { step: step.number, attempt: step.attempt, model_index: step.model_index }]
        }
        StepPhase::Asking | StepPhase::Closed => Vec::new(),
        StepPhase::Acting => {
            let calls = (0..).zip(&step.calls);
            calls
                .filter_map(|(index, call)| call_effect(session.epoch, step.number, index, &call.state))
                .collect()
        }
    }
}

fn call_effect(epoch: u64, step: u32, index: u32, state: &CallState) -> Option<Effect> {
    match state {
        CallState::Started { epoch: under, attempt, how } if *under == epoch => {
            let attempt = *attempt;
            Some(match how {
                StartMode::Run => Effect::RunCall { step, index, attempt },
                StartMode::Probe => Effect::ProbeCall { step, index, attempt },
                StartMode::Attach => Effect::AttachCall { step, index, attempt },
            })
        }
        CallState::Started { .. } | CallState::Waiting(_) | CallState::Closed(_) => None,
    }
}

/// A session in the middle of a change.
struct Change<'a> {
    facts: &'a Facts<'a>,
    open: OpenSession,
    outputs: Outputs,
    /// Why the answer that just came does not fit the agent's output schema.
    output_problem: Option<String>,
}

impl Change<'_> {
    fn apply(&mut self, input: Input) -> Result<(), Refusal> {
        match input {
            Input::Message(message) => self.message(message),
            Input::CancelMessage(id) => self.cancel_message(id),
            Input::Continue => self.take_up(),
            Input::Resumable { step, attempt, token } => {
                self.resumable(step, attempt, token);
                Ok(())
            }
            Input::Answered { step, attempt, answer } => self.answered(step, attempt, answer),
            Input::AskFailed { step, attempt, failure } => self.ask_failed(step, attempt, failure),
            Input::CallEnded { step, index, attempt, outcome } => {
                self.call_ended(step, index, attempt, outcome)
            }
            Input::CallProbed { step, index, attempt, finding } => {
                self.call_probed(step, index, attempt, finding)
            }
            Input::Decided { approval_id, decision } => self.decided(approval_id, decision),
            Input::HandedIn { call_id, outcome } => self.handed_in(&call_id, outcome),
            Input::Stop { run, request } => self.stop(run, request),
            Input::Resume { limits } => self.resume(limits),
            Input::WorkspaceChanged => self.look_at_workspace(),
            Input::EndInterrupted => {
                self.end_interrupted();
                Ok(())
            }
            Input::Time => self.time(),
        }
    }

    fn session(&mut self) -> &mut Session {
        self.outputs.has_changed = true;
        &mut self.open.session
    }

    fn tell(&mut self, item: StreamItem) {
        self.outputs.has_changed = true;
        self.outputs.told.push(item);
    }

    /// A message came. Within a run it waits for its moment; otherwise it begins one.
    fn message(&mut self, message: SessionMessage) -> Result<(), Refusal> {
        use warren_model::session::{BusyMode, Suspension};
        let mode = message.mode;
        let has_run = self.open.session.phase.has_run();
        if has_run && mode == BusyMode::Reject {
            return Err(Refusal::Busy);
        }
        self.outputs.has_changed = true;
        self.open.queue.push(message);
        if !has_run {
            self.begin_run();
            return Ok(());
        }
        let is_stuck = matches!(&self.open.session.phase, Phase::Suspended { by: Suspension::Stuck, .. });
        match mode {
            // A person says how to go on.
            _ if is_stuck => self.go_on_after_stuck(),
            BusyMode::Interrupt => self.cut_for_message(),
            BusyMode::Queue | BusyMode::Steer | BusyMode::Reject => {}
        }
        Ok(())
    }

    fn cancel_message(&mut self, id: warren_model::SessionMessageId) -> Result<(), Refusal> {
        let at = self.open.queue.iter().position(|one| one.id == id).ok_or(Refusal::MessageOver)?;
        let message = self.open.queue.remove(at);
        let reason = warren_model::session::DropReason::Cancelled;
        self.drop_message(message, reason);
        Ok(())
    }

    fn drop_message(&mut self, mut message: SessionMessage, reason: warren_model::session::DropReason) {
        message.state = QueuedState::Dropped { reason };
        self.outputs.has_changed = true;
        self.outputs.settled.push(message);
    }

    /// What follows from the state: calls are begun, a step is closed, the next begins, or the session waits.
    fn settle(&mut self) {
        if self.open.session.phase != Phase::Active {
            return;
        }
        let is_resting = self.facts.is_owner && self.facts.workspace == Usability::Resting;
        if self.facts.is_owner && !is_resting {
            self.begin_what_is_due();
        }
        let epoch = self.open.session.epoch;
        let Some(step) = &self.open.step else { return };
        if step.phase != StepPhase::Acting {
            // An answer that is on its way may come.
            if is_resting && step.asked_under != Some(epoch) {
                self.rest();
            }
            return;
        }
        if step.calls.iter().all(warren_model::session::ToolCall::is_closed) {
            self.close_step();
            // What follows may be begun at once: the next step by its owner.
            return self.settle();
        }
        // A run that is to stop begins nothing more.
        let is_stopping = self.open.session.stop.is_some();
        let is_under_way = |state: &CallState| match state {
            CallState::Started { epoch: under, .. } => !is_resting || *under == epoch,
            CallState::Waiting(CallWait::Turn) => !is_stopping && !is_resting,
            CallState::Waiting(_) | CallState::Closed(_) => false,
        };
        if !step.calls.iter().any(|call| is_under_way(&call.state)) {
            // What an earlier owner had begun is looked into, or cut, before the step can be closed.
            let is_left = |state: &CallState| match state {
                CallState::Started { .. } => true,
                CallState::Waiting(CallWait::Turn) => !is_stopping,
                CallState::Waiting(_) | CallState::Closed(_) => false,
            };
            if is_resting && step.calls.iter().any(|call| is_left(&call.state)) {
                return self.rest();
            }
            self.wait_for_people();
            // A run that was to stop may go on with the message for which it was cut.
            self.settle();
        }
    }

    fn begin_what_is_due(&mut self) {
        match self.open.step.as_ref().map(|step| step.phase) {
            Some(StepPhase::Asking) => self.begin_asking(),
            Some(StepPhase::Acting) => self.begin_calls(),
            Some(StepPhase::Closed) | None => {}
        }
    }

    /// Every call that is left waits for somebody outside.
    fn wait_for_people(&mut self) {
        use warren_model::session::Suspension;
        let Some(step) = &self.open.step else { return };
        if self.open.session.stop.is_some() {
            return self.reach_safe_point();
        }
        let waits = |place: fn(&CallWait) -> bool| {
            let fits = |state: &CallState| matches!(state, CallState::Waiting(wait) if place(wait));
            let tools = step.calls.iter().filter(|call| fits(&call.state)).map(|call| call.tool.clone());
            tools.collect::<Vec<_>>()
        };
        let approvals = waits(|wait| matches!(wait, CallWait::Approval { .. }));
        let client = waits(|wait| matches!(wait, CallWait::Client));
        let answers = waits(|wait| matches!(wait, CallWait::Answer));
        let (by, reason) = if !approvals.is_empty() {
            (Suspension::Approval, format!("a person has to decide about {}", approvals.join(", ")))
        } else if !client.is_empty() {
            (Suspension::ClientTool, format!("the caller has to run {}", client.join(", ")))
        } else {
            debug_assert!(!answers.is_empty(), "an open call is under way or waits for somebody");
            (Suspension::Input, "the user has to answer a question".to_owned())
        };
        self.suspend(by, reason);
    }

    fn suspend(&mut self, by: warren_model::session::Suspension, reason: String) {
        self.tell(StreamItem::Suspended { by, reason: reason.clone() });
        self.session().phase = Phase::Suspended { by, reason };
    }

    /// Back to work.
    fn activate(&mut self) {
        let is_suspended = matches!(self.open.session.phase, Phase::Suspended { .. } | Phase::Interrupted);
        if is_suspended {
            self.tell(StreamItem::Resumed);
        }
        let session = self.session();
        session.phase = Phase::Active;
        session.wake_at = None;
    }
}

/// What waits for its turn after somebody allowed it.
fn wait_of(place: ToolPlace) -> CallWait {
    match place {
        ToolPlace::Workspace | ToolPlace::Session | ToolPlace::Unknown => CallWait::Turn,
        ToolPlace::Client => CallWait::Client,
        ToolPlace::Person => CallWait::Answer,
    }
}
