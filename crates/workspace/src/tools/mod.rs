//! The tools an LLM gets, made from the declared capabilities and only from them (W60), with one implementation for
//! HTTP, MCP and the library (W64).
//!
//! A call goes through four gates: the tool must belong to a declared capability; its arguments must fit its schema
//! (an error names the JSON path); a command must pass the policy (W61); and every answer is bounded, with a way to
//! ask for the rest. Tools for `code`, `script` and `snapshot` come with their modules.

mod arguments;
mod commands;
mod effect;
mod files;
mod schema;
mod shown;
#[cfg(test)]
mod tests;
mod text_window;

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use warren_model::{
    Capability, CapabilitySet, ErrorCode, ProviderConfig, RefusalKind, RunPolicy, WorkspaceId,
};
use warren_rules::boxes::command_policy::{self, CommandRefusal};

use self::arguments::Arguments;
pub use self::effect::{ToolEffect, ToolOutput};
pub use self::shown::OutputSink;
use crate::registry::OperationError;
use crate::shell::CommandKey;
use crate::{Error, RefusalLog, Registry, SecretVariables, Workspace};

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    pub name: &'static str,
    pub description: &'static str,
    pub input_schema: Value,
}

/// Who calls, and what they may.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub workspace_id: WorkspaceId,
    /// The declared ones: other tools do not exist.
    pub capabilities: CapabilitySet,
    pub policy: RunPolicy,
    /// Whether commands run behind an isolation boundary.
    pub is_boxed: bool,
    pub refusals: RefusalLog,
    /// What its commands get, and what no answer shows.
    pub secrets: SecretVariables,
    /// Who is shown what a command writes while it runs.
    pub output: Option<OutputSink>,
    pub start: CommandStart,
}

/// How the command of a call is begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CommandStart {
    #[default]
    Plain,
    /// So that it can be taken up again should Warren end.
    WithKey(CommandKey),
    /// It was begun before; only its end is waited for.
    TakeUp(CommandKey),
}

impl CommandStart {
    const fn key(&self) -> Option<&CommandKey> {
        match self {
            Self::Plain => None,
            Self::WithKey(key) | Self::TakeUp(key) => Some(key),
        }
    }
}

impl ToolContext {
    /// As a workspace's spec says.
    pub fn new(
        workspace_id: WorkspaceId,
        config: &ProviderConfig,
        capabilities: CapabilitySet,
        refusals: RefusalLog,
        secrets: SecretVariables,
    ) -> Self {
        let policy = config.run_policy().cloned().unwrap_or_default();
        Self {
            workspace_id,
            capabilities,
            policy,
            is_boxed: command_policy::is_boxed(config.kind()),
            refusals,
            secrets,
            output: None,
            start: CommandStart::Plain,
        }
    }
}

/// Why a call gave no result. `answer` is what a model reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("there is no tool `{name}` in this workspace; its tools: {}", available.join(", "))]
    Unknown { name: String, available: Vec<&'static str> },
    #[error("{path}: {problem}")]
    BadArguments { path: String, problem: String },
    #[error("{}; allowed: {}", .0.sentence, .0.allowed)]
    Refused(CommandRefusal),
    #[error(transparent)]
    Workspace(#[from] Error),
}

impl ToolError {
    fn bad(path: &str, problem: &str) -> Self {
        Self::BadArguments { path: path.to_owned(), problem: problem.to_owned() }
    }

    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::ToolNotFound,
            Self::BadArguments { .. } => ErrorCode::InvalidRequest,
            Self::Refused(refusal) if matches!(refusal.kind, RefusalKind::Malformed) => {
                ErrorCode::InvalidCommand
            }
            Self::Refused(_) => ErrorCode::CommandRefused,
            Self::Workspace(error) => error.code(),
        }
    }

    /// The error as a tool's answer: what went wrong, and what can be done about it.
    pub fn answer(&self) -> Value {
        let mut error = json!({"code": self.code().as_str(), "message": self.to_string()});
        match self {
            Self::Refused(refusal) => {
                error["refused"] = json!(refusal.sentence);
                error["allowed"] = json!(refusal.allowed);
            }
            Self::BadArguments { path, .. } => error["path"] = json!(path),
            Self::Unknown { .. } | Self::Workspace(_) => error["remedy"] = json!(self.code().entry().remedy),
        }
        json!({ "error": error })
    }
}

impl OperationError for ToolError {
    fn eviction(&self) -> Option<&str> {
        match self {
            Self::Workspace(error) => error.eviction(),
            Self::Unknown { .. } | Self::BadArguments { .. } | Self::Refused(_) => None,
        }
    }
}

