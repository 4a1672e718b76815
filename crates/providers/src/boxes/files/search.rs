//! `glob` and `grep` over a box's files: its directories are listed one by one, and what is wanted is read.
//!
//! What the ignore files leave out is not listed at all. Contents are searched here, by the engine that every provider
//! uses, so that they agree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use warren_confined_fs::Smallest;
use warren_init::{FileCall, FileEntry, FileKind};
use warren_model::ErrorCode;
use warren_workspace::fs::{GlobQuery, GlobResult, GrepQuery, GrepResult};
use warren_workspace::{Error, WorkspacePath};

use super::{BoxFs, bytes_of, shown};
use crate::search::{Findings, Globs, GrepPlan, IgnoreChain, MAX_IGNORE_FILE_BYTES, MAX_PATHS, Source};

/// A glob over more than this can list is answered with `truncated`.
const GLOB_DEADLINE: Duration = Duration::from_secs(10);
const PAGE: u32 = 1_000;
/// Deeper than any path that a client can name.
const MAX_PATH_BYTES: usize = 8_192;

pub(super) async fn glob(fs: &BoxFs, query: &GlobQuery) -> Result<GlobResult, Error> {
    let globs = Globs::whole_path(&query.pattern)?;
    let mut found = Smallest::new(query.limit.clamp(1, MAX_PATHS) as usize);
    let mut walk = match Walk::start(fs, &query.root, query.respect_ignore_files).await? {
        Start::Directory(walk) => walk,
        Start::File(_) => {
            let is_wanted = globs.matches(Path::new(query.root.file_name().unwrap_or("")));
            let paths = is_wanted.then(|| query.root.as_str().to_owned()).into_iter().collect();
            return Ok(GlobResult { paths, truncated: false });
        }
    };
    let walked = tokio::time::timeout(GLOB_DEADLINE, async {
        while let Some(files) = walk.next_files().await? {
            for file in files {
                if globs.matches(relative(&file.path, &query.root)) {
                    found.offer(file.path);
                }
            }
        }
        Ok::<(), Error>(())
    })
    .await;
    let is_late = match walked {
        Ok(done) => done.map(|()| false)?,
        Err(_) => true,
    };
    let truncated = found.overflowed || is_late;
    Ok(GlobResult { paths: found.into_sorted().iter().map(|path| shown(path)).collect(), truncated })
}

pub(super) async fn grep(fs: &BoxFs, query: &GrepQuery) -> Result<GrepResult, Error> {
    let plan = Arc::new(GrepPlan::compile(query, fs.limits.max_grep_file_bytes)?);
    let findings = Arc::new(Findings::new(plan.max_matches));
    let deadline = Instant::from_std(plan.deadline);
    let searched = async {
        let mut walk = match Walk::start(fs, &query.root, query.respect_ignore_files).await? {
            Start::Directory(walk) => walk,
            Start::File(file) => return search_file(fs, file, &plan, &findings).await,
        };
        while let Some(files) = walk.next_files().await? {
            for file in files {
                if findings.is_over() {
                    return Ok(());
                }
                if file.kind == FileKind::File && plan.globs.matches(relative(&file.path, &query.root)) {
                    search_file(fs, file, &plan, &findings).await?;
                }
            }
        }
        Ok(())
    };
    match tokio::time::timeout_at(deadline, searched).await {
        Ok(done) => done?,
        Err(_) => findings.truncate(),
    }
    Ok(findings.take())
}

/// One that vanished or cannot be read is left out, as a walk of a directory does.
async fn search_file(
    fs: &BoxFs,
    file: FileEntry,
    plan: &Arc<GrepPlan>,
    findings: &Arc<Findings>,
) -> Result<(), Error> {
    let path = shown(&file.path);
    if file.bytes > plan.max_file_bytes {
        findings.skip(path);
        return Ok(());
    }
    if file.bytes == 0 {
        return Ok(());
    }
    let open = FileCall::Open { path: file.path };
    let contents = match fs.whole(open, &fs_path(&path), plan.max_file_bytes).await {
        Ok(Some(contents)) => contents,
        Ok(None) => {
            findings.skip(path);
            return Ok(());
        }
        Err(error) if error.is_evicted() => return Err(error),
        Err(_) => return Ok(()),
    };
    let (plan, findings) = (Arc::clone(plan), Arc::clone(findings));
    crate::directory::blocking(move || {
        plan.search(&mut plan.searcher(), &path, Source::Slice(&contents), &findings);
        Ok(())
    })
    .await
}

