//! Terminals: a shell that is started for a person, or a process that a person attaches to.
//!
//! The process outlives the connection unless told otherwise, and its latest output is kept, so that whoever comes back
//! sees what happened meanwhile.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use warren_fleet::Fleet;
use warren_model::{Workspace as Row, WorkspaceId};
use warren_service::{Error, Identity, ProcessDeed};
use warren_workspace::shell::{Command, ProcessId, ProcessInfo, PtySize, Signal, Start};
use warren_workspace::{GuardedShell, SecretVariables, Workspace, WorkspacePath};

use crate::access::AccessWatch;
use crate::command_lines::CommandLines;
use crate::modules::shell_of;
use crate::processes::{find, start_process};

/// Starts the better shell where it is there.
const SHELL: &str = "command -v bash >/dev/null 2>&1 && exec bash; exec sh";
const DEFAULT_SIZE: PtySize = PtySize { rows: 24, columns: 80 };

#[derive(Debug, Clone)]
pub struct Terminals {
    fleet: Fleet,
    command_lines: CommandLines,
}

/// What a terminal is opened for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalRequest {
    Start {
        /// Read by `/bin/sh`. Absent: a shell for people.
        command: Option<String>,
        cwd: WorkspacePath,
        size: Option<PtySize>,
    },
    Attach {
        process: ProcessId,
        /// Where its output begins.
        offset: u64,
        /// Absent: the size stays as it is.
        size: Option<PtySize>,
    },
}

impl Terminals {
    pub(crate) fn new(fleet: Fleet, command_lines: CommandLines) -> Self {
        Self { fleet, command_lines }
    }

    /// Asks whether the caller may have a terminal in the workspace, before anything is opened.
    pub async fn admit(&self, who: &Identity, id: WorkspaceId) -> Result<TerminalAccess, Error> {
        let row = self.fleet.workspaces.usable(who, ProcessDeed::Type.action(), id).await?;
        let command_lines = self.command_lines.clone();
        Ok(TerminalAccess { fleet: self.fleet.clone(), command_lines, who: who.clone(), row })
    }
}

/// A caller who may have a terminal in a workspace.
#[derive(Debug)]
pub struct TerminalAccess {
    fleet: Fleet,
    command_lines: CommandLines,
    who: Identity,
    row: Row,
}

impl TerminalAccess {
    /// Starts or finds the process. `ends_with_connection`: the process is ended with the terminal.
    #[tracing::instrument(name = "operations.terminals.open", skip_all, fields(workspace.id = %self.row.id))]
    pub async fn open(self, request: TerminalRequest, ends_with_connection: bool) -> Result<Terminal, Error> {
        let Self { fleet, command_lines, who, row } = self;
        let secrets = fleet.secrets.variables(&row).await?;
        let access = AccessWatch {
            fleet: fleet.clone(),
            who: who.clone(),
            action: ProcessDeed::Type.action(),
            workspace_id: row.id,
            ends_with: None,
        };
        match request {
            TerminalRequest::Start { command, cwd, size } => {
                let line = command;
                let mut command = Command::script(line.as_deref().unwrap_or(SHELL));
                command.cwd = cwd;
                let start = Start { command, pty: Some(size.unwrap_or(DEFAULT_SIZE)) };
                let started = start_process(&fleet, &who, &row, secrets.clone(), start).await?;
                let (workspace, process) = started;
                if let Some(line) = line {
                    command_lines.note(row.id, &process, &line);
                }
                let is_unknown = true;
                Ok(Terminal {
                    workspace,
                    process,
                    offset: 0,
                    secrets,
                    access,
                    ends_with_connection,
                    is_unknown,
                })
            }
            TerminalRequest::Attach { process, offset, size } => {
                let workspace = Arc::clone(fleet.registry.acquire(row.id).await?.workspace());
                let process = find(&*workspace, process).await?;
                if let Some(size) = size.filter(|_| process.has_pty) {
                    shell_of(&*workspace)?.resize(process.id, size).await?;
                }
                let is_unknown = false;
                Ok(Terminal { workspace, process, offset, secrets, access, ends_with_connection, is_unknown })
            }
        }
    }
}

/// A process that a connection is for. What becomes of the process when the connection ends is decided here, however
/// it ends.
#[derive(Debug)]
pub struct Terminal {
    workspace: Arc<dyn Workspace>,
    process: ProcessInfo,
    offset: u64,
    secrets: SecretVariables,
    access: AccessWatch,
    ends_with_connection: bool,
    /// Nobody has been told its number yet, so nobody could ever attach to it.
    is_unknown: bool,
}

impl Terminal {
    pub fn process(&self) -> &ProcessInfo {
        &self.process
    }

    /// Where the output begins that the client wants to see.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The shell behind it, which masks the workspace's secrets.
    pub fn shell(&self) -> Result<GuardedShell<'_>, Error> {
        Ok(self.secrets.shell(shell_of(&*self.workspace)?))
    }

    /// When the client must be disconnected: its access is lost, or `ends_with` is cancelled.
    pub fn access(&self, ends_with: CancellationToken) -> AccessWatch {
        AccessWatch { ends_with: Some(ends_with), ..self.access.clone() }
    }

    /// The client is connected and learns the process's number: from here on it can come back to it.
    pub fn connected(&mut self) {
        self.is_unknown = false;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.ends_with_connection && !self.is_unknown {
            return;
        }
        // Without a runtime Warren is gone, and its workspaces with it.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (workspace, process) = (Arc::clone(&self.workspace), self.process.id);
        let span = tracing::info_span!(
            parent: None, "operations.terminals.end", workspace.id = %self.access.workspace_id, process = process.0
        );
        self.access.fleet.context.spawn(span, async move {
            let Ok(shell) = shell_of(&*workspace) else { return };
            if let Err(error) = shell.kill(process, Signal::Kill).await {
                tracing::debug!(%error, "a terminal's process was not ended");
            }
        });
    }
}
