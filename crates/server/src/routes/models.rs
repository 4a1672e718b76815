//! The models that agents can be run by (A10).

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{KnownModels, ModelProvider, Problem};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::Query;
use crate::problem::Failure;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ModelParams {
    /// Tell about the keys that this workspace has, which are its own and its org's.
    workspace_id: Option<String>,
}

/// List the providers of models, and which of them have a key. No key is ever shown.
#[utoipa::path(
    get, path = "/api/v1/models", operation_id = "list_models", tag = "agents", params(ModelParams),
    responses((status = 200, body = KnownModels), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ModelParams>,
) -> Result<axum::Json<KnownModels>, Failure> {
    let id = params.workspace_id.as_deref();
    let workspace_id = id.map(|id| convert::id_from("workspace_id", id)).transpose()?;
    let known = app.agents.models.list(&who, workspace_id).await?;
    let provider = |one: warren_agent::KnownProvider| ModelProvider {
        name: one.name,
        wire: one.wire.to_owned(),
        base_url: one.base_url,
        needs_key: one.key_name.is_some(),
        key_name: one.key_name,
        has_key: one.has_key,
    };
    Ok(axum::Json(KnownModels {
        providers: known.providers.into_iter().map(provider).collect(),
        scripts: known.scripts,
        prices_date: known.prices_date,
    }))
}
