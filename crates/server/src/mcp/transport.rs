//! One POST of streamable HTTP: read within the limits, handed to the protocol library, answered.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use warren_model::Limits;

use super::in_flight::{Guard, InFlight, Key};
use crate::extract::{BodyLimits, read_body};

const LABEL: &str = "mcp-session-id";
/// Ours have 40 characters or so; what is longer is not ours.
const MAX_LABEL_BYTES: usize = 128;
/// A stream that says nothing is kept open by a comment this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What all POSTs share. It knows nothing of Warren's tools, so that the public conformance suite can be run over it
/// with the tools that the suite wants to see.
#[derive(Debug)]
pub struct Transport {
    in_flight: InFlight,
    limits: BodyLimits,
}

/// Who sent a POST, as far as the transport is concerned.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Which token they showed.
    pub token: String,
    pub request_id: String,
}

/// What must be known of a message to cancel calls; everything else of it is the library's business.
#[derive(Debug, Default, Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Cancellation {
    params: CancellationParams,
}

#[derive(Debug, Deserialize)]
struct CancellationParams {
    #[serde(rename = "requestId")]
    request_id: Value,
}

impl Transport {
    pub fn new(limits: &Limits) -> Self {
        Self { in_flight: InFlight::default(), limits: BodyLimits::of(limits) }
    }

    /// Answers a POST. The handler that `make` makes is for this request alone; what it is given is cancelled when the
    /// client says so, and it must then end its work.
    pub async fn serve<H: ServerHandler + Clone>(
        &self,
        caller: Caller,
        request: Request,
        make: impl FnOnce(Cancelled) -> H,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let bytes = match read_body(body, self.limits).await {
            Ok(bytes) => bytes,
            Err(failure) => return failure.into_response(),
        };
        // What is no message at all is for the library to say.
        let envelope: Envelope = serde_json::from_slice(&bytes).unwrap_or_default();
        let key = |id| Key { token: caller.token.clone(), label: label(&parts.headers), id };
        if envelope.method.as_deref() == Some("notifications/cancelled")
            && let Ok(Cancellation { params }) = serde_json::from_slice(&bytes)
        {
            // The library keeps nothing between two POSTs, and so would only nod.
            self.in_flight.cancel(&key(params.request_id));
            return StatusCode::ACCEPTED.into_response();
        }
        let is_first = envelope.method.as_deref() == Some("initialize");
        let cancelled = Cancelled(envelope.id.map(|id| Arc::new(self.in_flight.begin(key(id)))));
        let handler = make(cancelled);
        let response = answer(handler, http::Request::from_parts(parts, Body::from(bytes))).await;
        if is_first { labelled(response, &caller.request_id) } else { response }
    }
}

/// Tells a handler that the client has cancelled its request.
#[derive(Debug, Clone)]
pub struct Cancelled(Option<Arc<Guard>>);

impl Cancelled {
    pub(super) fn token(&self) -> CancellationToken {
        self.0.as_ref().map_or_else(CancellationToken::new, |guard| guard.cancelled.clone())
    }
}

async fn answer<H: ServerHandler + Clone>(handler: H, request: http::Request<Body>) -> Response {
    // Host and Origin were checked in front of every route, by one rule.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_sse_retry(None)
        .with_max_request_body_bytes(usize::MAX);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    service.handle(request).await.map(Body::new)
}

fn label(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(LABEL)?.to_str().ok()?;
    (text.len() <= MAX_LABEL_BYTES).then(|| text.to_owned())
}

fn labelled(mut response: Response, label: &str) -> Response {
    if response.status().is_success()
        && let Ok(value) = HeaderValue::from_str(label)
    {
        response.headers_mut().insert(LABEL, value);
    }
    response
}
