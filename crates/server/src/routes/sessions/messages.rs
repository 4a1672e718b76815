//! Messages to a session: each is delivered in one step, or dropped for one reason (A34).

use std::sync::Arc;

use axum::extract::State;
use http::{HeaderMap, StatusCode};
use warren_agent::NewSessionMessage;
use warren_api::{Problem, SendSessionMessage, SessionMessage};
use warren_model::ErrorCode;

use crate::App;
use crate::auth::Caller;
use crate::convert::sessions::{busy_mode_from, parts_from, session_message};
use crate::extract::{Json, PathSession, PathSessionMessage};
use crate::problem::Failure;
use crate::routes::exchange::idempotency_key;

const MAX_CLIENT_ID_BYTES: usize = 256;

/// Say something to the agent of a session.
///
/// What is accepted is on disk and ends as delivered or dropped; the answer does not wait for that. The same
/// `Idempotency-Key` is the same message. While a run is under way, `mode` says what becomes of it.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/messages", operation_id = "send_session_message", tag = "sessions",
    params(("session" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = SendSessionMessage,
    responses((status = 202, body = SessionMessage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn send(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    headers: HeaderMap,
    Json(body): Json<SendSessionMessage>,
) -> Result<(StatusCode, axum::Json<SessionMessage>), Failure> {
    let is_wrong = |id: &String| id.len() > MAX_CLIENT_ID_BYTES || id.chars().any(char::is_control);
    if body.client_id.as_ref().is_some_and(is_wrong) {
        let detail = format!("client_id: at most {MAX_CLIENT_ID_BYTES} bytes, without control characters");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    let new = NewSessionMessage {
        parts: parts_from(body.text, body.parts)?,
        mode: body.mode.map(busy_mode_from),
        client_id: body.client_id,
        key: idempotency_key(&headers)?,
    };
    let message = app.agents.sessions.send(&who, &name, new).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(session_message(&message))))
}

/// Show a message to a session, and what became of it.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/messages/{message}", operation_id = "show_session_message",
    tag = "sessions", params(("session" = String, Path), ("message" = String, Path)),
    responses((status = 200, body = SessionMessage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    PathSessionMessage(id): PathSessionMessage,
) -> Result<axum::Json<SessionMessage>, Failure> {
    let message = app.agents.sessions.message(&who, &name, id).await?;
    let message = message.ok_or_else(|| Failure::from(ErrorCode::SessionMessageNotFound))?;
    Ok(axum::Json(session_message(&message)))
}

/// Take back a message that the model has not seen.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{session}/messages/{message}", operation_id = "cancel_session_message",
    tag = "sessions", params(("session" = String, Path), ("message" = String, Path)),
    responses((status = 200, body = SessionMessage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    PathSessionMessage(id): PathSessionMessage,
) -> Result<axum::Json<SessionMessage>, Failure> {
    let message = app.agents.sessions.cancel_message(&who, &name, id).await?;
    Ok(axum::Json(session_message(&message)))
}
