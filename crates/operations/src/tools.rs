//! The tools that a model gets for a workspace: one implementation for HTTP, MCP and agents (W64).

use std::sync::Arc;

use serde_json::Value;
use warren_fleet::Fleet;
use warren_model::{CapabilitySet, Workspace as Row, WorkspaceId};
use warren_service::{Action, Error, Identity};
use warren_workspace::Workspace;
use warren_workspace::shell::CommandKey;
use warren_workspace::tools::{
    self, CommandStart, OutputSink, ToolCall, ToolContext, ToolDefinition, ToolEffect, ToolError, ToolIntent,
    ToolOutput,
};

use crate::command_lines::{CommandLines, line_of_call};
use crate::journal::{self, CommandRecord};

#[derive(Debug, Clone)]
pub struct Tools {
    fleet: Fleet,
    command_lines: CommandLines,
}

/// What a model is told about a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCatalog {
    pub capabilities: CapabilitySet,
    pub tools: Vec<ToolDefinition>,
    /// Empty where there is nothing to say.
    pub system_prompt: String,
    /// Whether its commands go on when Warren ends and can be taken up afterwards.
    pub keeps_commands: bool,
}

/// What the tools of a workspace depend on: two workspaces of which this is the same have the same tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlaceTraits {
    pub capabilities: CapabilitySet,
    /// Whether its commands go on when Warren ends and can be taken up afterwards.
    pub keeps_commands: bool,
}

impl PlaceTraits {
    pub fn of(row: &Row) -> Self {
        Self { capabilities: row.spec.capabilities, keeps_commands: row.spec.provider.keeps_commands() }
    }
}

impl ToolCatalog {
    pub fn of(place: PlaceTraits) -> Self {
        let PlaceTraits { capabilities, keeps_commands } = place;
        Self {
            capabilities,
            tools: tools::catalog(capabilities),
            system_prompt: tools::system_prompt(capabilities),
            keeps_commands,
        }
    }

    /// What it follows from.
    pub fn place(&self) -> PlaceTraits {
        PlaceTraits { capabilities: self.capabilities, keeps_commands: self.keeps_commands }
    }
}

/// How a call is carried out, for those who may lose sight of it.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Takes what a command writes while it runs.
    pub output: Option<OutputSink>,
    pub start: CommandStart,
}

/// What a model gets for a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    Answered(Value),
    /// The policy refuses the call, in words that a model can act on. This is no error.
    Refused(ToolRefusal),
}

/// Why the policy refuses a call, and what it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRefusal {
    /// A word that does not change, such as `program_not_allowed`.
    pub kind: &'static str,
    /// What was refused and why.
    pub sentence: String,
    /// What is allowed instead.
    pub allowed: String,
}

impl Tools {
    pub(crate) fn new(fleet: Fleet, command_lines: CommandLines) -> Self {
        Self { fleet, command_lines }
    }

    /// The tools of a workspace, by its declared capabilities.
    #[tracing::instrument(name = "operations.tools.catalog", skip_all, fields(workspace.id = %id))]
    pub async fn catalog(&self, who: &Identity, id: WorkspaceId) -> Result<ToolCatalog, Error> {
        let row = self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?;
        Ok(ToolCatalog::of(PlaceTraits::of(&row)))
    }

    /// Calls a tool. It leaves the same events as when a person does it, so that a page that shows files or processes
    /// follows an agent's work too.
    pub async fn call(
        &self,
        who: &Identity,
        id: WorkspaceId,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutcome, Error> {
        self.call_with(who, id, name, arguments, CallOptions::default()).await
    }

    /// The same, for whoever watches a command while it runs (A62) or may have to come back for it (A4). Dropped before its
    /// end, a command is ended.
    #[tracing::instrument(name = "operations.tools.call", skip_all, fields(workspace.id = %id))]
    pub async fn call_with(
        &self,
        who: &Identity,
        id: WorkspaceId,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let CallOptions { output, start } = options;
        let fleet = &self.fleet;
        let row = fleet.workspaces.usable(who, Action::UseWorkspace, id).await?;
        // What has begun is not begun again, so that it costs nothing more.
        if !matches!(start, CommandStart::TakeUp(_)) {
            fleet.budgets.check(&row).await?;
        }
        let refusals = fleet.tool_refusals.log()?;
        let secrets = fleet.secrets.variables(&row).await?;
        let context = ToolContext::new(id, &row.spec.provider, row.spec.capabilities, refusals, secrets);
        let context = ToolContext { output, start, ..context };
        match self.carry_out(who, &row, &context, name, arguments).await {
            Ok(answer) => Ok(ToolOutcome::Answered(answer)),
            Err(ToolError::Refused(refusal)) => Ok(ToolOutcome::Refused(ToolRefusal {
                kind: refusal.kind.as_str(),
                sentence: refusal.sentence,
                allowed: refusal.allowed,
            })),
            Err(error) => Err(Error::with_detail(error.code(), error.to_string())),
        }
    }

    /// Whether the workspace knows of a command that was begun with this key (A4).
    #[tracing::instrument(name = "operations.tools.knows", skip_all, fields(workspace.id = %id))]
    pub async fn knows(&self, who: &Identity, id: WorkspaceId, key: &CommandKey) -> Result<bool, Error> {
        self.fleet.workspaces.usable(who, Action::UseWorkspace, id).await?;
        let look = |workspace: Arc<dyn Workspace>| async move {
            match workspace.shell() {
                Some(shell) => shell.knows(key).await,
                None => Ok(false),
            }
        };
        let known: Result<bool, warren_workspace::Error> = self.fleet.registry.with(id, look).await;
        known.map_err(|error| Error::with_detail(error.code(), error.to_string()))
    }

    async fn carry_out(
        &self,
        who: &Identity,
        row: &Row,
        context: &ToolContext,
        name: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let line = line_of_call(&arguments);
        let call = ToolCall::check(context, name, arguments)?;
        let record = match call.intent() {
            ToolIntent::RunCommand { program } | ToolIntent::StartProcess { program } => {
                Some(CommandRecord::begin(&self.fleet, who, row, program))
            }
            ToolIntent::Other => None,
        };
        match call.run(&self.fleet.registry, context).await {
            Ok((ToolOutput { answer, effect }, workspace)) => {
                if let (ToolEffect::ProcessStarted(process), Some(line)) = (&effect, line) {
                    self.command_lines.note(row.id, process, &line);
                }
                self.write(who, row, record, effect, &workspace);
                Ok(answer)
            }
            Err(error) => {
                if let Some(record) = record {
                    record.refused();
                }
                Err(error)
            }
        }
    }

    fn write(
        &self,
        who: &Identity,
        row: &Row,
        record: Option<CommandRecord>,
        effect: ToolEffect,
        workspace: &Arc<dyn Workspace>,
    ) {
        match (effect, record) {
            (ToolEffect::FileChanged { change, path, bytes }, _) => {
                journal::file_changed(&self.fleet, who, row, change, &path, bytes);
            }
            (ToolEffect::CommandRan { exit_code, signal, timed_out }, Some(record)) => {
                record.ended(exit_code, signal, timed_out);
            }
            (ToolEffect::ProcessStarted(process), Some(record)) => record.started(workspace, &process),
            // A call that ran a program had a record.
            (ToolEffect::CommandRan { .. } | ToolEffect::ProcessStarted(_), None)
            | (ToolEffect::Nothing, _) => {}
        }
    }
}
