//! Files of a box that shares no directory with its owner (W83).
//!
//! Paths are bytes relative to the workspace, without `.` and `..`; they are resolved in the box, beneath the workspace,
//! by the kernel. What the kernel refuses is told as `Failed` with its number. Handles are numbers that init chooses;
//! they go with the owner's connection.

use serde::{Deserialize, Serialize};

/// Entries of one page of a listing are at most this long together.
pub const MAX_PAGE_BYTES: usize = 96 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileCall {
    /// The thing itself: a link is not followed. Ends with `FileAnswer::Entry`.
    Stat {
        path: Vec<u8>,
    },
    /// Entries after `after` (a path), sorted by path, byte by byte. Ends with `FileAnswer::Listing`.
    List {
        path: Vec<u8>,
        depth: u32,
        after: Option<Vec<u8>>,
        limit: u32,
    },
    /// A regular file, for reading. Ends with `FileAnswer::Opened`.
    Open {
        path: Vec<u8>,
    },
    /// Ends with `FileAnswer::Piece`, empty at the end of the file.
    Read {
        handle: u32,
        offset: u64,
        max_bytes: u32,
    },
    /// A new file that nobody sees before `Commit`. Ends with `FileAnswer::Opened`.
    Stage {
        path: Vec<u8>,
        create_new: bool,
    },
    /// A file to add to, made if it is not there. Ends with `FileAnswer::Opened`, its size in the entry.
    OpenAppend {
        path: Vec<u8>,
    },
    /// More contents for what was staged or opened to add to; at most a piece. Ends with `Done`.
    Add {
        handle: u32,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Puts what was staged at its path, whole and at once; what was added to a file is there already. Either is on disk
    /// when it is answered. The handle is closed. Ends with `FileAnswer::Written`.
    Commit {
        handle: u32,
    },
    /// Ends with `Done`, also if there is no such handle. What was staged is gone.
    Close {
        handle: u32,
    },
    /// With missing parents; there already is `Done`.
    MakeDirectory {
        path: Vec<u8>,
    },
    Remove {
        path: Vec<u8>,
        recursive: bool,
    },
    /// Makes the parents of `to`.
    Rename {
        from: Vec<u8>,
        to: Vec<u8>,
        overwrite: bool,
    },
    /// Makes the parents of `to`. No file in it may be longer than `max_file_bytes`; what would take more than `max_bytes` of
    /// the disk in all is given up and cleared away (EDQUOT).
    Copy {
        from: Vec<u8>,
        to: Vec<u8>,
        recursive: bool,
        overwrite: bool,
        max_file_bytes: u64,
        max_bytes: u64,
    },
    /// Changes below a directory, from now on. Ends with `FileAnswer::Opened`.
    Watch {
        path: Vec<u8>,
    },
    /// Waits until there are changes. Ends with `FileAnswer::Changes`.
    Changes {
        handle: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileAnswer {
    Entry(FileEntry),
    Listing {
        entries: Vec<FileEntry>,
        has_more: bool,
    },
    Opened {
        handle: u32,
        entry: FileEntry,
        created: bool,
    },
    Piece {
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Whether the file was not there before.
    Written {
        created: bool,
    },
    Changes(Vec<FileChange>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// From the workspace root.
    pub path: Vec<u8>,
    pub kind: FileKind,
    pub bytes: u64,
    /// Microseconds since 1970.
    pub modified_at: i64,
    pub mode: u32,
    pub link_target: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    Special,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileChange {
    Created(Vec<u8>),
    Modified(Vec<u8>),
    Removed(Vec<u8>),
    /// Some were not told.
    Lagged,
}
