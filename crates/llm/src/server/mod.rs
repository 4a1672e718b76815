//! The scripted model as an HTTP server that speaks the three wires, as strictly as the real ones.
//!
//! ```text
//!   request ─▶ key? version? ─▶ check(body) ─▶ Conversation ─▶ script ─▶ Plan ─▶ frames(plan) ─▶ SSE, or one JSON
//!                    │ Problem, in the wire's own shape                              └─ with the plan's fault
//! ```
//!
//! | path | what |
//! |---|---|
//! | `POST /v1/messages`, `…/count_tokens` | Anthropic Messages |
//! | `POST /v1/responses`, `GET /v1/responses/{id}` | OpenAI Responses; `stream=true&starting_after=N` reads on |
//! | `POST /v1/chat/completions` | Chat Completions |
//! | `POST /v1beta/models/{name}:generateContent`, `…:streamGenerateContent` | Gemini; `alt=sse` for events |
//! | `GET /_requests` | what was asked so far, for tests |

mod anthropic;
mod chat;
mod frames;
mod gemini;
mod problem;
mod responses;
mod state;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::passing::{PassedPath, PassedTarget};
use crate::providers::Wire;
use crate::scripted::{Conversation, Plan, Script, ScriptPlayer};
pub(crate) use frames::AnswerBody;
use frames::{Frame, json_answer, play};
use problem::Problem;
use state::{Entry, State};

const MAX_BODY_BYTES: usize = 32 << 20;

/// How a server behaves, besides its script.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// The only key that is taken. Absent: any key, but there must be one.
    pub key: Option<String>,
}

/// Answers until it is dropped.
pub async fn serve(listener: TcpListener, script: Script, options: ServerOptions) -> io::Result<()> {
    let state = Arc::new(State::new(script, options));
    // Connections end with the server.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            Some(_) = connections.join_next() => continue,
        };
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(answer(&state, request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection of the model server ended");
            }
        });
    }
}

type Answer = Response<AnswerBody>;

/// A script that answers on the wires without a connection, for one request after the other.
pub(crate) struct WireScript(Arc<State>);

impl WireScript {
    pub(crate) fn new(player: Arc<ScriptPlayer>) -> Self {
        Self(Arc::new(State::of_player(player, ServerOptions::default())))
    }

    pub(crate) async fn answer(
        &self,
        path: PassedPath,
        model: &str,
        mut headers: HeaderMap,
        body: &Value,
    ) -> Answer {
        let wire = path.wire();
        if matches!(path, PassedPath::Gemini { .. }) {
            headers.insert("x-goog-api-key", http::HeaderValue::from_static("warren"));
            let outcome = post_gemini(&self.0, path, model, &headers, body).await;
            return outcome.unwrap_or_else(|problem| problem.answer(wire));
        }
        let path = match path {
            PassedPath::CountTokens => "/messages/count_tokens",
            PassedPath::Messages | PassedPath::Responses | PassedPath::Chat | PassedPath::Gemini { .. } => {
                wire.path()
            }
        };
        // It wants one, and takes any.
        headers.insert("authorization", http::HeaderValue::from_static("Bearer warren"));
        let outcome = post(&self.0, wire, path, &headers, body).await;
        outcome.unwrap_or_else(|problem| problem.answer(wire))
    }
}

async fn answer(state: &Arc<State>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let query = head.uri.query().unwrap_or_default();
    if head.method == Method::POST
        && let Some(PassedTarget { path: path @ PassedPath::Gemini { .. }, model: Some(model), .. }) =
            PassedTarget::of(&path, query)
    {
        let read = read_body(body).await;
        let value = read.as_ref().cloned().unwrap_or_default();
        let outcome = match read {
            Ok(body) => post_gemini(state, path, &model, &head.headers, &body).await,
            Err(problem) => Err(problem),
        };
        state.note(Entry::of(Wire::Gemini, &head.method, head.uri.path(), &value, &outcome));
        return outcome.unwrap_or_else(|problem| problem.answer(Wire::Gemini));
    }
    let path = path.strip_prefix("/v1").unwrap_or(&path);
    match (&head.method, path) {
        (&Method::GET, "/_requests") => json_answer(StatusCode::OK, &state.journal()),
        (&Method::GET | &Method::HEAD, "") => json_answer(StatusCode::OK, &json!({ "server": "warren" })),
        (&Method::GET, "/models") => {
            let model = json!({ "id": "scripted", "object": "model", "created": 0, "owned_by": "warren" });
            json_answer(StatusCode::OK, &json!({ "object": "list", "data": [model] }))
        }
        (&Method::GET, _) if path.starts_with("/responses/") => {
            let id = path.trim_start_matches("/responses/");
            let outcome = state.check_key(Wire::Responses, &head.headers);
            let outcome = outcome.and_then(|()| responses::retrieve(state, id, query));
            state.note(Entry::of(Wire::Responses, &head.method, head.uri.path(), &Value::Null, &outcome));
            outcome.unwrap_or_else(|problem| problem.answer(Wire::Responses))
        }
        (&Method::POST, "/messages" | "/messages/count_tokens" | "/responses" | "/chat/completions") => {
            let wire = match path {
                "/responses" => Wire::Responses,
                "/chat/completions" => Wire::Chat,
                _ => Wire::Anthropic,
            };
            let read = read_body(body).await;
            let value = read.as_ref().cloned().unwrap_or_default();
            let outcome = match read {
                Ok(body) => post(state, wire, path, &head.headers, &body).await,
                Err(problem) => Err(problem),
            };
            state.note(Entry::of(wire, &head.method, head.uri.path(), &value, &outcome));
            outcome.unwrap_or_else(|problem| problem.answer(wire))
        }
        _ => Problem::new(404, "not_found_error", "there is no such path").answer(Wire::Anthropic),
    }
}

