//! Runtimes: how they make themselves known, and what they report.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use warren_api::{
    AgentCardAnswer, ChangeAgentCard, Heartbeat, HeartbeatAnswer, Problem, RegisterRuntime, RegisteredRuntime,
};
use warren_fleet::Register;
use warren_model::ReportDoubt as Doubt;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::Json;
use crate::problem::Failure;

/// As [`RegisterRuntime`], with a first report that is read field by field.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegisterBody {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    agent_card: Option<serde_json::Value>,
    #[serde(default)]
    heartbeat: Option<serde_json::Value>,
}

/// Make a runtime known, with a join token.
///
/// The token works once. The answer carries the credential of this boot; the one of an earlier boot ends with it.
#[utoipa::path(
    post, path = "/api/v1/registry/register", operation_id = "register_runtime", tag = "runtimes",
    request_body = RegisterRuntime,
    responses((status = 200, body = RegisteredRuntime), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn register(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<RegisterBody>,
) -> Result<axum::Json<RegisteredRuntime>, Failure> {
    let heartbeat = body.heartbeat.unwrap_or_else(|| serde_json::json!({}));
    let (report, warnings) = convert::report_from(heartbeat)?;
    let register = Register { version: body.version, agent_card: body.agent_card, report };
    let registered = app.exchange.registrations.register(&who, register).await?;
    Ok(axum::Json(RegisteredRuntime {
        workspace_id: registered.workspace.id.to_string(),
        status: convert::status(registered.workspace.status),
        boots: registered.boots,
        token: registered.credential.secret.reveal().to_owned(),
        liveness_timeout_ms: registered.liveness_ms.unsigned_abs(),
        max_concurrent_tasks: registered.workspace.spec.concurrency(),
        generation: registered.workspace.generation,
        warnings: warnings.into_iter().chain(registered.doubts.into_iter().map(Doubt::sentence)).collect(),
        wedge: registered.wedge,
    }))
}

/// Change how a runtime describes itself, with the credential that it got when it registered.
///
/// Messages go where the new card leads from then on. Its URLs are judged as those of a registration are. An agent that
/// Warren runs has no card.
#[utoipa::path(
    put, path = "/api/v1/registry/agent-card", operation_id = "change_agent_card", tag = "runtimes",
    request_body = ChangeAgentCard,
    responses((status = 200, body = AgentCardAnswer), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn change_card(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<ChangeAgentCard>,
) -> Result<axum::Json<AgentCardAnswer>, Failure> {
    let registration = app.exchange.registrations.change_card(&who, body.agent_card).await?;
    Ok(axum::Json(AgentCardAnswer {
        workspace_id: registration.workspace_id.to_string(),
        boots: registration.boots,
        agent_card: registration.agent_card,
    }))
}

/// Report how a runtime is, with the credential that it got when it registered.
///
/// Every field is optional; absent means unchanged. A report is proof of life.
#[utoipa::path(
    post, path = "/api/v1/registry/heartbeat", operation_id = "heartbeat", tag = "runtimes",
    request_body = Heartbeat,
    responses((status = 200, body = HeartbeatAnswer), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn heartbeat(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<serde_json::Value>,
) -> Result<axum::Json<HeartbeatAnswer>, Failure> {
    let (report, warnings) = convert::report_from(body)?;
    let heard = app.fleet.runtimes.heartbeat(&who, report).await;
    let outcome = if heard.is_ok() { "taken" } else { "refused" };
    app.telemetry.counter("warren_heartbeats_total", &[("outcome", outcome)]).increment(1);
    let heard = heard?;
    let workspace = &heard.workspace;
    Ok(axum::Json(HeartbeatAnswer {
        workspace_id: workspace.id.to_string(),
        status: convert::status(workspace.status),
        reason: workspace.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        desired: convert::desired(workspace.spec.desired),
        generation: workspace.generation,
        liveness_timeout_ms: heard.liveness_ms.unsigned_abs(),
        max_concurrent_tasks: workspace.spec.concurrency(),
        warnings: warnings.into_iter().chain(heard.doubts.into_iter().map(Doubt::sentence)).collect(),
    }))
}
