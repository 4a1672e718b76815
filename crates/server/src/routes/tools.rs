use std::sync::Arc;

use axum::extract::State;
use serde_json::Value;
use warren_api::{Problem, Tool, ToolAnswer, ToolCatalog, ToolRefusal};
use warren_fleet::access::Action;
use warren_model as model;
use warren_workspace::tools::{self, ToolContext, ToolError};

use crate::App;
use crate::auth::Caller;
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
    let row = app.fleet.workspace(&who, Action::ReadWorkspaces, id).await?;
    let tools = tools::catalog(row.spec.capabilities).into_iter().map(|tool| Tool {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        input_schema: tool.input_schema,
    });
    let system_prompt = tools::system_prompt(row.spec.capabilities);
    Ok(axum::Json(ToolCatalog { tools: tools.collect(), system_prompt }))
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
    let row = app.fleet.usable_workspace(&who, Action::UseWorkspace, id).await?;
    let refusals = app.fleet.refusals()?;
    let context = ToolContext::new(id, &row.spec.provider, row.spec.capabilities, refusals);
    match tools::call_through(app.fleet.registry(), &context, &name, arguments).await {
        Ok(result) => Ok(axum::Json(ToolAnswer { result: Some(result), refused: None })),
        Err(ToolError::Refused(refusal)) => {
            let refused = ToolRefusal {
                kind: refusal.kind.as_str().to_owned(),
                message: refusal.sentence,
                allowed: refusal.allowed,
            };
            Ok(axum::Json(ToolAnswer { result: None, refused: Some(refused) }))
        }
        Err(error) => Err(Failure::new(error.code(), error.to_string())),
    }
}
