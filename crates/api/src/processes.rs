use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PtySize {
    #[schema(minimum = 1, maximum = 4096)]
    pub rows: u16,
    #[schema(minimum = 1, maximum = 4096)]
    pub columns: u16,
}

/// A process that outlives the request: either `argv` (no shell reads it) or `command` (read by `/bin/sh`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartProcess {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Relative to the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Added to an environment that is built from nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its first input; more can follow, and its input stays open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// When to end it, clamped to the workspace's maximum. Absent: it lives as long as the workspace is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// A terminal of this size instead of pipes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtySize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    Running,
    Exited,
}

/// A process of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Process {
    /// Counts from 1 while the workspace is open; opened again, it begins anew.
    pub id: u32,
    /// The program's name, without its arguments.
    pub program: String,
    /// In a list: what it was started with, with secrets masked, up to 1,000 bytes. Absent where Warren does not know it any
    /// more, for a shell, and for who may not read its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    pub state: ProcessState,
    /// Absent while it runs, and when a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// RFC 3339. Tells two processes with the same id apart.
    pub started_at: String,
    /// Bytes of output so far, stdout and stderr together.
    pub output_bytes: u64,
    pub has_pty: bool,
}

/// The processes of a workspace, by id; finished ones are kept for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessList {
    pub items: Vec<Process>,
}

/// A stretch of output, stdout and stderr in the order they came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessOutput {
    /// Text; bytes that are not UTF-8 are replaced, and the exact ones are in `output_base64`.
    pub output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_base64: Option<String>,
    /// Where it begins: later than asked if older output is no longer kept.
    pub offset: u64,
    /// Ask from here next.
    pub next_offset: u64,
    /// `exited` only once all output before the end was handed out.
    pub state: ProcessState,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
}

/// One frame of streamed output (`Accept: text/event-stream`). The SSE `id` is the offset to resume from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProcessFrame {
    /// Base64 of what came, and where it begins: later than the last end if output was lost in between.
    Output { base64: String, offset: u64 },
    /// The last frame of a process that ended.
    Exited { exit_code: Option<i32>, signal: Option<i32>, timed_out: bool },
    /// The stream ends though the process may not have; `code` says why. Go on from `next_offset`.
    Closing { code: String, next_offset: u64 },
}

/// Input for a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessInput {
    /// Text to write; or bytes, in `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Nothing more will come.
    #[serde(default)]
    pub close: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalName {
    /// As Ctrl-C does.
    Interrupt,
    /// Asks it to end.
    #[default]
    Terminate,
    /// Cannot be refused.
    Kill,
}

/// A signal for the process and all it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalProcess {
    #[serde(default)]
    pub signal: SignalName,
}

/// A text message from the server of a terminal. Binary messages are the terminal's output, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TerminalFrame {
    /// The first message: output follows from `offset` on. What is before `replay_end` was printed before this
    /// connection was made.
    Attached { process: Process, offset: u64, replay_end: u64 },
    /// Output up to `offset` is no longer kept; it goes on from there.
    Skipped { offset: u64 },
    /// Input could not be written; `code` says why. The terminal stays open.
    InputRefused { code: String },
    /// The process ended. The server closes the connection after it.
    Exited { exit_code: Option<i32>, signal: Option<i32>, timed_out: bool },
    /// The connection ends though the process may not have; `code` says why. Attach again from `next_offset`.
    Closing { code: String, next_offset: u64 },
}

/// A text message to the server of a terminal. Binary messages are what was typed, byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalRequest {
    Resize { rows: u16, columns: u16 },
}
