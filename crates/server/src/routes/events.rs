use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderMap, header};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;
use warren_api::{EventFrame, EventPage, Problem};
use warren_fleet::access::{Action, Target};
use warren_fleet::{Error, Identity};
use warren_model as model;
use warren_model::{ErrorCode, OrgId, WorkspaceId};
use warren_store::EventQuery;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::event_text::{self, EventBatch};
use crate::extract::Query;
use crate::problem::Failure;

/// A stream that says nothing says so, about this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a stream learns that its token was revoked (sec/U05).
const RECHECK: Duration = Duration::from_secs(2);
/// Batches of frames that may wait for the client.
const WINDOW: usize = 4;
const HISTORY_PAGE: u32 = 200;
/// What a client of the WebSocket may send: nothing but control frames.
const MAX_INCOMING_BYTES: usize = 4_096;

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
    let limit = super::paging::page_size(params.limit, app.limits().max_page_size)?;
    let mut subscription = Subscription::new(&app, who, &params).await?;
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
    let texts = subscription.start(app, place).map(Ok::<_, Infallible>);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(texts)).into_response())
}

/// Follow events over a WebSocket: each text message is an `EventFrame`.
#[utoipa::path(
    get, path = "/api/v1/events/ws", operation_id = "follow_events_by_websocket", tag = "events",
    params(StreamParams),
    responses((status = 101), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<StreamParams>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade.map_err(|error| Failure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let subscription = Subscription::new(&app, who, &params).await?;
    let place = place(&app)?;
    let upgrade = upgrade.max_message_size(MAX_INCOMING_BYTES).max_frame_size(MAX_INCOMING_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve_socket(socket, subscription.start(app, place))))
}

