//! What stands at Warren's end of the doors of a box (A81).
//!
//! ```text
//!   stream out of a box ──▶ HTTP/1.1, under limits ──┬─▶ model door ──▶ agent::ModelDoor ──▶ providers
//!                                                    └─▶ tool door ──▶ the router's MCP endpoint, as the workspace
//!   stream to the web door ──▶ exchange::WebDoors, a proxy ──▶ hosts that the workspace's policy grants
//! ```
//!
//! Who asks is the box that the stream came out of; no credential is looked at, and none that a program sends gets any
//! further. Every request is judged by the workspace as it stands then, so that a grant that is taken back ends at once.

mod model_door;
mod tool_door;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use http::{Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::service::TowerToHyperService;
use warren_line::{Door, LineStream, Multiplexer, OpenError, Target};
use warren_model::WorkspaceId;
use warren_service::Identity;

use crate::App;
use crate::http::serve_stream;

/// Set on a request that came through the tool door: who speaks, without a token. Nothing from outside can set it.
#[derive(Debug, Clone)]
pub(crate) struct ThroughDoor(pub(crate) Identity);

/// The doors, as this server keeps them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct BoxDoors(Arc<Inner>);

struct Inner {
    app: Arc<App>,
    router: TowerToHyperService<Router>,
    /// The name under which this server answers, for the guard.
    host: String,
}

impl std::fmt::Debug for BoxDoors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoxDoors").field("host", &self.0.host).finish_non_exhaustive()
    }
}

impl BoxDoors {
    pub(crate) fn new(app: Arc<App>, router: Router, host: String) -> Self {
        Self(Arc::new(Inner { app, router: TowerToHyperService::new(router), host }))
    }

    pub(crate) fn lines(&self) -> &BoxLines {
        &self.0.app.box_lines
    }

    /// Serves a stream out of a box to its end.
    pub(crate) async fn serve(&self, workspace: WorkspaceId, target: Target, stream: LineStream) {
        // A box reaches doors; ports are for those outside of it.
        let Target::Door(door) = target else { return };
        if door == Door::Web {
            return self.0.app.exchange.web_doors.serve(workspace, stream).await;
        }
        let doors = self.clone();
        let service = service_fn(move |request| {
            let doors = doors.clone();
            async move { Ok::<_, Infallible>(doors.answer(workspace, door, request).await) }
        });
        if let Err(error) = serve_stream(stream, self.0.app.limits(), service).await {
            tracing::debug!(workspace.id = %workspace, %door, %error, "a connection out of a box ended early");
        }
    }

    async fn answer(&self, workspace: WorkspaceId, door: Door, request: Request<Incoming>) -> Response {
        match door {
            Door::Model => model_door::answer(&self.0, workspace, request).await,
            Door::Tools => tool_door::answer(&self.0, workspace, request).await,
            // A proxy, which is no server of its own: it is served by `WebDoors`.
            Door::Web => said(StatusCode::FORBIDDEN, "this workspace reaches no network"),
        }
    }
}

/// A sentence, and the end of the connection.
fn said(status: StatusCode, sentence: &str) -> Response {
    (status, [(header::CONNECTION, "close")], format!("Warren: {sentence}\n")).into_response()
}

/// The lines of the boxes that this process has, by their workspaces: the way to ports in them.
#[derive(Debug, Default)]
pub(crate) struct BoxLines(Mutex<HashMap<WorkspaceId, Multiplexer>>);

impl BoxLines {
    /// While what it returns is held.
    pub(crate) fn enter(&self, workspace: WorkspaceId, line: &Multiplexer) -> impl Drop + '_ {
        self.lock().insert(workspace, line.clone());
        Entered { lines: self, workspace }
    }

    /// A connection to a port on the loopback of the box. Absent: nothing carries one there. Where nobody listens on the
    /// port, the stream is reset.
    #[expect(dead_code, reason = "ports of a box (W84) are reached by this once they have their routes")]
    pub(crate) fn connect(&self, workspace: WorkspaceId, port: u16) -> Option<Result<LineStream, OpenError>> {
        let line = self.lock().get(&workspace).cloned()?;
        Some(line.open(Target::Port(port)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<WorkspaceId, Multiplexer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Entered<'a> {
    lines: &'a BoxLines,
    workspace: WorkspaceId,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.lines.lock().remove(&self.workspace);
    }
}

/// How long the body of a request may take to come.
const BODY_PATIENCE: Duration = Duration::from_secs(60);
