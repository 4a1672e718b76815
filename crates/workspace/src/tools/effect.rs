//! What a tool call answers, and what it did to the workspace.
//!
//! The answer is for the model. The effect is for whoever keeps the workspace's journal, so that nobody has to read the
//! answer back.

use serde_json::Value;
use warren_model::FileChange;

use crate::WorkspacePath;
use crate::shell::ProcessInfo;

/// The outcome of a tool call that was carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub answer: Value,
    pub effect: ToolEffect,
}

/// What a tool call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing that a journal keeps: something was read, or a process was signalled.
    Nothing,
    FileChanged {
        change: FileChange,
        path: WorkspacePath,
        /// How large the file is now; 0 where nothing was written.
        bytes: u64,
    },
    CommandRan {
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
    },
    ProcessStarted(ProcessInfo),
}

impl ToolOutput {
    pub(super) fn unchanged(answer: Value) -> Self {
        Self { answer, effect: ToolEffect::Nothing }
    }

    pub(super) fn changed(change: FileChange, path: WorkspacePath, bytes: u64, answer: Value) -> Self {
        Self { answer, effect: ToolEffect::FileChanged { change, path, bytes } }
    }
}
