use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use http::HeaderMap;
use warren_api::{ExecFrame, ExecRequest, ExecResult, Problem};
use warren_model as model;
use warren_operations::CommandEvent;

use super::wants_stream;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId};
use crate::problem::{CurrentRequest, Failure};
use crate::requests;

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
    let command = requests::commands::command(&app, &who, id, body).await?;
    if wants_stream(&headers) {
        let events = app.operations.commands.stream(&who, id, command).await?;
        let frames = events.map(move |event| {
            let frame = frame(event, &request.0);
            Ok::<_, Infallible>(SseEvent::default().json_data(&frame).unwrap_or_default())
        });
        return Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response());
    }
    let result = app.operations.commands.run(&who, id, command).await?;
    Ok(axum::Json(convert::exec_result(&result)).into_response())
}

fn frame(event: CommandEvent, request_id: &str) -> ExecFrame {
    match event {
        CommandEvent::Stdout(bytes) => ExecFrame::Stdout { base64: convert::base64(&bytes) },
        CommandEvent::Stderr(bytes) => ExecFrame::Stderr { base64: convert::base64(&bytes) },
        CommandEvent::Finished(result) => ExecFrame::Finished { result: convert::exec_result(&result) },
        CommandEvent::Failed(error) => {
            ExecFrame::Failed { problem: Failure::from(error).to_problem(request_id) }
        }
    }
}
