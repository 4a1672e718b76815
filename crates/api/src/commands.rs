use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// A command: either `argv` (no shell reads it) or `command` (read by `/bin/sh`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecRequest {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Clamped to the workspace's maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Keep the whole output in this file of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_to: Option<String>,
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExecResult {
    /// Absent when a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Text; bytes that are not UTF-8 are replaced, and the exact ones are in `stdout_base64`.
    pub stdout: String,
    pub stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    pub timed_out: bool,
    /// Some output was left out: head and tail are here, and a line between them says how much is not.
    pub truncated: bool,
    /// Bytes of stdout and stderr together.
    pub total_bytes: u64,
    pub duration_ms: u64,
}

/// One frame of a streamed command (`Accept: text/event-stream`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExecFrame {
    /// Base64 of what came.
    Stdout {
        base64: String,
    },
    Stderr {
        base64: String,
    },
    /// The last frame.
    Finished {
        result: ExecResult,
    },
    /// The last frame of a command that could not be carried through.
    Failed {
        problem: crate::Problem,
    },
}
