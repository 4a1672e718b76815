//! A task as a stream of server-sent events.
//!
//! The first event is the task as it is, or the message of an agent that keeps no task; then come its changes; the
//! stream ends when the task does, or when the agent waits for input. A client that hangs up ends nothing: it asks again
//! with `SubscribeToTask`, also after a restart of Warren, and gets the task as it is then.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderValue, header};
use serde_json::{Value, json};
use warren_exchange::a2a::{ErrorKind, Feed, ProtocolError, StreamResponse};
use warren_exchange::{Accepted, FileView, Follower};
use warren_model::{ErrorCode, TaskId};
use warren_operations::while_allowed;

use super::error::{A2aError, unsupported};
use super::request::A2aRequest;
use crate::App;

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How an event is written.
#[derive(Debug, Clone)]
pub(super) enum EventBinding {
    JsonRpc { id: Value },
    HttpJson,
}

/// TaskEvents that are to come.
pub(super) struct TaskEvents {
    a2a: A2aRequest,
    id: TaskId,
    feed: Feed,
    first: Vec<StreamResponse>,
    follower: Follower,
}

impl TaskEvents {
    /// Of a message that was just accepted.
    pub(super) async fn of_message(
        a2a: A2aRequest,
        accepted: Accepted,
        history_length: Option<usize>,
    ) -> Result<Self, A2aError> {
        let (id, sight) = (accepted.task.id, a2a.sight());
        let (task, follower) = a2a.app.exchange.messages.follow(id, sight).await?;
        let (feed, first) = Feed::of_message(task, accepted.position.is_some(), history_length);
        Ok(Self { a2a, id, feed, first, follower })
    }

    /// Of a task that has not ended.
    pub(super) async fn of_task(a2a: A2aRequest, id: TaskId) -> Result<Self, A2aError> {
        // Whether it is theirs to see is asked first.
        a2a.task(id).await?;
        let (task, follower) = a2a.app.exchange.messages.follow(id, a2a.sight()).await?;
        if task.state.is_final() {
            return Err(unsupported("the task has ended: nothing more will happen to it"));
        }
        let (feed, first) = Feed::of_task(task);
        Ok(Self { a2a, id, feed, first, follower })
    }

    pub(super) fn into_response(self, binding: EventBinding) -> Response {
        let Self { a2a, id, feed, first, follower } = self;
        let (app, sight) = (Arc::clone(&a2a.app), a2a.sight());
        let reader = TaskReader { app, id, sight, feed, follower: Some(follower), ready: first.into() };
        let written = binding.clone();
        let events = reader.events().map(move |event| written.event(&event));
        let events = while_allowed(events, a2a.lost(), move |code| binding.closing(code));
        let events = events.map(Ok::<_, Infallible>);
        let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
        // Proxies that collect an answer before they pass it on would hold it back until its end.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

struct TaskReader {
    app: Arc<App>,
    id: TaskId,
    sight: FileView,
    feed: Feed,
    /// Absent once there is nothing more to hear.
    follower: Option<Follower>,
    ready: VecDeque<StreamResponse>,
}

impl TaskReader {
    fn events(self) -> impl Stream<Item = Result<StreamResponse, ProtocolError>> + Send {
        stream::unfold(self, |mut reader| async move {
            let event = reader.next().await?;
            Some((event, reader))
        })
    }

    async fn next(&mut self) -> Option<Result<StreamResponse, ProtocolError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.feed.is_over() {
                return None;
            }
            if let Err(error) = self.listen().await {
                self.follower = None;
                return Some(Err(error));
            }
            self.follower.as_ref()?;
        }
    }

    async fn listen(&mut self) -> Result<(), ProtocolError> {
        let Some(follower) = &mut self.follower else { return Ok(()) };
        let Some(update) = follower.next().await? else {
            self.follower = None;
            return Ok(());
        };
        let row = if Feed::wants_row(&update) {
            Some(self.app.exchange.messages.follow(self.id, self.sight).await?.0)
        } else {
            None
        };
        self.ready.extend(self.feed.take(&update, row.as_ref(), self.app.clock.now()));
        Ok(())
    }
}

impl EventBinding {
    fn event(&self, event: &Result<StreamResponse, ProtocolError>) -> SseEvent {
        match event {
            Ok(event) => SseEvent::default().data(self.write(event).to_string()),
            Err(error) => self.error(error),
        }
    }

    fn write(&self, event: &StreamResponse) -> Value {
        let event = serde_json::to_value(event).unwrap_or_default();
        match self {
            Self::JsonRpc { id } => json!({ "jsonrpc": "2.0", "id": id, "result": event }),
            Self::HttpJson => event,
        }
    }

    fn error(&self, error: &ProtocolError) -> SseEvent {
        let body = match self {
            Self::JsonRpc { id } => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_rpc() }),
            Self::HttpJson => error.to_rest(),
        };
        SseEvent::default().event("error").data(body.to_string())
    }

    /// Why a stream ends before its task does (sec/U05).
    fn closing(&self, code: ErrorCode) -> SseEvent {
        self.error(&ProtocolError::new(ErrorKind::Warren(code), code.entry().sentence))
    }
}
