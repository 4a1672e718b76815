//! The HTTP+JSON binding: the same operations, with their parameters in path, query and body.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::response::Response;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::{Map, Value, json};
use warren_exchange::a2a::{
    CancelTaskRequest, ErrorKind, ListPushConfigsRequest, MEDIA_TYPE, ProtocolError, PushConfigRequest,
    SubscribeToTaskRequest,
};
use warren_model::ErrorCode;

use super::error::{A2aError, json as answer_json};
use super::request::{A2aRequest, check_version, json_body, read, segment};
use super::stream::EventBinding;
use crate::App;
use crate::problem::Failure;

/// A request in a version that is spoken here.
pub(super) struct RestRequest(A2aRequest);

impl FromRequestParts<Arc<App>> for RestRequest {
    type Rejection = A2aError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, A2aError> {
        let a2a = A2aRequest::from_request_parts(parts, app).await?;
        check_version(parts)?;
        Ok(Self(a2a))
    }
}

type Answered = Result<Response, A2aError>;

pub(super) async fn send(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    let body = object(request, &a2a.app).await?;
    answered(a2a.send(read(body)?).await?)
}

pub(super) async fn stream(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    let body = object(request, &a2a.app).await?;
    Ok(a2a.send_and_follow(read(body)?).await?.into_response(EventBinding::HttpJson))
}

pub(super) async fn list_tasks(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    answered(a2a.list_tasks(read(query(request.uri().query()))?).await?)
}

/// `GET …/tasks/{id}` and `GET …/tasks/{id}:subscribe`.
pub(super) async fn get_task(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    let (mut parts, _) = request.into_parts();
    let task = segment(&mut parts, "task").await?;
    if let Some(id) = task.strip_suffix(":subscribe") {
        return subscribe(a2a, id).await;
    }
    let mut params = query(parts.uri.query());
    params["id"] = json!(task);
    answered(a2a.get_task(read(params)?).await?)
}

/// `POST …/tasks/{id}:cancel`, and `:subscribe` as some clients ask for it.
pub(super) async fn act_on_task(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    let (mut parts, body) = request.into_parts();
    let task = segment(&mut parts, "task").await?;
    match task.rsplit_once(':') {
        Some((id, "subscribe")) => subscribe(a2a, id).await,
        Some((id, "cancel")) => {
            let metadata = cancel_metadata(Request::from_parts(parts, body), &a2a.app).await?;
            answered(a2a.cancel_task(CancelTaskRequest { id: id.to_owned(), metadata }).await?)
        }
        _ => Err(Failure::from(ErrorCode::MethodNotAllowed).into()),
    }
}

async fn subscribe(a2a: A2aRequest, id: &str) -> Answered {
    let request = SubscribeToTaskRequest { id: id.to_owned() };
    Ok(a2a.subscribe(request).await?.into_response(EventBinding::HttpJson))
}

/// A cancellation needs no body; some clients name the type of the one that they do not send.
async fn cancel_metadata(request: Request, app: &App) -> Result<Map<String, Value>, A2aError> {
    if !request.headers().contains_key(http::header::CONTENT_TYPE) {
        return Ok(Map::new());
    }
    let body = json_body(request, app).await?;
    if body.is_empty() {
        return Ok(Map::new());
    }
    match object_in(&body)?.get_mut("metadata").map(Value::take) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(metadata)) => Ok(metadata),
        Some(_) => Err(ProtocolError::invalid("metadata: expected an object").into()),
    }
}

pub(super) async fn create_push(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    let (mut parts, body) = request.into_parts();
    let task = segment(&mut parts, "task").await?;
    let mut config = object(Request::from_parts(parts, body), &a2a.app).await?;
    config["taskId"] = json!(task);
    answered(a2a.create_push_config(read(config)?).await?)
}

pub(super) async fn list_push(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    let (mut parts, _) = request.into_parts();
    let task_id = segment(&mut parts, "task").await?;
    answered(a2a.push_configs(ListPushConfigsRequest { task_id }).await?)
}

pub(super) async fn get_push(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    answered(a2a.push_config(named_config(request).await?).await?)
}

pub(super) async fn delete_push(RestRequest(a2a): RestRequest, request: Request) -> Answered {
    a2a.delete_push_config(named_config(request).await?).await?;
    answered(json!({}))
}

async fn named_config(request: Request) -> Result<PushConfigRequest, A2aError> {
    let (mut parts, _) = request.into_parts();
    let task_id = segment(&mut parts, "task").await?;
    Ok(PushConfigRequest { task_id, id: segment(&mut parts, "config").await? })
}

pub(super) async fn extended_card(RestRequest(a2a): RestRequest) -> Answered {
    answered(a2a.extended_card().await?)
}

fn answered(answer: impl Serialize) -> Answered {
    Ok(answer_json(200, MEDIA_TYPE, &answer))
}

async fn object(request: Request, app: &App) -> Result<Value, A2aError> {
    Ok(object_in(&json_body(request, app).await?)?)
}

fn object_in(body: &[u8]) -> Result<Value, ProtocolError> {
    let parsed = serde_json::from_slice(body);
    let value: Value = parsed.map_err(|error| ProtocolError::new(ErrorKind::Parse, error.to_string()))?;
    if value.is_object() { Ok(value) } else { Err(ProtocolError::invalid("expected an object")) }
}

/// The query as an object of texts; the request types read numbers and truth values from text too.
fn query(query: Option<&str>) -> Value {
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Value::Object(pairs.map(|(name, value)| (decoded(name), Value::String(decoded(value)))).collect())
}