macro_rules! tools {
    ($($variant:ident($capability:ident) = $name:literal, $description:literal;)*) => {
        /// A tool.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Tool { $($variant),* }

        /// A tool with its arguments, checked.
        #[derive(Debug)]
        enum Call { $($variant(arguments::$variant)),* }

        impl Tool {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            const fn capability(self) -> Capability {
                match self { $(Self::$variant => Capability::$capability),* }
            }

            const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description),* }
            }

            fn input_schema(self) -> Value {
                match self { $(Self::$variant => schema::of::<arguments::$variant>()),* }
            }

            fn read(self, arguments: Value) -> Result<Call, ToolError> {
                match self { $(Self::$variant => read_arguments(arguments).map(Call::$variant)),* }
            }
        }
    };
}

tools! {
    ReadFile(Fs) = "workspace_read_file", "Read a file of the workspace: a range of lines or bytes. `next_offset` in the answer says where to go on; it is null at the end of the file.";
    WriteFile(Fs) = "workspace_write_file", "Write a file of the workspace. Readers see the old contents or the new, never a mixture.";
    EditFile(Fs) = "workspace_edit_file", "Replace exact text in a file of the workspace. Read the file first and copy the text exactly.";
    Ls(Fs) = "workspace_ls", "List a directory of the workspace.";
    Glob(Fs) = "workspace_glob", "Find files of the workspace by the pattern of their paths.";
    Grep(Fs) = "workspace_grep", "Search in the files of the workspace. Files too large to search are listed in `skipped`.";
    Mkdir(Fs) = "workspace_mkdir", "Make a directory in the workspace.";
    Rm(Fs) = "workspace_rm", "Remove a file or directory of the workspace.";
    Mv(Fs) = "workspace_mv", "Move or rename a file or directory of the workspace.";
    Run(Shell) = "workspace_run", "Run a program in the workspace to its end. Long output is kept head and tail.";
    RunBackground(Shell) = "workspace_run_background", "Start a program in the workspace that goes on running. Read its output with `workspace_process_output`.";
    ProcessOutput(Shell) = "workspace_process_output", "Read what a background process has written, and whether it still runs.";
    ProcessKill(Shell) = "workspace_process_kill", "Send a signal to a background process and its children.";
}

/// Every tool. Made once: a schema is generated from its type, and an agent asks for its tools at every step.
static DEFINITIONS: LazyLock<Vec<(Tool, ToolDefinition)>> = LazyLock::new(|| {
    let define = |tool: &Tool| {
        let (name, description) = (tool.name(), tool.description());
        (*tool, ToolDefinition { name, description, input_schema: tool.input_schema() })
    };
    Tool::ALL.iter().map(define).collect()
});

/// The tools of a workspace with these capabilities.
pub fn catalog(capabilities: CapabilitySet) -> Vec<ToolDefinition> {
    let is_offered = |tool: &Tool| capabilities.contains(tool.capability());
    let offered = DEFINITIONS.iter().filter(|(tool, _)| is_offered(tool));
    offered.map(|(_, definition)| definition.clone()).collect()
}

/// A short fragment per capability for a model's system prompt; empty where there is nothing to say.
pub fn system_prompt(capabilities: CapabilitySet) -> String {
    let fragments = capabilities.iter().filter_map(|capability| match capability {
        Capability::Fs => Some(
            "You have a workspace with files. Paths are relative to its root; nothing outside it can be reached. \
             Read before you edit, and search with workspace_grep and workspace_glob instead of listing everything.",
        ),
        Capability::Shell => Some(
            "You can run programs in the workspace with workspace_run. Prefer `argv`. A refusal says what is allowed: \
             adapt to it, do not work around it. Start servers and watchers with workspace_run_background.",
        ),
        Capability::Code | Capability::Script | Capability::Snapshot => None,
    });
    fragments.collect::<Vec<_>>().join("\n")
}

/// What a call is going to do, known before it is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolIntent<'a> {
    RunCommand {
        program: &'a str,
    },
    StartProcess {
        program: &'a str,
    },
    /// Anything else: it runs no program.
    Other,
}

/// A call whose arguments fit its tool and that the policy allows.
#[derive(Debug)]
pub struct ToolCall(Call);

impl ToolCall {
    /// Reads and judges a call. Wrong arguments and refusals are answered here, without opening anything; a refusal is
    /// noted once.
    pub fn check(context: &ToolContext, name: &str, arguments: Value) -> Result<Self, ToolError> {
        let call = read_call(context, name, arguments)?;
        call.judge(context)?;
        Ok(Self(call))
    }

