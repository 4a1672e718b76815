use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Directory,
    Symlink,
    /// A device, fifo or socket: listed, never opened.
    Special,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    /// Relative to the workspace root.
    pub path: String,
    /// The name has bytes that are not UTF-8; they are shown as U+FFFD, and the path cannot be used to open it.
    pub is_lossy: bool,
    pub kind: EntryKind,
    pub bytes: u64,
    pub modified_at: String,
    /// Permission bits, octal.
    pub mode: String,
    pub link_target: Option<String>,
}

/// A directory, sorted by path. One of more than 100,000 entries, listed with depth 1, may come in an order of its
/// own; each entry is told once either way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Listing {
    pub path: String,
    pub entries: Vec<Entry>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileWritten {
    pub path: String,
    pub bytes: u64,
    pub created: bool,
}

/// What became of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Modified,
    Removed,
}

/// A file or directory that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChange {
    pub kind: ChangeKind,
    /// Relative to the workspace root.
    pub path: String,
}

/// What changed while somebody waited; nothing, if nothing did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChanges {
    pub changes: Vec<FileChange>,
    /// Some changes were not told: list the directory again.
    pub lagged: bool,
}

/// What a watcher is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileWatchFrame {
    /// The first: what changes from now on is told.
    Watching,
    Changed {
        kind: ChangeKind,
        path: String,
    },
    /// Some changes were not told: list the directory again.
    Lagged,
    /// The last, if the server ends it, and why.
    Closing {
        code: String,
    },
}

/// Moves or renames something inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    pub from: String,
    pub to: String,
    #[serde(default)]
    pub overwrite: bool,
}
