//! What operators see and do beyond single workspaces.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{Problem, Sweep, SweepList};

use crate::auth::Caller;
use crate::extract::{PathName, Query};
use crate::problem::Failure;
use crate::{App, VERSION, convert};

/// List the sweeps of this process, with their last runs (operators).
#[utoipa::path(
    get, path = "/api/v1/admin/sweeps", operation_id = "list_sweeps", tag = "admin",
    responses((status = 200, body = SweepList), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn sweeps(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<axum::Json<SweepList>, Failure> {
    let reports = app.fleet.sweeps.list(&who)?;
    Ok(axum::Json(SweepList { items: reports.iter().map(convert::sweep).collect() }))
}

/// Run a sweep now (operators).
#[utoipa::path(
    post, path = "/api/v1/admin/sweeps/{name}/run", operation_id = "run_sweep", tag = "admin",
    params(("name" = String, Path)),
    responses((status = 200, body = Sweep), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn run_sweep(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
) -> Result<axum::Json<Sweep>, Failure> {
    Ok(axum::Json(convert::sweep(&app.fleet.sweeps.run(&who, &name).await?)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct BackupParams {
    /// Leave the database out: for PostgreSQL, whose own tools back it up.
    #[serde(default)]
    files_only: bool,
}

/// Download a backup of everything, as a tar file (operators).
///
/// It is made while it is sent, one at a time. Its last entry vouches for all before it: what ends early is no backup. Keys of
/// secrets are not in it. `warren backup` verifies what it gets, and `warren restore` unpacks it.
#[utoipa::path(
    get, path = "/api/v1/admin/backup", operation_id = "download_backup", tag = "admin", params(BackupParams),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/x-tar"),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn backup(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<BackupParams>,
) -> Result<Response, Failure> {
    let stream = app.fleet.backups.begin(&who, VERSION, params.files_only).await?;
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    let disposition = HeaderValue::from_static("attachment; filename=\"warren-backup.tar\"");
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    Ok(response)
}
