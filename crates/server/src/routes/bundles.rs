//! Bundles: workspaces out of one Warren and into another.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{Bundle, ImportBundle, ImportReport, Problem};
use warren_model as model;
use warren_model::{BundleError, ErrorCode};
use warren_operations::ExportOptions;

use super::templates::tell_bundle_report;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{BundleJson, PathId, Query};
use crate::problem::{CurrentRequest, Failure};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    /// With all below it; so unless told.
    #[serde(default = "yes")]
    tree: bool,
    /// With their files; not so unless told. The workspaces must be running.
    #[serde(default)]
    files: bool,
}

const fn yes() -> bool {
    true
}

/// Export a workspace as a bundle: with what it remembers and its schedules, without ids, tokens, secrets and state.
///
/// Files come along on request, as they are: what somebody wrote into them is not masked. Links and special files are left
/// out, and `warnings` says so. A bundle of more than `limits.max_bundle_bytes` is refused (413, `bundle_too_large`), by the
/// name of the workspace with which it became too large.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/bundle", operation_id = "export_bundle", tag = "bundles",
    params(("id" = String, Path), ExportParams),
    responses((status = 200, body = Bundle), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn export(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<ExportParams>,
) -> Result<axum::Json<Bundle>, Failure> {
    let options = ExportOptions { is_tree: params.tree, has_files: params.files };
    Ok(axum::Json(convert::bundle(app.operations.bundles.export(&who, id, options).await?)))
}

/// Import a bundle, under new ids.
///
/// All of its workspaces are made, with what they remember and their schedules, or none: 412 with all that is missing, 207
/// with the problem of each that could not be. Then their files are written. 201: all is there; 207 with ids: some files
/// could not be written, and `files` says which. Rules about peers follow the workspaces of the bundle; those about
/// workspaces that are not here are left out, and `warnings` says so. The body may be larger than others, by
/// `limits.max_bundle_bytes`.
#[utoipa::path(
    post, path = "/api/v1/bundles", operation_id = "import_bundle", tag = "bundles",
    request_body = ImportBundle,
    responses(
        (status = 201, body = ImportReport), (status = 207, body = ImportReport),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Extension(request): Extension<CurrentRequest>,
    BundleJson(body): BundleJson<ImportBundle>,
) -> Result<Response, Failure> {
    let bundle = model::Bundle::read(body.bundle).map_err(|error| {
        let code = match error {
            BundleError::Newer { .. } => ErrorCode::BundleNewer,
            BundleError::Invalid(_) => ErrorCode::InvalidBundle,
        };
        Failure::new(code, error.to_string())
    })?;
    let parent_id = body.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?;
    let report = app.operations.bundles.import(&who, bundle, parent_id, body.provided_env).await?;
    Ok(tell_bundle_report(report, &request))
}
