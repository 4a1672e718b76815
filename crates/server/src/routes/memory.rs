//! What agents remember, seen from where a workspace stands (X50).

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{FoundMemories, Memory, MemoryPage, MemoryScope, Problem, Remember};
use warren_model as model;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, PathName, PathScope, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;
use crate::requests;
use crate::requests::memories::{MemoryKey, SearchParams};

/// Remember something, in place of what is there under its key.
///
/// Credentials in the value are masked before it is written: the secrets of the workspace and its org, and what looks like
/// one.
#[utoipa::path(
    put, path = "/api/v1/workspaces/{id}/memory/{scope}/{name}", operation_id = "remember", tag = "memory",
    params(("id" = String, Path), ("scope" = MemoryScope, Path), ("name" = String, Path, description = "The key.")),
    request_body = Remember,
    responses(
        (status = 200, body = Memory, description = "It has a new value."),
        (status = 201, body = Memory, description = "It is new."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathScope(scope): PathScope,
    PathName(key): PathName,
    Json(body): Json<Remember>,
) -> Result<Response, Failure> {
    let (memory, is_new) =
        requests::memories::remember(&app, &who, id, MemoryKey { scope, key }, body).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, answer(&memory)).into_response())
}

/// Recall what is remembered under a key.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/memory/{scope}/{name}", operation_id = "recall", tag = "memory",
    params(("id" = String, Path), ("scope" = MemoryScope, Path), ("name" = String, Path, description = "The key.")),
    responses((status = 200, body = Memory), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathScope(scope): PathScope,
    PathName(key): PathName,
) -> Result<Response, Failure> {
    Ok(answer(&app.exchange.memories.recall(&who, id, scope, key).await?))
}

/// Forget something.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/memory/{scope}/{name}", operation_id = "forget", tag = "memory",
    params(("id" = String, Path), ("scope" = MemoryScope, Path), ("name" = String, Path, description = "The key.")),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathScope(scope): PathScope,
    PathName(key): PathName,
) -> Result<StatusCode, Failure> {
    app.exchange.memories.forget(&who, id, scope, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only of this scope; absent: of all.
    #[param(inline)]
    scope: Option<MemoryScope>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List all that a workspace can read, in order of creation.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/memory", operation_id = "list_memories", tag = "memory",
    params(("id" = String, Path), ListParams),
    responses((status = 200, body = MemoryPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<MemoryPage>, Failure> {
    let (after, limit) = (cursor(params.cursor)?, page_size(params.limit, app.limits().max_page_size)?);
    let page = app
        .exchange
        .memories
        .list(&who, id, params.scope.map(convert::memory_scope_from), after, limit)
        .await?;
    Ok(axum::Json(MemoryPage {
        items: page.rows.iter().map(convert::memory).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Search what a workspace can read, the best first.
///
/// Words of the key count most, then how often they come, then how new it is.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/memory/search", operation_id = "search_memories", tag = "memory",
    params(("id" = String, Path), SearchParams),
    responses((status = 200, body = FoundMemories), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<SearchParams>,
) -> Result<axum::Json<FoundMemories>, Failure> {
    Ok(axum::Json(requests::memories::search(&app, &who, id, params).await?))
}

fn answer(memory: &model::Memory) -> Response {
    ([(header::ETAG, format!("\"{}\"", memory.version))], axum::Json(convert::memory(memory))).into_response()
}
