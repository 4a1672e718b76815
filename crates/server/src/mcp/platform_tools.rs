//! What the platform offers as tools: a small set of what the API can do.
//!
//! A tool reads its arguments into the types that the API's requests have, and calls the services that its handlers call.

mod definitions;

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::Value;

pub(super) use self::definitions::{OfferedTools, PlatformTools};
use super::answer;
use super::arguments::{Nothing, read, read_with_workspace};
use super::call_context::CallContext;
use crate::convert;
use crate::problem::Failure;
use crate::requests::watch::{WatchParams, wait_for_changes};
use crate::requests::workspaces::{RemoveParams, ShowParams};
use crate::requests::{commands, workspaces};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlatformTool {
    ListWorkspaces,
    GetWorkspace,
    CreateWorkspace,
    RemoveWorkspace,
    PauseWorkspace,
    ResumeWorkspace,
    RestartWorkspace,
    Exec,
    ListWorkspaceTools,
    CallWorkspaceTool,
    WatchFiles,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallWorkspaceTool {
    tool: String,
    #[serde(default)]
    arguments: JsonObject,
}

/// Calls a tool, if it is one of those offered.
pub(super) async fn call(
    context: &CallContext,
    tools: &OfferedTools,
    name: &str,
    arguments: JsonObject,
) -> Option<Result<Value, Failure>> {
    let tool = tools.named(name)?;
    Some(context.carry_out(Box::pin(run(context, tool, arguments))).await)
}

async fn run(context: &CallContext, tool: PlatformTool, arguments: JsonObject) -> Result<Value, Failure> {
    let CallContext { app, who, .. } = context;
    match tool {
        PlatformTool::ListWorkspaces => answer::to_json(workspaces::list(app, who, read(arguments)?).await?),
        PlatformTool::GetWorkspace => {
            let (id, params): (_, ShowParams) = read_with_workspace(arguments)?;
            let shown = workspaces::show(app, who, id, &params).await?;
            answer::to_json(workspaces::to_wire(app, who, &shown).await?)
        }
        PlatformTool::CreateWorkspace => {
            let made = workspaces::create(app, who, read(arguments)?).await?;
            answer::to_json(workspaces::fresh(app, &made))
        }
        PlatformTool::RemoveWorkspace => {
            let (id, RemoveParams { purge }) = read_with_workspace(arguments)?;
            let removal = app.fleet.workspaces.remove(who, id, None, purge).await?;
            answer::to_json(workspaces::removed(app, &removal))
        }
        PlatformTool::PauseWorkspace => {
            let (id, Nothing {}) = read_with_workspace(arguments)?;
            let paused = app.fleet.lifecycle.pause(who, id).await?;
            answer::to_json(workspaces::to_wire(app, who, &paused).await?)
        }
        PlatformTool::ResumeWorkspace => {
            let (id, Nothing {}) = read_with_workspace(arguments)?;
            let resumed = app.fleet.lifecycle.resume(who, id).await?;
            answer::to_json(workspaces::to_wire(app, who, &resumed).await?)
        }
        PlatformTool::RestartWorkspace => {
            let (id, Nothing {}) = read_with_workspace(arguments)?;
            let restarted = app.fleet.lifecycle.restart(who, id).await?;
            answer::to_json(workspaces::to_wire(app, who, &restarted).await?)
        }
        PlatformTool::Exec => {
            let (id, command) = read_with_workspace(arguments)?;
            answer::to_json(commands::run(app, who, id, command).await?)
        }
        PlatformTool::ListWorkspaceTools => {
            let (id, Nothing {}) = read_with_workspace(arguments)?;
            answer::to_json(convert::tool_catalog(app.operations.tools.catalog(who, id).await?))
        }
        PlatformTool::CallWorkspaceTool => {
            let (id, CallWorkspaceTool { tool, arguments }) = read_with_workspace(arguments)?;
            let outcome = app.operations.tools.call(who, id, &tool, Value::Object(arguments)).await?;
            answer::to_json(convert::tool_answer(outcome))
        }
        PlatformTool::WatchFiles => {
            let (id, params): (_, WatchParams) = read_with_workspace(arguments)?;
            let (path, wait) = params.read()?;
            answer::to_json(wait_for_changes(app, who, id, &path, wait).await?)
        }
    }
}
