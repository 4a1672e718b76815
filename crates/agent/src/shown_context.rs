//! What a model was shown for a step, for people who look into it: with what took how much of it, and without the secrets
//! of the workspace (A19).

use std::sync::Arc;

use warren_llm::estimate;
use warren_model::session::{
    Block, CallOutcome, ContextShare, ModelRequest, Step, StepPhase, TokenUsage, Turn,
};
use warren_rules::messages::agent_words::mask_parts;
use warren_rules::text::redaction::Redactor;

/// A request with what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownContext {
    pub request: ModelRequest,
    /// What took how much of it.
    pub shares: Vec<ContextShare>,
    /// What the provider counted; absent where the step has no answer yet.
    pub usage: Option<TokenUsage>,
    /// Whether the model was asked with this; else it is what it would be asked with now.
    pub was_asked: bool,
}

impl ShownContext {
    pub(crate) fn new(mut request: ModelRequest, step: &Step, known: &Redactor) -> Self {
        let usage = Some(step.usage).filter(|usage| usage.total() > 0);
        let shares = estimate::shares(&request, usage.map(|usage| usage.input_tokens));
        mask(&mut request, known);
        let was_asked = step.request_head.is_some() || step.phase != StepPhase::Asking;
        Self { request, shares, usage, was_asked }
    }
}

/// Masks every text of a request. Opaque blocks are not shown to people, and stay.
fn mask(request: &mut ModelRequest, known: &Redactor) {
    known.mask_text(&mut request.system);
    known.mask_fields(&mut request.extra);
    for turn in &mut request.turns {
        match Arc::make_mut(turn) {
            Turn::User(parts) => mask_parts(parts, known),
            Turn::Assistant { blocks, calls, .. } => {
                for block in blocks {
                    match block {
                        Block::Text { text } | Block::Reasoning { text, .. } => known.mask_text(text),
                        Block::Call { .. } | Block::Other { .. } => {}
                    }
                }
                for call in calls {
                    known.mask_json(&mut call.arguments);
                    match &mut call.outcome {
                        CallOutcome::Done { result } | CallOutcome::Failed { result } => {
                            known.mask_json(&mut result.value);
                        }
                        CallOutcome::Denied { reason: text } | CallOutcome::Unknown { evidence: text } => {
                            known.mask_text(text);
                        }
                    }
                }
            }
        }
    }
}
