use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{SinkExt as _, Stream, StreamExt as _};
use http::{HeaderMap, header};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;
use warren_api::{EventFrame, EventPage, Problem};
use warren_model::ErrorCode;
use warren_service::Identity;

use crate::App;
use crate::auth::{Caller, refuse_cookie_without_origin};
use crate::convert;
use crate::event_feed::{Feed, Subscription};
use crate::event_text;
use crate::extract::Query;
use crate::problem::Failure;

/// Between two questions whether a client of the WebSocket is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What a client of the WebSocket may send: nothing but control frames.
const MAX_INCOMING_BYTES: usize = 4_096;
/// How long a goodbye may take to be taken.
const LAST_FRAME_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StreamParams {
    /// Only events after this sequence; 0 from the start. Absent: only new ones.
    after: Option<u64>,
    /// Only events of this workspace.
    workspace_id: Option<String>,
    /// Also what is told and not stored, such as heartbeats.
    #[serde(default)]
    live: bool,
    /// For a JSON page: at most so many.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Follow events.
///
/// Server-sent events by default: `id` is the sequence, `data` an `EventFrame`. `Last-Event-ID` resumes. With
/// `Accept: application/json`, one page of the log instead.
#[utoipa::path(
    get, path = "/api/v1/events", operation_id = "follow_events", tag = "events",
    params(StreamParams, ("Last-Event-ID" = Option<u64>, Header, description = "Wins over `after`.")),
    responses(
        (status = 200, content((EventPage = "application/json"), (EventFrame = "text/event-stream"))),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn stream(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    headers: HeaderMap,
    Query(params): Query<StreamParams>,
) -> Result<Response, Failure> {
    let limit = crate::paging::page_size(params.limit, app.limits().max_page_size)?;
    let mut subscription = subscribe(&app, who, &params).await?;
    if let Some(last) = headers.get("last-event-id") {
        let parsed = last.to_str().ok().and_then(|text| text.parse().ok());
        let detail = "Last-Event-ID: expected a sequence number";
        subscription.after = Some(parsed.ok_or_else(|| Failure::new(ErrorCode::InvalidRequest, detail))?);
    }
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.contains("application/json") && !accept.contains("text/event-stream") {
        return Ok(axum::Json(subscription.page(&app, limit).await?).into_response());
    }
    let place = place(&app)?;
    let texts = Feed::new(subscription, app, place).texts().map(Ok::<_, Infallible>);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(texts)).into_response())
}

/// Follow events over a WebSocket: each text message is an `EventFrame`. A browser's request must carry an `Origin` that is
/// served.
#[utoipa::path(
    get, path = "/api/v1/events/ws", operation_id = "follow_events_by_websocket", tag = "events",
    params(StreamParams),
    responses((status = 101), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    headers: HeaderMap,
    Query(params): Query<StreamParams>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    refuse_cookie_without_origin(&headers)?;
    let upgrade = upgrade.map_err(|error| Failure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let subscription = subscribe(&app, who, &params).await?;
    let place = place(&app)?;
    let upgrade = upgrade.max_message_size(MAX_INCOMING_BYTES).max_frame_size(MAX_INCOMING_BYTES);
    let texts = Feed::new(subscription, app, place).texts();
    Ok(upgrade.on_upgrade(move |socket| serve_socket(socket, texts)))
}

async fn serve_socket(mut socket: WebSocket, texts: impl Stream<Item = Bytes>) {
    let mut texts = std::pin::pin!(texts);
    let mut keep_alive = tokio::time::interval(KEEP_ALIVE);
    let mut awaits_pong = false;
    keep_alive.tick().await;
    loop {
        tokio::select! {
            text = texts.next() => {
                let Some(text) = text else { break };
                if send_frames(&mut socket, &text).await.is_err() {
                    return;
                }
            }
            incoming = socket.recv() => match incoming {
                Some(Ok(Message::Pong(_))) => awaits_pong = false,
                Some(Ok(Message::Ping(_) | Message::Text(_) | Message::Binary(_))) => {}
                // The answer to it is made by the protocol's layer, and still has to go out (RFC 6455, 5.5.1).
                Some(Ok(Message::Close(_))) => {
                    let _ = tokio::time::timeout(LAST_FRAME_LIMIT, socket.flush()).await;
                    return;
                }
                Some(Err(_)) | None => return,
            },
            _ = keep_alive.tick() => {
                if awaits_pong || socket.send(Message::Ping(bytes::Bytes::new())).await.is_err() {
                    return;
                }
                awaits_pong = true;
            }
        }
    }
    let _ = socket.send(Message::Close(None)).await;
}

/// Each frame is a message of its own; they go out together.
async fn send_frames(socket: &mut WebSocket, text: &Bytes) -> Result<(), axum::Error> {
    for frame in event_text::frames(text) {
        let frame = Utf8Bytes::try_from(frame).map_err(axum::Error::new)?;
        socket.feed(Message::Text(frame)).await?;
    }
    socket.flush().await
}

pub(super) fn place(app: &Arc<App>) -> Result<OwnedSemaphorePermit, Failure> {
    let full = |_| Failure::new(ErrorCode::TooManyRequests, "too many event streams are open");
    Arc::clone(&app.event_streams).try_acquire_owned().map_err(full)
}

async fn subscribe(app: &App, who: Identity, params: &StreamParams) -> Result<Subscription, Failure> {
    let asked = params.workspace_id.as_deref().map(|id| convert::id_from("workspace_id", id)).transpose()?;
    Subscription::new(app, who, asked, params.after, params.live).await
}
