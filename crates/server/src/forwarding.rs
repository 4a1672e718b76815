//! Requests for a box that another replica has are passed on to it (O10).
//!
//! ```text
//!   client ─▶ guard ─▶ who asks? pace? ─▶ pass_on ─ the box is here ─▶ handler
//!                                            │ another has it
//!                                            ▼ head, body as a stream, the client's credential, a signed mark
//!              client ◀── the answer as a stream ── that replica: read_mark ─▶ who asks? ─▶ handler
//! ```
//!
//! Nothing is decided about the request here but where it belongs. The other replica judges the credential itself, by the
//! same database. A request with a mark is never passed on again, so that two replicas that disagree cannot send it round
//! in circles; it ends as `workspace_elsewhere`.
//!
//! Surprises:
//! - A request is sent once. What failed before any of it was sent is `workspace_elsewhere`, and can be repeated; what
//!   failed afterwards is `replica_lost`, since nobody knows whether it was carried out.
//! - A client that hangs up drops the answer's stream, and with it the connection to the other replica, which is how that
//!   one hears of it.
//! - A worker serves nobody but other replicas, and the agents in its own boxes.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tracing::Instrument as _;
use warren_fleet::{BoxLocation, Peer};
use warren_model::{ErrorCode, WorkspaceId};
use warren_outbound::forwarding::{BadMark, MARK_HEADER, MARK_PURPOSE, Mark, MarkedRequest};
use warren_outbound::{CallError, RelayRequest, Relayed, wants_upgrade};

use crate::App;
use crate::extract::{BodyLimits, read_body};
use crate::problem::{CurrentRequest, Failure};
use crate::runner_gateway::FromBox;

/// The value of the mark's header in the answer to a request whose mark was refused.
pub(crate) const REFUSED: &str = "refused";

/// Routes that use the box of the workspace `{id}`.
const BOX_ROUTES: [&str; 15] = [
    "/api/v1/workspaces/{id}/exec",
    "/api/v1/workspaces/{id}/files",
    "/api/v1/workspaces/{id}/files/directory",
    "/api/v1/workspaces/{id}/files/move",
    "/api/v1/workspaces/{id}/files/watch",
    "/api/v1/workspaces/{id}/notify",
    "/api/v1/workspaces/{id}/processes",
    "/api/v1/workspaces/{id}/processes/{process}",
    "/api/v1/workspaces/{id}/processes/{process}/output",
    "/api/v1/workspaces/{id}/processes/{process}/resize",
    "/api/v1/workspaces/{id}/processes/{process}/signal",
    "/api/v1/workspaces/{id}/processes/{process}/stdin",
    "/api/v1/workspaces/{id}/terminal",
    "/api/v1/workspaces/{id}/tools/{name}",
    "/api/v1/workspaces/{id}/uploads",
];
/// Routes of a workspace's tools, which are described by whoever has the box.
const TOOL_ROUTES: [&str; 2] = ["/api/v1/workspaces/{id}/tools", "/mcp/workspaces/{id}"];
/// The platform's own tools, some of which name a workspace and use its box.
const PLATFORM_MCP: &str = "/mcp";

/// What the mark of a request turned out to be. Absent where it has none.
#[derive(Debug, Clone)]
struct ReadMark(Result<Mark, BadMark>);

/// The mark of a request that another replica passed on, if it is to be believed.
pub(crate) fn mark_of(request: &Request) -> Option<&Mark> {
    request.extensions().get::<ReadMark>().and_then(|read| read.0.as_ref().ok())
}

/// Whether another replica passed the request on. One that only says so is refused.
pub(crate) fn check_mark(request: &Request) -> Result<bool, Failure> {
    match request.extensions().get::<ReadMark>() {
        None => Ok(false),
        Some(ReadMark(Ok(_))) => Ok(true),
        Some(ReadMark(Err(bad))) => Err(Failure::new(ErrorCode::ForwardRefused, bad.to_string())),
    }
}

/// Where others reach a server that listens here, if they can: not at loopback, and not at "any address".
pub(crate) fn reached_at(listen: SocketAddr) -> Option<String> {
    let is_reachable = !listen.ip().is_loopback() && !listen.ip().is_unspecified();
    is_reachable.then(|| format!("http://{listen}"))
}

/// Tells the other replicas where this one is reached.
pub(crate) async fn announce(app: &App, url: Option<String>) {
    let holders = &app.fleet.box_holders;
    if holders.is_alone() {
        return;
    }
    if url.is_none() && holders.role().opens_boxes() {
        tracing::warn!("other replicas cannot pass requests on to this one: set `server.replica_url`");
    }
    if let Err(error) = holders.announce(url).await {
        tracing::warn!(%error, "the other replicas could not be told where this one is reached; it is tried again");
    }
}

