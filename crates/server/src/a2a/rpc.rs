//! The JSON-RPC binding: one route, eleven methods.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use warren_exchange::a2a::{ErrorKind, ProtocolError};

use super::error::{A2aError, json as answer_json, with_retry_after};
use super::request::{A2aRequest, check_version, json_body, read};
use super::stream::{EventBinding, TaskEvents};
use crate::App;

/// What a method answers with.
enum Answer {
    Result(Value),
    Events(Box<TaskEvents>),
}

/// A request whose shape is JSON-RPC's, whatever it asks for.
#[derive(Debug)]
struct Envelope {
    id: Value,
    method: String,
    params: Value,
}

pub(super) async fn call(State(app): State<Arc<App>>, a2a: A2aRequest, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let version = check_version(&parts);
    let body = match json_body(Request::from_parts(parts, body), &app).await {
        Ok(body) => body,
        Err(error) => return refused(&Value::Null, error),
    };
    let envelope = match open(&body) {
        Ok(envelope) => envelope,
        Err((id, error)) => return refused(&id, error.into()),
    };
    match run(a2a, &envelope, version).await {
        Ok(Answer::Result(result)) => answer_json(
            200,
            "application/json",
            &json!({ "jsonrpc": "2.0", "id": envelope.id, "result": result }),
        ),
        Ok(Answer::Events(events)) => events.into_response(EventBinding::JsonRpc { id: envelope.id }),
        Err(error) => refused(&envelope.id, error),
    }
}

fn refused(id: &Value, error: A2aError) -> Response {
    match error {
        A2aError::Outside(failure) => failure.into_response(),
        A2aError::Within(error) => {
            let body = json!({ "jsonrpc": "2.0", "id": id, "error": error.to_rpc() });
            with_retry_after(answer_json(error.kind.rpc_status(), "application/json", &body), &error)
        }
    }
}

/// Takes the envelope apart. The id comes back even with a failure, as far as there is one.
fn open(body: &[u8]) -> Result<Envelope, (Value, ProtocolError)> {
    let parse_error = |error: serde_json::Error| ProtocolError::new(ErrorKind::Parse, error.to_string());
    let value: Value = serde_json::from_slice(body).map_err(|error| (Value::Null, parse_error(error)))?;
    let invalid = |words: &str| ProtocolError::new(ErrorKind::InvalidRequest, words);
    let Value::Object(mut fields) = value else {
        let words = if value.is_array() { "batches are not taken" } else { "expected an object" };
        return Err((Value::Null, invalid(words)));
    };
    let id = match fields.remove("id") {
        Some(id @ (Value::String(_) | Value::Number(_) | Value::Null)) => id,
        // A notification wants no answer, and every method here has one.
        None => return Err((Value::Null, invalid("id: expected a string or a number"))),
        Some(_) => return Err((Value::Null, invalid("id: expected a string or a number"))),
    };
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return Err((id, invalid("jsonrpc: expected \"2.0\"")));
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err((id, invalid("method: expected a string")));
    };
    match fields.remove("params").unwrap_or_else(|| json!({})) {
        params @ Value::Object(_) => Ok(Envelope { id, method, params }),
        // Also null, which JSON-RPC does not know.
        _ => Err((id, ProtocolError::invalid("params: expected an object"))),
    }
}

async fn run(
    a2a: A2aRequest,
    envelope: &Envelope,
    version: Result<(), ProtocolError>,
) -> Result<Answer, A2aError> {
    let Some(method) = Method::parse(&envelope.method) else {
        return Err(ProtocolError::new(ErrorKind::MethodNotFound, "there is no such method").into());
    };
    version?;
    let params = envelope.params.clone();
    match method {
        Method::SendMessage => result(a2a.send(read(params)?).await?),
        Method::SendStreamingMessage => {
            Ok(Answer::Events(Box::new(a2a.send_and_follow(read(params)?).await?)))
        }
        Method::GetTask => result(a2a.get_task(read(params)?).await?),
        Method::ListTasks => result(a2a.list_tasks(read(params)?).await?),
        Method::CancelTask => result(a2a.cancel_task(read(params)?).await?),
        Method::SubscribeToTask => Ok(Answer::Events(Box::new(a2a.subscribe(read(params)?).await?))),
        Method::CreatePushConfig => result(a2a.create_push_config(read(params)?).await?),
        Method::GetPushConfig => result(a2a.push_config(read(params)?).await?),
        Method::ListPushConfigs => result(a2a.push_configs(read(params)?).await?),
        Method::DeletePushConfig => {
            a2a.delete_push_config(read(params)?).await?;
            Ok(Answer::Result(Value::Null))
        }
        Method::GetExtendedAgentCard => result(a2a.extended_card().await?),
    }
}

fn result(answer: impl Serialize) -> Result<Answer, A2aError> {
    let failed = |error: serde_json::Error| ProtocolError::new(ErrorKind::Internal, error.to_string());
    Ok(Answer::Result(serde_json::to_value(answer).map_err(failed)?))
}

#[derive(Debug, Clone, Copy)]
enum Method {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreatePushConfig,
    GetPushConfig,
    ListPushConfigs,
    DeletePushConfig,
    GetExtendedAgentCard,
}

impl Method {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "SendMessage" => Self::SendMessage,
            "SendStreamingMessage" => Self::SendStreamingMessage,
            "GetTask" => Self::GetTask,
            "ListTasks" => Self::ListTasks,
            "CancelTask" => Self::CancelTask,
            "SubscribeToTask" => Self::SubscribeToTask,
            "CreateTaskPushNotificationConfig" => Self::CreatePushConfig,
            "GetTaskPushNotificationConfig" => Self::GetPushConfig,
            "ListTaskPushNotificationConfigs" => Self::ListPushConfigs,
            "DeleteTaskPushNotificationConfig" => Self::DeletePushConfig,
            "GetExtendedAgentCard" => Self::GetExtendedAgentCard,
            _ => return None,
        })
    }
}
