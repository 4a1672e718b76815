//! What can be asked of a workspace as a whole: rest, sleep, and to be brought up anew.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{Problem, Workspace};
use warren_model as model;

use super::workspaces::answer;
use crate::App;
use crate::auth::Caller;
use crate::extract::{PathId, Query};
use crate::problem::Failure;

/// Put a workspace and all below it to rest.
///
/// What runs in them ends; files stay. Nothing but a resume brings them back.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/pause", operation_id = "pause_workspace", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.lifecycle.pause(&who, id).await?).await
}

/// End the rest of a workspace and of all below it.
///
/// Refused below a workspace that is paused.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/resume", operation_id = "resume_workspace", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.lifecycle.resume(&who, id).await?).await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HibernateParams {
    /// Also with tasks in flight.
    #[serde(default)]
    force: bool,
}

/// Put a workspace to sleep until a message comes.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/hibernate", operation_id = "hibernate_workspace", tag = "workspaces",
    params(("id" = String, Path), HibernateParams),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn hibernate(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<HibernateParams>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.lifecycle.hibernate(&who, id, params.force).await?).await
}

/// Wake a workspace.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/wake", operation_id = "wake_workspace", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn wake(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.lifecycle.wake(&who, id).await?).await
}

/// Bring a workspace up anew.
///
/// What runs in it ends, files stay. A change that comes meanwhile is not lost: the generation tells them apart.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/restart", operation_id = "restart_workspace", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn restart(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.lifecycle.restart(&who, id).await?).await
}

/// Have a failed workspace tried again (operators).
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/reset", operation_id = "reset_workspace", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn reset(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.lifecycle.reset(&who, id).await?).await
}
