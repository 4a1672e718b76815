//! Sessions and messages to them, between the wire and the model.

use warren_api as api;
use warren_model as model;
use warren_model::session::{
    BusyMode, Phase, QueuedState, RunLimits, RunUsage, Session, SessionMessage, SessionStatus, Suspension,
};
use warren_model::{AgentChange, AgentChangeKind, ErrorCode, Timestamp};

use super::exchange::{part, part_from};
use super::principal;
use crate::problem::Failure;

/// A session as people are told of it now.
pub(crate) fn session(row: &Session, now: Timestamp) -> api::Session {
    let (suspension, failure, finish) = match &row.phase {
        Phase::Suspended { by, reason } => {
            (Some(api::SessionSuspension { by: suspended_by(*by), reason: reason.clone() }), None, None)
        }
        Phase::Failed { failure } => {
            let kind = failure.kind.as_str().to_owned();
            (None, Some(api::SessionFailure { kind, message: failure.message.clone() }), None)
        }
        Phase::Completed { finish } => (None, None, Some(finish.as_str().to_owned())),
        Phase::Idle | Phase::Active | Phase::Interrupted => (None, None, None),
    };
    api::Session {
        id: row.id.to_string(),
        workspace_id: row.workspace_id.to_string(),
        name: row.name.to_string(),
        title: row.title.clone(),
        agent: row.agent.name.to_string(),
        agent_hash: row.agent.hash.clone(),
        status: status(row.status(now)),
        suspension,
        failure,
        finish,
        run: row.run,
        last_step: row.lineage.last(),
        open_step: row.open_step,
        generation: row.generation,
        state: row.state.clone(),
        stop: row.stop.as_ref().map(|stop| api::SessionStop {
            kind: stop.kind.as_str().to_owned(),
            deadline: stop.deadline.to_string(),
            by: principal(&stop.by),
        }),
        limits: limits(row.limits),
        usage: usage(row.usage),
        total_usage: usage(row.total_usage),
        latest_sequence: row.latest_sequence,
        branched_from: row
            .branched_from
            .map(|(id, step)| api::BranchPoint { session_id: id.to_string(), step }),
        created_by: principal(&row.created_by),
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
    }
}

fn status(status: SessionStatus) -> api::SessionStatus {
    match status {
        SessionStatus::Idle => api::SessionStatus::Idle,
        SessionStatus::Running => api::SessionStatus::Running,
        SessionStatus::Suspended => api::SessionStatus::Suspended,
        SessionStatus::Completed => api::SessionStatus::Completed,
        SessionStatus::Failed => api::SessionStatus::Failed,
        SessionStatus::Interrupted => api::SessionStatus::Interrupted,
    }
}

fn suspended_by(by: Suspension) -> api::SuspendedBy {
    match by {
        Suspension::Approval => api::SuspendedBy::Approval,
        Suspension::ClientTool => api::SuspendedBy::ClientTool,
        Suspension::Input => api::SuspendedBy::Input,
        Suspension::Timer => api::SuspendedBy::Timer,
        Suspension::Budget => api::SuspendedBy::Budget,
        Suspension::Stuck => api::SuspendedBy::Stuck,
        Suspension::Workspace => api::SuspendedBy::Workspace,
    }
}

fn limits(limits: RunLimits) -> api::RunLimits {
    let RunLimits { cost_micros, tokens, steps, tool_calls, seconds } = limits;
    api::RunLimits { cost_micros, tokens, steps, tool_calls, seconds }
}

pub(crate) fn limits_from(limits: api::RunLimits) -> RunLimits {
    let api::RunLimits { cost_micros, tokens, steps, tool_calls, seconds } = limits;
    RunLimits { cost_micros, tokens, steps, tool_calls, seconds }
}

/// A part of an agent that is not what it was.
pub(crate) fn agent_change(change: AgentChange) -> api::AgentChange {
    let kind = match change.kind {
        AgentChangeKind::Added => api::AgentChangeKind::Added,
        AgentChangeKind::Removed => api::AgentChangeKind::Removed,
        AgentChangeKind::Changed => api::AgentChangeKind::Changed,
    };
    api::AgentChange { path: change.path, change: kind, before: change.before, after: change.after }
}

fn usage(usage: RunUsage) -> api::RunUsage {
    let RunUsage { cost_micros, tokens, steps, tool_calls, active_ms, context_tokens } = usage;
    api::RunUsage { cost_micros, tokens, steps, tool_calls, active_ms, context_tokens }
}

fn busy_mode(mode: BusyMode) -> api::BusyMode {
    match mode {
        BusyMode::Queue => api::BusyMode::Queue,
        BusyMode::Steer => api::BusyMode::Steer,
        BusyMode::Interrupt => api::BusyMode::Interrupt,
        BusyMode::Reject => api::BusyMode::Reject,
    }
}

pub(crate) fn busy_mode_from(mode: api::BusyMode) -> BusyMode {
    match mode {
        api::BusyMode::Queue => BusyMode::Queue,
        api::BusyMode::Steer => BusyMode::Steer,
        api::BusyMode::Interrupt => BusyMode::Interrupt,
        api::BusyMode::Reject => BusyMode::Reject,
    }
}

pub(crate) fn session_message(row: &SessionMessage) -> api::SessionMessage {
    let (state, step, dropped_because) = match row.state {
        QueuedState::Queued => (api::SessionMessageState::Queued, None, None),
        QueuedState::Delivered { step } => (api::SessionMessageState::Delivered, Some(step), None),
        QueuedState::Dropped { reason } => {
            (api::SessionMessageState::Dropped, None, Some(reason.as_str().to_owned()))
        }
    };
    api::SessionMessage {
        id: row.id.to_string(),
        session_id: row.session_id.to_string(),
        author: principal(&row.author),
        parts: row.parts.iter().map(part).collect(),
        mode: busy_mode(row.mode),
        state,
        step,
        dropped_because,
        client_id: row.client_id.clone(),
        created_at: row.created_at.to_string(),
    }
}

/// The parts of a message that has either a text or parts.
pub(crate) fn parts_from(
    text: Option<String>,
    parts: Option<Vec<api::MessagePart>>,
) -> Result<Vec<model::Part>, Failure> {
    let parts = match (text, parts) {
        (Some(text), None) => vec![api::MessagePart::text(text)],
        (None, Some(parts)) => parts,
        (Some(_), Some(_)) | (None, None) => {
            let detail = "text: expected either `text` or `parts`";
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
    };
    let read = |(at, one)| part_from(one, &format!("parts[{at}]"));
    parts.into_iter().enumerate().map(read).collect()
}
