//! The tools of `fs`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use warren_model::{ErrorCode, FileChange};

use super::arguments::{
    DEFAULT_ENTRIES, DEFAULT_LINES, DEFAULT_MATCHES, DEFAULT_READ_BYTES, EditFile, Encoding, Glob, Grep, Ls,
    Mkdir, Mv, ReadFile, Rm, WriteFile, WriteFileMode,
};
use super::text_window::{NotText, TextWindow};
use super::{ToolError, ToolOutput};
use crate::fs::{ByteRange, Edit, Entry, EntryKind, Fs, GlobQuery, GrepQuery, LsQuery, WriteMode};
use crate::{Error, WorkspacePath};

/// A search that takes longer is cut, and says so (sec/F10).
const GREP_DEADLINE_MS: u64 = 2_000;

type ToolResult = Result<ToolOutput, ToolError>;

pub(super) async fn read_file(fs: &dyn Fs, arguments: &ReadFile) -> ToolResult {
    let path = WorkspacePath::parse(&arguments.path)?;
    match arguments.encoding {
        Encoding::Text => read_text(fs, &path, arguments).await,
        Encoding::Base64 => read_bytes(fs, &path, arguments).await,
    }
}

async fn read_text(fs: &dyn Fs, path: &WorkspacePath, arguments: &ReadFile) -> ToolResult {
    let offset = arguments.offset.unwrap_or(0);
    let range = ByteRange { offset, length: None };
    let mut contents = fs.read(path, range).await?;
    let max_bytes = arguments.max_bytes.unwrap_or(DEFAULT_READ_BYTES);
    let mut window = TextWindow::new(
        arguments.start_line.unwrap_or(1) - 1,
        arguments.max_lines.unwrap_or(DEFAULT_LINES),
        usize::try_from(max_bytes).unwrap_or(usize::MAX),
    );
    while !window.is_full()
        && let Some(piece) = contents.stream.next().await
    {
        window.push(&piece?);
    }
    let cut = window.finish().map_err(|NotText| {
        let detail = format!("{path} is not UTF-8 text from byte {offset} on; read it as base64");
        Error::operation(ErrorCode::NotText, detail)
    })?;
    let begin = contents.offset + cut.skipped_bytes;
    let end = begin + cut.text.len() as u64;
    // Lines can be numbered only when they were counted from the beginning.
    let start_line = arguments.offset.is_none().then(|| arguments.start_line.unwrap_or(1));
    Ok(ToolOutput::unchanged(json!({
        "path": path.to_string(),
        "encoding": "text",
        "text": cut.text,
        "start_line": start_line,
        "lines": cut.lines,
        "offset": begin,
        "next_offset": next_offset(end, contents.entry.bytes),
        "total_bytes": contents.entry.bytes,
    })))
}

async fn read_bytes(fs: &dyn Fs, path: &WorkspacePath, arguments: &ReadFile) -> ToolResult {
    let range = ByteRange {
        offset: arguments.offset.unwrap_or(0),
        length: Some(arguments.max_bytes.unwrap_or(DEFAULT_READ_BYTES)),
    };
    let mut contents = fs.read(path, range).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = contents.stream.next().await {
        bytes.extend_from_slice(&piece?);
    }
    let end = contents.offset + bytes.len() as u64;
    Ok(ToolOutput::unchanged(json!({
        "path": path.to_string(),
        "encoding": "base64",
        "base64": STANDARD.encode(&bytes),
        "offset": contents.offset,
        "next_offset": next_offset(end, contents.entry.bytes),
        "total_bytes": contents.entry.bytes,
    })))
}

fn next_offset(end: u64, total: u64) -> Option<u64> {
    (end < total).then_some(end)
}

pub(super) async fn write_file(fs: &dyn Fs, arguments: &WriteFile) -> ToolResult {
    let path = WorkspacePath::parse(&arguments.path)?;
    let contents = match arguments.encoding {
        Encoding::Text => Bytes::from(arguments.content.clone()),
        Encoding::Base64 => {
            let decoded = STANDARD.decode(&arguments.content);
            Bytes::from(decoded.map_err(|_| ToolError::bad("content", "is not base64"))?)
        }
    };
    let written = match arguments.mode {
        WriteFileMode::Append => fs.append(&path, contents).await?,
        WriteFileMode::Replace => fs.write(&path, one_piece(contents), WriteMode::Replace).await?,
        WriteFileMode::CreateNew => fs.write(&path, one_piece(contents), WriteMode::CreateNew).await?,
    };
    let answer = json!({"path": path.to_string(), "bytes": written.bytes, "created": written.created});
    Ok(ToolOutput::changed(FileChange::Write, path, written.bytes, answer))
}

fn one_piece(contents: Bytes) -> crate::fs::ByteStream {
    Box::pin(stream::iter([Ok(contents)]))
}

