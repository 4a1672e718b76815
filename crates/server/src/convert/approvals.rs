//! Questions to people, between the model and the wire.

use warren_api as api;
use warren_model as model;

use super::principal;

pub(crate) fn approval(row: &model::Approval) -> api::Approval {
    let call = row.subject.as_ref().map(|subject| api::ApprovalCall {
        session_id: subject.session_id.to_string(),
        step: subject.step,
        call_id: subject.call_id.clone(),
        tool: subject.tool.clone(),
        arguments: subject.arguments.clone(),
        edited: row.edited.clone(),
    });
    api::Approval {
        id: row.id.to_string(),
        workspace_id: row.workspace_id.to_string(),
        task_id: row.task_id.map(|id| id.to_string()),
        action: row.action.clone(),
        reason: row.reason.clone(),
        context: row.context.clone(),
        call,
        state: match row.state {
            model::ApprovalState::Pending => api::ApprovalState::Pending,
            model::ApprovalState::Approved => api::ApprovalState::Approved,
            model::ApprovalState::Denied => api::ApprovalState::Denied,
            model::ApprovalState::Expired => api::ApprovalState::Expired,
            model::ApprovalState::Void => api::ApprovalState::Void,
        },
        asked_by: principal(&row.asked_by),
        decided_by: row.decided_by.as_ref().map(principal),
        decided_at: row.decided_at.map(|at| at.to_string()),
        note: row.note.clone(),
        created_at: row.created_at.to_string(),
        expires_at: row.expires_at.to_string(),
    }
}

pub(crate) fn approval_state_from(state: api::ApprovalState) -> model::ApprovalState {
    match state {
        api::ApprovalState::Pending => model::ApprovalState::Pending,
        api::ApprovalState::Approved => model::ApprovalState::Approved,
        api::ApprovalState::Denied => model::ApprovalState::Denied,
        api::ApprovalState::Expired => model::ApprovalState::Expired,
        api::ApprovalState::Void => model::ApprovalState::Void,
    }
}
