use std::sync::Arc;

use axum::extract::State;
use serde_json::Value;
use warren_api::{Problem, Tool, ToolAnswer, ToolCatalog, ToolRefusal};
use warren_fleet::Use;
use warren_model as model;
use warren_service::Action;
use warren_service::Identity;
use warren_workspace::tools::{self, ToolContext, ToolError};

use super::commands::processes;
use super::commands::record::CommandRecord;
use crate::App;
use crate::auth::Caller;
use crate::extract::{Json, PathId, PathName};
use crate::problem::Failure;

/// The tools a model can be given for this workspace.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/tools", operation_id = "list_tools", tag = "tools",
    params(("id" = String, Path)),
    responses((status = 200, body = ToolCatalog), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn catalog(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<ToolCatalog>, Failure> {
    let row = app.fleet.workspaces.get(&who, Action::ReadWorkspaces, id).await?;
    let tools = tools::catalog(row.spec.capabilities).into_iter().map(|tool| Tool {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        input_schema: tool.input_schema,
    });
    let system_prompt = tools::system_prompt(row.spec.capabilities);
    Ok(axum::Json(ToolCatalog { tools: tools.collect(), system_prompt }))
}

/// Call a tool with its arguments.
///
/// A refusal by policy is an answer (`refused`), in words a model can act on; it is no error.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/tools/{name}", operation_id = "call_tool", tag = "tools",
    params(("id" = String, Path), ("name" = String, Path)), request_body = Object,
    responses((status = 200, body = ToolAnswer), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn call(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathName(name): PathName,
    Json(arguments): Json<Value>,
) -> Result<axum::Json<ToolAnswer>, Failure> {
    let row = app.fleet.workspaces.usable(&who, Action::UseWorkspace, id).await?;
    app.fleet.budgets.check(&row).await?;
    let refusals = app.fleet.tool_refusals.log()?;
    let secrets = app.fleet.secrets.variables(&row).await?;
    let context = ToolContext::new(id, &row.spec.provider, row.spec.capabilities, refusals, secrets);
    let journal = Journal::begin(&app, &who, &row, &name, &arguments);
    let outcome = tools::call_through(&app.fleet.registry, &context, &name, arguments).await;
    journal.end(outcome.as_ref().ok()).await;
    match outcome {
        Ok(result) => Ok(axum::Json(ToolAnswer { result: Some(result), refused: None })),
        Err(ToolError::Refused(refusal)) => {
            let refused = ToolRefusal {
                kind: refusal.kind.as_str().to_owned(),
                message: refusal.sentence,
                allowed: refusal.allowed,
            };
            Ok(axum::Json(ToolAnswer { result: None, refused: Some(refused) }))
        }
        Err(error) => Err(Failure::new(error.code(), error.to_string())),
    }
}

/// What a tool call leaves in the log: the same events as when a person does it, so that a page that shows files or
/// processes follows an agent's work too. Names and paths only.
struct Journal<'a> {
    app: &'a Arc<App>,
    who: &'a Identity,
    row: &'a model::Workspace,
    deed: Option<Deed>,
}

enum Deed {
    Run(CommandRecord),
    Start(CommandRecord),
    Change { operation: &'static str, path: String },
}

impl<'a> Journal<'a> {
    fn begin(
        app: &'a Arc<App>,
        who: &'a Identity,
        row: &'a model::Workspace,
        tool: &str,
        arguments: &Value,
    ) -> Self {
        let command = || CommandRecord::begin(app, who, row, program_of(arguments));
        let change = |operation, field: &str| {
            arguments[field].as_str().map(|path| Deed::Change { operation, path: path.to_owned() })
        };
        let deed = match tool {
            "workspace_run" => Some(Deed::Run(command())),
            "workspace_run_background" => Some(Deed::Start(command())),
            "workspace_write_file" | "workspace_edit_file" => change("write", "path"),
            "workspace_mkdir" => change("mkdir", "path"),
            "workspace_rm" => change("delete", "path"),
            "workspace_mv" => change("move", "to"),
            _ => None,
        };
        Self { app, who, row, deed }
    }

    /// `result` is what the tool answered, if it did anything.
    async fn end(self, result: Option<&Value>) {
        let number = |field: &str| result.and_then(|result| result[field].as_i64());
        let small = |field: &str| number(field).and_then(|number| i32::try_from(number).ok());
        match (self.deed, result) {
            (Some(Deed::Run(record)), Some(result)) => {
                record.ended(small("exit_code"), small("signal"), result["timed_out"] == true);
            }
            (Some(Deed::Start(record)), Some(_)) => {
                let process = number("process_id").and_then(|id| u32::try_from(id).ok());
                processes::record_started(self.app, self.row.id, record, process).await;
            }
            (Some(Deed::Change { operation, path }), Some(_)) => {
                let bytes = number("bytes").and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
                let what = Use::FileChanged { operation, path, bytes };
                self.app.fleet.journal.record(
                    self.row.org_id,
                    self.row.id,
                    self.who.principal.clone(),
                    &what,
                );
            }
            (Some(Deed::Run(record) | Deed::Start(record)), None) => record.refused(),
            (Some(Deed::Change { .. }), None) | (None, _) => {}
        }
    }
}

/// The first of `argv`. A command line may begin with the value of a variable, so that its words are not told.
fn program_of(arguments: &Value) -> String {
    arguments["argv"][0].as_str().unwrap_or("/bin/sh").to_owned()
}
