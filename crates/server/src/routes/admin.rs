//! What operators see and do beyond single workspaces.

use std::sync::Arc;

use axum::extract::State;
use warren_api::{Problem, Sweep, SweepList};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::PathName;
use crate::problem::Failure;

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
