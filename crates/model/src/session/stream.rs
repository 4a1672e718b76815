//! The stream of a session: what happens in it, as numbered entries that any reader can resume from (A60).
//!
//! Deltas of a step are kept until its end. Then the step itself holds them, and only the other entries stay (A62).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Decision, OutcomeKind, StopReason, Suspension, TokenUsage};
use crate::{ApprovalId, Part, SessionMessageId, Timestamp};

/// One entry with its place. Sequences count from 1 and never go back.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEntry {
    pub sequence: u64,
    pub at: Timestamp,
    pub item: StreamItem,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamItem {
    RunStarted {
        run: u32,
    },
    /// The model sees this message from here on.
    MessageDelivered {
        message_id: SessionMessageId,
        step: u32,
        parts: Vec<Part>,
        client_id: Option<String>,
    },
    StepStarted {
        step: u32,
        attempt: u32,
        model: String,
    },
    /// What was said of this step so far does not count: it is asked again (A63).
    StepReset {
        step: u32,
        reason: String,
    },
    /// More of the block at this place of the answer.
    TextDelta {
        step: u32,
        block: u32,
        text: String,
    },
    ReasoningDelta {
        step: u32,
        block: u32,
        text: String,
    },
    /// The model begins a call; its arguments follow in pieces.
    CallDelta {
        step: u32,
        block: u32,
        call_id: String,
        tool: String,
        arguments: String,
    },
    /// The answer is complete.
    StepAnswered {
        step: u32,
        stop_reason: StopReason,
        usage: TokenUsage,
        cost_micros: u64,
    },
    CallProposed {
        step: u32,
        call_id: String,
        tool: String,
        arguments: Value,
        problem: Option<String>,
    },
    ApprovalRequested {
        step: u32,
        call_id: String,
        approval_id: ApprovalId,
        tool: String,
        arguments: Value,
        reason: String,
        expires_at: Timestamp,
    },
    CallDecided {
        step: u32,
        call_id: String,
        decision: Decision,
    },
    /// The caller or the user has to give this call its result.
    CallOffered {
        step: u32,
        call_id: String,
        tool: String,
        arguments: Value,
    },
    CallStarted {
        step: u32,
        call_id: String,
    },
    /// More output of a tool that still runs.
    CallOutput {
        step: u32,
        call_id: String,
        text: String,
    },
    CallEnded {
        step: u32,
        call_id: String,
        outcome: OutcomeKind,
        result: Value,
    },
    StepEnded {
        step: u32,
    },
    StateChanged {
        step: u32,
        names: Vec<String>,
    },
    Suspended {
        by: Suspension,
        reason: String,
    },
    Resumed,
    /// The session went back to the end of this step: what stands after it here is no part of it any more. 0 is the
    /// beginning.
    Rewound {
        to_step: u32,
    },
    /// The run stands still until somebody resumes it, or says something else.
    Interrupted {
        run: u32,
    },
    /// Exactly one ends each run.
    RunEnded {
        run: u32,
        status: String,
        finish: Option<StopReason>,
        message: Option<String>,
    },
}

impl StreamItem {
    /// A piece of an answer that its step holds once it is closed.
    pub const fn is_delta(&self) -> bool {
        matches!(
            self,
            Self::TextDelta { .. }
                | Self::ReasoningDelta { .. }
                | Self::CallDelta { .. }
                | Self::CallOutput { .. }
        )
    }

    /// The step that it is about.
    pub const fn step(&self) -> Option<u32> {
        match self {
            Self::MessageDelivered { step, .. }
            | Self::StepStarted { step, .. }
            | Self::StepReset { step, .. }
            | Self::TextDelta { step, .. }
            | Self::ReasoningDelta { step, .. }
            | Self::CallDelta { step, .. }
            | Self::StepAnswered { step, .. }
            | Self::CallProposed { step, .. }
            | Self::ApprovalRequested { step, .. }
            | Self::CallDecided { step, .. }
            | Self::CallOffered { step, .. }
            | Self::CallStarted { step, .. }
            | Self::CallOutput { step, .. }
            | Self::CallEnded { step, .. }
            | Self::StepEnded { step, .. }
            | Self::StateChanged { step, .. } => Some(*step),
            Self::RunStarted { .. }
            | Self::Suspended { .. }
            | Self::Resumed
            | Self::Rewound { .. }
            | Self::Interrupted { .. }
            | Self::RunEnded { .. } => None,
        }
    }
}
