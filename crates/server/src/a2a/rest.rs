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

use super::refusal::{Refusal, json as answer_json};
use super::stream::Spelling;
use super::visit::{Visit, check_version, json_body, read, segment};
use crate::App;
use crate::problem::Failure;

/// A visit in a version that is spoken here.
pub(super) struct RestVisit(Visit);

impl FromRequestParts<Arc<App>> for RestVisit {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        let visit = Visit::from_request_parts(parts, app).await?;
        check_version(parts)?;
        Ok(Self(visit))
    }
}

type Answered = Result<Response, Refusal>;

pub(super) async fn send(RestVisit(visit): RestVisit, request: Request) -> Answered {
    let body = object(request, &visit.app).await?;
    answered(visit.send(read(body)?).await?)
}

pub(super) async fn stream(RestVisit(visit): RestVisit, request: Request) -> Answered {
    let body = object(request, &visit.app).await?;
    Ok(visit.send_and_follow(read(body)?).await?.into_response(Spelling::HttpJson))
}

pub(super) async fn list_tasks(RestVisit(visit): RestVisit, request: Request) -> Answered {
    answered(visit.list_tasks(read(query(request.uri().query()))?).await?)
}

/// `GET …/tasks/{id}` and `GET …/tasks/{id}:subscribe`.
pub(super) async fn get_task(RestVisit(visit): RestVisit, request: Request) -> Answered {
    let (mut parts, _) = request.into_parts();
    let task = segment(&mut parts, "task").await?;
    if let Some(id) = task.strip_suffix(":subscribe") {
        return subscribe(visit, id).await;
    }
    let mut params = query(parts.uri.query());
    params["id"] = json!(task);
    answered(visit.get_task(read(params)?).await?)
}

/// `POST …/tasks/{id}:cancel`, and `:subscribe` as some clients ask for it.
pub(super) async fn act_on_task(RestVisit(visit): RestVisit, request: Request) -> Answered {
    let (mut parts, body) = request.into_parts();
    let task = segment(&mut parts, "task").await?;
    match task.rsplit_once(':') {
        Some((id, "subscribe")) => subscribe(visit, id).await,
        Some((id, "cancel")) => {
            let metadata = cancel_metadata(Request::from_parts(parts, body), &visit.app).await?;
            answered(visit.cancel_task(CancelTaskRequest { id: id.to_owned(), metadata }).await?)
        }
        _ => Err(Failure::from(ErrorCode::MethodNotAllowed).into()),
    }
}

async fn subscribe(visit: Visit, id: &str) -> Answered {
    let request = SubscribeToTaskRequest { id: id.to_owned() };
    Ok(visit.subscribe(request).await?.into_response(Spelling::HttpJson))
}

/// A cancellation needs no body; some clients name the type of the one that they do not send.
async fn cancel_metadata(request: Request, app: &App) -> Result<Map<String, Value>, Refusal> {
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

pub(super) async fn create_push(RestVisit(visit): RestVisit, request: Request) -> Answered {
    let (mut parts, body) = request.into_parts();
    let task = segment(&mut parts, "task").await?;
    let mut config = object(Request::from_parts(parts, body), &visit.app).await?;
    config["taskId"] = json!(task);
    answered(visit.create_push_config(read(config)?).await?)
}

pub(super) async fn list_push(RestVisit(visit): RestVisit, request: Request) -> Answered {
    let (mut parts, _) = request.into_parts();
    let task_id = segment(&mut parts, "task").await?;
    answered(visit.push_configs(ListPushConfigsRequest { task_id }).await?)
}

pub(super) async fn get_push(RestVisit(visit): RestVisit, request: Request) -> Answered {
    answered(visit.push_config(named_config(request).await?).await?)
}

pub(super) async fn delete_push(RestVisit(visit): RestVisit, request: Request) -> Answered {
    visit.delete_push_config(named_config(request).await?).await?;
    answered(json!({}))
}

async fn named_config(request: Request) -> Result<PushConfigRequest, Refusal> {
    let (mut parts, _) = request.into_parts();
    let task_id = segment(&mut parts, "task").await?;
    Ok(PushConfigRequest { task_id, id: segment(&mut parts, "config").await? })
}

pub(super) async fn extended_card(RestVisit(visit): RestVisit) -> Answered {
    Err(visit.extended_card())
}

fn answered(answer: impl Serialize) -> Answered {
    Ok(answer_json(200, MEDIA_TYPE, &answer))
}

async fn object(request: Request, app: &App) -> Result<Value, Refusal> {
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
