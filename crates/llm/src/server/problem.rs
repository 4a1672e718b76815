//! Errors, in the shape of each wire.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::Answer;
use super::frames::json_answer;
use crate::providers::Wire;
use crate::scripted::{Fault, FaultKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: u16,
    /// In Anthropic's words; the other wires' are made from it.
    pub(super) kind: String,
    pub(super) message: String,
    retry_after: Option<Duration>,
    should_retry: Option<bool>,
}

impl Problem {
    pub(super) fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.to_owned(), message: message.into(), retry_after: None, should_retry: None }
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    pub(super) fn answer(&self, wire: Wire) -> Answer {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = json_answer(status, &error_body(wire, &self.kind, &self.message));
        let headers = answer.headers_mut();
        if let Some(after) = self.retry_after {
            headers.insert("retry-after-ms", HeaderValue::from(after.as_millis() as u64));
            headers.insert("retry-after", HeaderValue::from(after.as_secs()));
        }
        if let Some(should) = self.should_retry {
            headers.insert("x-should-retry", HeaderValue::from_static(if should { "true" } else { "false" }));
        }
        answer
    }
}

pub(super) fn error_body(wire: Wire, kind: &str, message: &str) -> Value {
    match wire {
        Wire::Anthropic => {
            json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_scripted" })
        }
        Wire::Gemini => {
            let status = match kind {
                "authentication_error" => "UNAUTHENTICATED",
                "permission_error" => "PERMISSION_DENIED",
                "not_found_error" => "NOT_FOUND",
                "rate_limit_error" => "RESOURCE_EXHAUSTED",
                "invalid_request_error" => "INVALID_ARGUMENT",
                _ => "UNAVAILABLE",
            };
            json!({ "error": { "code": 400, "message": message, "status": status } })
        }
        Wire::Responses | Wire::Chat | Wire::Scripted => {
            let code = match kind {
                "authentication_error" => json!("invalid_api_key"),
                "rate_limit_error" => json!("rate_limit_exceeded"),
                _ => Value::Null,
            };
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        }
    }
}

/// Carries out the faults that come instead of an answer.
pub(super) async fn before_the_answer(fault: &Fault) -> Result<(), Problem> {
    match fault.kind {
        FaultKind::Never => std::future::pending().await,
        FaultKind::Status => {
            let kind = fault.error.as_deref().unwrap_or(match fault.status {
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                400..500 => "invalid_request_error",
                _ => "api_error",
            });
            Err(Problem {
                retry_after: fault.retry_after_ms.map(Duration::from_millis),
                should_retry: fault.should_retry,
                ..Problem::new(fault.status, kind, "scripted error")
            })
        }
        FaultKind::Error
        | FaultKind::Cut
        | FaultKind::Truncated
        | FaultKind::Garbage
        | FaultKind::Pings
        | FaultKind::Silence => Ok(()),
    }
}
