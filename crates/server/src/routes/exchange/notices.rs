//! What agents tell people of their own accord, and what can be watched of their work.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use warren_api::{ChatMessage, Feed, FeedLine, Notify, Problem};
use warren_exchange::{Line, Notice, Noticed, Once};
use warren_model as model;
use warren_model::{ErrorCode, Part};
use warren_operations::AttachedFile;
use warren_service::Action;

use super::{id_in_body, idempotency_key};
use crate::App;
use crate::auth::Caller;
use crate::convert::chat as convert;
use crate::extract::{Json, PathId};
use crate::problem::Failure;

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
    app.fleet.workspaces.get(&who, Action::UseWorkspace, id).await?;
    let conversation_id = id_in_body("conversation_id", body.conversation_id.as_deref())?;
    if body.text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidMessage, "text: expected something to say"));
    }
    let once = once(&headers, &body)?;
    if let Some(message) = app.exchange.notices.told_before(&who, id, &once).await? {
        return Ok(answer(&Noticed { message, is_repeat: true }));
    }
    let mut parts = vec![Part::text(body.text)];
    let files = body
        .attachments
        .into_iter()
        .map(|file| AttachedFile { path: file.path, media_type: file.media_type });
    parts.extend(app.operations.files.attach(&who, id, &files.collect::<Vec<_>>()).await?);
    let notice = Notice { workspace_id: id, conversation_id, parts, once };
    Ok(answer(&app.exchange.notices.tell(&who, notice).await?))
}

/// By what the notice is known: what it asks for, whatever ids it goes under.
fn once(headers: &HeaderMap, body: &Notify) -> Result<Once, Failure> {
    let key = idempotency_key(headers)?;
    let asked = serde_json::json!(Notify { message_id: None, ..body.clone() });
    Ok(Once::new(body.message_id.as_deref(), key.as_deref(), &asked)?)
}

fn answer(noticed: &Noticed) -> Response {
    let status = if noticed.is_repeat { StatusCode::OK } else { StatusCode::CREATED };
    (status, axum::Json(convert::chat_message(&noticed.message))).into_response()
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
