use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use http::header;
use warren_api::{Problem, ProviderInfo, ServerInfo};
use warren_fleet::OfferedProvider;
use warren_service::Action;

use crate::App;
use crate::auth::Caller;
use crate::problem::Failure;
use crate::{VERSION, convert, openapi};

/// What this server is and offers.
#[utoipa::path(
    get, path = "/api/v1/info", operation_id = "server_info", tag = "server",
    responses((status = 200, body = ServerInfo), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn info(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<axum::Json<ServerInfo>, Failure> {
    who.may_in_own_org(Action::KnowOneself)?;
    let app = &app;
    let health = app.fleet.context.store_health().await?;
    let offered = app.fleet.workspaces.offered_providers().await;
    let default = offered.iter().find(|one| one.is_default).map(|one| one.kind.to_string());
    let provider = |one: OfferedProvider| ProviderInfo {
        kind: one.kind.to_string(),
        capabilities: convert::capabilities(one.capabilities),
        note: one.kind.remark().to_owned(),
        unavailable: one.unavailable,
    };
    Ok(axum::Json(ServerInfo {
        version: VERSION.to_owned(),
        providers: offered.into_iter().map(provider).collect(),
        default_provider: default,
        database: health.engine.to_owned(),
        durability: health.durability,
    }))
}

/// This document.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", operation_id = "openapi", tag = "server", security(()),
    responses((status = 200, body = Object))
)]
pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], openapi::json())
}
