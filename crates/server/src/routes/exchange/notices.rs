//! What agents tell people of their own accord, and what can be watched of their work.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use warren_api::{ChatMessage, Feed, FeedLine, Notify, Problem};
use warren_exchange::Line;
use warren_model as model;

use super::idempotency_key;
use crate::App;
use crate::auth::Caller;
use crate::convert::chat as convert;
use crate::extract::{Json, PathId};
use crate::problem::Failure;
use crate::requests;

/// Tell people something, with files of one's own workspace.
///
/// For the workspace's runtime alone. All files are looked at first; if one is not there, too large or not what it is said
/// to be, nothing is told. Who follows the events hears of it once it is written. The same `Idempotency-Key`, or the same
/// `message_id`, is the same notice: it stands once, and is answered as the first was.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/notify", operation_id = "notify", tag = "chat",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = Notify,
    responses(
        (status = 200, body = ChatMessage, description = "It was told before."),
        (status = 201, body = ChatMessage),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn notify(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Json(body): Json<Notify>,
) -> Result<Response, Failure> {
    let key = idempotency_key(&headers)?;
    let noticed = requests::notices::notify(&app, &who, id, body, key.as_deref()).await?;
    let status = if noticed.is_repeat { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, axum::Json(convert::chat_message(&noticed.message))).into_response())
}

/// Watch what a workspace does: the last 20 lines, repeats folded into one.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/feed", operation_id = "show_feed", tag = "chat",
    params(("id" = String, Path)),
    responses((status = 200, body = Feed), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn feed(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<Feed>, Failure> {
    let lines = app.exchange.notices.feed(&who, id).await?;
    let line = |line: Line| FeedLine {
        at: line.at.to_string(),
        kind: line.kind.as_str().to_owned(),
        text: line.text,
        count: line.count,
    };
    Ok(axum::Json(Feed { lines: lines.into_iter().map(line).collect() }))
}
