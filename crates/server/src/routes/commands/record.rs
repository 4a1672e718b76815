//! The journal of commands: whatever becomes of one, it leaves exactly one event.

use std::sync::Arc;

use tokio::time::Instant;
use warren_fleet::Use;
use warren_model::{OrgId, Principal, Workspace, WorkspaceId};
use warren_service::Identity;
use warren_workspace::shell::{Command, Invocation, ProcessInfo, ProcessState, RunResult};

use crate::App;

/// A command under way. Dropped before its end is known, it writes that it was abandoned: that is how a client that
/// hangs up shows.
#[derive(Debug)]
pub(in crate::routes) struct CommandRecord {
    app: Arc<App>,
    org_id: OrgId,
    workspace_id: WorkspaceId,
    by: Principal,
    program: String,
    started: Instant,
    is_open: bool,
}

impl CommandRecord {
    pub(in crate::routes) fn begin(app: &Arc<App>, who: &Identity, row: &Workspace, program: String) -> Self {
        Self {
            app: Arc::clone(app),
            org_id: row.org_id,
            workspace_id: row.id,
            by: who.principal.clone(),
            program,
            started: Instant::now(),
            is_open: true,
        }
    }

    pub(super) fn finished(self, result: &RunResult) {
        self.ended(result.exit_code, result.signal, result.timed_out);
    }

    pub(in crate::routes) fn ended(mut self, exit_code: Option<i32>, signal: Option<i32>, timed_out: bool) {
        self.is_open = false;
        self.write(&Use::CommandFinished {
            program: self.program.clone(),
            process: None,
            exit_code,
            signal,
            timed_out,
            was_abandoned: false,
            duration_ms: self.duration_ms(),
        });
    }

    /// A background process: its start is written now, and its end by whoever waits for it.
    pub(in crate::routes) fn started(mut self, process: &ProcessInfo) -> ProcessRecord {
        self.is_open = false;
        self.write(&Use::ProcessStarted {
            process: process.id.0,
            program: self.program.clone(),
            has_pty: process.has_pty,
        });
        ProcessRecord { record: self, process: process.id.0 }
    }

    /// It could not be carried through, and the caller is told why: there is nothing to write.
    pub(in crate::routes) fn refused(mut self) {
        self.is_open = false;
    }

    fn write(&self, what: &Use) {
        self.app.fleet.journal.record(self.org_id, self.workspace_id, self.by.clone(), what);
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

/// A background process that was started.
#[derive(Debug)]
pub(in crate::routes) struct ProcessRecord {
    record: CommandRecord,
    process: u32,
}

impl ProcessRecord {
    pub(super) fn ended(self, state: &ProcessState) {
        let ProcessState::Exited { exit_code, signal, timed_out } = *state else { return };
        self.record.write(&Use::CommandFinished {
            program: self.record.program.clone(),
            process: Some(self.process),
            exit_code,
            signal,
            timed_out,
            was_abandoned: false,
            duration_ms: self.record.duration_ms(),
        });
    }
}

/// The program's name as it was given, never its arguments.
pub(super) fn program(command: &Command) -> String {
    match &command.invocation {
        Invocation::Argv(words) => words.first().cloned().unwrap_or_default(),
        Invocation::Script(_) => "/bin/sh".to_owned(),
    }
}
