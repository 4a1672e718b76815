//! Questions to people: asked, and waited for.

use warren_api as api;
use warren_exchange::AskApproval;
use warren_model as model;
use warren_model::{ApprovalId, ErrorCode, WorkspaceId};
use warren_service::Identity;

use crate::App;
use crate::convert;
use crate::problem::Failure;

pub(crate) async fn ask(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    body: api::RequestApproval,
) -> Result<model::Approval, Failure> {
    let ask = AskApproval {
        action: body.action,
        reason: body.reason,
        context: body.context.unwrap_or_else(|| serde_json::json!({})),
        expires_in_seconds: body.expires_in_seconds,
        task_id: body.task_id.as_deref().map(|id| convert::id_from("task_id", id)).transpose()?,
    };
    Ok(app.exchange.approvals.ask(who, id, ask).await?)
}

/// The question, once it is decided or after so long, `MAX_APPROVAL_WAIT_MS` at most.
pub(crate) async fn wait_for(
    app: &App,
    who: &Identity,
    id: ApprovalId,
    wait_ms: u64,
) -> Result<model::Approval, Failure> {
    // A server that stops lets go of those who wait; they ask again.
    Ok(tokio::select! {
        waited = app.exchange.approvals.wait_for(who, id, wait_ms) => waited?,
        // Whoever is let in no more does not hear of it either.
        () = crate::auth::let_in_no_more(app, who) => return Err(ErrorCode::TokenExpired.into()),
        () = app.stopping.cancelled() => app.exchange.approvals.get(who, id).await?,
    })
}