/// The outermost layer: reads the mark, before a request gets its id.
pub(crate) async fn read_mark(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let mut values = request.headers().get_all(MARK_HEADER).iter();
    if let Some(value) = values.next() {
        let read = match values.next() {
            None => verify(&app, value, &request),
            Some(_) => Err(BadMark::Unreadable),
        };
        if let Err(bad) = &read {
            tracing::warn!(reason = %bad, "a request says that another replica passed it on, and is refused");
        }
        request.headers_mut().remove(MARK_HEADER);
        request.extensions_mut().insert(ReadMark(read));
    }
    next.run(request).await
}

fn verify(app: &App, value: &HeaderValue, request: &Request) -> Result<Mark, BadMark> {
    let value = value.to_str().map_err(|_| BadMark::Unreadable)?;
    let keys = app.fleet.sealer.derived_keys(MARK_PURPOSE);
    let path = path_of(request.uri());
    let marked = MarkedRequest { to: app.fleet.box_holders.name(), method: request.method(), path };
    Mark::verify(value, keys.iter().map(|key| &**key), marked, app.clock.now())
}

fn path_of(uri: &http::Uri) -> &str {
    uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)
}

/// Around all API routes of a worker.
pub(crate) async fn refuse_clients_of_workers(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let is_from_box = request.extensions().get::<FromBox>().is_some();
    if !app.fleet.box_holders.role().serves_clients() && !is_from_box && mark_of(&request).is_none() {
        return Err(ErrorCode::NotServedHere.into());
    }
    Ok(next.run(request).await)
}

/// Around all API routes, once it is known who asks: answers with what the replica says that has the box.
pub(crate) async fn pass_on(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let is_from_box = request.extensions().get::<FromBox>().is_some();
    if app.fleet.box_holders.is_alone() || is_from_box || mark_of(&request).is_some() {
        return Ok(next.run(request).await);
    }
    let (id, request) = match workspace_of(&app, request).await? {
        (Some(id), request) => (id, request),
        (None, request) => return Ok(next.run(request).await),
    };
    match app.fleet.box_holders.locate(id).await? {
        BoxLocation::Here => Ok(next.run(request).await),
        BoxLocation::At(peer) => send(&app, &peer, request).await,
        BoxLocation::Nowhere => {
            let detail = "no replica lives that opens boxes (`--role worker` or `all`)";
            Err(Failure::new(ErrorCode::WorkspaceElsewhere, detail))
        }
    }
}

/// The workspace whose box a request needs, if it needs one.
async fn workspace_of(app: &App, request: Request) -> Result<(Option<WorkspaceId>, Request), Failure> {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    if BOX_ROUTES.contains(&route) || TOOL_ROUTES.contains(&route) {
        let named = route.split('/').zip(request.uri().path().split('/'));
        let id = named.into_iter().find_map(|(name, text)| (name == "{id}").then_some(text));
        // What is no id, the handler says so.
        return Ok((id.and_then(|text| text.parse().ok()), request));
    }
    if route != PLATFORM_MCP {
        return Ok((None, request));
    }
    let (parts, body) = request.into_parts();
    let bytes = read_body(body, BodyLimits::of(app.limits())).await?;
    let id = serde_json::from_slice::<ToolCall>(&bytes).ok().and_then(|call| call.workspace());
    Ok((id, Request::from_parts(parts, Body::from(bytes))))
}

/// As much of a message to the platform's MCP endpoint as tells which workspace it is about.
#[derive(Debug, Deserialize)]
struct ToolCall {
    method: String,
    params: ToolCallParams,
}

#[derive(Debug, Deserialize)]
struct ToolCallParams {
    arguments: ToolCallArguments,
}

#[derive(Debug, Deserialize)]
struct ToolCallArguments {
    workspace_id: String,
}

impl ToolCall {
    fn workspace(&self) -> Option<WorkspaceId> {
        if self.method != "tools/call" {
            return None;
        }
        self.params.arguments.workspace_id.parse().ok()
    }
}

async fn send(app: &Arc<App>, peer: &Peer, mut request: Request) -> Result<Response, Failure> {
    let Some(url) = &peer.url else {
        count(app, "unreachable");
        let detail = "the replica that has the box does not say where it is reached (`server.replica_url`)";
        return Err(Failure::new(ErrorCode::WorkspaceElsewhere, detail));
    };
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let (parts, body) = request.into_parts();
    let has_body = !body.is_end_stream();
    let relayed = RelayRequest {
        method: parts.method.clone(),
        path: path_of(&parts.uri).to_owned(),
        headers: marked_headers(app, peer, &parts),
        body: has_body.then(|| body.into_data_stream().map_err(Into::into).boxed() as _),
    };
    let answer = match app.relay.pass_on(url, relayed).await {
        Ok(answer) => answer,
        Err(error) => return Err(unanswered(app, peer, &error)),
    };
    if answer.headers.get(MARK_HEADER).is_some_and(|value| value == REFUSED) {
        count(app, "refused");
        tracing::warn!(
            replica.name = peer.name,
            "a replica does not believe what is passed on to it: do both have the same key for secrets, and the right time?"
        );
        let detail = "the replica that has the box does not believe this one: their keys or clocks differ";
        return Err(Failure::new(ErrorCode::WorkspaceElsewhere, detail));
    }
    count(app, "answered");
    if answer.status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(join(app, peer, upgrade, answer));
    }
    Ok(stream(app, &parts.method, answer))
}

