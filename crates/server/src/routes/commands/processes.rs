//! Background processes: started by one request, read, fed and ended by others.
//!
//! Each start has a task that waits for the end and writes it down. It holds the workspace weakly: waiting for a
//! process must not keep the place of an evicted workspace alive.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;
use warren_api::{
    Problem, Process, ProcessFrame, ProcessInput, ProcessList, ProcessOutput, PtySize, SignalProcess,
    StartProcess,
};
use warren_model as model;
use warren_model::{ErrorCode, WorkspaceId};
use warren_service::Identity;
use warren_service::ProcessDeed;
use warren_workspace::shell::{Poll, ProcessId, ProcessInfo, ProcessState, Shell, Start};
use warren_workspace::{Error, SecretVariables, Workspace};

use super::record::{CommandRecord, ProcessRecord, program};
use super::{Wish, place, shell_of, wants_stream};
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, PathProcess, Query};
use crate::problem::Failure;
use crate::standing::{Standing, while_standing};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const DEFAULT_OUTPUT_BYTES: u64 = 64 << 10;
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
const MAX_WAIT_MS: u64 = 60_000;
/// How long one wait for a process's end holds its workspace.
const END_WAIT_MS: u64 = 10_000;
/// However soon a provider answers, it is not asked more often than this.
const END_PAUSE: Duration = Duration::from_secs(1);

/// Start a process that outlives the request.
///
/// It lives until it ends, its timeout comes, it is signalled, or the workspace closes.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/processes", operation_id = "start_process", tag = "commands",
    params(("id" = String, Path)), request_body = StartProcess,
    responses((status = 201, body = Process), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(in crate::routes) async fn start(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<StartProcess>,
) -> Result<(StatusCode, axum::Json<Process>), Failure> {
    let row = app.fleet.workspaces.usable(&who, ProcessDeed::Start.action(), id).await?;
    let StartProcess { argv, command, cwd, env, stdin, timeout_ms, pty } = body;
    let command = Wish { argv, command, cwd, env, stdin, timeout_ms, spill_to: None }.command()?;
    let pty = pty.map(|size| convert::pty_size_from("pty.", size.rows, size.columns)).transpose()?;
    let (_, process) = start_process(&app, &who, &row, Start { command, pty }).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::process(&process))))
}

/// Starts it, writes that down, and sees to it that its end will be.
pub(super) async fn start_process(
    app: &Arc<App>,
    who: &Identity,
    row: &model::Workspace,
    start: Start,
) -> Result<(Arc<dyn Workspace>, ProcessInfo), Failure> {
    let secrets = app.fleet.secrets.variables(row).await?;
    app.fleet.registry.acquire(row.id).await?;
    let record = CommandRecord::begin(app, who, row, program(&start.command));
    let started = app
        .fleet
        .registry
        .with(row.id, move |workspace| {
            let (start, secrets) = (start.clone(), secrets.clone());
            async move {
                let process = start_in(&secrets.shell(shell_of(&*workspace)?), start).await?;
                Ok::<_, Error>((workspace, process))
            }
        })
        .await;
    match started {
        Ok((workspace, process)) => {
            let record = record.started(&process);
            tokio::spawn(write_end(Arc::clone(app), Arc::downgrade(&workspace), process.id, record));
            Ok((workspace, process))
        }
        Err(error) => {
            record.refused();
            Err(error.into())
        }
    }
}

/// Writes down a process that a tool started, and sees to it that its end will be.
pub(in crate::routes) async fn record_started(
    app: &Arc<App>,
    id: WorkspaceId,
    record: CommandRecord,
    process: Option<u32>,
) {
    let found = async {
        let workspace = Arc::clone(app.fleet.registry.acquire(id).await.ok()?.workspace());
        let process = find(&*workspace, ProcessId(process?)).await.ok()?;
        Some((workspace, process))
    };
    match found.await {
        Some((workspace, process)) => {
            let record = record.started(&process);
            tokio::spawn(write_end(Arc::clone(app), Arc::downgrade(&workspace), process.id, record));
        }
        None => record.refused(),
    }
}

