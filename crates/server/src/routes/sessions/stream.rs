//! A session's stream as server-sent events (A60, A61). Who hangs up ends nothing, and resumes from any entry.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::{IntoParams, ToSchema};
use warren_agent::Follower;
use warren_api::{Problem, SessionEntry};
use warren_model::ErrorCode;
use warren_model::session::{Phase, SessionName, StreamEntry, StreamItem};
use warren_operations::{AccessWatch, while_allowed};
use warren_service::Identity;

use crate::App;
use crate::auth::Caller;
use crate::convert::session_steps;
use crate::extract::{PathSession, Query};
use crate::problem::Failure;
use crate::routes::events::place;

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// When a stream ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Until {
    /// Once nothing is under way: the run has ended, is suspended or interrupted.
    Idle,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// Only entries after this sequence; 0 unless told: from the start.
    after: Option<u64>,
    /// Absent: the stream has no end.
    #[param(inline)]
    until: Option<Until>,
}

/// Follow a session: all that happens in it, from any entry on.
///
/// Server-sent events: `id` is the sequence, `event` the type, `data` a `SessionEntry`. `Last-Event-ID` resumes,
/// without gap or repeat. Hanging up cancels nothing.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/stream", operation_id = "follow_session", tag = "sessions",
    params(
        ("session" = String, Path), StreamParams,
        ("Last-Event-ID" = Option<u64>, Header, description = "Wins over `after`."),
    ),
    responses((status = 200, content((SessionEntry = "text/event-stream"))), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn follow(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    headers: HeaderMap,
    Query(params): Query<StreamParams>,
) -> Result<Response, Failure> {
    let after = match headers.get("last-event-id") {
        Some(last) => {
            let parsed = last.to_str().ok().and_then(|text| text.parse().ok());
            let detail = "Last-Event-ID: expected a sequence number";
            parsed.ok_or_else(|| Failure::new(ErrorCode::InvalidRequest, detail))?
        }
        None => params.after.unwrap_or(0),
    };
    let (_, follower) = app.agents.sessions.follow(&who, &name, after).await?;
    let reader = Reader {
        _place: place(&app)?,
        app: Arc::clone(&app),
        who: who.clone(),
        name: name.clone(),
        follower,
        ends_when_idle: params.until == Some(Until::Idle),
        may_be_over: true,
        ready: VecDeque::new(),
    };
    let events = while_allowed(reader.events(), lost(app, who, name), closing);
    let events = Sse::new(events.map(Ok::<_, Infallible>));
    let mut response = events.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Proxies that collect an answer before they pass it on would hold it back until its end.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// One reader of one session.
struct Reader {
    app: Arc<App>,
    who: Identity,
    name: SessionName,
    follower: Follower,
    ends_when_idle: bool,
    /// Nothing may be under way: it is looked up before more is waited for.
    may_be_over: bool,
    ready: VecDeque<StreamEntry>,
    /// Held as long as the stream is open.
    _place: OwnedSemaphorePermit,
}

impl Reader {
    fn events(self) -> impl Stream<Item = SseEvent> + Send {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            match reader.next().await {
                Ok(Some(entry)) => Some((event(&entry), Some(reader))),
                Ok(None) => None,
                Err(code) => Some((closing(code), None)),
            }
        })
    }

    async fn next(&mut self) -> Result<Option<StreamEntry>, ErrorCode> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                self.may_be_over |= may_end(&entry.item);
                return Ok(Some(entry));
            }
            if self.ends_when_idle && self.may_be_over {
                let session =
                    self.app.agents.sessions.get(&self.who, &self.name).await.map_err(|error| error.code)?;
                let is_read = self.follower.position() >= session.latest_sequence;
                if is_read && session.phase != Phase::Active {
                    return Ok(None);
                }
                // What is not read yet ends with an entry that leads back here.
                self.may_be_over = false;
            }
            let entries = self.follower.next().await.map_err(|error| error.code)?;
            self.ready.extend(entries);
        }
    }
}

/// Whether nothing may be under way after it.
fn may_end(item: &StreamItem) -> bool {
    matches!(
        item,
        StreamItem::RunEnded { .. } | StreamItem::Suspended { .. } | StreamItem::Interrupted { .. }
    )
}

fn event(entry: &StreamEntry) -> SseEvent {
    let wire = session_steps::entry(entry);
    let data = serde_json::to_string(&wire).unwrap_or_default();
    SseEvent::default().id(wire.sequence.to_string()).event(wire.kind).data(data)
}

/// Why a stream ends before its reader wants it to (sec/U05). It has no sequence: the reader resumes behind the last one.
fn closing(code: ErrorCode) -> SseEvent {
    SseEvent::default().event("closing").data(json!({ "type": "closing", "code": code.as_str() }).to_string())
}

/// Completes when a stream must end, with the reason. A workspace that rests is no reason.
pub(super) async fn lost(app: Arc<App>, who: Identity, name: SessionName) -> ErrorCode {
    let mut recheck = tokio::time::interval(AccessWatch::INTERVAL);
    loop {
        tokio::select! {
            () = app.stopping.cancelled() => return ErrorCode::ShuttingDown,
            _ = recheck.tick() => {}
        }
        // A database that is away is no reason to hang up on a reader who was let in.
        if let Ok(false) = app.fleet.tokens.is_still_valid(&who).await {
            return ErrorCode::TokenExpired;
        }
        match app.agents.sessions.get(&who, &name).await {
            Err(error) if error.code != ErrorCode::PlatformUnavailable => return error.code,
            Ok(_) | Err(_) => {}
        }
    }
}