async fn serve_socket(mut socket: WebSocket, mut texts: ReceiverStream<Bytes>) {
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
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
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

fn place(app: &Arc<App>) -> Result<OwnedSemaphorePermit, Failure> {
    let full = |_| Failure::new(ErrorCode::TooManyRequests, "too many event streams are open");
    Arc::clone(&app.event_streams).try_acquire_owned().map_err(full)
}

/// What somebody may see and wants to see, from where on.
struct Subscription {
    who: Identity,
    org_id: Option<OrgId>,
    workspace_id: Option<WorkspaceId>,
    after: Option<u64>,
    wants_live: bool,
}

impl Subscription {
    async fn new(app: &App, who: Identity, params: &StreamParams) -> Result<Self, Failure> {
        let asked =
            params.workspace_id.as_deref().map(|id| convert::id_from("workspace_id", id)).transpose()?;
        // A workspace's own token sees its own events without having to say so.
        let workspace_id = asked.or(who.token.workspace_id);
        match workspace_id {
            Some(id) => drop(app.fleet.workspace(&who, Action::ReadEvents, id).await?),
            None => who.may(Action::ReadEvents, Target::Org(who.token.org_id))?,
        }
        Ok(Self {
            org_id: who.visible_org(),
            workspace_id,
            after: params.after,
            wants_live: params.live,
            who,
        })
    }

    fn query(&self, after: u64, limit: u32) -> EventQuery {
        EventQuery { after, org_id: self.org_id, workspace_id: self.workspace_id, limit }
    }

    fn may_see(&self, org_id: OrgId, workspace_id: Option<WorkspaceId>) -> bool {
        let is_of_org = self.org_id.is_none_or(|org| org == org_id);
        let is_of_workspace = self.workspace_id.is_none_or(|id| workspace_id == Some(id));
        is_of_org && is_of_workspace
    }

    async fn page(&self, app: &App, limit: u32) -> Result<EventPage, Failure> {
        let after = self.after.unwrap_or(0);
        let query = self.query(after, limit);
        let (page, newest) = app
            .fleet
            .store()
            .read(move |tx| Ok::<_, Error>((tx.events(&query)?, tx.newest_event_seq()?)))
            .await?;
        let last = page.rows.last().map_or(after, |event| event.seq).min(newest);
        Ok(EventPage {
            items: page.rows.iter().map(convert::event).collect(),
            next_after: page.next.unwrap_or(last),
            is_last: page.next.is_none(),
        })
    }

    /// Starts the task that feeds the stream. It ends when the client goes away.
    fn start(self, app: Arc<App>, place: OwnedSemaphorePermit) -> ReceiverStream<Bytes> {
        let (texts, receiver) = mpsc::channel(WINDOW);
        tokio::spawn(async move {
            let gauge = app.telemetry.gauge("warren_event_streams", &[]);
            gauge.increment(1.0);
            self.feed(&app, Reader(texts)).await;
            gauge.decrement(1.0);
            drop(place);
        });
        ReceiverStream::new(receiver)
    }

    async fn feed(self, app: &App, reader: Reader) {
        // Listening begins before history is read, so that nothing falls between the two.
        let mut live = app.hub.listen();
        let mut cursor = match self.after {
            Some(after) => after,
            None => match app.fleet.store().read(|tx| tx.newest_event_seq().map_err(Error::from)).await {
                Ok(newest) => newest,
                Err(error) => return reader.close(error.code, 0).await,
            },
        };
        if let Err(code) = tell_what_is_gone(app, &reader, cursor).await {
            return reader.close(code, cursor).await;
        }
        loop {
            match self.catch_up(app, &reader, cursor).await {
                Ok(Some(seen)) => cursor = seen,
                Ok(None) => return,
                Err(error) => return reader.close(error.code, cursor).await,
            }
            match self.follow(app, &reader, &mut live, &mut cursor).await {
                Ended::Lagged => {
                    if !reader.tell(&EventFrame::Lagged { after: cursor }).await {
                        return;
                    }
                }
                Ended::Gone => return,
                Ended::Closed(code) => return reader.close(code, cursor).await,
            }
        }
    }

    /// Sends history from the database. `None` when the client is gone.
    async fn catch_up(&self, app: &App, reader: &Reader, mut cursor: u64) -> Result<Option<u64>, Error> {
        loop {
            let query = self.query(cursor, HISTORY_PAGE);
            // Held for one page, never while a slow client takes it.
            let turn = app.history_readers.acquire().await;
            let (page, newest) = app
                .fleet
                .store()
                .read(move |tx| Ok::<_, Error>((tx.events(&query)?, tx.newest_event_seq()?)))
                .await?;
            drop(turn);
            let text = EventBatch::of(&page.rows).visible(0, |_, _| true);
            if let Some(text) = text
                && !reader.send(text).await
            {
                return Ok(None);
            }
            match page.next {
                Some(next) => cursor = next,
                None => {
                    // A cursor beyond the end is of another log: the reader learns where this one stands.
                    let seq = newest;
                    let is_there = reader.tell(&EventFrame::CaughtUp { seq }).await;
                    return Ok(is_there.then_some(seq));
                }
            }
        }
    }

    async fn follow(
        &self,
        app: &App,
        reader: &Reader,
        live: &mut Receiver<Arc<EventBatch>>,
        cursor: &mut u64,
    ) -> Ended {
        let mut recheck = tokio::time::interval(RECHECK);
        let mut passing = self.wants_live.then(|| app.fleet.live_events());
        let mut last_word = Instant::now();
        loop {
            let text = tokio::select! {
                () = reader.0.closed() => return Ended::Gone,
                () = app.stopping.cancelled() => return Ended::Closed(ErrorCode::ShuttingDown),
                _ = recheck.tick() => match app.fleet.is_still_valid(self.who.token.id).await {
                    Ok(false) => return Ended::Closed(ErrorCode::TokenExpired),
                    // A database that is away is no reason to hang up on a reader who was let in.
                    Ok(true) | Err(_) => (last_word.elapsed() >= KEEP_ALIVE).then_some(event_text::COMMENT),
                },
                told = next_passing(&mut passing) => {
                    // Whoever is too slow for what is not stored misses some of it.
                    let seen = told.ok().filter(|event| self.may_see(event.org_id, event.workspace_id));
                    seen.map(|event| {
                        event_text::of_frame(&EventFrame::Live { event: convert::live_event(&event) })
                    })
                }
                received = live.recv() => match received {
                    Ok(batch) => {
                        let seen = batch.visible(*cursor, |org, workspace| self.may_see(org, workspace));
                        *cursor = batch.last().map_or(*cursor, |last| last.max(*cursor));
                        seen
                    }
                    Err(RecvError::Lagged(_)) => return Ended::Lagged,
                    Err(RecvError::Closed) => return Ended::Closed(ErrorCode::ShuttingDown),
                },
            };
            let Some(text) = text else { continue };
            last_word = Instant::now();
            if !reader.send(text).await {
                return Ended::Gone;
            }
        }
    }
}

/// Where the text of a stream goes. Each answers whether anybody is still there.
struct Reader(mpsc::Sender<Bytes>);

impl Reader {
    async fn send(&self, text: Bytes) -> bool {
        self.0.send(text).await.is_ok()
    }

    async fn tell(&self, frame: &EventFrame) -> bool {
        self.send(event_text::of_frame(frame)).await
    }

    async fn close(&self, code: ErrorCode, after: u64) {
        self.tell(&EventFrame::Closing { code: code.as_str().to_owned(), after }).await;
    }
}

/// A reader whose place in the log was cleared away learns so: nothing is left out in silence.
async fn tell_what_is_gone(app: &App, reader: &Reader, after: u64) -> Result<(), ErrorCode> {
    let read = app.fleet.store().read(|tx| tx.oldest_event_seq().map_err(Error::from)).await;
    let oldest = read.map_err(|error| error.code)?;
    if let Some(oldest) = oldest.filter(|oldest| after + 1 < *oldest) {
        // Whoever is gone is noticed at the next frame.
        reader.tell(&EventFrame::Truncated { after, oldest }).await;
    }
    Ok(())
}

/// The next event that is not stored; for who did not ask for them there is none.
async fn next_passing(
    passing: &mut Option<Receiver<Arc<model::NewEvent>>>,
) -> Result<Arc<model::NewEvent>, RecvError> {
    match passing {
        Some(passing) => passing.recv().await,
        None => std::future::pending().await,
    }
}

/// Why the live part of a stream ended.
enum Ended {
    /// The reader was slower than the feed; the database has what it missed.
    Lagged,
    Gone,
    Closed(ErrorCode),
}