async fn read_body(body: Incoming) -> Result<Value, Problem> {
    let bytes: Bytes = match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Err(Problem::new(413, "request_too_large", "the request is too large"));
        }
        Err(_) => return Err(Problem::bad("the request was cut off")),
    };
    let value: Value =
        serde_json::from_slice(&bytes).map_err(|_| Problem::bad("the body is not valid JSON"))?;
    if value.is_object() { Ok(value) } else { Err(Problem::bad("the body is not a JSON object")) }
}

async fn post(
    state: &Arc<State>,
    wire: Wire,
    path: &str,
    headers: &HeaderMap,
    body: &Value,
) -> Result<Answer, Problem> {
    state.check_key(wire, headers)?;
    let conversation = match wire {
        Wire::Anthropic if path == "/messages/count_tokens" => {
            anthropic::version(headers)?;
            let tokens = crate::estimate::tokens(body.to_string().len());
            return Ok(json_answer(StatusCode::OK, &json!({ "input_tokens": tokens })));
        }
        Wire::Anthropic => anthropic::check(body, anthropic::version(headers)?)?,
        Wire::Responses => responses::check(body)?,
        Wire::Chat | Wire::Gemini | Wire::Scripted => chat::check(body)?,
    };
    let plan = state.plan(&conversation, body);
    let plan = plan.ok_or_else(|| Problem::bad("the script has no answer to this"))?;
    if let Some(fault) = &plan.fault {
        problem::before_the_answer(fault).await?;
    }
    Ok(respond(state, wire, body, &conversation, &plan))
}

/// What this wire says in the path and the query, others say in the body.
async fn post_gemini(
    state: &Arc<State>,
    path: PassedPath,
    model: &str,
    headers: &HeaderMap,
    body: &Value,
) -> Result<Answer, Problem> {
    state.check_key(Wire::Gemini, headers)?;
    let conversation = gemini::check(body)?;
    let plan = state.plan(&conversation, body);
    let plan = plan.ok_or_else(|| Problem::bad("the script has no answer to this"))?;
    if let Some(fault) = &plan.fault {
        problem::before_the_answer(fault).await?;
    }
    let id = state.next_id(&conversation);
    match path {
        PassedPath::Gemini { is_stream: true, is_sse: true } => {
            Ok(play(Wire::Gemini, gemini::frames(model, &id, &plan), plan))
        }
        PassedPath::Gemini { is_stream: true, .. } => {
            let whole = Value::Array(vec![gemini::whole(model, &id, &plan)]);
            Ok(frames::whole(Wire::Gemini, &whole, &plan))
        }
        _ => Ok(frames::whole(Wire::Gemini, &gemini::whole(model, &id, &plan), &plan)),
    }
}

fn respond(state: &State, wire: Wire, body: &Value, conversation: &Conversation, plan: &Plan) -> Answer {
    let id = state.next_id(conversation);
    let is_stream = body["stream"] == json!(true);
    match wire {
        Wire::Anthropic => {
            let frames = anthropic::frames(body, &id, plan);
            if is_stream {
                return play(wire, frames, plan.clone());
            }
            frames::whole(wire, &anthropic::whole(body, &id, plan), plan)
        }
        Wire::Responses => {
            let response = responses::Rendered::new(body, &id, plan);
            if body["background"] == json!(true) || body["store"] != json!(false) {
                state.keep(&id, &response);
            }
            if is_stream {
                return play(wire, response.frames, plan.clone());
            }
            // An answer in the background is asked for again.
            let shown = if body["background"] == json!(true) { &response.queued } else { &response.whole };
            frames::whole(wire, shown, plan)
        }
        Wire::Chat | Wire::Gemini | Wire::Scripted => {
            let frames: Vec<Frame> = chat::frames(body, &id, plan);
            if is_stream {
                return play(wire, frames, plan.clone());
            }
            frames::whole(wire, &chat::whole(body, &id, plan), plan)
        }
    }
}
