//! Work that one workspace hands to another.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api as api;
use warren_api::{Delegate, Delegation, DelegationPage, Problem};
use warren_model as model;

use super::{WaitParams, check_wait, idempotency_key};
use crate::App;
use crate::auth::Caller;
use crate::convert::exchange as convert;
use crate::extract::{Json, PathId, PathPair, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;
use crate::requests;

/// Hand work to a peer of this workspace.
///
/// The delegation is a row that survives restarts of both sides; `queued` is not `completed`.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/delegations", operation_id = "delegate", tag = "exchange",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = Delegate,
    responses((status = 201, body = Delegation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Json(body): Json<Delegate>,
) -> Result<Response, Failure> {
    check_wait(body.wait_ms)?;
    let key = idempotency_key(&headers)?;
    let delegated = requests::delegations::create(&app, &who, id, body, key).await?;
    let status = if delegated.is_repeat { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, axum::Json(delegated.delegation)).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DelegationParams {
    state: Option<api::DelegationState>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List what a workspace handed on, the youngest first. Results are in the single ones.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/delegations", operation_id = "list_delegations", tag = "exchange",
    params(("id" = String, Path), DelegationParams),
    responses((status = 200, body = DelegationPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<DelegationParams>,
) -> Result<axum::Json<DelegationPage>, Failure> {
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let state = params.state.and_then(|state| {
        let all = model::DelegationState::ALL.iter().copied();
        all.into_iter().find(|one| convert::delegation_state(*one) == state)
    });
    let page = app.exchange.delegations.list(&who, id, state, cursor(params.cursor)?, limit).await?;
    Ok(axum::Json(DelegationPage {
        items: page.rows.iter().map(|row| convert::delegation(row, None, None)).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show a delegation, with its result once it has ended.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/delegations/{delegation}", operation_id = "show_delegation", tag = "exchange",
    params(("id" = String, Path), ("delegation" = String, Path), WaitParams),
    responses((status = 200, body = Delegation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, delegation): PathPair<model::DelegationKind>,
    Query(params): Query<WaitParams>,
) -> Result<axum::Json<Delegation>, Failure> {
    check_wait(params.wait_ms)?;
    let shown = requests::delegations::show(&app, &who, id, delegation, params.wait_ms).await?;
    Ok(axum::Json(shown))
}

/// Take work back. The other side is told to stop.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/delegations/{delegation}/cancel", operation_id = "cancel_delegation",
    tag = "exchange", params(("id" = String, Path), ("delegation" = String, Path)),
    responses((status = 200, body = Delegation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, delegation): PathPair<model::DelegationKind>,
) -> Result<axum::Json<Delegation>, Failure> {
    let (row, task) = app.exchange.delegations.cancel(&who, id, delegation).await?;
    Ok(axum::Json(convert::delegation(&row, Some(&task), None)))
}
