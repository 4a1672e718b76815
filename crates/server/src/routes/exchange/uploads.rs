//! Files that people send along, as browsers send them: `multipart/form-data` (X32).
//!
//! ```text
//!   body ─▶ paced ─▶ pieces of at most 16 KiB ─▶ framing ─▶ one file after the other ─▶ Landing
//! ```
//!
//! The framing takes whatever its source has ready before it looks at any of it. So the source gives one piece at a time
//! and then lets go, and no more than a head may have while a head is read: memory is flat, whatever comes (sec/P06).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode, header};
use multer::{Field, Multipart};
use warren_api::{MessagePart, Problem, Uploaded};
use warren_fleet::access::Action;
use warren_fleet::{Fleet, IncomingFile, LandedFile, Landing, upload_rules};
use warren_model as model;
use warren_model::ErrorCode;
use warren_workspace::fs::ByteStream;

use crate::App;
use crate::auth::Caller;
use crate::extract::PathId;
use crate::problem::Failure;
use crate::routes::files::paced_body;

/// What the framing gets at once.
const PIECE_BYTES: usize = 16 << 10;
/// What it may have taken before it looks: it asks twice for the first boundary, and a head may begin at the end of a piece.
const UNSEEN_BYTES: u64 = 4 * PIECE_BYTES as u64;
/// What may come until the next part has begun: its headers, and what is before the first.
const MAX_HEAD_BYTES: u64 = 16 << 10;
/// Of a form besides its files.
const MAX_FRAME_BYTES: u64 = 1 << 20;
const FORM: &str = "multipart/form-data";

/// A form with files, as it is on the wire.
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes a body that is never held in memory")]
pub(crate) struct UploadForm {
    /// One or several, each with a `filename`.
    #[schema(value_type = Vec<String>, format = Binary)]
    file: Vec<Bytes>,
}

/// Upload files to a workspace, to be sent along with a message.
///
/// They land in `uploads/` of the workspace, each upload in a folder of its own, and are all there or none. The answer is
/// parts to be put into a message. A type that the bytes contradict is refused.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/uploads", operation_id = "upload_files", tag = "chat",
    params(("id" = String, Path)),
    request_body(content = inline(UploadForm), content_type = "multipart/form-data"),
    responses((status = 201, body = Uploaded), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    request: Request,
) -> Result<Response, Failure> {
    let row = app.fleet.usable_workspace(&who, Action::UseWorkspace, id).await?;
    let boundary = boundary_of(request.headers())?;
    check_length(request.headers(), app.limits().max_attachments_bytes)?;
    let upload = app.entropy.id::<model::DeliveryKind>(app.clock.now()).to_string();
    let body = paced_body(request, Duration::from_millis(app.limits().body_timeout_ms));
    let (fleet, by) = (app.fleet.clone(), who.principal.clone());
    // A client that hangs up in the middle must leave nothing behind.
    let files = app
        .fleet
        .context()
        .run_detached(async move { receive(&fleet, row, &upload, body, boundary, &by).await });
    let files = files.await??;
    let body = Uploaded {
        bytes: files.iter().map(|file| file.bytes).sum(),
        parts: files.into_iter().map(part_of).collect(),
    };
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

fn part_of(file: LandedFile) -> MessagePart {
    MessagePart {
        url: Some(format!("{}{}", upload_rules::SCHEME, file.path)),
        media_type: Some(file.media_type),
        filename: Some(file.name),
        ..MessagePart::default()
    }
}

fn boundary_of(headers: &HeaderMap) -> Result<String, Failure> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(FORM) {
        return Err(Failure::new(ErrorCode::UnsupportedMediaType, format!("expected {FORM}")));
    }
    let boundary = multer::parse_boundary(media_type).ok().filter(|text| (1..=70).contains(&text.len()));
    boundary.ok_or_else(|| refused("the content type has no boundary of 1 to 70 characters"))
}

/// Said beforehand, it need not be sent.
fn check_length(headers: &HeaderMap, max: u64) -> Result<(), Failure> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if length.and_then(|text| text.parse::<u64>().ok()).is_some_and(|length| length > max + MAX_FRAME_BYTES) {
        let detail = format!("all files together may have {max} bytes (`limits.max_attachments_bytes`)");
        return Err(Failure::new(ErrorCode::PayloadTooLarge, detail));
    }
    Ok(())
}

fn refused(detail: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidUpload, detail)
}