    pub fn intent(&self) -> ToolIntent<'_> {
        match &self.0 {
            Call::Run(run) => ToolIntent::RunCommand { program: program(run.argv.as_deref()) },
            Call::RunBackground(run) => ToolIntent::StartProcess { program: program(run.argv.as_deref()) },
            Call::ReadFile(_)
            | Call::WriteFile(_)
            | Call::EditFile(_)
            | Call::Ls(_)
            | Call::Glob(_)
            | Call::Grep(_)
            | Call::Mkdir(_)
            | Call::Rm(_)
            | Call::Mv(_)
            | Call::ProcessOutput(_)
            | Call::ProcessKill(_) => ToolIntent::Other,
        }
    }

    /// Carries it out through the registry: an eviction is resolved and the call repeated (W13). Returns the workspace
    /// in which it was carried out, too.
    pub async fn run(
        &self,
        registry: &Registry,
        context: &ToolContext,
    ) -> Result<(ToolOutput, Arc<dyn Workspace>), ToolError> {
        let run = |workspace: Arc<dyn Workspace>| async move {
            let result = self.0.run(&*workspace, context).await?;
            Ok((result, workspace))
        };
        registry.with(context.workspace_id, run).await
    }
}

/// The first word of `argv`. A command line may begin with the value of a variable, so its words are not told.
fn program(argv: Option<&[String]>) -> &str {
    argv.and_then(|words| words.first()).map_or("/bin/sh", String::as_str)
}

/// Calls a tool in an open workspace.
pub async fn call(
    workspace: &dyn Workspace,
    context: &ToolContext,
    name: &str,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    read_call(context, name, arguments)?.run(workspace, context).await
}

fn offered(capabilities: CapabilitySet) -> impl Iterator<Item = Tool> {
    let tools = Tool::ALL.iter().copied();
    tools.filter(move |tool| capabilities.contains(tool.capability()))
}

fn read_call(context: &ToolContext, name: &str, arguments: Value) -> Result<Call, ToolError> {
    match offered(context.capabilities).find(|tool| tool.name() == name) {
        Some(tool) => tool.read(arguments),
        None => Err(ToolError::Unknown {
            name: warren_model::truncate_utf8(name, 64).to_owned(),
            available: offered(context.capabilities).map(Tool::name).collect(),
        }),
    }
}

fn read_arguments<T: Arguments>(arguments: Value) -> Result<T, ToolError> {
    let read: T = warren_model::from_json(arguments).map_err(|error| ToolError::BadArguments {
        path: error.path().to_string(),
        problem: error.inner().to_string(),
    })?;
    read.check()?;
    Ok(read)
}

impl Call {
    /// Whether the policy allows it. Refusals are noted here, once per call.
    fn judge(&self, context: &ToolContext) -> Result<(), ToolError> {
        match self {
            Self::Run(run) => commands::judge_run(run, context).map(|_| ()),
            Self::RunBackground(run) => commands::judge_background(run, context).map(|_| ()),
            Self::ReadFile(_)
            | Self::WriteFile(_)
            | Self::EditFile(_)
            | Self::Ls(_)
            | Self::Glob(_)
            | Self::Grep(_)
            | Self::Mkdir(_)
            | Self::Rm(_)
            | Self::Mv(_)
            | Self::ProcessOutput(_)
            | Self::ProcessKill(_) => Ok(()),
        }
    }

    async fn run(&self, workspace: &dyn Workspace, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let fs = || workspace.fs().ok_or_else(|| missing(Capability::Fs));
        let guarded = workspace.shell().map(|shell| context.secrets.shell(shell));
        let shell = || guarded.as_ref().ok_or_else(|| missing(Capability::Shell));
        match self {
            Self::ReadFile(arguments) => files::read_file(fs()?, arguments).await,
            Self::WriteFile(arguments) => files::write_file(fs()?, arguments).await,
            Self::EditFile(arguments) => files::edit_file(fs()?, arguments).await,
            Self::Ls(arguments) => files::ls(fs()?, arguments).await,
            Self::Glob(arguments) => files::glob(fs()?, arguments).await,
            Self::Grep(arguments) => files::grep(fs()?, arguments).await,
            Self::Mkdir(arguments) => files::mkdir(fs()?, arguments).await,
            Self::Rm(arguments) => files::rm(fs()?, arguments).await,
            Self::Mv(arguments) => files::mv(fs()?, arguments).await,
            Self::Run(arguments) => commands::run(shell()?, arguments, context).await,
            Self::RunBackground(arguments) => commands::run_background(shell()?, arguments, context).await,
            Self::ProcessOutput(arguments) => commands::process_output(shell()?, arguments).await,
            Self::ProcessKill(arguments) => commands::process_kill(shell()?, arguments).await,
        }
    }
}

fn missing(capability: Capability) -> ToolError {
    let detail = format!("the open workspace has no {capability}");
    ToolError::Workspace(Error::operation(ErrorCode::CapabilityMissing, detail))
}
