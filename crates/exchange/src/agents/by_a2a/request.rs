//! What is asked of an agent, spelled for the binding that it speaks, and how its answers are read.

use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use warren_model::DeliveryReason;
use warren_outbound::Call;

use super::super::DeliveryAttempt;
use super::card::{Binding, Interface};
use super::trouble::Trouble;
use crate::a2a::{
    AUTHOR, ErrorKind, MEDIA_TYPE, REQUEST, SendMessageConfiguration, SendMessageRequest, VERSION,
    VERSION_HEADER, author_of, message_to,
};

/// One question.
#[derive(Debug)]
pub(super) enum Asked<'a> {
    Send { attempt: &'a DeliveryAttempt },
    Stream { attempt: &'a DeliveryAttempt },
    Get { remote_id: &'a str },
    Subscribe { remote_id: &'a str },
    Cancel { remote_id: &'a str },
    ExtendedCard,
}

/// An id of the agent's own making, as one segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub(super) fn outgoing(interface: &Interface, asked: &Asked<'_>) -> Call {
    let call = match interface.binding {
        Binding::JsonRpc => by_rpc(interface, asked),
        Binding::HttpJson => by_rest(interface, asked),
    };
    let accept = match asked {
        Asked::Stream { .. } | Asked::Subscribe { .. } => "text/event-stream, application/json",
        Asked::Send { .. } | Asked::Get { .. } | Asked::Cancel { .. } | Asked::ExtendedCard => {
            "application/json, application/a2a+json"
        }
    };
    call.header("accept", accept).header(VERSION_HEADER, VERSION)
}

fn by_rpc(interface: &Interface, asked: &Asked<'_>) -> Call {
    let (method, id) = match asked {
        Asked::Send { attempt } => ("SendMessage", attempt.delivery_id.to_string()),
        Asked::Stream { attempt } => ("SendStreamingMessage", attempt.delivery_id.to_string()),
        Asked::Get { .. } => ("GetTask", "get".to_owned()),
        Asked::Subscribe { .. } => ("SubscribeToTask", "subscribe".to_owned()),
        Asked::Cancel { .. } => ("CancelTask", "cancel".to_owned()),
        Asked::ExtendedCard => ("GetExtendedAgentCard", "card".to_owned()),
    };
    let mut params = params_of(asked);
    if let (Some(tenant), Some(params)) = (&interface.tenant, params.as_object_mut()) {
        params.insert("tenant".to_owned(), json!(tenant));
    }
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    Call::post(&interface.url).json(&body)
}

fn by_rest(interface: &Interface, asked: &Asked<'_>) -> Call {
    let escaped = |text: &str| utf8_percent_encode(text, SEGMENT).to_string();
    let (method, path) = match asked {
        Asked::Send { .. } => (Method::POST, "message:send".to_owned()),
        Asked::Stream { .. } => (Method::POST, "message:stream".to_owned()),
        Asked::Get { remote_id } => (Method::GET, format!("tasks/{}?historyLength=0", escaped(remote_id))),
        Asked::Subscribe { remote_id } => (Method::GET, format!("tasks/{}:subscribe", escaped(remote_id))),
        Asked::Cancel { remote_id } => (Method::POST, format!("tasks/{}:cancel", escaped(remote_id))),
        Asked::ExtendedCard => (Method::GET, "extendedAgentCard".to_owned()),
    };
    let tenant =
        interface.tenant.as_deref().map(|tenant| format!("{}/", escaped(tenant))).unwrap_or_default();
    let has_body = method == Method::POST;
    let call = Call::new(method, format!("{}/{tenant}{path}", interface.url));
    if has_body { call.body(MEDIA_TYPE, params_of(asked).to_string()) } else { call }
}

fn params_of(asked: &Asked<'_>) -> Value {
    match asked {
        Asked::Send { attempt } => said(attempt, Some(true)),
        Asked::Stream { attempt } => said(attempt, None),
        Asked::Get { remote_id } => json!({ "id": remote_id, "historyLength": 0 }),
        Asked::Subscribe { remote_id } | Asked::Cancel { remote_id } => json!({ "id": remote_id }),
        Asked::ExtendedCard => json!({}),
    }
}

/// The message as the agent gets it: with who wrote it, and with what came beside it in its own request (X4).
fn said(attempt: &DeliveryAttempt, return_immediately: Option<bool>) -> Value {
    // The agent knows the context of its own task, and may have given it another name than ours.
    let context_id = attempt.remote_id.is_none().then_some(attempt.context_id.as_str());
    let mut message = message_to(&attempt.message, attempt.remote_id.as_deref(), context_id);
    let beside = message.metadata.remove(REQUEST).unwrap_or_default();
    message.metadata.insert(AUTHOR.to_owned(), author_of(&attempt.author));
    let modes = beside["acceptedOutputModes"].as_array().into_iter().flatten();
    let accepted_output_modes = modes.filter_map(|mode| mode.as_str().map(str::to_owned)).collect();
    let configuration = SendMessageConfiguration {
        accepted_output_modes,
        return_immediately,
        ..SendMessageConfiguration::default()
    };
    let request = SendMessageRequest {
        message,
        configuration: (configuration != SendMessageConfiguration::default()).then_some(configuration),
        metadata: beside["metadata"].as_object().cloned().unwrap_or_else(Map::new),
    };
    serde_json::to_value(request).unwrap_or_default()
}

/// What an answer holds, or what it complains about.
pub(super) fn read_result<T: DeserializeOwned>(
    binding: Binding,
    status: StatusCode,
    mut body: Value,
) -> Result<T, Trouble> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(complaint(binding, error));
    }
    if !status.is_success() {
        return Err(Trouble::Refused(if status.is_client_error() {
            DeliveryReason::MessageRefused
        } else {
            DeliveryReason::AgentError
        }));
    }
    let result = match binding {
        Binding::JsonRpc => body.get_mut("result").map(Value::take).ok_or(Trouble::BadAnswer)?,
        Binding::HttpJson => body,
    };
    serde_json::from_value(result).map_err(|_| Trouble::BadAnswer)
}

fn complaint(binding: Binding, error: &Value) -> Trouble {
    let details = match binding {
        Binding::JsonRpc => &error["data"],
        Binding::HttpJson => &error["details"],
    };
    let reasons = details.as_array().into_iter().flatten().filter_map(|detail| detail["reason"].as_str());
    let reasons: Vec<_> = reasons.collect();
    let by_reason = reasons.iter().find_map(|reason| ErrorKind::from_reason(reason));
    let by_code = match binding {
        Binding::JsonRpc => error["code"].as_i64().and_then(ErrorKind::from_code),
        Binding::HttpJson => None,
    };
    let is_busy = reasons.iter().any(|reason| reason.ends_with("BUSY"));
    Trouble::of(by_reason.or(by_code), is_busy)
}

#[cfg(test)]
mod tests;
