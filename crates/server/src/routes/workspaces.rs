use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    CreateWorkspace, PatchWorkspace, Problem, RemovedWorkspace, Workspace, WorkspaceHealth, WorkspacePage,
};
use warren_fleet::WorkspaceQuery;
use warren_fleet::{CreateWorkspace as NewWorkspace, Import, PatchWorkspace as Patch, WorkspaceOptions};
use warren_model as model;
use warren_model::ErrorCode;
use warren_service::{Action, Identity};

use super::paging::{cursor, page_size, unreadable};
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::problem::Failure;

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
    let workspace = match &body.template {
        Some(_) => app.fleet.imports.create_from_template(&who, from_template(body)?).await?,
        None => app.fleet.workspaces.create(&who, new_workspace(body)?).await?,
    };
    let location = format!("/api/v1/workspaces/{}", workspace.id);
    let body = convert::workspace(&workspace, None, app.fleet.workspaces.provision_timeout_ms(&workspace));
    let made = ([(header::ETAG, etag(&workspace))], axum::Json(body));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], made).into_response())
}

fn new_workspace(body: CreateWorkspace) -> Result<NewWorkspace, Failure> {
    if !body.provided_env.is_empty() {
        let detail = "provided_env: only a template requires variables";
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    let missing = || Failure::new(ErrorCode::InvalidRequest, "missing field `provider`");
    Ok(NewWorkspace {
        name: body.name.parse().map_err(|error| invalid("name", &error))?,
        provider: provider_from(body.provider.ok_or_else(missing)?)?,
        capabilities: body.capabilities.as_deref().map(convert::capabilities_from),
        parent_id: body.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?,
        runtime: body.runtime.map_or(model::Runtime::Hosted, convert::runtime_from),
        tier: body.tier.map(convert::tier_from),
        options: WorkspaceOptions {
            role: body.role,
            provision_timeout_seconds: body.provision_timeout_seconds,
            hibernate_after_seconds: body.hibernate_after_seconds,
            max_concurrent_tasks: body.max_concurrent_tasks,
        },
        agent: model::AgentSpec {
            name: agent_name(body.agent.as_deref())?,
            model: body.model,
            prompts: body.prompts,
            command: body.command.unwrap_or_default(),
            wedge_signs: body.wedge_signs.unwrap_or_default(),
            ..model::AgentSpec::default()
        },
        template: None,
    })
}

/// The template with what the request says over it.
fn from_template(body: CreateWorkspace) -> Result<Import, Failure> {
    let template = body.template.as_deref().unwrap_or_default();
    let name: model::WorkspaceName = body.name.parse().map_err(|error| invalid("name", &error))?;
    let root = model::Blueprint {
        name: Some(name.to_string()),
        template: Some(template.parse().map_err(|error| invalid("template", &error))?),
        runtime: body.runtime.map(convert::runtime_from),
        provider: body.provider.map(provider_from).transpose()?,
        capabilities: body.capabilities.as_deref().map(convert::capabilities_from),
        tier: body.tier.map(convert::tier_from),
        role: body.role,
        provision_timeout_seconds: body.provision_timeout_seconds,
        hibernate_after_seconds: body.hibernate_after_seconds,
        max_concurrent_tasks: body.max_concurrent_tasks,
        agent: agent_name(body.agent.as_deref())?,
        model: body.model,
        prompts: body.prompts,
        command: body.command,
        wedge_signs: body.wedge_signs,
        ..model::Blueprint::default()
    };
    let parent_id = body.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?;
    Ok(Import { roots: vec![root], parent_id, provided_env: body.provided_env })
}

fn agent_name(text: Option<&str>) -> Result<Option<model::AgentName>, Failure> {
    text.map(str::parse).transpose().map_err(|error| invalid("agent", &error))
}

fn provider_from(value: serde_json::Value) -> Result<model::ProviderConfig, Failure> {
    serde_json::from_value(value)
        .map_err(|error| Failure::new(ErrorCode::InvalidConfig, format!("provider.{error}")))
}

fn invalid(field: &str, problem: &dyn std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, format!("{field}: {problem}"))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// Only this status.
    status: Option<warren_api::Status>,
    /// Only this name, exactly.
    name: Option<String>,
    /// Only children of this workspace.
    parent_id: Option<String>,
    /// Also those that were removed.
    #[serde(default)]
    include_removed: bool,
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
    let status = params.status.map(status_from);
    let query = WorkspaceQuery {
        org_id: None,
        parent_id: params.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?,
        includes_removed: params.include_removed || status == Some(model::Status::Removed),
        statuses: status.into_iter().collect(),
        is_behind: false,
        name: params.name,
        after: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let (page, vitals) = app.fleet.workspaces.list_with_vitals(&who, query).await?;
    let positions = app.fleet.positions.of(&who, &page.rows).await?;
    let item = |row: &model::Workspace| {
        let told =
            convert::workspace(row, vitals.get(&row.id), app.fleet.workspaces.provision_timeout_ms(row));
        let position = positions.get(&row.id).copied().map(convert::position);
        // Prompts may be long; a page of them would be longer than anybody wants.
        Workspace { agent: None, position, ..told }
    };
    Ok(axum::Json(WorkspacePage {
        items: page.rows.iter().map(item).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

fn status_from(status: warren_api::Status) -> model::Status {
    let same = |one: &&model::Status| convert::status(**one) == status;
    *model::Status::ALL.iter().find(same).expect("the conversion of statuses is one to one")
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ShowParams {
    /// Show it also if it was removed.
    #[serde(default)]
    include_removed: bool,
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
    let workspace = app.fleet.workspaces.get(&who, Action::ReadWorkspaces, id).await?;
    if workspace.status == model::Status::Removed && !params.include_removed {
        return Err(ErrorCode::WorkspaceNotFound.into());
    }
    answer(&app, &who, &workspace).await
}

/// Change a workspace. What is absent stays as it is.
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
        agent: body.agent.map(|name| agent_name(name.as_deref())).transpose()?,
        model: body.model,
        prompts: body.prompts,
    };
    let workspace = app.fleet.workspaces.patch(&who, id, patch, expected_version(&headers)?).await?;
    answer(&app, &who, &workspace).await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RemoveParams {
    /// Erase the rows too, once nothing is left. Events and the audit log stay.
    #[serde(default)]
    purge: bool,
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
    let counts = removal.counts;
    let is_over = counts.finished == counts.marked;
    let status = if is_over { StatusCode::OK } else { StatusCode::ACCEPTED };
    let timeout = app.fleet.workspaces.provision_timeout_ms(&removal.workspace);
    let body = RemovedWorkspace {
        workspace: convert::workspace(&removal.workspace, None, timeout),
        removal: convert::removal_counts(counts),
    };
    Ok((status, [(header::ETAG, etag(&removal.workspace))], axum::Json(body)).into_response())
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
    let body = to_wire(app, who, workspace).await?;
    Ok(([(header::ETAG, etag(workspace))], axum::Json(body)).into_response())
}

/// The same, as what it is on the wire.
pub(super) async fn to_wire(
    app: &App,
    who: &Identity,
    workspace: &model::Workspace,
) -> Result<Workspace, Failure> {
    let rows = std::slice::from_ref(workspace);
    let vitals = app.fleet.workspaces.vitals_of(rows).await?;
    let positions = app.fleet.positions.of(who, rows).await?;
    let timeout = app.fleet.workspaces.provision_timeout_ms(workspace);
    let told = convert::workspace(workspace, vitals.get(&workspace.id), timeout);
    Ok(Workspace { position: positions.get(&workspace.id).copied().map(convert::position), ..told })
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
