//! The journal of what is done in workspaces. Whatever becomes of a command, it leaves exactly one event; a background
//! process leaves one for its start and one for its end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use warren_fleet::{Fleet, Recorded, Use};
use warren_model::{ErrorCode, FileChange, OrgId, Principal, Workspace as Row, WorkspaceId};
use warren_service::Identity;
use warren_workspace::shell::{Command, Invocation, Poll, ProcessId, ProcessInfo, ProcessState, RunResult};
use warren_workspace::{Workspace, WorkspacePath};

use crate::modules::shell_of;

/// How long one wait for a process's end holds its workspace.
pub(crate) const END_WAIT_MS: u64 = 10_000;
/// However soon a provider answers, it is not asked more often than this.
const END_PAUSE: Duration = Duration::from_secs(1);

/// Writes that a file or directory was changed.
pub(crate) fn file_changed(
    fleet: &Fleet,
    who: &Identity,
    row: &Row,
    change: FileChange,
    path: &WorkspacePath,
    bytes: u64,
) {
    let what = Use::FileChanged { operation: change, path: path.as_str().to_owned(), bytes };
    fleet.journal.record(row.org_id, row.id, who.principal.clone(), &what);
}

/// A command under way. Dropped before its end is known, it writes that it was abandoned: that is how a client that
/// hangs up shows.
#[derive(Debug)]
pub(crate) struct CommandRecord {
    fleet: Fleet,
    org_id: OrgId,
    workspace_id: WorkspaceId,
    by: Principal,
    program: String,
    started: Instant,
    is_open: bool,
}

impl CommandRecord {
    pub(crate) fn begin(fleet: &Fleet, who: &Identity, row: &Row, program: &str) -> Self {
        Self {
            fleet: fleet.clone(),
            org_id: row.org_id,
            workspace_id: row.id,
            by: who.principal.clone(),
            program: program.to_owned(),
            started: Instant::now(),
            is_open: true,
        }
    }

    pub(crate) fn finished(self, result: &RunResult) -> Recorded {
        self.ended(result.exit_code, result.signal, result.timed_out)
    }

    pub(crate) fn ended(mut self, exit_code: Option<i32>, signal: Option<i32>, timed_out: bool) -> Recorded {
        self.is_open = false;
        self.write(&Use::CommandFinished {
            program: self.program.clone(),
            process: None,
            exit_code,
            signal,
            timed_out,
            was_abandoned: false,
            duration_ms: self.duration_ms(),
        })
    }

    /// A background process: its start is written now, and its end by a task that waits for it. That task holds the
    /// workspace weakly: waiting for a process must not keep the place of an evicted workspace alive.
    pub(crate) fn started(mut self, workspace: &Arc<dyn Workspace>, process: &ProcessInfo) {
        self.is_open = false;
        self.write(&Use::ProcessStarted {
            process: process.id.0,
            program: self.program.clone(),
            has_pty: process.has_pty,
        });
        let span = tracing::info_span!(
            parent: None, "operations.processes.end", workspace.id = %self.workspace_id, process = process.id.0
        );
        let context = self.fleet.context.clone();
        context.spawn(span, self.write_end(Arc::downgrade(workspace), process.id));
    }

    /// It could not be carried through, and the caller is told why: there is nothing to write.
    pub(crate) fn refused(mut self) {
        self.is_open = false;
    }

    /// Waits for the end of a process. When Warren stops first, `server.process.stopping` is the last event about it.
    async fn write_end(self, workspace: Weak<dyn Workspace>, id: ProcessId) {
        // An offset behind all output: there is nothing to read, so only the end of the process is an answer.
        let poll = Poll { offset: u64::MAX, max_bytes: 1, wait_ms: END_WAIT_MS };
        let mut pause = tokio::time::interval(END_PAUSE);
        loop {
            tokio::select! {
                _ = pause.tick() => {}
                () = self.fleet.context.stopping().cancelled() => return,
            }
            let Some(workspace) = workspace.upgrade() else { return };
            let Ok(shell) = shell_of(&*workspace) else { return };
            let polled = tokio::select! {
                polled = shell.poll(id, poll) => polled,
                () = self.fleet.context.stopping().cancelled() => return,
            };
            match polled {
                Ok(polled) if polled.state == ProcessState::Running => {}
                Ok(polled) => return self.process_ended(id, &polled.state),
                // Too many wait for this process at the moment; a little later there is room.
                Err(error) if error.code() == ErrorCode::TooManyRequests => {}
                Err(error) => {
                    tracing::debug!(%error, "the end of a process was not seen");
                    return;
                }
            }
        }
    }

    fn process_ended(&self, process: ProcessId, state: &ProcessState) {
        let ProcessState::Exited { exit_code, signal, timed_out } = *state else { return };
        self.write(&Use::CommandFinished {
            program: self.program.clone(),
            process: Some(process.0),
            exit_code,
            signal,
            timed_out,
            was_abandoned: false,
            duration_ms: self.duration_ms(),
        });
    }

    fn write(&self, what: &Use) -> Recorded {
        self.fleet.journal.record(self.org_id, self.workspace_id, self.by.clone(), what)
    }

    fn duration_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for CommandRecord {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        self.write(&Use::CommandFinished {
            program: self.program.clone(),
            process: None,
            exit_code: None,
            signal: None,
            timed_out: false,
            was_abandoned: true,
            duration_ms: self.duration_ms(),
        });
    }
}

/// The program's name as it was given, never its arguments.
pub(crate) fn program(command: &Command) -> &str {
    match &command.invocation {
        Invocation::Argv(words) => words.first().map_or("", String::as_str),
        Invocation::Script(_) => "/bin/sh",
    }
}
