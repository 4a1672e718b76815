//! Commands in a workspace: run to their end (`exec`), in the background (`processes`), or behind a terminal
//! (`terminal`).

pub(super) mod exec;
pub(super) mod processes;
pub(super) mod terminal;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header};
use tokio::sync::OwnedSemaphorePermit;
use warren_model::ErrorCode;
use warren_workspace::WorkspacePath;
use warren_workspace::shell::{Command, Invocation};

use crate::App;
use crate::problem::Failure;

/// The fields that every request for a command has.
struct CommandFields {
    argv: Option<Vec<String>>,
    command: Option<String>,
    cwd: Option<String>,
    env: BTreeMap<String, String>,
    stdin: Option<String>,
    timeout_ms: Option<u64>,
    spill_to: Option<String>,
}

impl CommandFields {
    fn command(self) -> Result<Command, Failure> {
        let invalid = |detail: &str| Failure::new(ErrorCode::InvalidCommand, detail);
        let invocation = match (self.argv, self.command) {
            (Some(argv), None) => Invocation::Argv(argv),
            (None, Some(command)) => Invocation::Script(command),
            (Some(_), Some(_)) => return Err(invalid("send either `argv` or `command`, not both")),
            (None, None) => return Err(invalid("send `argv` or `command`")),
        };
        let path = |text: Option<String>| text.map(|text| WorkspacePath::parse(&text)).transpose();
        Ok(Command {
            invocation,
            cwd: path(self.cwd)?.unwrap_or_else(WorkspacePath::root),
            env: self.env,
            stdin: self.stdin.map_or_else(Bytes::new, Bytes::from),
            timeout_ms: self.timeout_ms,
            spill_to: path(self.spill_to)?,
            key: None,
        })
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

/// One of the places that long-lived streams share with those of events.
fn stream_place(app: &Arc<App>) -> Result<OwnedSemaphorePermit, Failure> {
    let full = |_| Failure::new(ErrorCode::TooManyRequests, "too many streams are open");
    Arc::clone(&app.event_streams).try_acquire_owned().map_err(full)
}
