//! Background processes: started by one request, read, fed and ended by others.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    Problem, Process, ProcessFrame, ProcessInput, ProcessList, ProcessOutput, PtySize, SignalProcess,
    StartProcess,
};
use warren_model as model;
use warren_model::ErrorCode;
use warren_operations::ProcessEvent;
use warren_service::ProcessDeed;
use warren_workspace::shell::{Poll, ProcessInfo, ProcessState, Start};

use super::{stream_place, wants_stream};
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, PathProcess, Query};
use crate::problem::Failure;
use crate::requests::access_first;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const DEFAULT_OUTPUT_BYTES: u64 = 64 << 10;
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
const MAX_WAIT_MS: u64 = 60_000;

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
    let start = access_first(&app, &who, ProcessDeed::Start.action(), id, start_of(body)).await?;
    let process = app.operations.processes.start(&who, id, start).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::process(&process))))
}

fn start_of(body: StartProcess) -> Result<Start, Failure> {
    let StartProcess { argv, command, cwd, env, stdin, timeout_ms, pty } = body;
    let command =
        convert::CommandFields { argv, command, cwd, env, stdin, timeout_ms, spill_to: None }.command()?;
    let pty = pty.map(|size| convert::pty_size_from("pty.", size.rows, size.columns)).transpose()?;
    Ok(Start { command, pty })
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
    let found = app.operations.processes.list(&who, id).await?;
    let mut lines = app.operations.processes.command_lines(&who, id, &found).await?;
    let item =
        |info: &ProcessInfo| Process { command_line: lines.remove(&info.id), ..convert::process(info) };
    Ok(axum::Json(ProcessList { items: found.iter().map(item).collect() }))
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
    let found = app.operations.processes.get(&who, id, process).await?;
    Ok(axum::Json(convert::process(&found)))
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
/// it, and `Last-Event-ID` resumes. Whoever resumes behind `exited`, as an `EventSource` does by itself, is answered 204:
/// nothing follows, and it does not ask again.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/processes/{process}/output", operation_id = "read_process_output",
    tag = "commands",
    params(
        ("id" = String, Path), ("process" = u32, Path), OutputParams,
        ("Last-Event-ID" = Option<u64>, Header, description = "Wins over `offset`. For a stream."),
    ),
    responses(
        (status = 200, content((ProcessOutput = "application/json"), (ProcessFrame = "text/event-stream"))),
        (status = 204, description = "It has ended, and the caller has seen that."),
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
    let processes = &app.operations.processes;
    let action = ProcessDeed::Read.action();
    if wants_stream(&headers) {
        let resumed = access_first(&app, &who, action, id, resume_offset(&headers)).await?;
        if let Some(resumed) = resumed {
            let info = processes.get(&who, id, process).await?;
            if matches!(info.state, ProcessState::Exited { .. }) && resumed > info.output_bytes {
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
        }
        let offset = resumed.or(params.offset).unwrap_or(0);
        let events = processes.follow(&who, id, process, offset, app.stopping.clone()).await?;
        let place = stream_place(&app)?;
        let frames = events.map(move |(event, offset)| {
            let _held = &place;
            // One behind all output, so that who comes back with it is known to have seen the end.
            let is_end = matches!(event, ProcessEvent::Exited { .. });
            let id = offset + u64::from(is_end);
            let event = SseEvent::default().id(id.to_string()).json_data(frame(event, offset));
            Ok::<_, Infallible>(event.unwrap_or_default())
        });
        return Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response());
    }
    let poll = access_first(&app, &who, action, id, poll_of(&params)).await?;
    let polled = processes.output(&who, id, process, poll).await?;
    Ok(axum::Json(convert::process_output(&polled)).into_response())
}

fn poll_of(params: &OutputParams) -> Result<Poll, Failure> {
    let max_bytes = params.max_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES);
    Ok(Poll {
        offset: params.offset.unwrap_or(0),
        max_bytes: within("max_bytes", max_bytes, 1, MAX_OUTPUT_BYTES)?,
        wait_ms: within("wait_ms", params.wait_ms.unwrap_or(0), 0, MAX_WAIT_MS)?,
    })
}

/// `next_offset` is where a reader goes on after it.
fn frame(event: ProcessEvent, next_offset: u64) -> ProcessFrame {
    match event {
        ProcessEvent::Output { bytes, offset } => {
            ProcessFrame::Output { base64: convert::base64(&bytes), offset }
        }
        ProcessEvent::Exited { exit_code, signal, timed_out } => {
            ProcessFrame::Exited { exit_code, signal, timed_out }
        }
        ProcessEvent::Closing(code) => ProcessFrame::Closing { code: code.as_str().to_owned(), next_offset },
    }
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
    let bytes = access_first(&app, &who, ProcessDeed::Type.action(), id, input_bytes(body)).await?;
    app.operations.processes.write_input(&who, id, process, bytes, close).await?;
    Ok(StatusCode::NO_CONTENT)
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
    let size = convert::pty_size_from("", body.rows, body.columns);
    let size = access_first(&app, &who, ProcessDeed::Type.action(), id, size).await?;
    app.operations.processes.resize(&who, id, process, size).await?;
    Ok(StatusCode::NO_CONTENT)
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
    app.operations.processes.signal(&who, id, process, convert::signal_from(body.signal)).await?;
    Ok(StatusCode::NO_CONTENT)
}
