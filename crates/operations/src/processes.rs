//! Background processes: started by one request, read, fed and ended by others.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use warren_fleet::Fleet;
use warren_model::{ErrorCode, Workspace as Row, WorkspaceId};
use warren_rules::messages::memory::scrub;
use warren_service::{Error, Identity, ProcessDeed, Target};
use warren_workspace::shell::{
    Poll, Polled, ProcessId, ProcessInfo, ProcessState, PtySize, Shell, Signal, Start,
};
use warren_workspace::{SecretVariables, Workspace};

use crate::access::{AccessWatch, while_allowed};
use crate::command_lines::{CommandLines, line_of};
use crate::journal::{CommandRecord, END_WAIT_MS, program};
use crate::modules::shell_of;

/// Output that one event of a stream holds at most.
const FOLLOW_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone)]
pub struct Processes {
    fleet: Fleet,
    command_lines: CommandLines,
}

/// What a reader of a process's output is told. `Exited` or `Closing` is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    /// `offset` is where the bytes begin.
    Output {
        bytes: Bytes,
        offset: u64,
    },
    Exited {
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
    },
    /// The reader must stop, and why.
    Closing(ErrorCode),
}

/// Events, each with the offset at which a reader goes on after it.
pub type ProcessStream = Pin<Box<dyn Stream<Item = (ProcessEvent, u64)> + Send>>;

impl Processes {
    pub(crate) fn new(fleet: Fleet, command_lines: CommandLines) -> Self {
        Self { fleet, command_lines }
    }

    /// Starts a process that outlives the request. It lives until it ends, its timeout comes, it is signalled, or the
    /// workspace closes.
    #[tracing::instrument(name = "operations.processes.start", skip_all, fields(workspace.id = %id))]
    pub async fn start(&self, who: &Identity, id: WorkspaceId, start: Start) -> Result<ProcessInfo, Error> {
        let row = self.fleet.workspaces.usable(who, ProcessDeed::Start.action(), id).await?;
        let secrets = self.fleet.secrets.variables(&row).await?;
        let line = line_of(&start.command);
        let (_, process) = start_process(&self.fleet, who, &row, secrets, start).await?;
        self.command_lines.note(id, &process, &line);
        Ok(process)
    }

    #[tracing::instrument(name = "operations.processes.list", skip_all, fields(workspace.id = %id))]
    pub async fn list(&self, who: &Identity, id: WorkspaceId) -> Result<Vec<ProcessInfo>, Error> {
        self.fleet.workspaces.usable(who, ProcessDeed::See.action(), id).await?;
        let list = |workspace: Arc<dyn Workspace>| async move { shell_of(&*workspace)?.list().await };
        Ok(self.fleet.registry.with(id, list).await?)
    }

    /// What these processes of a workspace were started with, as far as Warren knows, with secrets masked. Whoever may not
    /// read their output is told nothing of it.
    #[tracing::instrument(name = "operations.processes.command_lines", skip_all, fields(workspace.id = %id))]
    pub async fn command_lines(
        &self,
        who: &Identity,
        id: WorkspaceId,
        processes: &[ProcessInfo],
    ) -> Result<BTreeMap<ProcessId, String>, Error> {
        let row = self.fleet.workspaces.get(who, ProcessDeed::See.action(), id).await?;
        let target = Target::Workspace { id, org_id: row.org_id };
        if who.may(ProcessDeed::Read.action(), target).is_err() {
            return Ok(BTreeMap::new());
        }
        let mut lines = self.command_lines.of(id, processes);
        if !lines.is_empty() {
            let known = self.fleet.redactors.of_workspace(&row).await?;
            lines.values_mut().for_each(|line| *line = scrub(line, &known).text);
        }
        Ok(lines)
    }

