//! Changes of files, as they happen (W20).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::HeaderMap;
use warren_api::{FileChanges, FileWatchFrame, Problem};
use warren_model as model;
use warren_operations::WatchEvent;
use warren_service::Action;

use super::commands::{stream_place, wants_stream};
use crate::App;
use crate::auth::Caller;
use crate::extract::{PathId, Query};
use crate::problem::Failure;
use crate::requests::access_first;
use crate::requests::watch::{WatchParams, to_wire, wait_for_changes};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Watch files.
///
/// Waits for the next changes from now on and answers with them. With `Accept: text/event-stream` they come as they happen,
/// one `FileWatchFrame` per event; the first is `watching`. What changed before, or between two streams, is not told: list
/// the directory after `watching`.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/files/watch", operation_id = "watch_files", tag = "files",
    params(("id" = String, Path), WatchParams),
    responses(
        (status = 200, content((FileChanges = "application/json"), (FileWatchFrame = "text/event-stream"))),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn watch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Query(params): Query<WatchParams>,
) -> Result<Response, Failure> {
    let (path, wait) = access_first(&app, &who, Action::ReadWorkspaces, id, params.read()).await?;
    let place = stream_place(&app)?;
    if !wants_stream(&headers) {
        return Ok(axum::Json(wait_for_changes(&app, &who, id, &path, wait).await?).into_response());
    }
    let events = app.operations.files.watch(&who, id, &path, app.stopping.clone()).await?;
    let frames = events.map(move |event| {
        let _held = &place;
        frame(event)
    });
    let frames = stream::iter([FileWatchFrame::Watching])
        .chain(frames)
        .map(|frame| Ok::<_, Infallible>(SseEvent::default().json_data(frame).unwrap_or_default()));
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

fn frame(event: WatchEvent) -> FileWatchFrame {
    match event {
        WatchEvent::Changed(change) => match to_wire(change) {
            Some(change) => FileWatchFrame::Changed { kind: change.kind, path: change.path },
            None => FileWatchFrame::Lagged,
        },
        WatchEvent::Closing(code) => FileWatchFrame::Closing { code: code.as_str().to_owned() },
    }
}
