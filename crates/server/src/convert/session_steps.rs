//! Steps of sessions, what a model was shown, and the entries of a session's stream.

use std::sync::Arc;

use serde_json::{Map, Value};
use warren_agent::ShownContext;
use warren_api as api;
use warren_model as model;
use warren_model::Timestamp;
use warren_model::session::{
    Block, CallOutcome, CallState, CallWait, ContextOrigin, ContextShare, Decision, Step, StreamEntry,
    StreamItem, TokenUsage, ToolCall, ToolResult, Turn,
};

use super::exchange::part;

pub(crate) fn step(row: &Step) -> api::SessionStep {
    let id_of = |index: u32| row.calls.get(index as usize).map(|call| call.id.as_str());
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
    api::SessionStep {
        number: row.number,
        session_id: row.session_id.to_string(),
        run: row.run,
        phase: row.phase.as_str().to_owned(),
        attempt: row.attempt,
        model: row.origin.as_ref().map(|origin| origin.model.to_string()),
        messages: row.messages.iter().map(ToString::to_string).collect(),
        blocks: blocks(&row.blocks, id_of),
        calls: row.calls.iter().map(call).collect(),
        stop_reason: row.stop_reason.map(|reason| reason.as_str().to_owned()),
        usage: token_usage(row.usage),
        cost_micros: row.cost_micros,
        started_at: row.started_at.to_string(),
        answered_at: moment(row.answered_at),
        ended_at: moment(row.ended_at),
    }
}

/// What only its provider understands stays with Warren.
fn blocks<'a>(blocks: &[Block], call_id: impl Fn(u32) -> Option<&'a str>) -> Vec<api::AnswerBlock> {
    let block = |block: &Block| match block {
        Block::Text { text } => Some(api::AnswerBlock::Text { text: text.clone() }),
        Block::Reasoning { text, .. } => Some(api::AnswerBlock::Reasoning { text: text.clone() }),
        Block::Call { index } => Some(api::AnswerBlock::Call { call_id: call_id(*index)?.to_owned() }),
        Block::Other { .. } => None,
    };
    blocks.iter().filter_map(block).collect()
}

fn token_usage(usage: TokenUsage) -> api::TokenUsage {
    api::TokenUsage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
        reasoning_tokens: usage.reasoning_tokens,
    }
}

pub(crate) fn call(call: &ToolCall) -> api::SessionCall {
    let (state, waits_for, approval_id) = match &call.state {
        CallState::Waiting(wait) => {
            let (waits_for, approval_id) = match wait {
                CallWait::Turn => ("turn", None),
                CallWait::Approval { approval_id, .. } => ("approval", Some(approval_id.to_string())),
                CallWait::Client => ("client", None),
                CallWait::Answer => ("answer", None),
            };
            ("waiting", Some(waits_for.to_owned()), approval_id)
        }
        CallState::Started { .. } => ("started", None, None),
        CallState::Closed(_) => ("closed", None, None),
    };
    api::SessionCall {
        id: call.id.clone(),
        tool: call.tool.clone(),
        place: call.place.as_str().to_owned(),
        proposed: call.proposed.clone(),
        arguments: call.effective().clone(),
        decision: call.decision.as_ref().map(decision),
        state: state.to_owned(),
        waits_for,
        approval_id,
        outcome: call.outcome().map(outcome),
        started_at: call.started_at.map(|at| at.to_string()),
        ended_at: call.ended_at.map(|at| at.to_string()),
    }
}

fn decision(decision: &Decision) -> api::SessionCallDecision {
    let (word, by, note) = match decision {
        Decision::Allowed => ("allowed", None, None),
        Decision::Approved { by, note, .. } => ("approved", Some(by.clone()), note.clone()),
        Decision::Denied { by, reason } => ("denied", Some(by.clone()), Some(reason.clone())),
    };
    api::SessionCallDecision { decision: word.to_owned(), by, note }
}

fn outcome(outcome: &CallOutcome) -> api::SessionCallOutcome {
    let kind = outcome.kind().as_str().to_owned();
    let (result, whole_bytes) = match outcome {
        CallOutcome::Done { result } | CallOutcome::Failed { result } => {
            let ToolResult { value, whole_bytes, .. } = result;
            (value.clone(), *whole_bytes)
        }
        CallOutcome::Denied { reason } => (Value::String(reason.clone()), None),
        CallOutcome::Unknown { evidence } => (Value::String(evidence.clone()), None),
    };
    api::SessionCallOutcome { kind, result, whole_bytes }
}

pub(crate) fn context(shown: &ShownContext) -> api::StepContext {
    let request = &shown.request;
    let turn = |turn: &Arc<Turn>| match &**turn {
        Turn::User(parts) => api::ContextTurn::User { parts: parts.iter().map(part).collect() },
        Turn::Assistant { blocks: said, calls, .. } => {
            let id_of = |index: u32| calls.get(index as usize).map(|call| call.id.as_str());
            let shown = |call: &model::session::ClosedCall| api::ContextCall {
                id: call.id.clone(),
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                outcome: outcome(&call.outcome),
            };
            let calls = calls.iter().map(shown).collect();
            api::ContextTurn::Assistant { blocks: blocks(said, id_of), calls }
        }
    };
    let tool = |tool: &model::session::ToolOffer| api::ContextTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
    };
    api::StepContext {
        model: request.model.to_string(),
        system: request.system.clone(),
        turns: request.turns.iter().map(turn).collect(),
        tools: request.tools.iter().map(tool).collect(),
        max_output_tokens: request.max_output_tokens,
        effort: request.effort.clone(),
        output_schema: request.output_schema.clone(),
        parameters: request.extra.clone(),
        shares: shown.shares.iter().map(share).collect(),
        usage: shown.usage.map(token_usage),
        was_asked: shown.was_asked,
    }
}

fn share(share: &ContextShare) -> api::ContextShare {
    let origin = match share.origin {
        ContextOrigin::System => api::ContextOrigin::System,
        ContextOrigin::Tools => api::ContextOrigin::Tools,
        ContextOrigin::User => api::ContextOrigin::User,
        ContextOrigin::Assistant => api::ContextOrigin::Assistant,
        ContextOrigin::Results => api::ContextOrigin::Results,
    };
    api::ContextShare { origin, bytes: share.bytes, tokens: share.tokens }
}

/// An entry as readers get it: its fields are those of the stored record, but parts of messages are written as everywhere
/// else on the wire.
pub(crate) fn entry(entry: &StreamEntry) -> api::SessionEntry {
    let mut fields = match serde_json::to_value(&entry.item) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    if let StreamItem::MessageDelivered { parts, .. } = &entry.item {
        let parts: Vec<_> = parts.iter().map(part).collect();
        fields.insert("parts".to_owned(), serde_json::to_value(parts).unwrap_or_default());
    }
    let kind = fields.remove("type").and_then(|kind| kind.as_str().map(str::to_owned));
    api::SessionEntry {
        sequence: entry.sequence,
        at: entry.at.to_string(),
        kind: kind.unwrap_or_default(),
        fields: fields.into_iter().collect(),
    }
}