/// Starts it and describes it as every later list will: whoever comes back to it knows it by number and time of start.
async fn start_in(shell: &dyn Shell, start: Start) -> Result<ProcessInfo, Error> {
    let started = shell.start(start).await?;
    let listed = shell.list().await.unwrap_or_default();
    Ok(listed.into_iter().find(|process| process.id == started.id).unwrap_or(started))
}

/// Waits for the end of a process. When the server stops first, `server.process.stopping` is the last word about it.
async fn write_end(app: Arc<App>, workspace: Weak<dyn Workspace>, id: ProcessId, record: ProcessRecord) {
    // An offset behind all output: nothing to read, so that only the end is worth an answer.
    let poll = Poll { offset: u64::MAX, max_bytes: 1, wait_ms: END_WAIT_MS };
    let mut pause = tokio::time::interval(END_PAUSE);
    loop {
        pause.tick().await;
        let Some(workspace) = workspace.upgrade() else { return };
        let Ok(shell) = shell_of(&*workspace) else { return };
        let polled = tokio::select! {
            polled = shell.poll(id, poll) => polled,
            () = app.stopping.cancelled() => return,
        };
        match polled {
            Ok(polled) if polled.state == ProcessState::Running => {}
            Ok(polled) => return record.ended(&polled.state),
            // Others are waiting too; a little later there is room.
            Err(error) if error.code() == ErrorCode::TooManyRequests => {}
            Err(error) => {
                tracing::debug!(%error, process = id.0, "the end of a process was not seen");
                return;
            }
        }
    }
}

/// List the processes of a workspace.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/processes", operation_id = "list_processes", tag = "commands",
    params(("id" = String, Path)),
    responses((status = 200, body = ProcessList), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(in crate::routes) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<ProcessList>, Failure> {
    app.fleet.workspaces.usable(&who, ProcessDeed::See.action(), id).await?;
    let found =
        app.fleet.registry.with(id, |workspace| async move { shell_of(&*workspace)?.list().await }).await?;
    Ok(axum::Json(ProcessList { items: found.iter().map(convert::process).collect() }))
}

/// Show one process.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/processes/{process}", operation_id = "get_process", tag = "commands",
    params(("id" = String, Path), ("process" = u32, Path)),
    responses((status = 200, body = Process), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(in crate::routes) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathProcess(process): PathProcess,
) -> Result<axum::Json<Process>, Failure> {
    app.fleet.workspaces.usable(&who, ProcessDeed::See.action(), id).await?;
    let workspace = Arc::clone(app.fleet.registry.acquire(id).await?.workspace());
    Ok(axum::Json(convert::process(&find(&*workspace, process).await?)))
}

pub(super) async fn find(workspace: &dyn Workspace, id: ProcessId) -> Result<ProcessInfo, Failure> {
    let found = shell_of(workspace)?.list().await?.into_iter().find(|process| process.id == id);
    found.ok_or_else(|| {
        let detail = format!("there is no process {} in this workspace", id.0);
        Failure::new(ErrorCode::ProcessNotFound, detail)
    })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct OutputParams {
    /// The byte to begin at; 0 unless told.
    offset: Option<u64>,
    /// At most so many; 65536 unless told. For JSON.
    #[param(minimum = 1, maximum = 1048576)]
    max_bytes: Option<u64>,
    /// How long to wait for something new; not at all unless told. For JSON.
    #[param(maximum = 60000)]
    wait_ms: Option<u64>,
}

/// Read the output of a process from an offset on.
///
/// With `Accept: text/event-stream` it comes as it is made, one `ProcessFrame` per event; `id` is the offset behind
/// it, and `Last-Event-ID` resumes.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/processes/{process}/output", operation_id = "read_process_output",
    tag = "commands",
    params(
        ("id" = String, Path), ("process" = u32, Path), OutputParams,
        ("Last-Event-ID" = Option<u64>, Header, description = "Wins over `offset`. For a stream."),
    ),
    responses(
        (status = 200, content((ProcessOutput = "application/json"), (ProcessFrame = "text/event-stream"))),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(in crate::routes) async fn output(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathProcess(process): PathProcess,
    headers: HeaderMap,
    Query(params): Query<OutputParams>,
) -> Result<Response, Failure> {
    let action = ProcessDeed::Read.action();
    let row = app.fleet.workspaces.usable(&who, action, id).await?;
    let secrets = app.fleet.secrets.variables(&row).await?;
    if wants_stream(&headers) {
        let offset = resume_offset(&headers)?.or(params.offset).unwrap_or(0);
        let workspace = Arc::clone(app.fleet.registry.acquire(id).await?.workspace());
        find(&*workspace, process).await?;
        let place = place(&app)?;
        let standing = Standing { app, who, action, workspace_id: id, ends_with_server: true };
        let frames = frames(Following { workspace, secrets, process, offset, _place: place }, standing);
        return Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response());
    }
    let poll = Poll {
        offset: params.offset.unwrap_or(0),
        max_bytes: within(
            "max_bytes",
            params.max_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES),
            1,
            MAX_OUTPUT_BYTES,
        )?,
        wait_ms: within("wait_ms", params.wait_ms.unwrap_or(0), 0, MAX_WAIT_MS)?,
    };
    let polled = app
        .fleet
        .registry
        .with(id, move |workspace| {
            let secrets = secrets.clone();
            async move { secrets.shell(shell_of(&*workspace)?).poll(process, poll).await }
        })
        .await?;
    Ok(axum::Json(convert::process_output(&polled)).into_response())
}

fn within(field: &str, value: u64, min: u64, max: u64) -> Result<u64, Failure> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Failure::new(ErrorCode::InvalidRequest, format!("{field}: expected {min} to {max}")))
}

