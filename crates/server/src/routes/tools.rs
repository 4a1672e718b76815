use std::sync::Arc;

use axum::extract::{Path, State};
use serde_json::Value;
use warren_api::{Problem, Tool, ToolAnswer, ToolCatalog};
use warren_model as model;
use warren_rules::access::Action;
use warren_workspace::tools;

use crate::App;
use crate::auth::Caller;
use crate::extract::{Json, PathId};
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
    let row = app.fleet.workspace(&who, Action::ReadWorkspaces, id).await?;
    let tools = tools::catalog(row.spec.capabilities).into_iter().map(|tool| Tool {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        input_schema: tool.input_schema,
    });
    let system_prompt = tools::system_prompt(row.spec.capabilities);
    Ok(axum::Json(ToolCatalog { tools: tools.collect(), system_prompt }))
}
