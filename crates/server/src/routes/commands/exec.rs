use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _};
use http::HeaderMap;
use warren_api::{ExecFrame, ExecRequest, ExecResult, Problem};
use warren_model as model;
use warren_service::Action;
use warren_workspace::Workspace;
use warren_workspace::shell::{Command, RunEvent, RunStream, Shell as _};

use super::record::{CommandRecord, program};
use super::{Wish, shell_of, wants_stream};
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId};
use crate::problem::{CurrentRequest, Failure};
use crate::standing::{Standing, while_standing};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Run a command to its end.
///
/// With `Accept: text/event-stream` the output comes as it is made, one `ExecFrame` per event. A client that
/// hangs up ends the command, and so does the end of its token.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/exec", operation_id = "run_command", tag = "commands",
    params(("id" = String, Path)), request_body = ExecRequest,
    responses(
        (status = 200, content((ExecResult = "application/json"), (ExecFrame = "text/event-stream"))),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(in crate::routes) async fn run(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Extension(request): Extension<CurrentRequest>,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Json(body): Json<ExecRequest>,
) -> Result<Response, Failure> {
    let command = command(body)?;
    let row = app.fleet.workspaces.usable(&who, Action::RunAnyCommand, id).await?;
    let secrets = app.fleet.secrets.variables(&row).await?;
    // Opened first: a record that begins before there is anything to run in would tell of a command that never was.
    let workspace = Arc::clone(app.fleet.registry.acquire(id).await?.workspace());
    let record = CommandRecord::begin(&app, &who, &row, program(&command));
    if wants_stream(&headers) {
        let started = match shell_of(&*workspace) {
            Ok(shell) => secrets.shell(shell).stream(command).await,
            Err(missing) => Err(missing),
        };
        let stream = match started {
            Ok(stream) => stream,
            Err(error) => {
                record.refused();
                return Err(error.into());
            }
        };
        let action = Action::RunAnyCommand;
        let standing = Standing { app, who, action, workspace_id: id, ends_with_server: false };
        let frames = frames(stream, workspace, record, standing, request.0);
        return Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response());
    }
    let outcome = app
        .fleet
        .registry
        .with(id, move |workspace| {
            let (command, secrets) = (command.clone(), secrets.clone());
            async move { secrets.shell(shell_of(&*workspace)?).run(command).await }
        })
        .await;
    match outcome {
        Ok(result) => {
            record.finished(&result);
            Ok(axum::Json(convert::exec_result(&result)).into_response())
        }
        Err(error) => {
            record.refused();
            Err(error.into())
        }
    }
}

fn command(body: ExecRequest) -> Result<Command, Failure> {
    let ExecRequest { argv, command, cwd, env, stdin, timeout_ms, spill_to } = body;
    Wish { argv, command, cwd, env, stdin, timeout_ms, spill_to }.command()
}

/// The stream as SSE. It holds the workspace, so that it stays open as long as the command runs; dropped, it ends the
/// command and writes down that it was abandoned.
fn frames(
    stream: RunStream,
    workspace: Arc<dyn Workspace>,
    record: CommandRecord,
    standing: Standing,
    request_id: String,
) -> impl Stream<Item = Result<SseEvent, Infallible>> + Send {
    let mut record = Some(record);
    let failed_id = request_id.clone();
    let frames = stream.map(move |event| {
        let _held = &workspace;
        match event {
            Ok(RunEvent::Stdout(bytes)) => ExecFrame::Stdout { base64: convert::base64(&bytes) },
            Ok(RunEvent::Stderr(bytes)) => ExecFrame::Stderr { base64: convert::base64(&bytes) },
            Ok(RunEvent::Finished(result)) => {
                if let Some(record) = record.take() {
                    record.finished(&result);
                }
                ExecFrame::Finished { result: convert::exec_result(&result) }
            }
            // The record stays open: a command that broke off is one that was abandoned.
            Err(error) => ExecFrame::Failed { problem: Failure::from(error).to_problem(&failed_id) },
        }
    });
    let farewell = move |code| ExecFrame::Failed { problem: Failure::from(code).to_problem(&request_id) };
    while_standing(frames, standing.lost(), farewell)
        .map(|frame| Ok(SseEvent::default().json_data(&frame).unwrap_or_default()))
}