fn resume_offset(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(last) = headers.get("last-event-id") else { return Ok(None) };
    let parsed = last.to_str().ok().and_then(|text| text.parse().ok());
    let detail = "Last-Event-ID: expected an offset";
    parsed.map(Some).ok_or_else(|| Failure::new(ErrorCode::InvalidRequest, detail))
}

/// A reader of one process's output.
struct Following {
    workspace: Arc<dyn Workspace>,
    secrets: SecretVariables,
    process: ProcessId,
    offset: u64,
    _place: OwnedSemaphorePermit,
}

impl Following {
    /// The next thing to tell, and where the reader then stands.
    async fn next(&mut self) -> ProcessFrame {
        let poll = |offset| Poll { offset, max_bytes: DEFAULT_OUTPUT_BYTES, wait_ms: END_WAIT_MS };
        loop {
            let polled = match shell_of(&*self.workspace) {
                Ok(shell) => self.secrets.shell(shell).poll(self.process, poll(self.offset)).await,
                Err(missing) => Err(missing),
            };
            let polled = match polled {
                Ok(polled) => polled,
                Err(error) => return closing(error.code(), self.offset),
            };
            self.offset = polled.next_offset;
            if !polled.bytes.is_empty() {
                let base64 = convert::base64(&polled.bytes);
                return ProcessFrame::Output { base64, offset: polled.offset };
            }
            if let ProcessState::Exited { exit_code, signal, timed_out } = polled.state {
                return ProcessFrame::Exited { exit_code, signal, timed_out };
            }
        }
    }
}

fn closing(code: ErrorCode, next_offset: u64) -> ProcessFrame {
    ProcessFrame::Closing { code: code.as_str().to_owned(), next_offset }
}

