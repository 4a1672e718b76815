use std::sync::Arc;

use axum::extract::State;
use serde_json::Value;
use warren_api::{Problem, ToolAnswer, ToolCatalog};
use warren_model as model;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, PathName};
use crate::problem::Failure;

/// The tools a model can be given for this workspace.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/tools", operation_id = "list_tools", tag = "tools",
    params(("id" = String, Path)),
    responses((status = 200, body = ToolCatalog), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn catalog(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<ToolCatalog>, Failure> {
    let catalog = app.operations.tools.catalog(&who, id).await?;
    Ok(axum::Json(convert::tool_catalog(catalog)))
}

/// Call a tool with its arguments.
///
/// A refusal by policy is an answer (`refused`), in words a model can act on; it is no error.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/tools/{name}", operation_id = "call_tool", tag = "tools",
    params(("id" = String, Path), ("name" = String, Path)), request_body = Object,
    responses((status = 200, body = ToolAnswer), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn call(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathName(name): PathName,
    Json(arguments): Json<Value>,
) -> Result<axum::Json<ToolAnswer>, Failure> {
    let outcome = app.operations.tools.call(&who, id, &name, arguments).await?;
    Ok(axum::Json(convert::tool_answer(outcome)))
}