    #[tracing::instrument(name = "operations.processes.get", skip_all, fields(workspace.id = %id))]
    pub async fn get(
        &self,
        who: &Identity,
        id: WorkspaceId,
        process: ProcessId,
    ) -> Result<ProcessInfo, Error> {
        let workspace = self.reach(who, ProcessDeed::See, id).await?;
        find(&*workspace, process).await
    }

    /// Reads output from an offset on, waiting for something new as long as `poll` says.
    #[tracing::instrument(name = "operations.processes.output", skip_all, fields(workspace.id = %id))]
    pub async fn output(
        &self,
        who: &Identity,
        id: WorkspaceId,
        process: ProcessId,
        poll: Poll,
    ) -> Result<Polled, Error> {
        let row = self.fleet.workspaces.usable(who, ProcessDeed::Read.action(), id).await?;
        let secrets = self.fleet.secrets.variables(&row).await?;
        let read = move |workspace: Arc<dyn Workspace>| {
            let secrets = secrets.clone();
            async move { secrets.shell(shell_of(&*workspace)?).poll(process, poll).await }
        };
        Ok(self.fleet.registry.with(id, read).await?)
    }

    /// Output as it is made, from an offset on, up to the end of the process, of the caller's access, or until
    /// `ends_with` is cancelled.
    #[tracing::instrument(name = "operations.processes.follow", skip_all, fields(workspace.id = %id))]
    pub async fn follow(
        &self,
        who: &Identity,
        id: WorkspaceId,
        process: ProcessId,
        offset: u64,
        ends_with: CancellationToken,
    ) -> Result<ProcessStream, Error> {
        let action = ProcessDeed::Read.action();
        let row = self.fleet.workspaces.usable(who, action, id).await?;
        let secrets = self.fleet.secrets.variables(&row).await?;
        let workspace = Arc::clone(self.fleet.registry.acquire(id).await?.workspace());
        find(&*workspace, process).await?;
        let access = AccessWatch {
            fleet: self.fleet.clone(),
            who: who.clone(),
            action,
            workspace_id: id,
            ends_with: Some(ends_with),
        };
        Ok(events(OutputReader { workspace, secrets, process, offset }, access).boxed())
    }

    #[tracing::instrument(name = "operations.processes.write_input", skip_all, fields(workspace.id = %id))]
    pub async fn write_input(
        &self,
        who: &Identity,
        id: WorkspaceId,
        process: ProcessId,
        bytes: Bytes,
        close: bool,
    ) -> Result<(), Error> {
        let workspace = self.reach(who, ProcessDeed::Type, id).await?;
        Ok(shell_of(&*workspace)?.write_stdin(process, bytes, close).await?)
    }

    /// Changes the size of a process's terminal.
    #[tracing::instrument(name = "operations.processes.resize", skip_all, fields(workspace.id = %id))]
    pub async fn resize(
        &self,
        who: &Identity,
        id: WorkspaceId,
        process: ProcessId,
        size: PtySize,
    ) -> Result<(), Error> {
        let workspace = self.reach(who, ProcessDeed::Type, id).await?;
        Ok(shell_of(&*workspace)?.resize(process, size).await?)
    }

    /// Signals a process and all it started. One that has ended already is left as it is.
    #[tracing::instrument(name = "operations.processes.signal", skip_all, fields(workspace.id = %id))]
    pub async fn signal(
        &self,
        who: &Identity,
        id: WorkspaceId,
        process: ProcessId,
        signal: Signal,
    ) -> Result<(), Error> {
        let workspace = self.reach(who, ProcessDeed::Signal, id).await?;
        Ok(shell_of(&*workspace)?.kill(process, signal).await?)
    }

    /// The open workspace, for something that is done to a process once: after an eviction there would be nothing to do
    /// it to.
    async fn reach(
        &self,
        who: &Identity,
        deed: ProcessDeed,
        id: WorkspaceId,
    ) -> Result<Arc<dyn Workspace>, Error> {
        self.fleet.workspaces.usable(who, deed.action(), id).await?;
        Ok(Arc::clone(self.fleet.registry.acquire(id).await?.workspace()))
    }
}