/// Frames up to the end of the process, or of the reader's standing. The last one is `Exited` or `Closing`.
fn frames(
    following: Following,
    standing: Standing,
) -> impl Stream<Item = Result<SseEvent, Infallible>> + Send {
    let reached = Arc::new(AtomicU64::new(following.offset));
    let seen = Arc::clone(&reached);
    let frames = stream::unfold(Some(following), move |state| {
        let seen = Arc::clone(&seen);
        async move {
            let mut following = state?;
            let frame = following.next().await;
            let offset = following.offset;
            seen.store(offset, Ordering::Relaxed);
            let is_last = !matches!(frame, ProcessFrame::Output { .. });
            Some(((frame, offset), (!is_last).then_some(following)))
        }
    });
    let farewell = move |code| {
        let offset = reached.load(Ordering::Relaxed);
        (closing(code, offset), offset)
    };
    while_standing(frames, standing.lost(), farewell).map(|(frame, offset)| {
        Ok(SseEvent::default().id(offset.to_string()).json_data(&frame).unwrap_or_default())
    })
}

/// Write to the input of a process.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/processes/{process}/stdin", operation_id = "write_process_input",
    tag = "commands",
    params(("id" = String, Path), ("process" = u32, Path)), request_body = ProcessInput,
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(in crate::routes) async fn write_stdin(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathProcess(process): PathProcess,
    Json(body): Json<ProcessInput>,
) -> Result<StatusCode, Failure> {
    let close = body.close;
    with_process(&app, &who, ProcessDeed::Type, id, |workspace| async move {
        let bytes = input_bytes(body)?;
        Ok(shell_of(&*workspace)?.write_stdin(process, bytes, close).await?)
    })
    .await
}

fn input_bytes(body: ProcessInput) -> Result<Bytes, Failure> {
    let invalid = |detail: &str| Failure::new(ErrorCode::InvalidRequest, detail);
    match (body.text, body.base64) {
        (Some(_), Some(_)) => Err(invalid("send either `text` or `base64`, not both")),
        (Some(text), None) => Ok(text.into()),
        (None, Some(text)) => base64::engine::general_purpose::STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|error| invalid(&format!("base64: {error}"))),
        (None, None) => Ok(Bytes::new()),
    }
}

/// Change the size of a process's terminal.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/processes/{process}/resize", operation_id = "resize_process",
    tag = "commands",
    params(("id" = String, Path), ("process" = u32, Path)), request_body = PtySize,
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(in crate::routes) async fn resize(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathProcess(process): PathProcess,
    Json(body): Json<PtySize>,
) -> Result<StatusCode, Failure> {
    with_process(&app, &who, ProcessDeed::Type, id, |workspace| async move {
        let size = convert::pty_size_from("", body.rows, body.columns)?;
        Ok(shell_of(&*workspace)?.resize(process, size).await?)
    })
    .await
}

/// Signal a process and all it started.
///
/// One that has ended already is left as it is.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/processes/{process}/signal", operation_id = "signal_process",
    tag = "commands",
    params(("id" = String, Path), ("process" = u32, Path)), request_body = SignalProcess,
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(in crate::routes) async fn signal(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathProcess(process): PathProcess,
    Json(body): Json<SignalProcess>,
) -> Result<StatusCode, Failure> {
    with_process(&app, &who, ProcessDeed::Signal, id, |workspace| async move {
        Ok(shell_of(&*workspace)?.kill(process, convert::signal_from(body.signal)).await?)
    })
    .await
}

/// Does something to a process, once: after an eviction there would be nothing to do it to.
async fn with_process<F, Fut>(
    app: &Arc<App>,
    who: &Identity,
    deed: ProcessDeed,
    id: WorkspaceId,
    work: F,
) -> Result<StatusCode, Failure>
where
    F: FnOnce(Arc<dyn Workspace>) -> Fut,
    Fut: Future<Output = Result<(), Failure>>,
{
    app.fleet.workspaces.usable(who, deed.action(), id).await?;
    let workspace = Arc::clone(app.fleet.registry.acquire(id).await?.workspace());
    work(workspace).await?;
    Ok(StatusCode::NO_CONTENT)
}
