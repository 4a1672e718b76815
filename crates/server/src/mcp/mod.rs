//! The MCP server (S30): a workspace's tools and files at `/mcp/workspaces/{id}`, the platform at `/mcp`.
//!
//! ```text
//!   guard, token, pace ─▶ transport ─▶ rmcp ─┬▶ workspace ─▶ operations      (its tools and files)
//!   (as for the API)      (one POST)         └▶ platform, peer_tools ─▶ requests ─▶ fleet, exchange, operations
//! ```
//!
//! Nothing is decided here. A tool reads its arguments into the types of the API's requests and calls the services that
//! HTTP handlers call, mostly by the same functions (`requests`). So access, policy, secrets, budgets, audit, limits and
//! the catalog cannot differ between the two (W64).
//!
//! # No sessions
//!
//! Every POST stands alone: it is judged by its own token, and any replica can answer it, also one that was started a
//! moment ago. The current revision of the protocol (2026-07-28) has no sessions any more. Older ones make them
//! optional, and what they are for (requests from the server, subscriptions) is not offered. So there is no table of
//! sessions that could be filled, hijacked or lost, and a revoked token ends everything with the next call.
//!
//! Surprises:
//! - An older client still gets an `Mcp-Session-Id` when it initializes. It is a label and no key: it tells apart the
//!   calls of two clients that share a token, for the one thing that refers to an earlier request, cancelling it.
//! - A call is cancelled by hanging up, or by `notifications/cancelled` under the same token and label. The latter must
//!   reach the replica that runs the call; hanging up always does.
//! - An answer is plain JSON unless progress was asked for and there is some to tell: then it is a stream.

mod answer;
mod arguments;
mod call_context;
mod files;
mod in_flight;
mod peer_tools;
mod platform;
mod platform_tools;
mod transport;
mod waiting;
mod workspace;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use warren_model as model;
use warren_model::CapabilitySet;
use warren_operations::{PlaceTraits, ToolCatalog};

pub use self::transport::{Caller as TransportCaller, Cancelled, Transport};

use self::call_context::CallContext;
use self::peer_tools::PeerTools;
use self::platform::Platform;
use self::platform_tools::PlatformTools;
use self::workspace::Workspace;
use crate::App;
use crate::auth::{Caller, InsideBox};
use crate::extract::PathId;
use crate::problem::{CurrentRequest, Failure};

/// What both endpoints share.
#[derive(Debug)]
struct Shared {
    transport: Transport,
    tools: PlatformTools,
}

/// The endpoints. What tools take is told from the API's own document.
pub(crate) fn router(app: &Arc<App>, document: &serde_json::Value) -> Router<Arc<App>> {
    let shared =
        Arc::new(Shared { transport: Transport::new(app.limits()), tools: PlatformTools::new(document) });
    Router::new()
        .route("/mcp", post(serve_platform))
        .route("/mcp/workspaces/{id}", post(serve_workspace))
        .layer(Extension(shared))
}

async fn serve_platform(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Extension(shared): Extension<Arc<Shared>>,
    Extension(current): Extension<CurrentRequest>,
    request: Request,
) -> Response {
    let caller = TransportCaller { token: who.token.id.to_string(), request_id: current.0.clone() };
    let tools = shared.tools.offered_to(&who);
    let context = CallContext::new(app, who, current);
    shared.transport.serve(caller, request, |cancelled| Platform { context, tools, cancelled }).await
}

async fn serve_workspace(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Extension(shared): Extension<Arc<Shared>>,
    Extension(current): Extension<CurrentRequest>,
    request: Request,
) -> Result<Response, Failure> {
    let caller = TransportCaller { token: who.token.id.to_string(), request_id: current.0.clone() };
    // To a stranger the endpoint does not exist, as the workspace does not.
    let mut catalog = app.operations.tools.catalog(&who, id).await?;
    if request.extensions().get::<InsideBox>().is_some() {
        catalog = ToolCatalog::of(PlaceTraits { capabilities: CapabilitySet::EMPTY, ..catalog.place() });
    }
    let peers = PeerTools::of(&who, id);
    let context = CallContext::new(app, who, current);
    let make = |cancelled| Workspace { context, id, catalog, peers, cancelled };
    Ok(shared.transport.serve(caller, request, make).await)
}
