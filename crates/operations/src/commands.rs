//! Commands that are run to their end while the caller waits.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use warren_fleet::Fleet;
use warren_model::WorkspaceId;
use warren_service::{Action, Error, Identity};
use warren_workspace::shell::{Command, RunEvent, RunResult, RunStream, Shell as _};
use warren_workspace::{SecretVariables, Workspace};

use crate::access::{AccessWatch, while_allowed};
use crate::journal::{CommandRecord, program};
use crate::modules::shell_of;

#[derive(Debug, Clone)]
pub struct Commands {
    fleet: Fleet,
}

/// One piece of a command's output, or its end. `Finished` or `Failed` is the last.
#[derive(Debug)]
pub enum CommandEvent {
    Stdout(Bytes),
    Stderr(Bytes),
    Finished(RunResult),
    /// The command broke off, or the caller may no longer wait for it.
    Failed(Error),
}

/// A command's output as it is made. It keeps the workspace open; dropped before its end, it ends the command and writes
/// that the command was abandoned.
pub type CommandStream = Pin<Box<dyn Stream<Item = CommandEvent> + Send>>;

/// A command that may be run, with all that it needs.
struct Admitted {
    workspace: Arc<dyn Workspace>,
    secrets: SecretVariables,
    record: CommandRecord,
}

impl Commands {
    pub(crate) fn new(fleet: Fleet) -> Self {
        Self { fleet }
    }

    /// Runs a command to its end. A caller who drops this future ends the command.
    #[tracing::instrument(name = "operations.commands.run", skip_all, fields(workspace.id = %id))]
    pub async fn run(&self, who: &Identity, id: WorkspaceId, command: Command) -> Result<RunResult, Error> {
        let Admitted { secrets, record, .. } = self.admit(who, id, &command).await?;
        let run = move |workspace: Arc<dyn Workspace>| {
            let (command, secrets) = (command.clone(), secrets.clone());
            async move { secrets.shell(shell_of(&*workspace)?).run(command).await }
        };
        match self.fleet.registry.with(id, run).await {
            Ok(result) => {
                record.finished(&result).written().await;
                Ok(result)
            }
            Err(error) => {
                record.refused();
                Err(error.into())
            }
        }
    }

    /// Runs a command and hands out its output as it is made. It ends with the caller's access.
    #[tracing::instrument(name = "operations.commands.stream", skip_all, fields(workspace.id = %id))]
    pub async fn stream(
        &self,
        who: &Identity,
        id: WorkspaceId,
        command: Command,
    ) -> Result<CommandStream, Error> {
        let Admitted { workspace, secrets, record } = self.admit(who, id, &command).await?;
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
        let access = AccessWatch {
            fleet: self.fleet.clone(),
            who: who.clone(),
            action: Action::RunAnyCommand,
            workspace_id: id,
            ends_with: None,
        };
        let last = |code| CommandEvent::Failed(Error::new(code));
        Ok(while_allowed(recorded(stream, workspace, record), access.lost(), last).boxed())
    }

    async fn admit(&self, who: &Identity, id: WorkspaceId, command: &Command) -> Result<Admitted, Error> {
        let fleet = &self.fleet;
        let row = fleet.workspaces.usable(who, Action::RunAnyCommand, id).await?;
        let secrets = fleet.secrets.variables(&row).await?;
        // Opened first: a record that begins before there is anything to run in would tell of a command that never was.
        let workspace = Arc::clone(fleet.registry.acquire(id).await?.workspace());
        let record = CommandRecord::begin(&self.fleet, who, &row, program(command));
        Ok(Admitted { workspace, secrets, record })
    }
}

/// The stream with its record. It holds the workspace, so that it stays open as long as the command runs.
fn recorded(
    stream: RunStream,
    workspace: Arc<dyn Workspace>,
    record: CommandRecord,
) -> impl Stream<Item = CommandEvent> + Send {
    let mut record = Some(record);
    stream.then(move |event| {
        let _held = &workspace;
        let recorded = match &event {
            Ok(RunEvent::Finished(result)) => record.take().map(|record| record.finished(result)),
            // After an error the record stays open: a command that broke off is one that was abandoned.
            Ok(RunEvent::Stdout(_) | RunEvent::Stderr(_)) | Err(_) => None,
        };
        async move {
            if let Some(recorded) = recorded {
                recorded.written().await;
            }
            match event {
                Ok(RunEvent::Stdout(bytes)) => CommandEvent::Stdout(bytes),
                Ok(RunEvent::Stderr(bytes)) => CommandEvent::Stderr(bytes),
                Ok(RunEvent::Finished(result)) => CommandEvent::Finished(result),
                Err(error) => CommandEvent::Failed(error.into()),
            }
        }
    })
}
