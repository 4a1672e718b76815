//! Whom a workspace can talk to.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{PeerList, PeerPolicy, Problem};
use warren_model as model;
use warren_service::Action;

use crate::App;
use crate::auth::Caller;
use crate::convert::exchange as convert;
use crate::extract::{Json, PathId, Query};
use crate::problem::Failure;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PeerParams {
    /// Looks for names and roles, whatever the case; blank finds all.
    #[serde(default)]
    q: String,
}

/// List exactly those that a workspace may talk to.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/peers", operation_id = "list_peers", tag = "exchange",
    params(("id" = String, Path), PeerParams),
    responses((status = 200, body = PeerList), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<PeerParams>,
) -> Result<axum::Json<PeerList>, Failure> {
    let peers = app.exchange.peers.list(&who, id, &params.q).await?;
    Ok(axum::Json(PeerList { items: peers.iter().map(convert::peer).collect() }))
}

/// Show whom a workspace may talk to, as a rule.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/peer-policy", operation_id = "show_peer_policy", tag = "exchange",
    params(("id" = String, Path)),
    responses((status = 200, body = PeerPolicy), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn show_policy(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<PeerPolicy>, Failure> {
    let row = app.fleet.workspaces.get(&who, Action::ReadWorkspaces, id).await?;
    Ok(axum::Json(convert::peer_policy(row.spec.peers.as_ref())))
}

/// Widen or narrow whom a workspace may talk to. Both sides must agree.
#[utoipa::path(
    put, path = "/api/v1/workspaces/{id}/peer-policy", operation_id = "set_peer_policy", tag = "exchange",
    params(("id" = String, Path)), request_body = PeerPolicy,
    responses((status = 200, body = PeerPolicy), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn set_policy(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(policy): Json<PeerPolicy>,
) -> Result<axum::Json<PeerPolicy>, Failure> {
    let row = app.fleet.workspaces.set_peer_policy(&who, id, convert::peer_policy_from(&policy)?).await?;
    Ok(axum::Json(convert::peer_policy(row.spec.peers.as_ref())))
}
