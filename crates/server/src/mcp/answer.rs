//! Outcomes as MCP has them.
//!
//! What a model can do something about (a refusal, bad arguments, a missing file) is a result that is marked as an
//! error, since clients show protocol errors to nobody.

use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::{Value, json};
use warren_operations::ToolRefusal;

use crate::convert;
use crate::problem::Failure;

/// What is told on the wire, as a value.
pub(super) fn to_json(told: impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(told).map_err(|error| Failure::internal(error.to_string()))
}

/// A value as structured content, and as text for clients that know only that.
pub(super) fn of_value(value: Value) -> CallToolResult {
    // Before 2026-07-28 structured content is an object.
    if value.is_object() {
        CallToolResult::structured(value)
    } else {
        CallToolResult::structured(json!({ "result": value }))
    }
}

pub(super) fn of_refusal(refusal: ToolRefusal) -> CallToolResult {
    CallToolResult::structured_error(json!({ "refused": convert::tool_refusal(refusal) }))
}

pub(super) fn of_failure(failure: &Failure, request_id: &str) -> CallToolResult {
    CallToolResult::structured_error(json!({ "error": failure.to_problem(request_id) }))
}

/// Where the protocol has no result that is an error.
pub(super) fn error_of(failure: &Failure, request_id: &str) -> ErrorData {
    let problem = failure.to_problem(request_id);
    let message = match &problem.detail {
        Some(detail) => format!("{}: {detail}", problem.title),
        None => problem.title.clone(),
    };
    let data = serde_json::to_value(&problem).ok();
    match problem.status {
        404 => ErrorData::resource_not_found(message, data),
        400..=499 => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

pub(super) fn unknown_tool(name: &str) -> ErrorData {
    let name = warren_model::truncate_utf8(name, 64);
    ErrorData::invalid_params(format!("there is no tool `{name}` here"), None)
}
