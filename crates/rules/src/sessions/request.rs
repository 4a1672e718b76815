//! What a model is shown: built from closed steps, and from the messages of the step that asks (A8).

use std::collections::HashMap;

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
    pub tools: Vec<ToolOffer>,
    /// Closed steps in their order.
    pub history: &'a [Step],
    /// The step that asks.
    pub asking: &'a Step,
    pub messages: &'a MessageParts,
}

/// The request of the step that asks.
pub fn build(parts: RequestParts<'_>) -> Result<ModelRequest, BrokenHistory> {
    let RequestParts { agent, model, system, tools, history, asking, messages } = parts;
    let mut turns = Vec::with_capacity(history.len() * 2 + 1);
    for step in history {
        if step.phase != StepPhase::Closed {
            return Err(BrokenHistory::OpenStep(step.number));
        }
        push_user_turn(&mut turns, step, messages)?;
        push_answer(&mut turns, step)?;
    }
    push_user_turn(&mut turns, asking, messages)?;
    // The last word must not be an answer that asked for nothing. One that was only paused is sent back as it is.
    let answered = || history.iter().rev().find(|step| step.stop_reason.is_some());
    let is_paused = || answered().is_some_and(|step| step.stop_reason == Some(StopReason::PauseTurn));
    match turns.last() {
        None => return Err(BrokenHistory::NothingToAnswer),
        Some(Turn::Assistant { calls, .. }) if calls.is_empty() && !is_paused() => {
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
fn push_user_turn(turns: &mut Vec<Turn>, step: &Step, messages: &MessageParts) -> Result<(), BrokenHistory> {
    let mut parts = Vec::new();
    for id in &step.messages {
        let of_message = messages.get(id).ok_or(BrokenHistory::NoMessage { step: step.number })?;
        parts.extend(of_message.iter().cloned());
    }
    parts.extend(step.notices.iter().map(Part::text));
    if !parts.is_empty() {
        turns.push(Turn::User(parts));
    }
    Ok(())
}

fn push_answer(turns: &mut Vec<Turn>, step: &Step) -> Result<(), BrokenHistory> {
    if step.blocks.is_empty() && step.calls.is_empty() {
        return Ok(());
    }
    let closed = step.calls.iter().map(|call| {
        let outcome = call.outcome().cloned();
        let outcome =
            outcome.ok_or_else(|| BrokenHistory::OpenCall { step: step.number, call: call.id.clone() })?;
        let (id, tool, arguments) = (call.id.clone(), call.tool.clone(), call.proposed.clone());
        Ok(ClosedCall { id, tool, arguments, outcome })
    });
    let calls = closed.collect::<Result<Vec<_>, _>>()?;
    turns.push(Turn::Assistant { origin: step.origin.clone(), blocks: blocks_of(step), calls });
    Ok(())
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
