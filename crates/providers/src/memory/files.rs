//! The `fs` module over a [`Tree`](super::tree::Tree) behind a lock that is held for a few synchronous lines.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use warren_confined_fs::Smallest;
use warren_workspace::fs::{
    ByteRange, ByteStream, Change, ChangeStream, CpOptions, Edit, Edited, Entry, FileContents, Fs, GlobQuery,
    GlobResult, GrepQuery, GrepResult, Listing, LsQuery, WriteMode, Written,
};
use warren_workspace::{Error, WorkspacePath};

use super::tree::Tree;
use super::{MemoryWorkspace, WATCH_BUFFER};
use crate::edit;
use crate::search::{Findings, Globs, GrepPlan, IgnoreChain, MAX_PATHS, Source};

/// Pieces of a read; a slice of what is held already, so small pieces cost nothing.
const READ_CHUNK: usize = 64 << 10;

impl MemoryWorkspace {
    fn tree(&self) -> Result<MutexGuard<'_, Tree>, Error> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::evicted("the workspace was closed"));
        }
        Ok(self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.place.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, changes: impl IntoIterator<Item = Change>) {
        let Some(watchers) = self.place.changes.get() else { return };
        for change in changes {
            // All of them may be gone again.
            let _ = watchers.send(change);
        }
    }

    fn tell_written(&self, path: &WorkspacePath, created: bool) {
        let path = path.as_str().to_owned();
        self.tell([if created { Change::Created(path) } else { Change::Modified(path) }]);
    }
}

/// Bytes of a write that is still arriving, charged to the total so that parallel writes cannot pass it together.
struct Reservation<'a> {
    workspace: &'a MemoryWorkspace,
    bytes: u64,
}

impl Reservation<'_> {
    fn grow(&mut self, bytes: u64) -> Result<(), Error> {
        self.workspace.tree()?.reserve(bytes, self.workspace.max_total_bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// The bytes are a file's now.
    fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.workspace.lock().release(self.bytes);
        }
    }
}

#[async_trait]
impl Fs for MemoryWorkspace {
    async fn read(&self, path: &WorkspacePath, range: ByteRange) -> Result<FileContents, Error> {
        let (contents, entry) = {
            let tree = self.tree()?;
            (tree.file(path)?.0.clone(), tree.entry(path)?)
        };
        let size = contents.len() as u64;
        let offset = range.offset.min(size);
        let length = range.length.unwrap_or(u64::MAX).min(size - offset);
        let end = usize::try_from(offset + length).unwrap_or(contents.len());
        let wanted = contents.slice(usize::try_from(offset).unwrap_or(end)..end);
        let pieces = stream::unfold(wanted, |mut rest: Bytes| async move {
            let piece = rest.split_to(rest.len().min(READ_CHUNK));
            (!piece.is_empty()).then_some((Ok(piece), rest))
        });
        Ok(FileContents { entry, offset, length, stream: pieces.boxed() })
    }

    async fn write(
        &self,
        path: &WorkspacePath,
        mut contents: ByteStream,
        mode: WriteMode,
    ) -> Result<Written, Error> {
        self.tree()?.check_file_place(path, mode)?;
        let mut reservation = Reservation { workspace: self, bytes: 0 };
        let (mut arrived, limit) = (BytesMut::new(), mode.limit(self.max_file_bytes));
        while let Some(piece) = contents.next().await {
            let piece = piece?;
            if (arrived.len() + piece.len()) as u64 > limit {
                return Err(Error::file_too_large(path, limit));
            }
            reservation.grow(piece.len() as u64)?;
            arrived.extend_from_slice(&piece);
        }
        let bytes = arrived.len() as u64;
        let created = {
            let mut tree = self.tree()?;
            tree.check_file_place(path, mode)?;
            tree.put_file(path, arrived.freeze(), self.clock.now(), self.max_total_bytes)?
        };
        reservation.keep();
        self.tell_written(path, created);
        Ok(Written { bytes, created })
    }

    async fn append(&self, path: &WorkspacePath, contents: Bytes) -> Result<Written, Error> {
        let created = {
            let mut tree = self.tree()?;
            tree.check_file_place(path, WriteMode::Replace)?;
            let old = tree.contents(path.as_str()).unwrap_or_default();
            let length = (old.len() + contents.len()) as u64;
            if length > self.max_file_bytes {
                return Err(Error::file_too_large(path, self.max_file_bytes));
            }
            tree.reserve(length, self.max_total_bytes)?;
            let mut joined = BytesMut::from(old.as_ref());
            joined.extend_from_slice(&contents);
            let put = tree.put_file(path, joined.freeze(), self.clock.now(), self.max_total_bytes);
            put.inspect_err(|_| tree.release(length))?
        };
        self.tell_written(path, created);
        let bytes = contents.len() as u64;
        Ok(Written { bytes, created })
    }

    async fn edit(&self, path: &WorkspacePath, change: &Edit) -> Result<Edited, Error> {
        let edited = {
            let mut tree = self.tree()?;
            let (contents, replacements) = edit::apply(tree.file(path)?.0, change, self.max_file_bytes)?;
            let bytes = contents.len() as u64;
            tree.reserve(bytes, self.max_total_bytes)?;
            let put = tree.put_file(path, contents.into(), self.clock.now(), self.max_total_bytes);
            put.inspect_err(|_| tree.release(bytes))?;
            Edited { replacements, bytes }
        };
        self.tell_written(path, false);
        Ok(edited)
    }

    async fn stat(&self, path: &WorkspacePath) -> Result<Entry, Error> {
        self.tree()?.entry(path)
    }

