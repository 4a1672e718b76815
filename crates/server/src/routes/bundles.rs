//! Bundles: workspaces out of one Warren and into another.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{Bundle, BundleNode, BundleOrigin, ImportBundle, ImportReport, Problem};
use warren_model as model;
use warren_model::{BundleError, ErrorCode};

use super::templates::tell_report;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::problem::{CurrentRequest, Failure};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    /// With all below it; so unless told.
    #[serde(default = "yes")]
    tree: bool,
}

const fn yes() -> bool {
    true
}

/// Export a workspace as a bundle: without ids, tokens, secrets, state and files.
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
    let bundle = app.fleet.bundles.export(&who, id, params.tree).await?;
    let origin =
        BundleOrigin { workspace_id: bundle.origin.workspace_id, exported_at: bundle.origin.exported_at };
    Ok(axum::Json(Bundle { format: bundle.format, version: bundle.version, origin, root: node(bundle.root) }))
}

fn node(from: model::BundleNode) -> BundleNode {
    BundleNode {
        name: from.name,
        spec: serde_json::to_value(&from.spec).unwrap_or_default(),
        children: from.children.into_iter().map(node).collect(),
    }
}

/// Import a bundle, under new ids.
///
/// As the import of a tree: 412 with all that is missing, 201 when all were made, 207 with a problem for each that was
/// not.
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
    Json(body): Json<ImportBundle>,
) -> Result<Response, Failure> {
    let bundle = model::Bundle::read(body.bundle).map_err(|error| {
        let code = match error {
            BundleError::Newer { .. } => ErrorCode::BundleNewer,
            BundleError::Invalid(_) => ErrorCode::InvalidBundle,
        };
        Failure::new(code, error.to_string())
    })?;
    let parent_id = body.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?;
    let report = app.fleet.bundles.import(&who, bundle, parent_id, &body.provided_env).await?;
    Ok(tell_report(report, &request))
}
