//! Questions of workspaces that only a person may decide (X51).

use std::sync::Arc;

use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    Approval, ApprovalPage, ApprovalState, DecideApproval, Problem, RequestApproval, WithdrawApproval,
};
use warren_exchange::ApprovalQuery;
use warren_exchange::{ApprovalAnswer, ApprovalDecision, MAX_APPROVAL_WAIT_MS};
use warren_model as model;
use warren_model::ErrorCode;
use warren_service::Identity;

use super::exchange::idempotency_key;
use super::tool_rules;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::names::Names;
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;
use crate::requests;

/// Ask people for a decision, as a workspace.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/approvals", operation_id = "request_approval", tag = "approvals",
    params(("id" = String, Path)), request_body = RequestApproval,
    responses((status = 201, body = Approval), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<RequestApproval>,
) -> Result<(StatusCode, axum::Json<Approval>), Failure> {
    let approval = requests::approvals::ask(&app, &who, id, body).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::approval(&approval))))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only in this state; absent: in any.
    #[param(inline)]
    state: Option<ApprovalState>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List all questions, the newest first.
#[utoipa::path(
    get, path = "/api/v1/approvals", operation_id = "list_approvals", tag = "approvals", params(ListParams),
    responses((status = 200, body = ApprovalPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<ApprovalPage>, Failure> {
    page(&app, &who, None, params).await
}

/// List the questions of a workspace, the newest first.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/approvals", operation_id = "list_workspace_approvals", tag = "approvals",
    params(("id" = String, Path), ListParams),
    responses((status = 200, body = ApprovalPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list_of_workspace(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<ApprovalPage>, Failure> {
    page(&app, &who, Some(id), params).await
}

async fn page(
    app: &App,
    who: &Identity,
    workspace_id: Option<model::WorkspaceId>,
    params: ListParams,
) -> Result<axum::Json<ApprovalPage>, Failure> {
    let query = ApprovalQuery {
        org_id: None,
        workspace_id,
        state: params.state.map(convert::approval_state_from),
        before: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let page = app.exchange.approvals.list(who, query).await?;
    Ok(axum::Json(ApprovalPage {
        items: Names::in_approvals(app, &page.rows).await?,
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitParams {
    /// Answer once it is decided, or after so long; 0 unless told.
    #[param(maximum = 60000)]
    wait_ms: Option<u64>,
}

/// Show a question, or wait for its answer.
///
/// With `wait_ms` the answer comes at once when it is decided, on whichever replica that happens. Who waits longer asks
/// again; nothing is lost in between, not by a restart either.
#[utoipa::path(
    get, path = "/api/v1/approvals/{id}", operation_id = "show_approval", tag = "approvals",
    params(("id" = String, Path), WaitParams),
    responses((status = 200, body = Approval), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ApprovalKind>,
    Query(params): Query<WaitParams>,
) -> Result<axum::Json<Approval>, Failure> {
    let wait_ms = params.wait_ms.unwrap_or(0);
    if wait_ms > MAX_APPROVAL_WAIT_MS {
        let detail = format!("wait_ms: expected 0 to {MAX_APPROVAL_WAIT_MS}");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    let approval = requests::approvals::wait_for(&app, &who, id, wait_ms).await?;
    Ok(axum::Json(Names::in_approval(&app, &approval).await?))
}

/// Approve what a workspace asks for. People only.
///
/// With an `Idempotency-Key` the same decision again, by the same one, is answered with what was decided.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/approve", operation_id = "approve", tag = "approvals",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = DecideApproval,
    responses((status = 200, body = Approval), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn approve(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ApprovalKind>,
    headers: HeaderMap,
    Json(body): Json<DecideApproval>,
) -> Result<axum::Json<Approval>, Failure> {
    let answer = answer_from(ApprovalDecision::Approve, body, &headers)?;
    let decided = app.exchange.approvals.decide(&who, id, answer).await?;
    Ok(axum::Json(Names::in_approval(&app, &decided).await?))
}

/// Deny what a workspace asks for. People only.
///
/// With an `Idempotency-Key` the same decision again, by the same one, is answered with what was decided.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/deny", operation_id = "deny", tag = "approvals",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = DecideApproval,
    responses((status = 200, body = Approval), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn deny(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ApprovalKind>,
    headers: HeaderMap,
    Json(body): Json<DecideApproval>,
) -> Result<axum::Json<Approval>, Failure> {
    let answer = answer_from(ApprovalDecision::Deny, body, &headers)?;
    let decided = app.exchange.approvals.decide(&who, id, answer).await?;
    Ok(axum::Json(Names::in_approval(&app, &decided).await?))
}

/// Take a question of one's own back.
///
/// For the workspace that asked: it waits for no answer any more, since its work ended or its program died. The question
/// is `void`, with the reason as its note. One that is decided already stays as it is.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/withdraw", operation_id = "withdraw_approval", tag = "approvals",
    params(("id" = String, Path)), request_body = WithdrawApproval,
    responses((status = 200, body = Approval), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn withdraw(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ApprovalKind>,
    Json(body): Json<WithdrawApproval>,
) -> Result<axum::Json<Approval>, Failure> {
    let withdrawn = app.exchange.approvals.withdraw(&who, id, body.note).await?;
    Ok(axum::Json(Names::in_approval(&app, &withdrawn).await?))
}

fn answer_from(
    decision: ApprovalDecision,
    body: DecideApproval,
    headers: &HeaderMap,
) -> Result<ApprovalAnswer, Failure> {
    let remember = body.remember.map(tool_rules::remember_from);
    let is_repeatable = idempotency_key(headers)?.is_some();
    Ok(ApprovalAnswer { decision, note: body.note, edited: body.arguments, remember, is_repeatable })
}