pub(super) async fn edit_file(fs: &dyn Fs, arguments: &EditFile) -> ToolResult {
    let path = WorkspacePath::parse(&arguments.path)?;
    let edit = Edit { old: arguments.old.clone(), new: arguments.new.clone(), all: arguments.all };
    let edited = fs.edit(&path, &edit).await?;
    let answer =
        json!({"path": path.to_string(), "replacements": edited.replacements, "bytes": edited.bytes});
    Ok(ToolOutput::changed(FileChange::Write, path, edited.bytes, answer))
}

pub(super) async fn ls(fs: &dyn Fs, arguments: &Ls) -> ToolResult {
    let path = WorkspacePath::parse(&arguments.path)?;
    let query = LsQuery {
        depth: arguments.depth.unwrap_or(1),
        limit: arguments.limit.unwrap_or(DEFAULT_ENTRIES),
        after: arguments.after.clone(),
    };
    let listing = fs.ls(&path, &query).await?;
    let entries: Vec<_> = listing.entries.iter().map(entry).collect();
    let answer = json!({"path": path.to_string(), "entries": entries, "next": listing.next});
    Ok(ToolOutput::unchanged(answer))
}

fn entry(entry: &Entry) -> Value {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Symlink => "symlink",
        EntryKind::Special => "special",
    };
    let mut shown = json!({
        "path": entry.path,
        "kind": kind,
        "bytes": entry.bytes,
        "modified_at": entry.modified_at.to_string(),
    });
    if let Some(target) = &entry.link_target {
        shown["link_target"] = json!(target);
    }
    if entry.is_lossy {
        shown["is_lossy"] = json!(true);
    }
    shown
}

pub(super) async fn glob(fs: &dyn Fs, arguments: &Glob) -> ToolResult {
    let query = GlobQuery {
        pattern: arguments.pattern.clone(),
        root: WorkspacePath::parse(&arguments.path)?,
        respect_ignore_files: arguments.respect_ignore_files,
        limit: arguments.limit.unwrap_or(DEFAULT_ENTRIES),
    };
    let found = fs.glob(&query).await?;
    Ok(ToolOutput::unchanged(json!({"paths": found.paths, "truncated": found.truncated})))
}

pub(super) async fn grep(fs: &dyn Fs, arguments: &Grep) -> ToolResult {
    let query = GrepQuery {
        pattern: arguments.pattern.clone(),
        is_literal: arguments.literal,
        ignore_case: arguments.ignore_case,
        root: WorkspacePath::parse(&arguments.path)?,
        globs: arguments.globs.clone(),
        context_lines: arguments.context_lines.unwrap_or(0),
        respect_ignore_files: arguments.respect_ignore_files,
        max_matches: arguments.max_matches.unwrap_or(DEFAULT_MATCHES),
        deadline_ms: GREP_DEADLINE_MS,
    };
    let found = fs.grep(&query).await?;
    let has_context = query.context_lines > 0;
    let matches = found.matches.iter().map(|one| {
        let mut shown = json!({"path": one.path, "line_number": one.line_number, "line": one.line});
        if has_context {
            shown["before"] = json!(one.before);
            shown["after"] = json!(one.after);
        }
        shown
    });
    let matches: Vec<_> = matches.collect();
    Ok(ToolOutput::unchanged(json!({
        "matches": matches,
        "truncated": found.truncated,
        "skipped": found.skipped,
        "files_searched": found.files_searched,
    })))
}

pub(super) async fn mkdir(fs: &dyn Fs, arguments: &Mkdir) -> ToolResult {
    let path = WorkspacePath::parse(&arguments.path)?;
    fs.mkdir(&path).await?;
    let answer = json!({"path": path.to_string()});
    Ok(ToolOutput::changed(FileChange::Mkdir, path, 0, answer))
}

pub(super) async fn rm(fs: &dyn Fs, arguments: &Rm) -> ToolResult {
    let path = inside(&arguments.path)?;
    fs.rm(&path, arguments.recursive).await?;
    let answer = json!({"path": path.to_string()});
    Ok(ToolOutput::changed(FileChange::Delete, path, 0, answer))
}

pub(super) async fn mv(fs: &dyn Fs, arguments: &Mv) -> ToolResult {
    let (from, to) = (inside(&arguments.from)?, inside(&arguments.to)?);
    fs.mv(&from, &to, arguments.overwrite).await?;
    let answer = json!({"from": from.to_string(), "to": to.to_string()});
    Ok(ToolOutput::changed(FileChange::Move, to, 0, answer))
}

/// A path that is not the root itself (sec/F08).
fn inside(text: &str) -> Result<WorkspacePath, ToolError> {
    let path = WorkspacePath::parse(text)?;
    if path.is_root() {
        let detail = "the workspace's own root cannot be removed or moved";
        return Err(Error::operation(ErrorCode::RootProtected, detail).into());
    }
    Ok(path)
}
