//! Waiting for changes of files: for callers that ask again and again, over HTTP and MCP.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;
use warren_api::{ChangeKind, FileChange, FileChanges};
use warren_model::{ErrorCode, WorkspaceId};
use warren_operations::WatchEvent;
use warren_service::Identity;
use warren_workspace::WorkspacePath;
use warren_workspace::fs::Change;

use crate::App;
use crate::problem::Failure;

const DEFAULT_WAIT_MS: u64 = 10_000;
const MAX_WAIT_MS: u64 = 60_000;
const MAX_CHANGES: usize = 1_000;
/// After the first change, what belongs to it comes within this time: an editor writes a file in several steps.
const SETTLE: Duration = Duration::from_millis(50);

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct WatchParams {
    /// The directory or file to watch, with all below it; absent: the workspace root.
    pub(crate) path: String,
    /// How long to wait for a change; 10 seconds unless told. For JSON.
    #[param(maximum = 60000)]
    wait_ms: Option<u64>,
}

impl WatchParams {
    pub(crate) fn read(&self) -> Result<(WorkspacePath, Duration), Failure> {
        let wait_ms = self.wait_ms.unwrap_or(DEFAULT_WAIT_MS);
        if wait_ms > MAX_WAIT_MS {
            let detail = format!("wait_ms: expected 0 to {MAX_WAIT_MS}");
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
        Ok((WorkspacePath::parse(&self.path)?, Duration::from_millis(wait_ms)))
    }
}

/// Waits for the first change from now on, and for those that come right after it.
pub(crate) async fn wait_for_changes(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    path: &WorkspacePath,
    wait: Duration,
) -> Result<FileChanges, Failure> {
    let mut events = app.operations.files.watch(who, id, path, app.stopping.clone()).await?;
    let mut seen = FileChanges::default();
    let mut until = Instant::now() + wait;
    while seen.changes.len() < MAX_CHANGES {
        match tokio::time::timeout_at(until, events.next()).await {
            Ok(Some(WatchEvent::Changed(change))) => {
                if seen == FileChanges::default() {
                    until = Instant::now() + SETTLE;
                }
                match to_wire(change) {
                    Some(change) => seen.changes.push(change),
                    None => seen.lagged = true,
                }
            }
            Ok(Some(WatchEvent::Closing(code))) if seen == FileChanges::default() => return Err(code.into()),
            Ok(Some(WatchEvent::Closing(_)) | None) | Err(_) => return Ok(seen),
        }
    }
    seen.lagged = true;
    Ok(seen)
}

/// None: changes were left out.
pub(crate) fn to_wire(change: Change) -> Option<FileChange> {
    let (kind, path) = match change {
        Change::Created(path) => (ChangeKind::Created, path),
        Change::Modified(path) => (ChangeKind::Modified, path),
        Change::Removed(path) => (ChangeKind::Removed, path),
        Change::Lagged => return None,
    };
    Some(FileChange { kind, path })
}
