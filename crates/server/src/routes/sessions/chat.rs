//! A session for chat clients that speak the AI SDK's UI message stream (A61, S31): `useChat` with its usual transport.
//!
//! ```text
//!   POST …/chat                    what is new ─▶ the session;  its run, as one message, ─▶ chunks until it ends or waits
//!   GET  …/chat/{chat}/stream      the current message from its start; 204 where there is none
//! ```
//!
//! A client that hangs up, or calls `stop()`, ends nothing: `…/interrupt` does.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawPathParams, State};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;
use warren_agent::{AnswerRef, Follower, HandedIn, NewSessionMessage, RunReader, SaidInstead};
use warren_api::Problem;
use warren_exchange::{ApprovalAnswer, ApprovalDecision};
use warren_model::session::{
    Phase, QueuedState, Session, SessionMessage, SessionName, StreamItem, Suspension,
};
use warren_model::{ApprovalId, ApprovalState, ErrorCode, SessionMessageId};
use warren_operations::while_allowed;
use warren_service::Identity;

use super::stream::lost;
use crate::App;
use crate::auth::Caller;
use crate::chat::{
    AiMajor, ChatRequest, ChunkWriter, Ending, NewInChat, ToolOutput, UiDecision, message_id,
    run_of_message_id,
};
use crate::extract::{Json, PathSession, Query};
use crate::problem::Failure;
use crate::routes::events::place;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long after its end a message is still shown to a client that comes back: it may have missed the last words.
const SHOWN_AFTER_END_MS: i64 = 60_000;
const MAX_CLIENT_ID_BYTES: usize = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChatParams {
    /// The major version of npm `ai` that the client uses; 6 unless told, which 7 understands too.
    #[serde(default)]
    #[param(inline, required = false)]
    v: AiMajor,
}

/// Chat with a session through the AI SDK (`useChat`).
///
/// The body and the answer are those of `DefaultChatTransport`. Read from the body are the last message of the user, results
/// of calls that wait for the client, and decisions about calls that wait for a person; the history in it is ignored. The
/// answer ends when the run ends or waits for somebody. Hanging up cancels nothing.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/chat", operation_id = "chat_with_session", tag = "sessions",
    params(("session" = String, Path), ChatParams), request_body = ChatRequest,
    responses(
        (status = 200, description = "A UI message stream, version 1.", content((String = "text/event-stream"))),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Query(params): Query<ChatParams>,
    Json(body): Json<ChatRequest>,
) -> Result<Response, Failure> {
    let invalid = |detail: String| Failure::new(ErrorCode::InvalidRequest, detail);
    // The answer shows the session: who may not see it is refused before anything is said.
    app.agents.sessions.get(&who, &name).await?;
    let session = app.agents.sessions.for_use(&who, &name).await?;
    let chat = Chat { app, who, name, major: params.v };
    let stage = match body.news().map_err(invalid)? {
        NewInChat::Said { id, parts, may_be_edit } => {
            let id = client_id(id)?;
            let message = chat.say(id, parts, may_be_edit).await?;
            let after = session.latest_sequence;
            Stage::Waiting { message: message.id, follower: chat.follow(after).await? }
        }
        NewInChat::Regenerate { message_id } => {
            let which = match message_id {
                None => AnswerRef::Latest,
                Some(id) => run_of_message_id(session.id, &id).map_or(AnswerRef::To(id), AnswerRef::Run),
            };
            let message = chat.app.agents.chats.answer_again(&chat.who, &chat.name, which, None).await?;
            Stage::Waiting { message: message.id, follower: chat.follow(session.latest_sequence).await? }
        }
        NewInChat::Answered { message_id, known, decisions, outputs } => {
            let run = message_id.and_then(|id| run_of_message_id(session.id, &id));
            let is_new = chat.answer(&session, decisions, outputs).await?;
            let known = known.filter(|known| *known <= session.latest_sequence);
            let is_behind = known.is_some_and(|known| known < session.latest_sequence);
            if !is_new && !is_behind && session.phase != Phase::Active {
                let detail =
                    "nothing in the message is new: no decision and no result that somebody waits for";
                return Err(Failure::new(ErrorCode::NotPending, detail));
            }
            let reader = chat.app.agents.chats.run(&chat.who, &chat.name, run).await?;
            let reader = reader.ok_or_else(|| Failure::from(ErrorCode::NotPending))?;
            Stage::Telling(chat.telling(reader, Some(known.unwrap_or(session.latest_sequence))))
        }
    };
    chat.stream(stage)
}

