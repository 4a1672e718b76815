//! Agents as people store them (A1, A6).

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use warren_agent::Definitions;
use warren_api::{AgentPage, AgentSummary, Problem, StoredAgent};
use warren_model as model;
use warren_model::{AgentName, AgentVersion, ErrorCode};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Document, PathName, PathVersion, Query};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

/// List agents, by name: the version that each name stands for now.
#[utoipa::path(
    get, path = "/api/v1/agents", operation_id = "list_agents", tag = "agents", params(PageParams),
    responses((status = 200, body = AgentPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<AgentPage>, Failure> {
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let page = app.agents.definitions.list(&who, cursor(params.cursor)?, limit).await?;
    let summary = |row: &model::StoredAgent| AgentSummary {
        name: row.version.name.to_string(),
        hash: row.version.hash.clone(),
        model: row.definition.model.to_string(),
        description: row.definition.description.clone(),
        created_at: row.created_at.to_string(),
    };
    Ok(axum::Json(AgentPage {
        items: page.rows.iter().map(summary).collect(),
        next_cursor: page.next.map(|name| name.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show an agent: the version that its name stands for now.
#[utoipa::path(
    get, path = "/api/v1/agents/{name}", operation_id = "show_agent", tag = "agents",
    params(("name" = String, Path)),
    responses((status = 200, body = StoredAgent), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
) -> Result<Response, Failure> {
    let agent = app.agents.definitions.get(&who, &known_name(&name)?).await?;
    Ok(tell(StatusCode::OK, &agent))
}

/// Store an agent. From now on its name stands for this version.
///
/// The document is YAML or JSON; it may leave its own name out, or must have this one. Sessions keep the version that
/// they began with until they are upgraded. 201: the content is new; 200: it was stored before.
#[utoipa::path(
    put, path = "/api/v1/agents/{name}", operation_id = "put_agent", tag = "agents",
    params(("name" = String, Path)),
    request_body(content((Object = "application/json"), (String = "application/yaml"))),
    responses(
        (status = 200, body = StoredAgent), (status = 201, body = StoredAgent),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
    document: Document,
) -> Result<Response, Failure> {
    app.agents.definitions.require_put(&who)?;
    let invalid = |detail: String| Failure::new(ErrorCode::InvalidAgent, detail);
    let name: AgentName = name.parse().map_err(|error| invalid(format!("name: {error}")))?;
    let mut value = document.value;
    if let Some(fields) = value.as_object_mut() {
        fields.entry("name").or_insert_with(|| name.as_str().into());
    }
    let agent = Definitions::check(value)?;
    if agent.name != name {
        return Err(invalid(format!("name: the address says `{name}`")));
    }
    let (stored, is_new) = app.agents.definitions.put(&who, agent).await?;
    Ok(tell(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &stored))
}

/// Show one version of an agent.
#[utoipa::path(
    get, path = "/api/v1/agents/{name}/versions/{hash}", operation_id = "show_agent_version", tag = "agents",
    params(("name" = String, Path), ("hash" = String, Path)),
    responses((status = 200, body = StoredAgent), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show_version(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathVersion { name, hash }: PathVersion,
) -> Result<Response, Failure> {
    let version = AgentVersion { name: known_name(&name)?, hash };
    let agent = app.agents.definitions.get_version(&who, &version).await?;
    Ok(tell(StatusCode::OK, &agent))
}

/// What is no name cannot exist.
fn known_name(name: &str) -> Result<AgentName, Failure> {
    name.parse().map_err(|_| ErrorCode::AgentNotFound.into())
}

fn tell(status: StatusCode, row: &model::StoredAgent) -> Response {
    let body = StoredAgent {
        name: row.version.name.to_string(),
        hash: row.version.hash.clone(),
        definition: serde_json::to_value(&row.definition).unwrap_or_default(),
        created_at: row.created_at.to_string(),
        created_by: convert::principal(&row.created_by),
    };
    (status, [(header::ETAG, format!("\"{}\"", row.version.hash))], axum::Json(body)).into_response()
}
