//! Sessions with agents (A2, A3, A72). Each file is one thing that is done with them.

pub(super) mod chat;
pub(super) mod control;
pub(super) mod history;
pub(super) mod messages;
pub(super) mod stream;

use std::sync::Arc;

use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_agent::{NewSession, SessionQuery};
use warren_api::{CreateSession, PendingWork, Problem, Session, SessionPage, SessionStatus};
use warren_model::session::{PhaseKind, Session as SessionRow, SessionName};
use warren_model::{AgentName, ErrorCode};

use super::exchange::idempotency_key;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::convert::session_steps;
use crate::convert::sessions::{session, session_message};
use crate::extract::{Json, PathSession, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;

/// Begin a session with an agent in a workspace. It waits for its first message.
///
/// The same `Idempotency-Key` is the same session.
#[utoipa::path(
    post, path = "/api/v1/sessions", operation_id = "create_session", tag = "sessions",
    params(("Idempotency-Key" = Option<String>, Header)), request_body = CreateSession,
    responses((status = 201, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    headers: HeaderMap,
    Json(body): Json<CreateSession>,
) -> Result<(StatusCode, axum::Json<Session>), Failure> {
    let invalid = |detail: String| Failure::new(ErrorCode::InvalidRequest, detail);
    let title_length = body.title.as_deref().map_or(0, |title| title.chars().count());
    if title_length > SessionRow::MAX_TITLE_CHARACTERS {
        let most = SessionRow::MAX_TITLE_CHARACTERS;
        return Err(invalid(format!("title: at most {most} characters")));
    }
    let new = NewSession {
        workspace_id: convert::id_from("workspace_id", &body.workspace_id)?,
        agent: body.agent.parse().map_err(|error| invalid(format!("agent: {error}")))?,
        name: body.name.as_deref().map(name_from).transpose()?,
        title: body.title,
        initial_state: body.initial_state,
    };
    let made = app.agents.sessions.create(&who, new, idempotency_key(&headers)?).await?;
    Ok((StatusCode::CREATED, axum::Json(session(&made, app.clock.now()))))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only those of this workspace.
    workspace_id: Option<String>,
    /// Only those with this agent, in any of its versions.
    agent: Option<String>,
    /// Only those in this status. `idle` and `running` are told apart by a lease that comes and goes: a page of either
    /// may have fewer entries than `limit` before the last.
    #[param(inline)]
    status: Option<SessionStatus>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List sessions, the newest first.
#[utoipa::path(
    get, path = "/api/v1/sessions", operation_id = "list_sessions", tag = "sessions", params(ListParams),
    responses((status = 200, body = SessionPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<SessionPage>, Failure> {
    let invalid = |detail: String| Failure::new(ErrorCode::InvalidRequest, detail);
    let agent = |text: String| text.parse::<AgentName>().map_err(|error| invalid(format!("agent: {error}")));
    let query = SessionQuery {
        org_id: None,
        workspace_id: params
            .workspace_id
            .as_deref()
            .map(|id| convert::id_from("workspace_id", id))
            .transpose()?,
        phase: params.status.and_then(phase_of),
        agent: params.agent.map(agent).transpose()?,
        before: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let page = app.agents.sessions.list(&who, query).await?;
    let now = app.clock.now();
    let rows = page.rows.iter().map(|row| session(row, now));
    Ok(axum::Json(SessionPage {
        items: rows.filter(|row| params.status.is_none_or(|status| row.status == status)).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// The stored phase of a status. One that is idle may have a phase of two kinds.
fn phase_of(status: SessionStatus) -> Option<PhaseKind> {
    match status {
        SessionStatus::Idle => None,
        SessionStatus::Running => Some(PhaseKind::Active),
        SessionStatus::Suspended => Some(PhaseKind::Suspended),
        SessionStatus::Completed => Some(PhaseKind::Completed),
        SessionStatus::Failed => Some(PhaseKind::Failed),
        SessionStatus::Interrupted => Some(PhaseKind::Interrupted),
    }
}

/// Show a session, by its name or its id.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}", operation_id = "show_session", tag = "sessions",
    params(("session" = String, Path)),
    responses((status = 200, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
) -> Result<axum::Json<Session>, Failure> {
    let row = app.agents.sessions.get(&who, &name).await?;
    Ok(axum::Json(session(&row, app.clock.now())))
}

/// What a session waits for: approvals, calls that the caller runs, and messages that the model has not seen.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/pending", operation_id = "list_pending", tag = "sessions",
    params(("session" = String, Path)),
    responses((status = 200, body = PendingWork), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn pending(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
) -> Result<axum::Json<PendingWork>, Failure> {
    let pending = app.agents.sessions.pending(&who, &name).await?;
    Ok(axum::Json(PendingWork {
        approvals: pending.approvals.iter().map(convert::approval).collect(),
        calls: pending.calls.iter().map(session_steps::call).collect(),
        messages: pending.messages.iter().map(session_message).collect(),
    }))
}

/// A session's name in a body.
fn name_from(text: &str) -> Result<SessionName, Failure> {
    text.parse().map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("name: {error}")))
}
