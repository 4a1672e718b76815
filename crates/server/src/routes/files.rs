use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;
use warren_api::{FileWritten, Listing, MoveFile, Problem};
use warren_model as model;
use warren_model::ErrorCode;
use warren_operations::FileOrListing;
use warren_service::Action;
use warren_workspace::fs::{ByteRange, ByteStream, FileContents, LsQuery, WriteMode};
use warren_workspace::{Error, WorkspacePath};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::problem::Failure;
use crate::requests::access_first;

const MAX_DEPTH: u32 = 32;
const MAX_ENTRIES: u32 = 5_000;
/// An upload slower than this holds a connection for nothing.
const MIN_BYTES_PER_SECOND: f64 = 4_096.0;
const ENTRY_HEADER: &str = "x-warren-entry";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReadParams {
    /// Relative to the workspace root.
    #[serde(default)]
    path: String,
    /// Files: begin here.
    offset: Option<u64>,
    /// Files: at most so many bytes.
    length: Option<u64>,
    /// Directories: how deep, 1 to 32.
    #[param(minimum = 1, maximum = 32)]
    depth: Option<u32>,
    /// Directories: at most so many entries, 1 to 5000.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<u32>,
    /// Directories: from `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Read a file or list a directory.
///
/// A file comes as bytes (`Range` is understood), a directory as JSON; the header `X-Warren-Entry` says which. A client that
/// was generated from this document reads files here, and directories with `list_directory`.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/files", operation_id = "read_file", tag = "files",
    params(("id" = String, Path), ReadParams),
    responses(
        (status = 200, content((Vec<u8> = "application/octet-stream"), (Listing = "application/json"))),
        (status = 206, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 416, body = Problem, content_type = "application/problem+json",
            description = "The range begins behind the end of the file; `Content-Range` says how long it is."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<ReadParams>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let asked = Asked::from_request(&params, &headers);
    let list =
        ListParams { path: params.path, depth: params.depth, limit: params.limit, cursor: params.cursor };
    let read = path_of(&list.path).and_then(|path| Ok((path, ls_query(&list)?)));
    let (path, query) = access_first(&app, &who, Action::ReadWorkspaces, id, read).await?;
    match app.operations.files.read(&who, id, &path, asked.range(), &query).await? {
        FileOrListing::File(contents) => file_response(contents, &asked),
        FileOrListing::Directory(listing) => {
            let listing = convert::listing(&path, listing);
            Ok(([(ENTRY_HEADER, "directory")], axum::Json(listing)).into_response())
        }
    }
}

fn path_of(text: &str) -> Result<WorkspacePath, Failure> {
    Ok(WorkspacePath::parse(text)?)
}

fn file_response(contents: FileContents, asked: &Asked) -> Result<Response, Failure> {
    let total = contents.entry.bytes;
    let is_empty = contents.length == 0;
    if matches!(asked, Asked::ByHeader(_)) && is_empty {
        return Err(Failure::range_not_satisfiable(total));
    }
    let name = contents.entry.path.rsplit('/').next().unwrap_or_default().to_owned();
    let last = (contents.offset + contents.length).saturating_sub(1);
    let mut response = Response::new(Body::from_stream(contents.stream));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(contents.length));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(ENTRY_HEADER, HeaderValue::from_static("file"));
    if let Ok(value) = HeaderValue::from_str(&disposition(&name)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    if !matches!(asked, Asked::Whole) && !is_empty {
        let range = format!("bytes {}-{last}/{total}", contents.offset);
        if let Ok(value) = HeaderValue::from_str(&range) {
            headers.insert(header::CONTENT_RANGE, value);
        }
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Always an attachment: a browser must never render what an agent wrote (sec/P02).
fn disposition(name: &str) -> String {
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    format!("attachment; filename*=UTF-8''{encoded}")
}

fn ls_query(params: &ListParams) -> Result<LsQuery, Failure> {
    let within = |field: &str, value: Option<u32>, default: u32, max: u32| {
        let value = value.unwrap_or(default);
        let detail = || format!("{field}: expected 1 to {max}");
        if (1..=max).contains(&value) {
            Ok(value)
        } else {
            Err(Failure::new(ErrorCode::InvalidRequest, detail()))
        }
    };
    Ok(LsQuery {
        depth: within("depth", params.depth, 1, MAX_DEPTH)?,
        limit: within("limit", params.limit, 1_000, MAX_ENTRIES)?,
        after: params.cursor.clone().filter(|cursor| !cursor.is_empty()),
    })
}

/// What part of a file is asked for, and how: that decides how nothing is answered.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Whole,
    ByQuery(ByteRange),
    ByHeader(ByteRange),
}

impl Asked {
    /// `offset` and `length`, or else a single `Range`. Other ranges are ignored, as HTTP lets a server do.
    fn from_request(params: &ReadParams, headers: &HeaderMap) -> Self {
        if params.offset.is_some() || params.length.is_some() {
            return Self::ByQuery(ByteRange { offset: params.offset.unwrap_or(0), length: params.length });
        }
        let value = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
        value.and_then(single_range).map_or(Self::Whole, Self::ByHeader)
    }

    const fn range(self) -> ByteRange {
        match self {
            Self::Whole => ByteRange { offset: 0, length: None },
            Self::ByQuery(range) | Self::ByHeader(range) => range,
        }
    }
}

fn single_range(text: &str) -> Option<ByteRange> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let offset: u64 = first.parse().ok()?;
    if last.is_empty() {
        return Some(ByteRange { offset, length: None });
    }
    let last: u64 = last.parse().ok()?;
    Some(ByteRange { offset, length: Some(last.checked_sub(offset)?.saturating_add(1)) })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WriteParams {
    /// Relative to the workspace root; missing directories are made.
    path: String,
    /// Fail if something is there.
    #[serde(default)]
    create_new: bool,
}

/// Write a file, atomically: readers see the old contents or the new.
#[utoipa::path(
    put, path = "/api/v1/workspaces/{id}/files", operation_id = "write_file", tag = "files",
    params(("id" = String, Path), WriteParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, body = FileWritten, description = "Replaced."),
        (status = 201, body = FileWritten, description = "Made."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn write(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<WriteParams>,
    request: Request,
) -> Result<Response, Failure> {
    let path = access_first(&app, &who, Action::UseWorkspace, id, path_of(&params.path)).await?;
    let mode = if params.create_new { WriteMode::CreateNew } else { WriteMode::Replace };
    let contents = paced_body(request, Duration::from_millis(app.limits().body_timeout_ms));
    let written = app.operations.files.write(&who, id, &path, contents, mode).await?;
    let status = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    let body = FileWritten { path: path.as_str().to_owned(), bytes: written.bytes, created: written.created };
    Ok((status, axum::Json(body)).into_response())
}

/// The body in pieces, each of which must come in time; all together no slower than `MIN_BYTES_PER_SECOND`.
pub(super) fn paced_body(request: Request, limit: Duration) -> ByteStream {
    let body = request.into_body().into_data_stream();
    let state = (Some(body), Instant::now() + limit);
    let pieces = futures_util::stream::unfold(state, move |(body, deadline)| async move {
        let mut body = body?;
        let until = deadline.min(Instant::now() + limit);
        match tokio::time::timeout_at(until, body.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(bytes))) => {
                let earned = Duration::from_secs_f64(bytes.len() as f64 / MIN_BYTES_PER_SECOND);
                Some((Ok::<Bytes, Error>(bytes), (Some(body), deadline + earned)))
            }
            Ok(Some(Err(_))) => {
                let error = Error::operation(ErrorCode::InvalidRequest, "the body ended early");
                Some((Err(error), (None, deadline)))
            }
            Err(_) => {
                let error = Error::operation(ErrorCode::RequestTimeout, "the body came too slowly");
                Some((Err(error), (None, deadline)))
            }
        }
    });
    Box::pin(pieces)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteParams {
    /// Relative to the workspace root.
    path: String,
    /// Also a directory that is not empty.
    #[serde(default)]
    recursive: bool,
}

/// Delete a file or directory. A link is deleted itself.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/files", operation_id = "delete_file", tag = "files",
    params(("id" = String, Path), DeleteParams),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<DeleteParams>,
) -> Result<StatusCode, Failure> {
    let path = access_first(&app, &who, Action::UseWorkspace, id, path_of(&params.path)).await?;
    app.operations.files.delete(&who, id, &path, params.recursive).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Move or rename something inside the workspace.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/files/move", operation_id = "move_file", tag = "files",
    params(("id" = String, Path)), request_body = MoveFile,
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn rename(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<MoveFile>,
) -> Result<StatusCode, Failure> {
    let read = path_of(&body.from).and_then(|from| Ok((from, path_of(&body.to)?)));
    let (from, to) = access_first(&app, &who, Action::UseWorkspace, id, read).await?;
    app.operations.files.rename(&who, id, &from, &to, body.overwrite).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Relative to the workspace root; absent: the root itself.
    #[serde(default)]
    path: String,
    /// How deep, 1 to 32.
    #[param(minimum = 1, maximum = 32)]
    depth: Option<u32>,
    /// At most so many entries, 1 to 5000.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<u32>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List a directory.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/files/directory", operation_id = "list_directory", tag = "files",
    params(("id" = String, Path), ListParams),
    responses(
        (status = 200, body = Listing),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_directory(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<Listing>, Failure> {
    let read = path_of(&params.path).and_then(|path| Ok((path, ls_query(&params)?)));
    let (path, query) = access_first(&app, &who, Action::ReadWorkspaces, id, read).await?;
    let listing = app.operations.files.list(&who, id, &path, &query).await?;
    Ok(axum::Json(convert::listing(&path, listing)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DirectoryParams {
    /// Relative to the workspace root; missing parents are made.
    path: String,
}

/// Make a directory; there already is fine.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/files/directory", operation_id = "make_directory", tag = "files",
    params(("id" = String, Path), DirectoryParams),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn make_directory(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<DirectoryParams>,
) -> Result<StatusCode, Failure> {
    let path = access_first(&app, &who, Action::UseWorkspace, id, path_of(&params.path)).await?;
    app.operations.files.make_directory(&who, id, &path).await?;
    Ok(StatusCode::NO_CONTENT)
}
