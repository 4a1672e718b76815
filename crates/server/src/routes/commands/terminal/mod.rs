//! A terminal over a WebSocket: starts a shell in a workspace, or attaches to a process that is there.
//!
//! The process outlives the connection unless told otherwise, and its latest output is kept, so that whoever comes
//! back sees what happened meanwhile.

mod connection;

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::StreamExt as _;
use http::HeaderMap;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument as _;
use utoipa::IntoParams;
use warren_api::{Problem, TerminalFrame};
use warren_model as model;
use warren_model::ErrorCode;
use warren_operations::{Terminal, TerminalRequest};
use warren_workspace::WorkspacePath;
use warren_workspace::shell::{ProcessId, PtySize};

use self::connection::Connection;
use super::stream_place;
use crate::App;
use crate::auth::{Caller, refuse_cookie_without_origin};
use crate::convert;
use crate::extract::{PathId, Query};
use crate::problem::Failure;

/// What one message of a client may hold: a paste comes in pieces.
const MAX_INCOMING_BYTES: usize = 64 << 10;
/// Output that may wait in a connection; one message is sent after the other, so that this is never reached.
const MAX_WAITING_BYTES: usize = 1 << 20;
const DEFAULT_SIZE: PtySize = PtySize { rows: 24, columns: 80 };

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct TerminalParams {
    /// Attach to this process. Absent: start a shell.
    process: Option<u32>,
    /// Where its output begins; 0 unless told, which is all that is kept.
    offset: Option<u64>,
    /// Run this, read by `/bin/sh`, instead of a shell for people.
    command: Option<String>,
    /// Where to start it, relative to the workspace root.
    cwd: Option<String>,
    #[param(minimum = 1, maximum = 4096)]
    rows: Option<u16>,
    #[param(minimum = 1, maximum = 4096)]
    columns: Option<u16>,
    /// End the process with the connection. Otherwise it goes on, and can be attached to again.
    #[serde(default)]
    ends_with_connection: bool,
}

/// Work in a terminal, over a WebSocket.
///
/// Binary messages are bytes, both ways. Text messages are a `TerminalFrame` from the server and a `TerminalRequest`
/// from the client. A browser's request must carry an `Origin` that is served.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/terminal", operation_id = "open_terminal", tag = "commands",
    params(("id" = String, Path), TerminalParams),
    responses(
        (status = 101, description = "The connection is a WebSocket now.", body = TerminalFrame),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(in crate::routes) async fn socket(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Query(params): Query<TerminalParams>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let access = app.operations.terminals.admit(&who, id).await?;
    refuse_cookie_without_origin(&headers)?;
    let upgrade = upgrade.map_err(|error| Failure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let place = stream_place(&app)?;
    let ends_with_connection = params.ends_with_connection;
    let terminal = access.open(request(params)?, ends_with_connection).await?;
    let upgrade = upgrade
        .max_message_size(MAX_INCOMING_BYTES)
        .max_frame_size(MAX_INCOMING_BYTES)
        .max_write_buffer_size(MAX_WAITING_BYTES);
    let span = tracing::info_span!("server.terminal", workspace.id = %id, process = terminal.process().id.0);
    Ok(upgrade.on_upgrade(move |socket| serve(app, socket, terminal, place).instrument(span)))
}

fn request(params: TerminalParams) -> Result<TerminalRequest, Failure> {
    let asks_for_size = params.rows.is_some() || params.columns.is_some();
    let rows = params.rows.unwrap_or(DEFAULT_SIZE.rows);
    let size = convert::pty_size_from("", rows, params.columns.unwrap_or(DEFAULT_SIZE.columns))?;
    let size = asks_for_size.then_some(size);
    let Some(number) = params.process else {
        let cwd = params.cwd.as_deref().map_or(Ok(WorkspacePath::root()), WorkspacePath::parse)?;
        return Ok(TerminalRequest::Start { command: params.command, cwd, size });
    };
    if params.command.is_some() || params.cwd.is_some() {
        let detail = "`command` and `cwd` are for a new process, not for one that is attached to";
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    Ok(TerminalRequest::Attach { process: ProcessId(number), offset: params.offset.unwrap_or(0), size })
}

async fn serve(app: Arc<App>, socket: WebSocket, mut terminal: Terminal, place: OwnedSemaphorePermit) {
    let (outgoing, incoming) = socket.split();
    let gauge = app.telemetry.gauge("warren_terminals", &[]);
    gauge.increment(1.0);
    terminal.connected();
    if let Ok(shell) = terminal.shell() {
        let connection = Connection::new(&shell, terminal.process().clone(), terminal.offset());
        connection.serve(outgoing, incoming, terminal.access(app.stopping.clone()).lost()).await;
    }
    gauge.decrement(1.0);
    drop(place);
}
