//! People and callers in the loop: decisions, results of their tools, stopping and going on (A30–A32).

use std::sync::Arc;

use axum::extract::State;
use http::HeaderMap;
use warren_agent::{HandedIn, NewStop};
use warren_api::{
    Approval, CallDecision, DecideCall, Problem, ResumeSession, Session, StopRun, SubmitToolResult,
};
use warren_exchange::{ApprovalAnswer, ApprovalDecision};
use warren_model::ErrorCode;
use warren_model::session::{SessionName, StopKind};
use warren_service::Identity;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::convert::sessions::{limits_from, session};
use crate::extract::{Json, PathSession};
use crate::problem::Failure;
use crate::routes::exchange::idempotency_key;
use crate::routes::tool_rules;

/// Decide about a tool call that waits for a person. People only.
///
/// Each question is decided once. `arguments` replace what the model proposed; both are kept. With an `Idempotency-Key`
/// the same decision again, by the same one, is answered with what was decided.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/approvals", operation_id = "decide_call", tag = "sessions",
    params(("session" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = DecideCall,
    responses((status = 200, body = Approval), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn decide(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    headers: HeaderMap,
    Json(body): Json<DecideCall>,
) -> Result<axum::Json<Approval>, Failure> {
    let is_repeatable = idempotency_key(&headers)?.is_some();
    let of = app.agents.sessions.for_decision(&who, &name).await?;
    // What is no id cannot be one that was asked about.
    let id = body.approval_id.parse().map_err(|_| Failure::from(ErrorCode::ApprovalNotFound))?;
    let decision = match body.decision {
        CallDecision::Approve => ApprovalDecision::Approve,
        CallDecision::Deny => ApprovalDecision::Deny,
    };
    let remember = body.remember.map(tool_rules::remember_from);
    let answer =
        ApprovalAnswer { decision, note: body.note, edited: body.arguments, remember, is_repeatable };
    let decided = app.exchange.approvals.decide_in_session(&who, of.id, id, answer).await?;
    Ok(axum::Json(convert::approval(&decided)))
}

/// Hand in what a tool of the caller gave, or what the user answered. The same again is answered the same.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/tool-results", operation_id = "submit_tool_result", tag = "sessions",
    params(("session" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = SubmitToolResult,
    responses((status = 200, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn submit_result(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    headers: HeaderMap,
    Json(body): Json<SubmitToolResult>,
) -> Result<axum::Json<Session>, Failure> {
    let key = idempotency_key(&headers)?;
    let handed_in = match (body.output, body.error) {
        (Some(output), None) => HandedIn::Output(output),
        (None, Some(error)) => HandedIn::Error(error),
        (Some(_), Some(_)) | (None, None) => {
            let detail = "output: expected either `output` or `error`";
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
    };
    let row = app.agents.sessions.hand_in(&who, &name, body.call_id, handed_in, key).await?;
    Ok(axum::Json(session(&row, app.clock.now())))
}

/// Stop a run at its next safe point. It can be resumed.
///
/// The same `Idempotency-Key` is the same stop: it is answered as before, also once the run has ended.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/interrupt", operation_id = "interrupt_session", tag = "sessions",
    params(("session" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = StopRun,
    responses((status = 200, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn interrupt(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    headers: HeaderMap,
    Json(body): Json<StopRun>,
) -> Result<axum::Json<Session>, Failure> {
    stop(&app, &who, &name, body, StopKind::Interrupt, &headers).await
}

/// Fail a run now. Its messages that wait are dropped.
///
/// The same `Idempotency-Key` is the same stop: it is answered as before, also once the run has ended.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/abort", operation_id = "abort_session", tag = "sessions",
    params(("session" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = StopRun,
    responses((status = 200, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn abort(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    headers: HeaderMap,
    Json(body): Json<StopRun>,
) -> Result<axum::Json<Session>, Failure> {
    stop(&app, &who, &name, body, StopKind::Abort, &headers).await
}

async fn stop(
    app: &App,
    who: &Identity,
    name: &SessionName,
    body: StopRun,
    kind: StopKind,
    headers: &HeaderMap,
) -> Result<axum::Json<Session>, Failure> {
    let stop = NewStop { kind, within_seconds: body.within_seconds, key: idempotency_key(headers)? };
    let row = app.agents.sessions.stop(who, name, body.run, stop).await?;
    Ok(axum::Json(session(&row, app.clock.now())))
}

/// Go on after an interrupt, an exhausted budget or a circle. Only people set new limits.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/resume", operation_id = "resume_session", tag = "sessions",
    params(("session" = String, Path)), request_body = ResumeSession,
    responses((status = 200, body = Session), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Json(body): Json<ResumeSession>,
) -> Result<axum::Json<Session>, Failure> {
    let row = app.agents.sessions.resume(&who, &name, body.limits.map(limits_from)).await?;
    Ok(axum::Json(session(&row, app.clock.now())))
}
