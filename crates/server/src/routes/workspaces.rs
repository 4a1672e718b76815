use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use warren_api::{
    CreateWorkspace, PatchWorkspace, Problem, RemovedWorkspace, Workspace, WorkspaceHealth, WorkspacePage,
};
use warren_fleet::PatchWorkspace as Patch;
use warren_model as model;
use warren_model::ErrorCode;
use warren_service::{Action, Identity};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::problem::Failure;
use crate::requests::workspaces as requests;
use crate::requests::workspaces::{ListParams, RemoveParams, ShowParams};

/// Make a workspace.
///
/// The answer is durable. A hosted workspace is `online` a moment later, or `failed` with a reason.
#[utoipa::path(
    post, path = "/api/v1/workspaces", operation_id = "create_workspace", tag = "workspaces",
    request_body = CreateWorkspace,
    responses((status = 201, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<CreateWorkspace>,
) -> Result<Response, Failure> {
    let workspace = requests::create(&app, &who, body).await?;
    let location = format!("/api/v1/workspaces/{}", workspace.id);
    let made = ([(header::ETAG, etag(&workspace))], axum::Json(requests::fresh(&app, &workspace)));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], made).into_response())
}

/// List workspaces, oldest first.
#[utoipa::path(
    get, path = "/api/v1/workspaces", operation_id = "list_workspaces", tag = "workspaces",
    params(ListParams),
    responses((status = 200, body = WorkspacePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<WorkspacePage>, Failure> {
    Ok(axum::Json(requests::list(&app, &who, params).await?))
}

/// Show one workspace.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}", operation_id = "show_workspace", tag = "workspaces",
    params(("id" = String, Path), ShowParams),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<ShowParams>,
) -> Result<Response, Failure> {
    let workspace = requests::show(&app, &who, id, &params).await?;
    answer(&app, &who, &workspace).await
}

/// Change a workspace. What is absent stays as it is.
///
/// A change of its provider's config or of its capabilities needs a new box: the answer has the status `provisioning` and
/// `behind_of`, and the workspace is brought up anew by itself.
#[utoipa::path(
    patch, path = "/api/v1/workspaces/{id}", operation_id = "change_workspace", tag = "workspaces",
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "Only if this is still its ETag.")),
    request_body = PatchWorkspace,
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn patch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Json(body): Json<PatchWorkspace>,
) -> Result<Response, Failure> {
    let name = body.name.as_deref().map(str::parse).transpose();
    let parent = |parent: Option<String>| parent.map(|id| convert::id_from("parent_id", &id)).transpose();
    let patch = Patch {
        name: name.map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("name: {error}")))?,
        parent_id: body.parent_id.map(parent).transpose()?,
        desired: body.desired.map(convert::desired_from),
        role: body.role,
        provision_timeout_seconds: body.provision_timeout_seconds,
        hibernate_after_seconds: body.hibernate_after_seconds,
        max_concurrent_tasks: body.max_concurrent_tasks,
        command: body.command,
        agent: body.agent.map(|name| convert::agent_name_from(name.as_deref())).transpose()?,
        model: body.model,
        prompts: body.prompts,
        provider: body.provider,
        capabilities: body.capabilities.map(|list| list.map(|list| convert::capabilities_from(&list))),
        tier: body.tier.map(convert::tier_from),
        peers: body
            .peers
            .map(|policy| policy.as_ref().map(convert::exchange::peer_policy_from).transpose())
            .transpose()?,
        doors: body.doors.map(convert::doors_from).transpose()?,
    };
    let workspace = app.fleet.workspaces.patch(&who, id, patch, expected_version(&headers)?).await?;
    answer(&app, &who, &workspace).await
}

/// Remove a workspace, all workspaces below it, and their files.
///
/// The intent is durable before anything is stopped. The answer waits a few seconds for the stop and tells how far it
/// went: 200 when nothing is left, 202 when something is; that goes on by itself, also after a crash. Removing twice is
/// fine, and tries again.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}", operation_id = "remove_workspace", tag = "workspaces",
    params(("id" = String, Path), RemoveParams, ("If-Match" = Option<String>, Header, description = "Only if this is still its ETag.")),
    responses(
        (status = 200, body = RemovedWorkspace), (status = 202, body = RemovedWorkspace),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Query(params): Query<RemoveParams>,
) -> Result<Response, Failure> {
    let removal = app.fleet.workspaces.remove(&who, id, expected_version(&headers)?, params.purge).await?;
    let is_over = removal.counts.finished == removal.counts.marked;
    let status = if is_over { StatusCode::OK } else { StatusCode::ACCEPTED };
    let body = axum::Json(requests::removed(&app, &removal));
    Ok((status, [(header::ETAG, etag(&removal.workspace))], body).into_response())
}

/// What is known about the place behind a workspace.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/health", operation_id = "workspace_health", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = WorkspaceHealth), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn health(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<WorkspaceHealth>, Failure> {
    let workspace = app.fleet.workspaces.get(&who, Action::ReadWorkspaces, id).await?;
    if workspace.status == model::Status::Removed {
        return Err(ErrorCode::WorkspaceNotFound.into());
    }
    Ok(axum::Json(WorkspaceHealth {
        workspace_id: id.to_string(),
        status: convert::status(workspace.status),
        reason: workspace.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        registry: app.fleet.registry.describe(id).as_ref().map(convert::description),
    }))
}

/// A workspace with what its runtime reported.
pub(super) async fn answer(
    app: &App,
    who: &Identity,
    workspace: &model::Workspace,
) -> Result<Response, Failure> {
    let body = requests::to_wire(app, who, workspace).await?;
    Ok(([(header::ETAG, etag(workspace))], axum::Json(body)).into_response())
}

pub(super) fn etag(workspace: &model::Workspace) -> String {
    format!("\"{}\"", workspace.version)
}

pub(super) fn expected_version(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    if text == "*" {
        return Ok(None);
    }
    let version =
        text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).and_then(|text| text.parse().ok());
    let detail = "If-Match: expected an ETag that Warren gave out, such as \"7\"";
    version.map(Some).ok_or_else(|| Failure::new(ErrorCode::InvalidRequest, detail))
}
