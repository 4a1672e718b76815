//! Events about the use of a workspace: they record what was done, and no request waits for them.

use serde_json::json;
use warren_model::{EventKind, NewEvent, OrgId, Principal, WorkspaceId, truncate_utf8};

use crate::Fleet;

/// Something that was done in a workspace. Paths and program names only: contents, arguments and variables may
/// hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    FileChanged {
        operation: &'static str,
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

impl Fleet {
    /// Records a use in the background. It is written before a clean stop; a crash may lose the last ones, which
    /// changes no state.
    pub fn record_use(&self, org_id: OrgId, workspace_id: WorkspaceId, principal: Principal, what: &Use) {
        let (kind, data) = describe(what);
        let at = self.clock().now();
        let event = NewEvent { at, kind, org_id, workspace_id: Some(workspace_id), principal, data };
        let fleet = self.clone();
        self.context().spawn(tracing::Span::none(), async move {
            if let Err(error) = fleet.append(event).await {
                tracing::warn!(workspace.id = %workspace_id, %error, "a use could not be recorded");
            }
        });
    }
}

fn describe(what: &Use) -> (EventKind, serde_json::Value) {
    match what {
        Use::FileChanged { operation, path, bytes } => {
            (EventKind::WorkspaceFileChanged, json!({ "operation": operation, "path": path, "bytes": bytes }))
        }
        Use::ProcessStarted { process, program, has_pty } => (
            EventKind::WorkspaceProcessStarted,
            json!({ "process": process, "program": truncate_utf8(program, 256), "has_pty": has_pty }),
        ),
        Use::CommandFinished {
            program,
            process,
            exit_code,
            signal,
            timed_out,
            was_abandoned,
            duration_ms,
        } => (
            EventKind::WorkspaceCommandFinished,
            json!({
                "program": truncate_utf8(program, 256),
                "process": process,
                "exit_code": exit_code,
                "signal": signal,
                "timed_out": timed_out,
                "abandoned": was_abandoned,
                "duration_ms": duration_ms,
            }),
        ),
    }
}
