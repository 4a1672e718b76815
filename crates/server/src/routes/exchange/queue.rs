//! The queue of a workspace, for those who run it.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api as api;
use warren_api::{ClearedQueue, Problem, QueuePage, QueuedMessage};
use warren_exchange::DeliveryQuery;
use warren_model as model;

use crate::App;
use crate::auth::Caller;
use crate::convert::exchange as convert;
use crate::extract::{PathId, PathPair, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct QueueParams {
    /// `queued` unless told; `claimed` is what its agent has, `ended` what came of the rest (dead letters among them).
    state: Option<api::DeliveryState>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the messages of a workspace, the oldest first.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/queue", operation_id = "list_queue", tag = "exchange",
    params(("id" = String, Path), QueueParams),
    responses((status = 200, body = QueuePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<QueueParams>,
) -> Result<axum::Json<QueuePage>, Failure> {
    let query = DeliveryQuery {
        workspace_id: id,
        state: params.state.map_or(model::DeliveryState::Queued, convert::delivery_state_from),
        after: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let page = app.exchange.queue.list(&who, query).await?;
    Ok(axum::Json(QueuePage {
        items: page.rows.iter().map(convert::placed).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Take all that wait out of a queue.
///
/// They end as cancelled, and so do their tasks. What an agent has already is left alone.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/queue", operation_id = "clear_queue", tag = "exchange",
    params(("id" = String, Path)),
    responses((status = 200, body = ClearedQueue), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn clear(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<ClearedQueue>, Failure> {
    Ok(axum::Json(ClearedQueue { messages: app.exchange.queue.clear(&who, id).await? }))
}

/// Show a message on its way.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/queue/{delivery}", operation_id = "show_queued_message", tag = "exchange",
    params(("id" = String, Path), ("delivery" = String, Path)),
    responses((status = 200, body = QueuedMessage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, delivery): PathPair<model::DeliveryKind>,
) -> Result<axum::Json<QueuedMessage>, Failure> {
    Ok(axum::Json(convert::placed(&app.exchange.queue.get(&who, id, delivery).await?)))
}

/// Take a message that waits out of the queue. It ends as cancelled.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/queue/{delivery}", operation_id = "drop_queued_message", tag = "exchange",
    params(("id" = String, Path), ("delivery" = String, Path)),
    responses((status = 200, body = QueuedMessage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, delivery): PathPair<model::DeliveryKind>,
) -> Result<axum::Json<QueuedMessage>, Failure> {
    Ok(axum::Json(convert::delivery(&app.exchange.queue.drop_message(&who, id, delivery).await?)))
}