/// Starts a process, writes that down, and sees to it that its end is written too.
pub(crate) async fn start_process(
    fleet: &Fleet,
    who: &Identity,
    row: &Row,
    secrets: SecretVariables,
    start: Start,
) -> Result<(Arc<dyn Workspace>, ProcessInfo), Error> {
    let registry = &fleet.registry;
    registry.acquire(row.id).await?;
    let record = CommandRecord::begin(fleet, who, row, program(&start.command));
    let start = move |workspace: Arc<dyn Workspace>| {
        let (start, secrets) = (start.clone(), secrets.clone());
        async move {
            let process = start_in(&secrets.shell(shell_of(&*workspace)?), start).await?;
            Ok::<_, warren_workspace::Error>((workspace, process))
        }
    };
    match registry.with(row.id, start).await {
        Ok((workspace, process)) => {
            record.started(&workspace, &process);
            Ok((workspace, process))
        }
        Err(error) => {
            record.refused();
            Err(error.into())
        }
    }
}

/// Starts a process and describes it as every later list will: a client that comes back knows it by number and time of
/// start.
async fn start_in(shell: &dyn Shell, start: Start) -> Result<ProcessInfo, warren_workspace::Error> {
    let started = shell.start(start).await?;
    let listed = shell.list().await.unwrap_or_default();
    Ok(listed.into_iter().find(|process| process.id == started.id).unwrap_or(started))
}

pub(crate) async fn find(workspace: &dyn Workspace, id: ProcessId) -> Result<ProcessInfo, Error> {
    let found = shell_of(workspace)?.list().await?.into_iter().find(|process| process.id == id);
    found.ok_or_else(|| {
        let detail = format!("there is no process {} in this workspace", id.0);
        Error::with_detail(ErrorCode::ProcessNotFound, detail)
    })
}

/// A reader of one process's output.
struct OutputReader {
    workspace: Arc<dyn Workspace>,
    secrets: SecretVariables,
    process: ProcessId,
    offset: u64,
}

impl OutputReader {
    /// The next event; afterwards `offset` is where the reader goes on.
    async fn next(&mut self) -> ProcessEvent {
        let poll = |offset| Poll { offset, max_bytes: FOLLOW_BYTES, wait_ms: END_WAIT_MS };
        loop {
            let polled = match shell_of(&*self.workspace) {
                Ok(shell) => self.secrets.shell(shell).poll(self.process, poll(self.offset)).await,
                Err(missing) => Err(missing),
            };
            let polled = match polled {
                Ok(polled) => polled,
                Err(error) => return ProcessEvent::Closing(error.code()),
            };
            self.offset = polled.next_offset;
            if !polled.bytes.is_empty() {
                return ProcessEvent::Output { bytes: polled.bytes, offset: polled.offset };
            }
            if let ProcessState::Exited { exit_code, signal, timed_out } = polled.state {
                return ProcessEvent::Exited { exit_code, signal, timed_out };
            }
        }
    }
}

/// Events up to the end of the process, or of the reader's access.
fn events(reader: OutputReader, access: AccessWatch) -> impl Stream<Item = (ProcessEvent, u64)> + Send {
    let reached = Arc::new(AtomicU64::new(reader.offset));
    let seen = Arc::clone(&reached);
    let events = stream::unfold(Some(reader), move |state| {
        let seen = Arc::clone(&seen);
        async move {
            let mut reader = state?;
            let event = reader.next().await;
            let offset = reader.offset;
            seen.store(offset, Ordering::Relaxed);
            let is_last = !matches!(event, ProcessEvent::Output { .. });
            Some(((event, offset), (!is_last).then_some(reader)))
        }
    });
    let last = move |code| (ProcessEvent::Closing(code), reached.load(Ordering::Relaxed));
    while_allowed(events, access.lost(), last)
}