    async fn ls(&self, path: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error> {
        let limit = query.limit.clamp(1, MAX_PATHS) as usize;
        let (entries, next) = self.tree()?.ls(path, query, limit)?;
        Ok(Listing { entries, next })
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, Error> {
        let globs = Globs::whole_path(&query.pattern)?;
        let files = self.wanted_files(&query.root, query.respect_ignore_files, &globs)?;
        let mut smallest = Smallest::new(query.limit.clamp(1, MAX_PATHS) as usize);
        files.into_iter().for_each(|(path, _)| smallest.offer(path));
        Ok(GlobResult { truncated: smallest.overflowed, paths: smallest.into_sorted() })
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, Error> {
        let plan = GrepPlan::compile(query, self.max_grep_file_bytes)?;
        let files = self.wanted_files(&query.root, query.respect_ignore_files, &plan.globs)?;
        let findings = Arc::new(Findings::new(plan.max_matches));
        let deadline = tokio::time::Instant::from_std(plan.deadline);
        let shared = Arc::clone(&findings);
        let search = tokio::task::spawn_blocking(move || {
            let mut searcher = plan.searcher();
            for (path, contents) in files {
                if shared.is_over() {
                    break;
                }
                if contents.len() as u64 > plan.max_file_bytes {
                    shared.skip(path);
                    continue;
                }
                plan.search(&mut searcher, &path, Source::Slice(&contents), &shared);
            }
        });
        if tokio::time::timeout_at(deadline, search).await.is_err() {
            findings.truncate();
        }
        Ok(findings.take())
    }

    async fn mkdir(&self, path: &WorkspacePath) -> Result<(), Error> {
        let made = self.tree()?.mkdir(path, self.clock.now(), self.max_total_bytes)?;
        self.tell(made.into_iter().map(Change::Created));
        Ok(())
    }

    async fn rm(&self, path: &WorkspacePath, recursive: bool) -> Result<(), Error> {
        let changes = self.tree()?.rm(path, recursive)?;
        self.tell(changes);
        Ok(())
    }

    async fn mv(&self, from: &WorkspacePath, to: &WorkspacePath, overwrite: bool) -> Result<(), Error> {
        let changes = self.tree()?.mv(from, to, overwrite, self.clock.now(), self.max_total_bytes)?;
        self.tell(changes);
        Ok(())
    }

    async fn cp(&self, from: &WorkspacePath, to: &WorkspacePath, options: CpOptions) -> Result<(), Error> {
        let changes = self.tree()?.cp(from, to, options, self.clock.now(), self.max_total_bytes)?;
        self.tell(changes);
        Ok(())
    }

    async fn watch(&self, path: &WorkspacePath) -> Result<ChangeStream, Error> {
        self.tree()?.entry(path)?;
        let root = path.clone();
        let watchers = self.place.changes.get_or_init(|| broadcast::Sender::new(WATCH_BUFFER));
        let changes = BroadcastStream::new(watchers.subscribe());
        let wanted = changes.filter_map(move |change| {
            let change = match change {
                Ok(change) if is_below(&change, &root) => Some(Ok(change)),
                Ok(_) => None,
                Err(BroadcastStreamRecvError::Lagged(_)) => Some(Ok(Change::Lagged)),
            };
            async move { change }
        });
        Ok(wanted.boxed())
    }
}

impl MemoryWorkspace {
    /// Files at or below `root` that the globs take and no ignore file leaves out.
    fn wanted_files(
        &self,
        root: &WorkspacePath,
        respect_ignore_files: bool,
        globs: &Globs,
    ) -> Result<Vec<(String, Bytes)>, Error> {
        let tree = self.tree()?;
        let mut files = tree.files_below(root)?;
        let mut rules = IgnoreRules { tree: &tree, chains: HashMap::new() };
        files.retain(|(path, _)| {
            let relative =
                path.strip_prefix(root.as_str()).map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
            // A root that is itself a file is matched by its name.
            let relative = if relative.is_empty() { root.file_name().unwrap_or("") } else { relative };
            globs.matches(Path::new(relative)) && !(respect_ignore_files && rules.ignores(path))
        });
        Ok(files)
    }
}

/// The ignore chain of each directory, made when first asked for.
struct IgnoreRules<'a> {
    tree: &'a Tree,
    /// Absent value: the directory itself is ignored.
    chains: HashMap<String, Option<IgnoreChain>>,
}

impl IgnoreRules<'_> {
    fn ignores(&mut self, path: &str) -> bool {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.chain(directory).is_none_or(|chain| chain.ignores(Path::new(path), false))
    }

    fn chain(&mut self, directory: &str) -> Option<IgnoreChain> {
        if let Some(known) = self.chains.get(directory) {
            return known.clone();
        }
        let outer = if directory.is_empty() {
            Some(IgnoreChain::default())
        } else {
            let parent = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
            self.chain(parent).filter(|chain| !chain.ignores(Path::new(directory), true))
        };
        let prefix = if directory.is_empty() { "" } else { "/" };
        let chain = outer.map(|outer| {
            outer.descend(Path::new(directory), |name| {
                let contents = self.tree.contents(&format!("{directory}{prefix}{name}"))?;
                Some(contents.to_vec())
            })
        });
        self.chains.insert(directory.to_owned(), chain.clone());
        chain
    }
}

fn is_below(change: &Change, root: &WorkspacePath) -> bool {
    match change {
        Change::Created(path) | Change::Modified(path) | Change::Removed(path) => {
            root.is_root()
                || path
                    .strip_prefix(root.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        Change::Lagged => true,
    }
}
