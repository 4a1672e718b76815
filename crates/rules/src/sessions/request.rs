//! What a model is shown: built from closed steps, and from the messages of the step that asks (A8).

use std::collections::HashMap;
use std::sync::Arc;

use warren_model::session::{
    Block, ClosedCall, ModelName, ModelRequest, Step, StepPhase, StopReason, ToolOffer, Turn,
};
use warren_model::{AgentDefinition, Part, SessionMessageId};

/// The parts of messages by their ids.
pub type MessageParts = HashMap<SessionMessageId, Vec<Part>>;

/// Why a request cannot be built. None of these can come of a session that the rules made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenHistory {
    #[error("step {0} is part of the history and not closed")]
    OpenStep(u32),
    #[error("call {call} of step {step} has no outcome")]
    OpenCall { step: u32, call: String },
    #[error("step {step} shows a message that is not there")]
    NoMessage { step: u32 },
    #[error("there is nothing to answer")]
    NothingToAnswer,
}

/// What a request is made of.
#[derive(Debug)]
pub struct RequestParts<'a> {
    pub agent: &'a AgentDefinition,
    pub model: &'a ModelName,
    pub system: String,
    pub tools: Arc<[ToolOffer]>,
    /// What was said before.
    pub conversation: &'a Conversation,
    /// The step that asks.
    pub asking: &'a Step,
    pub messages: &'a MessageParts,
}

/// What a model was shown of the closed steps, in their order. It only grows, and its turns are shared with every request:
/// a long session is not copied for each question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    turns: Vec<Arc<Turn>>,
    /// Why the last answer ended.
    stop_reason: Option<StopReason>,
}

impl Conversation {
    pub fn of<'a>(
        steps: impl IntoIterator<Item = &'a Step>,
        messages: &MessageParts,
    ) -> Result<Self, BrokenHistory> {
        let mut conversation = Self::default();
        for step in steps {
            conversation.add(step, messages)?;
        }
        Ok(conversation)
    }

    /// Adds a step that was closed.
    pub fn add(&mut self, step: &Step, messages: &MessageParts) -> Result<(), BrokenHistory> {
        if step.phase != StepPhase::Closed {
            return Err(BrokenHistory::OpenStep(step.number));
        }
        let (said, answered) = (user_turn(step, messages)?, answer(step)?);
        self.turns.extend([said, answered].into_iter().flatten().map(Arc::new));
        self.stop_reason = step.stop_reason.or(self.stop_reason);
        Ok(())
    }
}

/// The request of the step that asks.
pub fn build(parts: RequestParts<'_>) -> Result<ModelRequest, BrokenHistory> {
    let RequestParts { agent, model, system, tools, conversation, asking, messages } = parts;
    let said = user_turn(asking, messages)?.map(Arc::new);
    let turns: Vec<_> = conversation.turns.iter().cloned().chain(said).collect();
    // The last word must not be an answer that asked for nothing. One that was only paused is sent back as it is.
    let is_paused = conversation.stop_reason == Some(StopReason::PauseTurn);
    match turns.last().map(Arc::as_ref) {
        None => return Err(BrokenHistory::NothingToAnswer),
        Some(Turn::Assistant { calls, .. }) if calls.is_empty() && !is_paused => {
            return Err(BrokenHistory::NothingToAnswer);
        }
        Some(Turn::Assistant { .. } | Turn::User(_)) => {}
    }
    Ok(ModelRequest {
        model: model.clone(),
        system,
        turns,
        tools,
        max_output_tokens: agent.limits.output_tokens,
        effort: agent.effort.clone(),
        output_schema: agent.output_schema.clone(),
        extra: agent.parameters.clone(),
    })
}

/// What was said to the model before this step's answer: messages, then words of Warren's own.
fn user_turn(step: &Step, messages: &MessageParts) -> Result<Option<Turn>, BrokenHistory> {
    let mut parts = Vec::new();
    for id in &step.messages {
        let of_message = messages.get(id).ok_or(BrokenHistory::NoMessage { step: step.number })?;
        parts.extend(of_message.iter().cloned());
    }
    parts.extend(step.notices.iter().map(Part::text));
    Ok((!parts.is_empty()).then_some(Turn::User(parts)))
}

fn answer(step: &Step) -> Result<Option<Turn>, BrokenHistory> {
    if step.blocks.is_empty() && step.calls.is_empty() {
        return Ok(None);
    }
    let closed = step.calls.iter().map(|call| {
        let outcome = call.outcome().cloned();
        let outcome =
            outcome.ok_or_else(|| BrokenHistory::OpenCall { step: step.number, call: call.id.clone() })?;
        let (id, tool, arguments) = (call.id.clone(), call.tool.clone(), call.proposed.clone());
        Ok(ClosedCall { id, tool, arguments, outcome })
    });
    let calls = closed.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Turn::Assistant { origin: step.origin.clone(), blocks: blocks_of(step), calls }))
}

/// The blocks, with every call named once: one that an answer forgot is added at its end.
fn blocks_of(step: &Step) -> Vec<Block> {
    let mut blocks = step.blocks.clone();
    let is_named = |blocks: &[Block], at: u32| {
        blocks.iter().any(|block| matches!(block, Block::Call { index } if *index == at))
    };
    for (at, _) in (0u32..).zip(&step.calls) {
        if !is_named(&blocks, at) {
            blocks.push(Block::Call { index: at });
        }
    }
    let most = u32::try_from(step.calls.len()).unwrap_or(u32::MAX);
    let mut seen = std::collections::HashSet::new();
    blocks.retain(|block| match block {
        Block::Call { index } => *index < most && seen.insert(*index),
        Block::Text { .. } | Block::Reasoning { .. } | Block::Other { .. } => true,
    });
    blocks
}
