//! A terminal over a WebSocket: starts a shell in a workspace, or attaches to a process that is there.
//!
//! The process outlives the connection unless told otherwise, and its latest output is kept, so that whoever comes
//! back sees what happened meanwhile.

mod session;

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::StreamExt as _;
use http::{HeaderMap, header};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;
use warren_api::{Problem, TerminalFrame};
use warren_model as model;
use warren_model::ErrorCode;
use warren_service::Identity;
use warren_service::ProcessDeed;
use warren_workspace::shell::{Command, ProcessId, ProcessInfo, PtySize, Signal, Start};
use warren_workspace::{SecretVariables, Workspace, WorkspacePath};

use self::session::Session;
use super::processes::{find, start_process};
use super::{place, shell_of};
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{PathId, Query};
use crate::problem::Failure;
use crate::standing::Standing;

/// What one message of a client may hold: a paste comes in pieces.
const MAX_INCOMING_BYTES: usize = 64 << 10;
/// Output that may wait in a connection; one message is sent after the other, so that this is never reached.
const MAX_WAITING_BYTES: usize = 1 << 20;
const DEFAULT_SIZE: PtySize = PtySize { rows: 24, columns: 80 };
/// The shell of a workspace: the better one where it is there.
const SHELL: &str = "command -v bash >/dev/null 2>&1 && exec bash; exec sh";

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
    let action = ProcessDeed::Type.action();
    let row = app.fleet.workspaces.usable(&who, action, id).await?;
    refuse_cookie_without_origin(&headers)?;
    let upgrade = upgrade.map_err(|error| Failure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let place = place(&app)?;
    let secrets = app.fleet.secrets.variables(&row).await?;
    let attachment = attach(&app, &who, &row, params).await?;
    let standing = Standing { app, who, action, workspace_id: id, ends_with_server: true };
    let upgrade = upgrade
        .max_message_size(MAX_INCOMING_BYTES)
        .max_frame_size(MAX_INCOMING_BYTES)
        .max_write_buffer_size(MAX_WAITING_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve(socket, attachment, secrets, standing, place)))
}

/// A page's cookie travels with every connection that any page opens. The guard refuses a wrong Origin; here, where a
/// GET starts something, it must not be missing either (sec/W01).
fn refuse_cookie_without_origin(headers: &HeaderMap) -> Result<(), Failure> {
    let is_by_cookie = !headers.contains_key(header::AUTHORIZATION);
    if is_by_cookie && !headers.contains_key(header::ORIGIN) {
        return Err(ErrorCode::OriginNotAllowed.into());
    }
    Ok(())
}

async fn attach(
    app: &Arc<App>,
    who: &Identity,
    row: &model::Workspace,
    params: TerminalParams,
) -> Result<Attachment, Failure> {
    let asks_for_size = params.rows.is_some() || params.columns.is_some();
    let rows = params.rows.unwrap_or(DEFAULT_SIZE.rows);
    let size = convert::pty_size_from("", rows, params.columns.unwrap_or(DEFAULT_SIZE.columns))?;
    let ends_with_connection = params.ends_with_connection;
    let Some(number) = params.process else {
        let mut command = Command::script(params.command.as_deref().unwrap_or(SHELL));
        if let Some(cwd) = &params.cwd {
            command.cwd = WorkspacePath::parse(cwd)?;
        }
        let (workspace, process) = start_process(app, who, row, Start { command, pty: Some(size) }).await?;
        return Ok(Attachment { workspace, process, offset: 0, ends_with_connection, is_unknown: true });
    };
    if params.command.is_some() || params.cwd.is_some() {
        let detail = "`command` and `cwd` are for a new process, not for one that is attached to";
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    let workspace = Arc::clone(app.fleet.registry.acquire(row.id).await?.workspace());
    let process = find(&*workspace, ProcessId(number)).await?;
    if asks_for_size && process.has_pty {
        shell_of(&*workspace)?.resize(process.id, size).await?;
    }
    let offset = params.offset.unwrap_or(0);
    Ok(Attachment { workspace, process, offset, ends_with_connection, is_unknown: false })
}

/// A process that a connection is for. What becomes of the process when the connection ends is decided here, however
/// it ends.
struct Attachment {
    workspace: Arc<dyn Workspace>,
    process: ProcessInfo,
    offset: u64,
    ends_with_connection: bool,
    /// Nobody has been told its number yet, so that nobody could ever attach to it.
    is_unknown: bool,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if !self.ends_with_connection && !self.is_unknown {
            return;
        }
        // Without a runtime the server is gone, and its workspaces with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (workspace, process) = (Arc::clone(&self.workspace), self.process.id);
        runtime.spawn(async move {
            let Ok(shell) = shell_of(&*workspace) else { return };
            if let Err(error) = shell.kill(process, Signal::Kill).await {
                tracing::debug!(%error, process = process.0, "a terminal's process was not ended");
            }
        });
    }
}

async fn serve(
    socket: WebSocket,
    mut attachment: Attachment,
    secrets: SecretVariables,
    standing: Standing,
    place: OwnedSemaphorePermit,
) {
    let (outgoing, incoming) = socket.split();
    let gauge = standing.app.telemetry.gauge("warren_terminals", &[]);
    gauge.increment(1.0);
    attachment.is_unknown = false;
    if let Ok(shell) = shell_of(&*attachment.workspace) {
        let shell = secrets.shell(shell);
        let session = Session::new(&shell, attachment.process.clone(), attachment.offset);
        session.serve(outgoing, incoming, standing.lost()).await;
    }
    gauge.decrement(1.0);
    drop(place);
}