/// Go on reading the current message of a chat, from its start. This is where the AI SDK's `resumeStream` asks.
///
/// 204: nothing is under way. `chat` is whatever the client calls its chat, or the id of a message of the assistant, which
/// is then shown even if it is over.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/chat/{chat}/stream", operation_id = "resume_chat", tag = "sessions",
    params(("session" = String, Path), ("chat" = String, Path), ChatParams),
    responses(
        (status = 200, description = "A UI message stream, version 1.", content((String = "text/event-stream"))),
        (status = 204, description = "There is nothing to go on with."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathSession(name): PathSession,
    Query(params): Query<ChatParams>,
    path: RawPathParams,
) -> Result<Response, Failure> {
    let session = app.agents.sessions.get(&who, &name).await?;
    let chat_id = path.iter().find(|(name, _)| *name == "chat").map_or("", |(_, value)| value);
    let run = run_of_message_id(session.id, chat_id);
    let since_ms = app.clock.now().ms_since(session.updated_at);
    if is_over(&session.phase, since_ms) && run.is_none() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let chat = Chat { app, who, name, major: params.v };
    match chat.app.agents.chats.run(&chat.who, &chat.name, run).await? {
        Some(reader) => {
            let stage = Stage::Telling(chat.telling(reader, None));
            chat.stream(stage)
        }
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Whether there is nothing to go on with, for somebody who names no message.
fn is_over(phase: &Phase, since_ms: i64) -> bool {
    match phase {
        Phase::Active | Phase::Suspended { .. } => false,
        Phase::Idle => true,
        Phase::Completed { .. } | Phase::Failed { .. } | Phase::Interrupted => since_ms > SHOWN_AFTER_END_MS,
    }
}

/// The client's id of a message, which is also the key under which it is sent once.
fn client_id(id: Option<String>) -> Result<Option<String>, Failure> {
    let id = id.filter(|id| !id.is_empty());
    let is_wrong = |id: &String| id.len() > MAX_CLIENT_ID_BYTES || id.chars().any(char::is_control);
    if id.as_ref().is_some_and(is_wrong) {
        let detail =
            format!("messages: an id has at most {MAX_CLIENT_ID_BYTES} bytes, without control characters");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    Ok(id)
}

/// One request of a chat client.
struct Chat {
    app: Arc<App>,
    who: Identity,
    name: SessionName,
    major: AiMajor,
}

impl Chat {
    /// Sends what the user said; the same id is the same message. Something else under an id that was answered already
    /// takes its place.
    async fn say(
        &self,
        id: Option<String>,
        parts: Vec<warren_model::Part>,
        may_be_edit: bool,
    ) -> Result<SessionMessage, Failure> {
        let key = id.as_ref().map(|id| format!("chat:{id}"));
        let new = NewSessionMessage { parts: parts.clone(), mode: None, client_id: id.clone(), key };
        match self.app.agents.sessions.send(&self.who, &self.name, new).await {
            Err(error) if error.code == ErrorCode::KeyReused && may_be_edit => {
                let which = id.clone().map_or(AnswerRef::Latest, AnswerRef::To);
                let instead = Some(SaidInstead { parts, client_id: id });
                Ok(self.app.agents.chats.answer_again(&self.who, &self.name, which, instead).await?)
            }
            other => Ok(other?),
        }
    }

    async fn follow(&self, after: u64) -> Result<Follower, Failure> {
        Ok(self.app.agents.sessions.follow(&self.who, &self.name, after).await?.1)
    }

    /// Takes decisions and results that somebody waits for. Nothing is taken if one of the decisions is not good. Whether
    /// anything was new.
    async fn answer(
        &self,
        session: &Session,
        decisions: Vec<UiDecision>,
        outputs: Vec<ToolOutput>,
    ) -> Result<bool, Failure> {
        let (app, who, name) = (&self.app, &self.who, &self.name);
        let mut new = Vec::new();
        for decision in decisions {
            if let Some(id) = self.check(session, &decision).await? {
                new.push((id, decision));
            }
        }
        let pending = app.agents.sessions.pending(who, name).await?;
        let mut is_new = !new.is_empty();
        if !new.is_empty() {
            app.agents.sessions.for_decision(who, name).await?;
        }
        for (id, decision) in new {
            let word = if decision.is_approved { ApprovalDecision::Approve } else { ApprovalDecision::Deny };
            let answer = ApprovalAnswer { note: decision.reason, ..ApprovalAnswer::new(word) };
            app.exchange.approvals.decide_in_session(who, session.id, id, answer).await?;
        }
        for ToolOutput { call_id, output } in outputs {
            // Results of calls that nobody waits for are history.
            if pending.calls.iter().any(|call| call.id == call_id) {
                let handed_in = output.map_or_else(HandedIn::Error, HandedIn::Output);
                app.agents.sessions.hand_in(who, name, call_id, handed_in, None).await?;
                is_new = true;
            }
        }
        Ok(is_new)
    }

    /// The question that a decision is about; nothing if it was decided the same way already.
    async fn check(&self, session: &Session, decision: &UiDecision) -> Result<Option<ApprovalId>, Failure> {
        let none = || Failure::from(ErrorCode::ApprovalNotFound);
        let id: ApprovalId = decision.approval_id.parse().map_err(|_| none())?;
        let asked = self.app.exchange.approvals.get(&self.who, id).await?;
        let is_ours = asked
            .subject
            .as_ref()
            .is_some_and(|subject| subject.session_id == session.id && subject.call_id == decision.call_id);
        if !is_ours {
            return Err(none());
        }
        match (asked.state, decision.is_approved) {
            (ApprovalState::Pending, _) => Ok(Some(id)),
            (ApprovalState::Approved, true) | (ApprovalState::Denied, false) => Ok(None),
            (
                ApprovalState::Approved
                | ApprovalState::Denied
                | ApprovalState::Expired
                | ApprovalState::Void,
                _,
            ) => Err(ErrorCode::ApprovalOver.into()),
        }
    }

    fn telling(&self, reader: RunReader, known: Option<u64>) -> Box<Telling> {
        let RunReader { session, run, client_tools, follower } = reader;
        let writer = ChunkWriter::new(self.major, message_id(session.id, run), run, client_tools);
        let writer = writer.continued(known.unwrap_or(0));
        let ready = VecDeque::from([writer.start()]);
        Box::new(Telling { run, writer, follower, ready, may_be_over: true, is_over: false })
    }

    fn stream(self, stage: Stage) -> Result<Response, Failure> {
        let place = place(&self.app)?;
        let lost = lost(Arc::clone(&self.app), self.who.clone(), self.name.clone());
        let events = while_allowed(self.events(stage, place), lost, cut);
        let events = Sse::new(events.map(Ok::<_, Infallible>));
        let mut response = events.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
        let headers = response.headers_mut();
        let stream_version = HeaderName::from_static("x-vercel-ai-ui-message-stream");
        headers.insert(stream_version, HeaderValue::from_static("v1"));
        // Proxies that collect an answer before they pass it on would hold it back until its end.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(response)
    }

    fn events(self, stage: Stage, place: OwnedSemaphorePermit) -> impl Stream<Item = SseEvent> + Send {
        let state = (self, stage, place);
        stream::unfold(Some(state), |state| async move {
            let (chat, mut stage, place) = state?;
            let next = loop {
                match &mut stage {
                    Stage::Waiting { message, follower } => match chat.begin(*message, follower).await {
                        Ok(Some(telling)) => stage = Stage::Telling(telling),
                        Ok(None) => {}
                        Err(code) => break Err(code),
                    },
                    Stage::Telling(telling) => break telling.next(&chat).await,
                    Stage::Done => return None,
                }
            };
            Some(match next {
                Ok(Some(chunk)) => (event(&chunk), Some((chat, stage, place))),
                Ok(None) => (done(), Some((chat, Stage::Done, place))),
                Err(code) => (cut(code), Some((chat, Stage::Done, place))),
            })
        })
    }

    /// Looks what became of a message, and waits for something to happen where it waits. The run that answers it; where it
    /// has to wait for people first, the run that keeps it waiting.
    async fn begin(
        &self,
        message: SessionMessageId,
        follower: &mut Follower,
    ) -> Result<Option<Box<Telling>>, ErrorCode> {
        let agents = &self.app.agents;
        let session = agents.sessions.get(&self.who, &self.name).await.map_err(|error| error.code)?;
        let found =
            agents.sessions.message(&self.who, &self.name, message).await.map_err(|error| error.code)?;
        let state = found.ok_or(ErrorCode::SessionMessageNotFound)?.state;
        let mut note = None;
        let run = match state {
            QueuedState::Delivered { step } => {
                agents.chats.run_of_step(&self.who, &self.name, step).await.map_err(|error| error.code)?
            }
            QueuedState::Dropped { .. } => return Err(ErrorCode::NotPending),
            QueuedState::Queued if waits_for_people(&session.phase).is_some() => {
                note = Some(json!({
                    "type": "data-queued", "data": { "messageId": message.to_string() }, "transient": true,
                }));
                Some(session.run)
            }
            QueuedState::Queued => {
                follower.next().await.map_err(|error| error.code)?;
                return Ok(None);
            }
        };
        let reader = agents.chats.run(&self.who, &self.name, run).await.map_err(|error| error.code)?;
        let mut telling = self.telling(reader.ok_or(ErrorCode::SessionMessageNotFound)?, None);
        telling.ready.extend(note);
        Ok(Some(telling))
    }
}

/// What a stream is doing.
enum Stage {
    /// The message has not been shown to the model yet.
    Waiting {
        message: SessionMessageId,
        follower: Follower,
    },
    Telling(Box<Telling>),
    Done,
}

/// One message of the assistant on its way.
struct Telling {
    run: u32,
    writer: ChunkWriter,
    follower: Follower,
    ready: VecDeque<Value>,
    /// Nothing may be under way: it is looked up before more is waited for.
    may_be_over: bool,
    is_over: bool,
}

impl Telling {
    async fn next(&mut self, chat: &Chat) -> Result<Option<Value>, ErrorCode> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(Some(chunk));
            }
            if self.is_over {
                return Ok(None);
            }
            if self.may_be_over
                && let Some(ending) = self.look(chat).await?
            {
                self.end(&ending);
                continue;
            }
            for entry in self.follower.next().await.map_err(|error| error.code)? {
                if matches!(entry.item, StreamItem::RunStarted { run } if run != self.run) {
                    self.end(&Ending::Completed(None));
                    break;
                }
                self.ready.extend(self.writer.push(&entry));
                let ending = self.writer.ending().cloned();
                self.may_be_over |= ending.is_some();
                if matches!(entry.item, StreamItem::RunEnded { .. })
                    && let Some(ending) = ending
                {
                    self.end(&ending);
                    break;
                }
            }
        }
    }

    fn end(&mut self, ending: &Ending) {
        self.is_over = true;
        self.ready.extend(self.writer.finish(ending));
    }

    /// How the message ends, if everything is read and nobody works on it.
    async fn look(&mut self, chat: &Chat) -> Result<Option<Ending>, ErrorCode> {
        let session =
            chat.app.agents.sessions.get(&chat.who, &chat.name).await.map_err(|error| error.code)?;
        let is_read = self.follower.position() >= session.latest_sequence;
        if is_read && session.run == self.run && !session.phase.has_run() && self.writer.ending().is_none() {
            // Its end was told and is not kept any more.
            return Ok(Some(Ending::Completed(None)));
        }
        let waits = waits_for_people(&session.phase).map(Ending::Suspended);
        let waits = waits.or((session.phase == Phase::Interrupted).then_some(Ending::Interrupted));
        // What is not read yet ends with an entry that leads back here.
        self.may_be_over = false;
        Ok(waits.filter(|_| is_read && session.run == self.run))
    }
}

/// Why nothing happens until somebody does something. What waits for a moment goes on by itself.
fn waits_for_people(phase: &Phase) -> Option<Suspension> {
    match phase {
        Phase::Suspended { by: Suspension::Timer, .. } => None,
        Phase::Suspended { by, .. } => Some(*by),
        Phase::Idle | Phase::Active | Phase::Completed { .. } | Phase::Failed { .. } | Phase::Interrupted => {
            None
        }
    }
}

fn event(chunk: &Value) -> SseEvent {
    SseEvent::default().data(chunk.to_string())
}

fn done() -> SseEvent {
    SseEvent::default().data("[DONE]")
}

/// Why a stream ends before its message does. The client may resume.
fn cut(code: ErrorCode) -> SseEvent {
    event(&json!({ "type": "error", "errorText": format!("{}: {}", code.as_str(), code.entry().sentence) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A61
    #[test]
    fn a_message_is_shown_again_while_it_goes_on_and_for_a_moment_after_its_end() {
        let waiting = Phase::Suspended { by: Suspension::Approval, reason: String::new() };
        assert!(!is_over(&Phase::Active, 1 << 40) && !is_over(&waiting, 1 << 40));
        assert!(is_over(&Phase::Idle, 0));
        for ended in
            [Phase::Interrupted, Phase::Completed { finish: warren_model::session::StopReason::EndTurn }]
        {
            assert!(!is_over(&ended, SHOWN_AFTER_END_MS) && is_over(&ended, SHOWN_AFTER_END_MS + 1));
        }
    }
}
