//! Warren's tools for the programs of a box, as MCP (X23): the workspace's own endpoint, asked by the workspace.
//!
//! What the workspace itself can do in its box (files, commands) a program in there does without Warren. So only the tools
//! are offered that reach others.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::Service as _;
use serde_json::Value;
use warren_fleet::has_tool_door;
use warren_model::WorkspaceId;
use warren_service::Error;

use super::{BODY_PATIENCE, Inner, ThroughDoor, said};
use crate::runner_gateway::FromBox;

const PATH: &str = "/mcp";
/// What of a request goes further. No credential, no origin, no name of a host.
const PASSED: [HeaderName; 7] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    HeaderName::from_static("last-event-id"),
];

pub(super) async fn answer(doors: &Inner, workspace: WorkspaceId, request: Request<Incoming>) -> Response {
    let (head, body) = request.into_parts();
    if head.uri.path().trim_end_matches('/') != PATH {
        return said(StatusCode::NOT_FOUND, "the tool door has one path: /mcp");
    }
    let max = usize::try_from(doors.app.limits().max_body_bytes).unwrap_or(usize::MAX);
    let body = match tokio::time::timeout(BODY_PATIENCE, Limited::new(body, max).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return said(StatusCode::PAYLOAD_TOO_LARGE, &format!("the request is longer than {max} bytes"));
        }
        Ok(Err(_)) => return said(StatusCode::BAD_REQUEST, "the request was cut off"),
        Err(_) => return said(StatusCode::REQUEST_TIMEOUT, "the request did not come in time"),
    };
    match pass(doors, workspace, &head.method, &head.headers, body).await {
        Ok(response) => response,
        Err(error) => {
            tracing::info!(workspace.id = %workspace, %error, "a box could not use its tools");
            said(StatusCode::SERVICE_UNAVAILABLE, error.code.entry().sentence)
        }
    }
}

async fn pass(
    doors: &Inner,
    workspace: WorkspaceId,
    method: &Method,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, Error> {
    let (speaker, row) = doors.app.fleet.residents.speaker(workspace).await?;
    if !has_tool_door(&row.spec) {
        let sentence = "this workspace has no tool door; grant it with `warren ws set NAME --tool-door on`";
        return Ok(said(StatusCode::FORBIDDEN, sentence));
    }
    // What an agent says goes to others: its secrets do not (sec/T10).
    let secrets = doors.app.fleet.secrets.variables(&row).await?;
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(mut document) => {
            secrets.mask_request(&mut document);
            Body::from(document.to_string())
        }
        // What is no message at all is for the endpoint to say.
        Err(_) => Body::from(body),
    };
    let mut request = Request::new(body);
    *request.method_mut() = method.clone();
    let uri = format!("/mcp/workspaces/{workspace}").parse();
    *request.uri_mut() = uri.expect("an id is part of a path as it is");
    for name in PASSED {
        if let Some(value) = headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    if let Ok(host) = doors.host.parse() {
        request.headers_mut().insert(header::HOST, host);
    }
    request.extensions_mut().insert(FromBox(workspace));
    request.extensions_mut().insert(ThroughDoor(speaker));
    let Ok(response) = doors.router.call(request).await;
    Ok(response)
}
