//! A parallel walk of a tree, by handle.
//!
//! Each step opens a name in an open directory without following links, so the walk cannot leave the tree, whatever is
//! swapped meanwhile. Work waits on a stack: the newest directory is walked first, which keeps few handles open. Files
//! go to the workers in batches, so that one large directory is shared too. When enough is waiting, a directory with
//! more directories in it is put aside at the position it was read to, so a million of them cost no more than a few.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, openat};
use warren_confined_fs::{DIRECTORY_FLAGS, is_directory, open_regular, scan, size_of};

use crate::search::{IgnoreChain, MAX_IGNORE_FILE_BYTES};

const BATCH: usize = 64;
/// With this much waiting, whoever finds files visits them at once, and whoever finds directories puts the rest aside:
/// memory stays bounded in a flat directory of millions.
const MAX_WAITING: usize = 512;
/// A path this long cannot be named by a client anyway.
const MAX_PATH_BYTES: usize = 8_192;

#[derive(Debug)]
pub(super) struct Walk {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    respects_ignore_files: bool,
}

#[derive(Debug, Default)]
struct Waiting {
    tasks: Vec<Task>,
    /// Directories of which a part was read; taken up when no task is left.
    rests: Vec<Listing>,
    /// Workers that may still add tasks.
    busy: usize,
    is_stopped: bool,
}

#[derive(Debug)]
enum Task {
    Directory {
        parent: Arc<OwnedFd>,
        name: OsString,
        /// From the workspace root; empty for the root itself.
        path: Vec<u8>,
        ignore: IgnoreChain,
    },
    Files {
        directory: Arc<OwnedFd>,
        files: Vec<Name>,
    },
    Rest(Listing),
}

/// An open directory that is read from a position on.
#[derive(Debug)]
struct Listing {
    directory: Arc<OwnedFd>,
    path: Vec<u8>,
    ignore: IgnoreChain,
    from: u64,
}

#[derive(Debug)]
struct Name {
    name: OsString,
    path: Vec<u8>,
    kind: FileType,
}

/// A file the walk came by: everything that is not a directory.
#[derive(Debug)]
pub(super) struct FoundFile<'a> {
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
    /// From the workspace root.
    pub(super) path: &'a [u8],
    /// As the directory tells it; `Unknown` on filesystems that do not.
    pub(super) kind: FileType,
}

impl Walk {
    /// `start` is at `path`; `ignore` holds the rules of the directories above it.
    pub(super) fn new(start: OwnedFd, path: &[u8], ignore: Option<IgnoreChain>) -> Self {
        let respects_ignore_files = ignore.is_some();
        let first = Task::Directory {
            parent: Arc::new(start),
            name: ".".into(),
            path: path.to_vec(),
            ignore: ignore.unwrap_or_default(),
        };
        Self {
            waiting: Mutex::new(Waiting { tasks: vec![first], ..Waiting::default() }),
            changed: Condvar::new(),
            respects_ignore_files,
        }
    }

