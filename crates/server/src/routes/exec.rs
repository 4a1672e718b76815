use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::{HeaderMap, header};
use warren_api::{ExecFrame, ExecRequest, ExecResult, Problem};
use warren_fleet::access::Action;
use warren_fleet::{Identity, Use};
use warren_model as model;
use warren_model::ErrorCode;
use warren_workspace::shell::{Command, Invocation, RunEvent, RunResult, RunStream, Shell};
use warren_workspace::{Error, Workspace, WorkspacePath};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId};
use crate::problem::{CurrentRequest, Failure};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Run a command to its end.
///
/// With `Accept: text/event-stream` the output comes as it is made, one `ExecFrame` per event. A client that
/// hangs up ends the command.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/exec", operation_id = "run_command", tag = "commands",
    params(("id" = String, Path)), request_body = ExecRequest,
    responses(
        (status = 200, content((ExecResult = "application/json"), (ExecFrame = "text/event-stream"))),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn run(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Extension(request): Extension<CurrentRequest>,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Json(body): Json<ExecRequest>,
) -> Result<Response, Failure> {
    let command = command(body)?;
    let row = app.fleet.usable_workspace(&who, Action::RunAnyCommand, id).await?;
    let journal = Journal { app: Arc::clone(&app), who, row, program: program(&command) };
    if wants_stream(&headers) {
        let workspace = Arc::clone(app.fleet.registry().acquire(id).await?.workspace());
        let stream = shell_of(&*workspace)?.stream(command).await?;
        let frames = frames(stream, workspace, journal, request.0);
        return Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response());
    }
    let result = app
        .fleet
        .registry()
        .with(id, move |workspace| {
            let command = command.clone();
            async move { shell_of(&*workspace)?.run(command).await }
        })
        .await?;
    journal.finished(&result);
    Ok(axum::Json(convert::exec_result(&result)).into_response())
}

fn command(body: ExecRequest) -> Result<Command, Failure> {
    let invalid = |detail: &str| Failure::new(ErrorCode::InvalidCommand, detail);
    let invocation = match (body.argv, body.command) {
        (Some(argv), None) => Invocation::Argv(argv),
        (None, Some(command)) => Invocation::Script(command),
        (Some(_), Some(_)) => return Err(invalid("send either `argv` or `command`, not both")),
        (None, None) => return Err(invalid("send `argv` or `command`")),
    };
    let path = |text: Option<String>| text.map(|text| WorkspacePath::parse(&text)).transpose();
    Ok(Command {
        invocation,
        cwd: path(body.cwd)?.unwrap_or_else(WorkspacePath::root),
        env: body.env,
        stdin: body.stdin.map_or_else(Bytes::new, Bytes::from),
        timeout_ms: body.timeout_ms,
        spill_to: path(body.spill_to)?,
    })
}

fn program(command: &Command) -> String {
    match &command.invocation {
        Invocation::Argv(words) => words.first().cloned().unwrap_or_default(),
        Invocation::Script(_) => "/bin/sh".to_owned(),
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

fn shell_of(workspace: &dyn Workspace) -> Result<&dyn Shell, Error> {
    let missing = || Error::operation(ErrorCode::CapabilityMissing, "the workspace has no `shell`");
    workspace.shell().ok_or_else(missing)
}

/// The stream as SSE. It holds the workspace, so that it stays open as long as the command runs.
fn frames(
    stream: RunStream,
    workspace: Arc<dyn Workspace>,
    journal: Journal,
    request_id: String,
) -> impl Stream<Item = Result<SseEvent, Infallible>> + Send {
    stream.map(move |event| {
        let _held = &workspace;
        let frame = match event {
            Ok(RunEvent::Stdout(bytes)) => ExecFrame::Stdout { base64: convert::base64(&bytes) },
            Ok(RunEvent::Stderr(bytes)) => ExecFrame::Stderr { base64: convert::base64(&bytes) },
            Ok(RunEvent::Finished(result)) => {
                journal.finished(&result);
                ExecFrame::Finished { result: convert::exec_result(&result) }
            }
            Err(error) => ExecFrame::Failed { problem: Failure::from(error).to_problem(&request_id) },
        };
        Ok(SseEvent::default().json_data(&frame).unwrap_or_default())
    })
}

struct Journal {
    app: Arc<App>,
    who: Identity,
    row: model::Workspace,
    program: String,
}

impl Journal {
    fn finished(&self, result: &RunResult) {
        let what = Use::CommandFinished {
            program: self.program.clone(),
            exit_code: result.exit_code,
            signal: result.signal,
            timed_out: result.timed_out,
            duration_ms: result.duration_ms,
        };
        self.app.fleet.record_use(self.row.org_id, self.row.id, self.who.principal.clone(), &what);
    }
}
