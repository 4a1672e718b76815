//! The `fs` module: files of a workspace (W20–W24).

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use warren_model::Timestamp;

use crate::{Error, WorkspacePath};

/// File contents in pieces, so that a large file never stands in memory.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>;
/// Changes as they happen.
pub type ChangeStream = Pin<Box<dyn Stream<Item = Result<Change, Error>> + Send>>;

#[async_trait]
pub trait Fs: Send + Sync + std::fmt::Debug {
    /// A byte range of a regular file. The stream ends at the end of the range or of the file.
    async fn read(&self, path: &WorkspacePath, range: ByteRange) -> Result<FileContents, Error>;
    /// Atomic: readers see the old contents or the new, never a mixture. Makes missing parent directories.
    async fn write(
        &self,
        path: &WorkspacePath,
        contents: ByteStream,
        mode: WriteMode,
    ) -> Result<Written, Error>;
    async fn append(&self, path: &WorkspacePath, contents: Bytes) -> Result<Written, Error>;
    /// Replaces exact text; it must occur once unless `all`.
    async fn edit(&self, path: &WorkspacePath, edit: &Edit) -> Result<Edited, Error>;
    /// Of the thing itself: a symbolic link is told as one, not followed.
    async fn stat(&self, path: &WorkspacePath) -> Result<Entry, Error>;
    async fn ls(&self, path: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error>;
    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, Error>;
    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, Error>;
    /// Makes the directory and missing parents; there already is success.
    async fn mkdir(&self, path: &WorkspacePath) -> Result<(), Error>;
    /// A non-empty directory needs `recursive`. A link is removed itself.
    async fn rm(&self, path: &WorkspacePath, recursive: bool) -> Result<(), Error>;
    async fn mv(&self, from: &WorkspacePath, to: &WorkspacePath, overwrite: bool) -> Result<(), Error>;
    /// A file, or a tree with `recursive`.
    async fn cp(&self, from: &WorkspacePath, to: &WorkspacePath, options: CpOptions) -> Result<(), Error>;
    /// Changes below `path` from now on. A reader that is too slow gets `Change::Lagged` and goes on.
    async fn watch(&self, path: &WorkspacePath) -> Result<ChangeStream, Error>;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteRange {
    pub offset: u64,
    /// Absent: to the end.
    pub length: Option<u64>,
}

pub struct FileContents {
    pub entry: Entry,
    /// Where the range really begins and how long it is, given the file's size now.
    pub offset: u64,
    pub length: u64,
    pub stream: ByteStream,
}

impl std::fmt::Debug for FileContents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileContents").field("offset", &self.offset).field("length", &self.length).finish()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// Make or replace.
    #[default]
    Replace,
    /// Fail with `file_exists` if something is there.
    CreateNew,
    /// The same for what has a limit of its own, as files that come with messages have (X32): it counts in place of the
    /// workspace's `max_file_mb`.
    CreateNewUpTo { bytes: u64 },
}

impl WriteMode {
    pub fn must_be_new(self) -> bool {
        match self {
            Self::Replace => false,
            Self::CreateNew | Self::CreateNewUpTo { .. } => true,
        }
    }

    /// How many bytes may be written, where a file usually may have `max_file_bytes`.
    pub fn limit(self, max_file_bytes: u64) -> u64 {
        match self {
            Self::Replace | Self::CreateNew => max_file_bytes,
            Self::CreateNewUpTo { bytes } => bytes,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    /// Whether the file was not there before.
    pub created: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub old: String,
    pub new: String,
    pub all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub replacements: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    Symlink,
    /// A device, fifo or socket: listed, never opened (W24).
    Special,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the workspace root. Where `is_lossy`, bytes that are not UTF-8 are shown as U+FFFD and the
    /// path cannot be used to open the thing.
    pub path: String,
    pub is_lossy: bool,
    pub kind: EntryKind,
    pub bytes: u64,
    pub modified_at: Timestamp,
    /// Permission bits only.
    pub mode: u32,
    /// Where a symbolic link points, as written.
    pub link_target: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LsQuery {
    /// 1: only the directory's own entries.
    pub depth: u32,
    pub limit: u32,
    /// `Listing::next` of the page before, as it was given: a path, with `%` and bytes that are not UTF-8 escaped.
    pub after: Option<String>,
}

impl Default for LsQuery {
    fn default() -> Self {
        Self { depth: 1, limit: 1_000, after: None }
    }
}

/// Entries sorted by path, byte by byte. A directory of more entries than are worth sorting (100,000), listed with
/// depth 1, may come in an order of its own; either way each entry that stays is told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobQuery {
    /// Matched against the path relative to `root`: `**` crosses directories, `*` does not. Finds everything but
    /// directories.
    pub pattern: String,
    pub root: WorkspacePath,
    pub respect_ignore_files: bool,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobResult {
    /// Sorted.
    pub paths: Vec<String>,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    pub pattern: String,
    pub is_literal: bool,
    pub ignore_case: bool,
    pub root: WorkspacePath,
    /// Only files whose path relative to `root` matches one of these; empty: all. A pattern without `/` matches in
    /// any directory.
    pub globs: Vec<String>,
    pub context_lines: u32,
    pub respect_ignore_files: bool,
    pub max_matches: u32,
    /// The search ends here with `truncated` (F10).
    pub deadline_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepMatch {
    pub path: String,
    pub line_number: u64,
    /// Cut to a bounded length; bytes that are not UTF-8 are replaced.
    pub line: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepResult {
    /// Sorted by path and line.
    pub matches: Vec<GrepMatch>,
    pub truncated: bool,
    /// Files too large to search (W22).
    pub skipped: Vec<String>,
    pub files_searched: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpOptions {
    pub recursive: bool,
    pub overwrite: bool,
}

/// Paths are relative to the workspace root. A file that was replaced as a whole may be told as created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Created(String),
    Modified(String),
    Removed(String),
    /// Some changes were not told: list again.
    Lagged,
}