    /// Works until nothing is left or `visit` says no. Called by several threads at once.
    pub(super) fn work(&self, mut visit: impl FnMut(FoundFile<'_>) -> bool) {
        while let Some(task) = self.next() {
            let mut busy = Busy { walk: self, goes_on: false };
            let goes_on = match task {
                Task::Directory { parent, name, path, ignore } => {
                    match self.open(&parent, &name, path, &ignore) {
                        Some(listing) => self.list(listing, &mut visit),
                        None => true,
                    }
                }
                Task::Rest(listing) => self.list(listing, &mut visit),
                Task::Files { directory, files } => visit_all(&directory, &files, &mut visit),
            };
            busy.goes_on = goes_on;
        }
    }

    fn next(&self) -> Option<Task> {
        let mut waiting = self.lock();
        loop {
            if waiting.is_stopped {
                return None;
            }
            let task = waiting.tasks.pop().or_else(|| waiting.rests.pop().map(Task::Rest));
            if let Some(task) = task {
                waiting.busy += 1;
                return Some(task);
            }
            if waiting.busy == 0 {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A directory that vanished or may not be read is left out.
    fn open(&self, parent: &OwnedFd, name: &OsStr, path: Vec<u8>, outer: &IgnoreChain) -> Option<Listing> {
        let directory = openat(parent, name, DIRECTORY_FLAGS, Mode::empty()).map(Arc::new).ok()?;
        let ignore = if self.respects_ignore_files {
            outer.descend(as_path(&path), |name| read_small(directory.as_fd(), name))
        } else {
            IgnoreChain::default()
        };
        Some(Listing { directory, path, ignore, from: 0 })
    }

    /// Lists one directory, or as much of it as there is room for.
    fn list(&self, listing: Listing, visit: &mut impl FnMut(FoundFile<'_>) -> bool) -> bool {
        let Listing { directory, path: above, ignore, from } = listing;
        let mut files = Vec::new();
        let (mut goes_on, mut rest) = (true, None);
        let _ = scan(directory.as_fd(), from, |entry| {
            let path = join(&above, entry.name.as_bytes());
            if path.len() > MAX_PATH_BYTES {
                return Ok(ControlFlow::Continue(()));
            }
            let is_directory = is_directory(directory.as_fd(), entry.name, entry.kind);
            if self.respects_ignore_files && ignore.ignores(as_path(&path), is_directory) {
                return Ok(ControlFlow::Continue(()));
            }
            if is_directory {
                let waiting = self.push(Task::Directory {
                    parent: Arc::clone(&directory),
                    name: entry.name.to_owned(),
                    path,
                    ignore: ignore.clone(),
                });
                if waiting < MAX_WAITING {
                    return Ok(ControlFlow::Continue(()));
                }
                rest = Some(entry.next);
                return Ok(ControlFlow::Break(()));
            }
            files.push(Name { name: entry.name.to_owned(), path, kind: entry.kind });
            if files.len() == BATCH {
                goes_on = self.hand_over(&directory, std::mem::take(&mut files), visit);
            }
            Ok(if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        if let Some(from) = rest {
            let directory = Arc::clone(&directory);
            self.lock().rests.push(Listing { directory, path: above, ignore, from });
            self.changed.notify_one();
        }
        goes_on && visit_all(&directory, &files, visit)
    }

    /// Leaves a batch to whoever is free, or visits it where too much is waiting.
    fn hand_over(
        &self,
        directory: &Arc<OwnedFd>,
        files: Vec<Name>,
        visit: &mut impl FnMut(FoundFile<'_>) -> bool,
    ) -> bool {
        let (waiting, is_stopped) = {
            let waiting = self.lock();
            (waiting.tasks.len(), waiting.is_stopped)
        };
        if is_stopped {
            return false;
        }
        if waiting >= MAX_WAITING {
            return visit_all(directory, &files, visit);
        }
        let directory = Arc::clone(directory);
        self.push(Task::Files { directory, files });
        true
    }

    /// Returns how much is waiting then.
    fn push(&self, task: Task) -> usize {
        let mut waiting = self.lock();
        waiting.tasks.push(task);
        self.changed.notify_one();
        waiting.tasks.len()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker at its task. Dropped in a panic too, so that the others do not wait for it for ever.
struct Busy<'a> {
    walk: &'a Walk,
    goes_on: bool,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut waiting = self.walk.lock();
        waiting.busy -= 1;
        waiting.is_stopped |= !self.goes_on;
        if waiting.busy == 0 || waiting.is_stopped {
            self.walk.changed.notify_all();
        }
    }
}

fn visit_all(directory: &OwnedFd, files: &[Name], visit: &mut impl FnMut(FoundFile<'_>) -> bool) -> bool {
    files.iter().all(|file| {
        visit(FoundFile { directory: directory.as_fd(), name: &file.name, path: &file.path, kind: file.kind })
    })
}

/// A small regular file in an open directory; `None` for anything else.
pub(super) fn read_small(directory: BorrowedFd<'_>, name: &str) -> Option<Vec<u8>> {
    let (file, stat) = open_regular(directory, OsStr::new(name)).ok()?;
    if size_of(&stat) > MAX_IGNORE_FILE_BYTES {
        return None;
    }
    let mut contents = Vec::new();
    std::io::Read::read_to_end(
        &mut std::io::Read::take(std::fs::File::from(file), MAX_IGNORE_FILE_BYTES),
        &mut contents,
    )
    .ok()?;
    Some(contents)
}

pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}
