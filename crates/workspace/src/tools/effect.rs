//! What a tool call answers, and what it did to the workspace.
//!
//! The answer is for the model. The effect is for whoever keeps the workspace's journal, so that nobody has to read the
//! answer back.

use serde_json::Value;

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

/// How a file or directory was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    Write,
    MakeDirectory,
    Delete,
    Move,
}

impl FileChange {
    /// As events spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::MakeDirectory => "mkdir",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }
}

impl ToolOutput {
    pub(super) fn unchanged(answer: Value) -> Self {
        Self { answer, effect: ToolEffect::Nothing }
    }

    pub(super) fn changed(change: FileChange, path: WorkspacePath, bytes: u64, answer: Value) -> Self {
        Self { answer, effect: ToolEffect::FileChanged { change, path, bytes } }
    }
}
