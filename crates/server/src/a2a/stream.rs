//! A task as a stream of server-sent events.
//!
//! The first event is the task as it is, or the message of an agent that keeps no task; then come its changes; the
//! stream ends when the task does, or when the agent waits for input. A client that hangs up ends nothing: it asks again
//! with `SubscribeToTask`, also after a restart of Warren, and gets the task as it is then.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderValue, header};
use serde_json::{Value, json};
use warren_exchange::a2a::{
    ErrorKind, ProtocolError, StreamResponse, bare_answer, message_shown, stream_of, task_to,
};
use warren_exchange::{Accepted, Follower};
use warren_fleet::access::Action;
use warren_model::{ErrorCode, Task, TaskId, TaskState, TaskUpdate};

use super::refusal::{Refusal, unsupported};
use super::visit::Visit;
use crate::standing::{Standing, while_standing};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How an event is written.
#[derive(Debug, Clone)]
pub(super) enum Spelling {
    JsonRpc { id: Value },
    HttpJson,
}

/// Events that are to come.
pub(super) struct Events {
    visit: Visit,
    following: Following,
}

/// Where a stream is.
struct Following {
    task: Task,
    follower: Follower,
    history_length: Option<usize>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent. If the agent answers with a message alone, that is the whole stream; so the task is held back
    /// until something else is heard of it.
    Undecided,
    /// The task comes next.
    Opening,
    Going,
    Over,
}

impl Events {
    /// Of a message that was just accepted.
    pub(super) async fn of_message(
        visit: Visit,
        accepted: Accepted,
        history_length: Option<usize>,
    ) -> Result<Self, Refusal> {
        // Who has to wait in the queue is told so at once.
        let stage = if accepted.position.is_some() { Stage::Opening } else { Stage::Undecided };
        let (task, follower) = visit.follow(accepted.task.id).await?;
        Ok(Self { visit, following: Following { task, follower, history_length, stage } })
    }

    /// Of a task that has not ended.
    pub(super) async fn of_task(visit: Visit, id: TaskId) -> Result<Self, Refusal> {
        let (task, follower) = visit.follow(id).await?;
        if task.state.is_final() {
            return Err(unsupported("the task has ended: nothing more will happen to it"));
        }
        let following = Following { task, follower, history_length: None, stage: Stage::Opening };
        Ok(Self { visit, following })
    }

    pub(super) fn into_response(self, spelling: Spelling) -> Response {
        let standing = Standing {
            app: self.visit.app,
            who: self.visit.who,
            action: Action::UseWorkspace,
            workspace_id: self.visit.workspace.id,
            ends_with_server: true,
        };
        let written = spelling.clone();
        let events = self.following.events().map(move |event| written.event(&event));
        let events = while_standing(events, standing, move |code| spelling.farewell(code)).map(Ok::<_, Infallible>);
        let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
        // Proxies that collect an answer before they pass it on would hold it back until its end.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

impl Following {
    fn events(self) -> impl Stream<Item = StreamResponse> + Send {
        stream::unfold(self, |mut following| async move {
            let event = following.next().await?;
            Some((event, following))
        })
    }

    async fn next(&mut self) -> Option<StreamResponse> {
        loop {
            match self.stage {
                Stage::Over => return None,
                Stage::Opening => return Some(self.open()),
                Stage::Undecided => {
                    if let Some(event) = self.decide().await {
                        return Some(event);
                    }
                }
                Stage::Going => return self.go_on().await,
            }
        }
    }

    /// The task as it was when following began. A subscriber to work that waits for input gets what follows, too.
    fn open(&mut self) -> StreamResponse {
        self.stage = if self.task.state.is_final() { Stage::Over } else { Stage::Going };
        StreamResponse::Task(task_to(&self.task, self.history_length))
    }

    /// Waits for the first thing that is heard of the work. A message is the stream; after anything else the task opens
    /// it, with what was heard put in.
    async fn decide(&mut self) -> Option<StreamResponse> {
        if self.task.state.is_final() || self.task.state.is_interrupted() {
            self.stage = Stage::Over;
            let bare = bare_answer(&self.task).map(|message| message_shown(message, &self.task.context_id));
            let task = || StreamResponse::Task(task_to(&self.task, self.history_length));
            return Some(bare.map_or_else(task, StreamResponse::Message));
        }
        todo()
    }

    async fn go_on(&mut self) -> Option<StreamResponse> {
        todo()
    }
}