enum Start<'a> {
    Directory(Walk<'a>),
    File(FileEntry),
}

struct Walk<'a> {
    fs: &'a BoxFs,
    waiting: Vec<Directory>,
    respects_ignore_files: bool,
}

/// One that is to be listed, from `after` on.
struct Directory {
    path: Vec<u8>,
    after: Option<Vec<u8>>,
    /// Of the directory itself once it is listed; of those above it before.
    ignore: IgnoreChain,
}

impl<'a> Walk<'a> {
    async fn start(
        fs: &'a BoxFs,
        root: &WorkspacePath,
        respects_ignore_files: bool,
    ) -> Result<Start<'a>, Error> {
        let first = FileCall::List { path: bytes_of(root), depth: 1, after: None, limit: 1 };
        match fs.page(root, first).await {
            Ok(_) => {}
            Err(error) if error.code() == ErrorCode::NotADirectory => {
                let (_, entry, _) = fs.open(FileCall::Open { path: bytes_of(root) }, root).await?;
                return Ok(Start::File(entry));
            }
            Err(error) => return Err(error),
        }
        let mut walk = Self { fs, waiting: Vec::new(), respects_ignore_files };
        let mut ignore = IgnoreChain::default();
        if respects_ignore_files {
            for above in ancestors(root) {
                ignore = walk.rules_of(&ignore, above.as_str().as_bytes()).await;
            }
        }
        walk.waiting.push(Directory { path: bytes_of(root), after: None, ignore });
        Ok(Start::Directory(walk))
    }

    /// Files of the next page of a directory: everything that is not a directory. `None`: there are no more.
    async fn next_files(&mut self) -> Result<Option<Vec<FileEntry>>, Error> {
        let Some(mut directory) = self.waiting.pop() else {
            return Ok(None);
        };
        if self.respects_ignore_files && directory.after.is_none() {
            directory.ignore = self.rules_of(&directory.ignore, &directory.path).await;
        }
        let path = fs_path(&shown(&directory.path));
        let (from, after) = (directory.path.clone(), directory.after.clone());
        let call = FileCall::List { path: from, depth: 1, after, limit: PAGE };
        let (entries, goes_on) = match self.fs.page(&path, call).await {
            Ok(page) => page,
            Err(error) if error.is_evicted() => return Err(error),
            // One that vanished or may not be read is left out.
            Err(_) => return Ok(Some(Vec::new())),
        };
        let last = entries.last().map(|entry| entry.path.clone());
        let mut files = Vec::new();
        for entry in entries {
            let is_directory = entry.kind == FileKind::Directory;
            let is_left_out = entry.path.len() > MAX_PATH_BYTES
                || self.respects_ignore_files && directory.ignore.ignores(as_path(&entry.path), is_directory);
            if is_left_out {
                continue;
            }
            if is_directory {
                let ignore = directory.ignore.clone();
                self.waiting.push(Directory { path: entry.path, after: None, ignore });
            } else {
                files.push(entry);
            }
        }
        if goes_on {
            self.waiting.push(Directory { after: last, ..directory });
        }
        Ok(Some(files))
    }

    async fn rules_of(&self, outer: &IgnoreChain, directory: &[u8]) -> IgnoreChain {
        let mut found = Vec::new();
        for name in crate::search::IGNORE_FILE_NAMES {
            let path = match directory {
                b"" => name.as_bytes().to_vec(),
                directory => [directory, b"/", name.as_bytes()].concat(),
            };
            let shown = fs_path(&shown(&path));
            let contents = self.fs.whole(FileCall::Open { path }, &shown, MAX_IGNORE_FILE_BYTES).await;
            if let Ok(Some(contents)) = contents {
                found.push((name, contents));
            }
        }
        outer.descend(as_path(directory), |wanted| {
            found.iter().find(|(name, _)| *name == wanted).map(|(_, contents)| contents.clone())
        })
    }
}

/// The directories that `root` is in, from the workspace root down.
fn ancestors(root: &WorkspacePath) -> Vec<WorkspacePath> {
    let mut above: Vec<_> = std::iter::successors(root.parent(), WorkspacePath::parent).collect();
    above.reverse();
    above
}

/// For sentences about it; a name that is not text is shown as it can be.
fn fs_path(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap_or_else(|_| WorkspacePath::root())
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

fn relative<'a>(path: &'a [u8], root: &WorkspacePath) -> &'a Path {
    let rest = path.strip_prefix(root.as_str().as_bytes()).unwrap_or(path);
    as_path(rest.strip_prefix(b"/").unwrap_or(rest))
}
