//! One open workspace directory: its root handle, its limits, and the lock that orders changes to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;
use warren_model::{ErrorCode, LocalConfig, MIB};
use warren_workspace::{Error, WorkspacePath};

use super::beneath::Root;
use super::errno;
use super::staging::Staging;

#[derive(Debug)]
pub(super) struct Place {
    pub(super) root: Root,
    pub(super) staging: Arc<Staging>,
    pub(super) max_file_bytes: u64,
    pub(super) max_grep_file_bytes: u64,
    /// Held while something is put in place, so that an edit cannot lose a write that came in between. Only our own
    /// changes wait here: programs in the workspace write as they like.
    changes: Mutex<()>,
    is_closed: AtomicBool,
}

impl Place {
    pub(super) fn new(root: Root, staging: Arc<Staging>, config: &LocalConfig) -> Self {
        Self {
            root,
            staging,
            max_file_bytes: u64::from(config.max_file_mb) * MIB,
            max_grep_file_bytes: u64::from(config.max_grep_file_mb) * MIB,
            changes: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(super) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::evicted("the workspace was closed"));
        }
        Ok(())
    }

    pub(super) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error for `errno` at `path`. "Not found" in a directory that was taken away is an eviction (W13).
    pub(super) fn failure(&self, errno: Errno, path: &WorkspacePath) -> Error {
        if errno == Errno::NOENT && self.root.is_gone() {
            return Error::evicted("the workspace's directory was removed from the host");
        }
        errno::operation(errno, path)
    }

    pub(super) fn too_large(&self, path: &WorkspacePath) -> Error {
        let detail = format!("{path} would have more than {} bytes", self.max_file_bytes);
        Error::operation(ErrorCode::FileTooLarge, detail)
    }

    /// Makes `path` and missing parents; there already is success.
    pub(super) fn make_directories(&self, path: &WorkspacePath) -> Result<(), Errno> {
        let mut missing = Vec::new();
        let mut here = path.clone();
        loop {
            match self.root.directory(&here) {
                Ok(_) => break,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            let Some(parent) = here.parent() else {
                return Err(Errno::NOENT);
            };
            missing.push(std::mem::replace(&mut here, parent));
        }
        for directory in missing.iter().rev() {
            let spot = self.root.spot(directory)?;
            match mkdirat(&spot.directory, &spot.name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        // A dangling link or a file made meanwhile shows here.
        self.root.directory(path).map(drop)
    }
}

pub(super) fn refuse_root(path: &WorkspacePath) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root cannot be removed, moved or replaced";
        return Err(Error::operation(ErrorCode::RootProtected, detail));
    }
    Ok(())
}
