use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use futures_util::future::join_all;
use http::header;
use warren_api::{Problem, ProviderInfo, ServerInfo};
use warren_model::ProviderKind;
use warren_service::Action;
use warren_workspace::registry::Registry;

use crate::App;
use crate::auth::Caller;
use crate::problem::Failure;
use crate::{VERSION, convert, openapi};

const PATIENCE: Duration = Duration::from_secs(2);

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
    let offered = ProviderKind::ALL.into_iter().filter_map(|kind| {
        let capabilities = app.fleet.registry.offered(kind).ok()?;
        Some((kind, capabilities))
    });
    let providers = offered.map(|(kind, capabilities)| async move {
        ProviderInfo {
            kind: kind.to_string(),
            capabilities: convert::capabilities(capabilities),
            note: kind.remark().to_owned(),
            unavailable: unavailable(&app.fleet.registry, kind).await,
        }
    });
    Ok(axum::Json(ServerInfo {
        version: VERSION.to_owned(),
        providers: join_all(providers).await,
        database: health.engine.to_owned(),
        durability: health.durability,
    }))
}

/// A provider that does not know in time is not called available.
async fn unavailable(registry: &Registry, kind: ProviderKind) -> Option<String> {
    match tokio::time::timeout(PATIENCE, registry.availability(kind)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("it does not answer in time".to_owned()),
    }
}

/// This document.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", operation_id = "openapi", tag = "server", security(()),
    responses((status = 200, body = Object))
)]
pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], openapi::json())
}
