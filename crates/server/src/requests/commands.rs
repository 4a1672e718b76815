//! Commands: run to their end.

use warren_api as api;
use warren_model::WorkspaceId;
use warren_service::{Action, Identity};
use warren_workspace::shell::Command;

use super::access_first;
use crate::App;
use crate::convert;
use crate::problem::Failure;

/// The command that a request asks for.
pub(crate) async fn command(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    body: api::ExecRequest,
) -> Result<Command, Failure> {
    access_first(app, who, Action::RunAnyCommand, id, convert::command_from(body)).await
}

pub(crate) async fn run(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    body: api::ExecRequest,
) -> Result<api::ExecResult, Failure> {
    let command = command(app, who, id, body).await?;
    let result = app.operations.commands.run(who, id, command).await?;
    Ok(convert::exec_result(&result))
}
