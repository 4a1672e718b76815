//! Work that one workspace hands to another.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api as api;
use warren_api::{Delegate, Delegation, DelegationPage, Problem};
use warren_exchange as exchange;
use warren_exchange::{FileView, NewMessage};
use warren_model as model;
use warren_model::ErrorCode;

use super::{WaitParams, check_wait, id_in_body, idempotency_key, moment};
use crate::App;
use crate::auth::Caller;
use crate::convert::exchange as convert;
use crate::extract::{Json, PathId, PathPair, Query};
use crate::problem::Failure;
use crate::routes::paging::{cursor, page_size, unreadable};

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
    let to = body.to.parse().map_err(|_| Failure::from(ErrorCode::WorkspaceNotFound))?;
    let new_id = app.entropy.id::<model::DeliveryKind>(app.clock.now()).to_string();
    let send = NewMessage {
        priority: body.priority,
        idempotency_key: idempotency_key(&headers)?,
        deadline_at: moment(&app, "timeout_ms", body.timeout_ms)?,
        expires_at: moment(&app, "expires_in_ms", body.expires_in_ms)?,
        ..NewMessage::new(to, convert::message_from(body.message, new_id, "message")?)
    };
    let delegate = exchange::Delegate {
        from: id,
        message: send,
        parent_task: id_in_body("parent_task", body.parent_task.as_deref())?,
        is_told: body.tell,
    };
    let made = app.exchange.delegations.create(&who, delegate).await?;
    let (mut row, mut task, position) = (made.delegation, made.task, made.position);
    if body.wait_ms > 0 {
        let until = app.clock.now().plus_ms(i64::try_from(body.wait_ms).unwrap_or(i64::MAX));
        app.exchange.messages.settled(task.id, FileView::Own, Some(until)).await?;
        (row, task) = app.exchange.delegations.get(&who, id, row.id).await?;
    }
    let body = convert::delegation(&row, Some(&task), position.filter(|_| !row.state.is_final()));
    let status = if made.is_repeat { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, axum::Json(body)).into_response())
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
    let (mut row, mut task) = app.exchange.delegations.get(&who, id, delegation).await?;
    if params.wait_ms > 0 && !row.state.is_final() {
        let until = app.clock.now().plus_ms(i64::try_from(params.wait_ms).unwrap_or(i64::MAX));
        app.exchange.messages.settled(task.id, FileView::Own, Some(until)).await?;
        (row, task) = app.exchange.delegations.get(&who, id, delegation).await?;
    }
    Ok(axum::Json(convert::delegation(&row, Some(&task), None)))
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
