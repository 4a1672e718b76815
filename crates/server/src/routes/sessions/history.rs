//! The steps of a session: looking at them, going back, branching, and moving to another version of the agent (A70).

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    BranchSession, Checkpoint, CheckpointPage, Problem, RewindSession, Session, SessionStepPage, StepContext,
    UpgradedSession,
};

use warren_model::session::StepSpan;

use super::name_from;
use crate::App;
use crate::auth::Caller;
use crate::convert::session_steps;
use crate::convert::sessions::{agent_change, session};
use crate::extract::{Json, PathSession, PathStep, Query};
use crate::paging::page_size;
use crate::problem::Failure;

/// Go back to the end of a step, in place. Later steps stay stored and are not shown to the model.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/rewind", operation_id = "rewind_session", tag = "sessions",
    params(("session" = String, Path)), request_body = RewindSession,
    responses((status = 200, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn rewind(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Json(body): Json<RewindSession>,
) -> Result<axum::Json<Session>, Failure> {
    let row = app.agents.sessions.rewind(&who, &name, body.step).await?;
    Ok(axum::Json(session(&row, app.clock.now())))
}

/// Begin a new session with the steps of this one up to one of them.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/branch", operation_id = "branch_session", tag = "sessions",
    params(("session" = String, Path)), request_body = BranchSession,
    responses((status = 201, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn branch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Json(body): Json<BranchSession>,
) -> Result<(StatusCode, axum::Json<Session>), Failure> {
    let new_name = body.name.as_deref().map(name_from).transpose()?;
    let row = app.agents.sessions.branch(&who, &name, body.step, new_name).await?;
    Ok((StatusCode::CREATED, axum::Json(session(&row, app.clock.now()))))
}

/// Move a session to the version that its agent's name stands for now, and tell what is different.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/upgrade", operation_id = "upgrade_session", tag = "sessions",
    params(("session" = String, Path)),
    responses((status = 200, body = UpgradedSession), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn upgrade(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
) -> Result<axum::Json<UpgradedSession>, Failure> {
    let upgraded = app.agents.sessions.upgrade(&who, &name).await?;
    Ok(axum::Json(UpgradedSession {
        session: session(&upgraded.session, app.clock.now()),
        previous_agent_hash: upgraded.previous_hash,
        changes: upgraded.changes.into_iter().map(agent_change).collect(),
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StepParams {
    /// Only steps after this one; 0 unless told.
    #[serde(default)]
    after: u32,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the steps that the model is shown, in their order, and the one that is under way.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/steps", operation_id = "list_steps", tag = "sessions",
    params(("session" = String, Path), StepParams),
    responses((status = 200, body = SessionStepPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn steps(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Query(params): Query<StepParams>,
) -> Result<axum::Json<SessionStepPage>, Failure> {
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let rows = app.agents.sessions.steps(&who, &name, params.after, limit).await?;
    let is_full = rows.len() >= limit as usize;
    let next_after = rows.last().map(|step| step.number).filter(|_| is_full);
    Ok(axum::Json(SessionStepPage { items: rows.iter().map(session_steps::step).collect(), next_after }))
}

/// List the places to go back to (`rewind`) or to begin a new session from (`branch`): the end of each step.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/checkpoints", operation_id = "list_checkpoints", tag = "sessions",
    params(("session" = String, Path), StepParams),
    responses((status = 200, body = CheckpointPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn checkpoints(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Query(params): Query<StepParams>,
) -> Result<axum::Json<CheckpointPage>, Failure> {
    let limit = page_size(params.limit, app.limits().max_page_size)? as usize;
    let row = app.agents.sessions.get(&who, &name).await?;
    let of_span = |span: &StepSpan| {
        let session_id = span.session.to_string();
        (span.first..=span.last).map(move |step| Checkpoint { step, session_id: session_id.clone() })
    };
    let all = row.lineage.spans().iter().flat_map(of_span);
    let items: Vec<_> = all.filter(|one| one.step > params.after).take(limit).collect();
    let next_after = items.last().map(|one| one.step).filter(|step| *step < row.lineage.last());
    Ok(axum::Json(CheckpointPage { items, next_after }))
}

/// Show what the model was shown for a step, without the secrets of its workspace, and what took how much of it.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/steps/{step}/context", operation_id = "show_step_context",
    tag = "sessions", params(("session" = String, Path), ("step" = u32, Path)),
    responses((status = 200, body = StepContext), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn context(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    PathStep(number): PathStep,
) -> Result<axum::Json<StepContext>, Failure> {
    let shown = app.agents.sessions.context_of(&who, &name, number).await?;
    Ok(axum::Json(session_steps::context(&shown)))
}