fn count(app: &App, outcome: &'static str) {
    app.telemetry.counter("warren_requests_forwarded_total", &[("outcome", outcome)]).increment(1);
}

fn marked_headers(app: &App, peer: &Peer, parts: &Parts) -> HeaderMap {
    let mut headers = parts.headers.clone();
    let is_upgrade = wants_upgrade(&headers);
    if !is_upgrade {
        headers.remove(header::UPGRADE);
    }
    let request_id = parts.extensions.get::<CurrentRequest>().map(|current| current.0.clone());
    let mark = Mark {
        from: app.fleet.box_holders.name().to_owned(),
        request_id: request_id.unwrap_or_default(),
        at: app.clock.now(),
    };
    let marked = MarkedRequest { to: &peer.name, method: &parts.method, path: path_of(&parts.uri) };
    let keys = app.fleet.sealer.derived_keys(MARK_PURPOSE);
    if let Some(key) = keys.first()
        && let Ok(value) = HeaderValue::from_str(&mark.sign(key, marked))
    {
        headers.insert(MARK_HEADER, value);
    }
    headers
}

fn unanswered(app: &App, peer: &Peer, error: &CallError) -> Failure {
    tracing::warn!(replica.name = peer.name, %error, "a request could not be passed on");
    if error.may_have_been_sent() {
        count(app, "lost");
        return ErrorCode::ReplicaLost.into();
    }
    count(app, "unreachable");
    Failure::new(ErrorCode::WorkspaceElsewhere, "the replica that has the box does not answer")
}

/// The answer as it comes. An event stream ends with this server, which would have to wait for it otherwise; its client
/// connects again.
fn stream(app: &App, method: &Method, answer: Relayed) -> Response {
    let (status, headers) = (answer.status, answer.headers.clone());
    let is_event_stream = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
    let pieces = answer.into_stream();
    let body = if is_event_stream && method == Method::GET {
        Body::from_stream(pieces.take_until(app.stopping.clone().cancelled_owned()))
    } else {
        Body::from_stream(pieces)
    };
    let mut response = (status, body).into_response();
    *response.headers_mut() = headers;
    response
}

/// Joins the client's connection with the one to the other replica, until either ends or this server stops.
fn join(app: &Arc<App>, peer: &Peer, upgrade: Option<OnUpgrade>, answer: Relayed) -> Response {
    let Some(upgrade) = upgrade else {
        return Failure::internal("a connection that cannot be upgraded").into_response();
    };
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    *response.headers_mut() = answer.headers.clone();
    let stopping = app.stopping.clone();
    let span = tracing::info_span!("server.forwarding.join", replica.name = peer.name);
    let joined = async move {
        let (Ok(client), Ok(mut holder)) = tokio::join!(upgrade, answer.into_connection()) else { return };
        let mut client = TokioIo::new(client);
        tokio::select! {
            () = stopping.cancelled() => {}
            ended = tokio::io::copy_bidirectional(&mut client, &mut holder) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection that was passed on ended early");
                }
            }
        }
    };
    tokio::spawn(joined.instrument(span));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    // O10
    #[test]
    fn a_server_is_reached_where_it_listens_unless_that_is_loopback_or_anywhere() {
        let at = |text: &str| reached_at(text.parse().unwrap());
        assert_eq!(at("10.0.0.7:7878").as_deref(), Some("http://10.0.0.7:7878"));
        assert_eq!(at("[fd00::7]:7878").as_deref(), Some("http://[fd00::7]:7878"));
        for unreachable in ["127.0.0.1:7878", "[::1]:7878", "0.0.0.0:7878", "[::]:7878"] {
            assert_eq!(at(unreachable), None, "{unreachable}");
        }
    }

    // O10: a route that uses a box and is not listed would fail at every other replica
    #[test]
    fn every_listed_route_is_one_of_the_api() {
        let document = serde_json::to_value(crate::openapi::document()).unwrap();
        for route in BOX_ROUTES.into_iter().chain(["/api/v1/workspaces/{id}/tools"]) {
            assert!(document["paths"].get(route).is_some(), "{route}");
        }
    }
}
