//! Events about the use of a workspace: they record what was done. Only the end of a command is waited for.

use std::time::Duration;

use tokio::task::JoinHandle;
use warren_model::event::{WorkspaceCommandFinished, WorkspaceFileChanged, WorkspaceProcessStarted};
use warren_model::{EventData, FileChange, NewEvent, OrgId, Principal, WorkspaceId, truncate_utf8};
use warren_service::Context;

/// How long the end of a command waits for its event.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that was done in a workspace. Paths and program names only: contents, arguments and variables may
/// hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    FileChanged {
        operation: FileChange,
        path: String,
        bytes: u64,
    },
    ProcessStarted {
        process: u32,
        program: String,
        has_pty: bool,
    },
    CommandFinished {
        program: String,
        /// Of a background process.
        process: Option<u32>,
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
        /// Ended because whoever waited for it hung up or was no longer allowed to.
        was_abandoned: bool,
        duration_ms: u64,
    },
}

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journal {
    context: Context,
}

impl Journal {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    /// Records a use in the background. It is written before a clean stop; a crash may lose the last ones, which
    /// changes no state. Whoever wants to answer only when the event can be read waits for [`Recorded::written`].
    pub fn record(
        &self,
        org_id: OrgId,
        workspace_id: WorkspaceId,
        principal: Principal,
        what: &Use,
    ) -> Recorded {
        let (at, data) = (self.context.now(), describe(what));
        let event = NewEvent { at, org_id, workspace_id: Some(workspace_id), principal, data };
        let context = self.context.clone();
        let span = tracing::info_span!("fleet.journal.record", workspace.id = %workspace_id);
        Recorded(self.context.spawn(span, async move {
            if let Err(error) = context.append(event).await {
                tracing::warn!(workspace.id = %workspace_id, %error, "a use could not be recorded");
            }
        }))
    }
}

/// An event that is being written, whether anybody waits for it or not.
#[derive(Debug)]
pub struct Recorded(JoinHandle<()>);

impl Recorded {
    /// Until it can be read. A database that takes longer than any healthy one holds nobody up: the command has ended, and
    /// its outcome is worth more than its record.
    pub async fn written(self) {
        if tokio::time::timeout(PATIENCE, self.0).await.is_err() {
            tracing::warn!(
                "the event of a command's end is not written yet; the command is answered without it"
            );
        }
    }
}

fn describe(what: &Use) -> EventData {
    let short = |program: &str| truncate_utf8(program, 256).to_owned();
    match what {
        Use::FileChanged { operation, path, bytes } => {
            WorkspaceFileChanged { operation: *operation, path: path.clone(), bytes: *bytes }.into()
        }
        Use::ProcessStarted { process, program, has_pty } => {
            WorkspaceProcessStarted { process: *process, program: short(program), has_pty: *has_pty }.into()
        }
        Use::CommandFinished {
            program,
            process,
            exit_code,
            signal,
            timed_out,
            was_abandoned,
            duration_ms,
        } => WorkspaceCommandFinished {
            program: short(program),
            process: *process,
            exit_code: *exit_code,
            signal: *signal,
            timed_out: *timed_out,
            abandoned: *was_abandoned,
            duration_ms: *duration_ms,
        }
        .into(),
    }
}