async fn receive(
    fleet: &Fleet,
    row: model::Workspace,
    upload: &str,
    body: ByteStream,
    boundary: String,
    by: &model::Principal,
) -> Result<Vec<LandedFile>, Failure> {
    let mut landing = fleet.land(row, upload).await?;
    match take_files(&mut landing, body, boundary).await {
        Ok(()) if !landing.files().is_empty() => Ok(landing.keep(by)),
        Ok(()) => Err(refused("the form has no file")),
        Err(failure) => {
            landing.take_back().await;
            Err(failure)
        }
    }
}

async fn take_files(landing: &mut Landing, body: ByteStream, boundary: String) -> Result<(), Failure> {
    let allowance = Arc::new(AtomicU64::new(0));
    let mut form = Multipart::new(pieces(body, Arc::clone(&allowance)), boundary);
    loop {
        allowance.store(MAX_HEAD_BYTES + UNSEEN_BYTES, Ordering::Relaxed);
        let Some(field) = form.next_field().await.map_err(|error| of_framing(&error))? else { return Ok(()) };
        allowance.store(u64::MAX, Ordering::Relaxed);
        let file = incoming(field).map_err(|problem| refused(at(landing, &problem)))?;
        landing.store(file).await.map_err(|error| {
            let detail = error.detail.as_deref().unwrap_or(error.code.entry().sentence);
            Failure::new(error.code, at(landing, detail))
        })?;
    }
}

/// Which of the files it is.
fn at(landing: &Landing, problem: &str) -> String {
    format!("file[{}]: {problem}", landing.files().len())
}

fn incoming(field: Field<'static>) -> Result<IncomingFile, String> {
    let head: usize = field.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if head as u64 > MAX_HEAD_BYTES {
        return Err(format!("its headers are larger than {MAX_HEAD_BYTES} bytes"));
    }
    let said = field.headers().get(header::CONTENT_DISPOSITION);
    let said = said.and_then(|value| std::str::from_utf8(value.as_bytes()).ok()).unwrap_or_default();
    if field.headers().get_all(header::CONTENT_DISPOSITION).iter().count() > 1 {
        return Err("it has two `Content-Disposition`".to_owned());
    }
    let name = upload_rules::name_in(said).map_err(|problem| problem.to_string())?;
    let media_type = match field.headers().get(header::CONTENT_TYPE).map(|value| value.to_str()) {
        None => None,
        Some(Ok(text)) => Some(text.to_owned()),
        Some(Err(_)) => return Err("its type cannot be read".to_owned()),
    };
    let contents = field.map(|piece| piece.map_err(|error| within_file(&error)));
    Ok(IncomingFile { name, media_type, contents: Box::pin(contents) })
}

/// The body in small pieces, one at a time, and no more than is allowed.
fn pieces(
    body: ByteStream,
    allowance: Arc<AtomicU64>,
) -> impl futures_util::Stream<Item = Result<Bytes, warren_workspace::Error>> + Send {
    let state = (body, Bytes::new());
    futures_util::stream::unfold(state, move |(mut body, mut rest)| {
        let allowance = Arc::clone(&allowance);
        async move {
            // Whoever takes all that is ready gets to see this piece first.
            tokio::task::yield_now().await;
            while rest.is_empty() {
                match body.next().await? {
                    Ok(bytes) => rest = bytes,
                    Err(error) => return Some((Err(error), (body, rest))),
                }
            }
            let piece = rest.split_to(rest.len().min(PIECE_BYTES));
            let left = allowance.load(Ordering::Relaxed);
            let more = piece.len() as u64;
            if left < more {
                let detail = format!("the headers of a part are larger than {MAX_HEAD_BYTES} bytes");
                let error = warren_workspace::Error::operation(ErrorCode::InvalidUpload, detail);
                return Some((Err(error), (body, rest)));
            }
            if left != u64::MAX {
                allowance.store(left - more, Ordering::Relaxed);
            }
            Some((Ok(piece), (body, rest)))
        }
    })
}

fn of_framing(error: &multer::Error) -> Failure {
    within_file(error).into()
}

/// What our own source complained of, or what is wrong with the form.
fn within_file(error: &multer::Error) -> warren_workspace::Error {
    if let multer::Error::StreamReadFailed(cause) = error
        && let Some(own) = cause.downcast_ref::<warren_workspace::Error>()
    {
        return own.clone();
    }
    let detail = match error {
        multer::Error::IncompleteFieldData { .. }
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteStream => "the form ends before its last boundary",
        multer::Error::ReadHeaderFailed(_)
        | multer::Error::DecodeHeaderName { .. }
        | multer::Error::DecodeHeaderValue { .. }
        | multer::Error::DecodeContentType(_) => "the headers of a part cannot be read",
        _ => "the form cannot be read",
    };
    warren_workspace::Error::operation(ErrorCode::InvalidUpload, detail)
}
