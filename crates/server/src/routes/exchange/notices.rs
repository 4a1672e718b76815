//! What agents tell people of their own accord, and what can be watched of their work.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use warren_api::{Attachment, ChatMessage, Feed, FeedLine, Notify, Problem};
use warren_exchange::{LOOKED_AT, MAX_ATTACHMENTS, checked_type};
use warren_exchange::{Line, Notice, Noticed, Once};
use warren_model as model;
use warren_model::{Content, ErrorCode, Part, WORKSPACE_SCHEME};
use warren_service::Action;
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{ByteRange, EntryKind, Fs};

use super::{id_in_body, idempotency_key};
use crate::App;
use crate::auth::Caller;
use crate::convert_chat as convert;
use crate::extract::{Json, PathId};
use crate::problem::Failure;
use crate::routes::files::fs_of;

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
    Json(wish): Json<Notify>,
) -> Result<Response, Failure> {
    app.fleet.workspaces.get(&who, Action::UseWorkspace, id).await?;
    let conversation_id = id_in_body("conversation_id", wish.conversation_id.as_deref())?;
    if wish.text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidMessage, "text: expected something to say"));
    }
    let once = once(&headers, &wish)?;
    if let Some(message) = app.exchange.notices.told_before(&who, id, &once).await? {
        return Ok(answer(&Noticed { message, is_repeat: true }));
    }
    let mut parts = vec![Part::text(wish.text)];
    parts.extend(checked_files(&app, id, &wish.attachments).await?);
    let notice = Notice { workspace_id: id, conversation_id, parts, once };
    Ok(answer(&app.exchange.notices.tell(&who, notice).await?))
}

/// By what the notice is known: what it asks for, whatever ids it goes under.
fn once(headers: &HeaderMap, wish: &Notify) -> Result<Once, Failure> {
    let key = idempotency_key(headers)?;
    let asked = serde_json::json!(Notify { message_id: None, ..wish.clone() });
    Ok(Once::new(wish.message_id.as_deref(), key.as_deref(), &asked)?)
}

fn answer(noticed: &Noticed) -> Response {
    let status = if noticed.is_repeat { StatusCode::OK } else { StatusCode::CREATED };
    (status, axum::Json(convert::chat_message(&noticed.message))).into_response()
}

/// Each file, or what is wrong with the first that cannot go.
async fn checked_files(
    app: &App,
    id: model::WorkspaceId,
    attachments: &[Attachment],
) -> Result<Vec<Part>, Failure> {
    if attachments.is_empty() {
        return Ok(Vec::new());
    }
    if attachments.len() > MAX_ATTACHMENTS {
        let detail = format!("attachments: at most {MAX_ATTACHMENTS}");
        return Err(Failure::new(ErrorCode::InvalidMessage, detail));
    }
    let workspace = Arc::clone(app.fleet.registry.acquire(id).await?.workspace());
    let fs = fs_of(&*workspace)?;
    let (max, max_all) = (app.limits().max_attachment_bytes, app.limits().max_attachments_bytes);
    let (mut parts, mut total) = (Vec::new(), 0_u64);
    for (at, attachment) in attachments.iter().enumerate() {
        let (part, bytes) = checked_file(fs, attachment, max)
            .await
            .map_err(|(code, problem)| Failure::new(code, format!("attachment[{at}]: {problem}")))?;
        total = total.saturating_add(bytes);
        if total > max_all {
            let detail = format!(
                "attachment[{at}]: all together have more than {max_all} bytes (`limits.max_attachments_bytes`)"
            );
            return Err(Failure::new(ErrorCode::PayloadTooLarge, detail));
        }
        parts.push(part);
    }
    Ok(parts)
}

/// A regular file beneath the workspace's root, and how large it is.
async fn checked_file(fs: &dyn Fs, wish: &Attachment, max: u64) -> Result<(Part, u64), (ErrorCode, String)> {
    let told = |error: warren_workspace::Error| (error.code(), error.code().entry().sentence.to_owned());
    let path = WorkspacePath::parse(&wish.path).map_err(told)?;
    let entry = fs.stat(&path).await.map_err(told)?;
    if entry.kind != EntryKind::File {
        return Err((ErrorCode::NotAFile, "only a regular file can go with a message".to_owned()));
    }
    if entry.bytes > max {
        let problem =
            format!("it has {} bytes, and may have {max} (`limits.max_attachment_bytes`)", entry.bytes);
        return Err((ErrorCode::PayloadTooLarge, problem));
    }
    let range = ByteRange { offset: 0, length: Some(LOOKED_AT as u64) };
    let mut contents = fs.read(&path, range).await.map_err(told)?;
    let mut head = Vec::with_capacity(LOOKED_AT);
    while let Some(piece) = contents.stream.next().await {
        head.extend_from_slice(&piece.map_err(told)?);
    }
    let media_type = checked_type(wish.media_type.as_deref(), &head)
        .map_err(|problem| (ErrorCode::InvalidMessage, problem.to_string()))?;
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let part = Part {
        content: Content::Url(format!("{WORKSPACE_SCHEME}{}", path.as_str())),
        media_type: Some(media_type),
        filename: Some(name),
        metadata: serde_json::Map::new(),
    };
    Ok((part, entry.bytes))
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
