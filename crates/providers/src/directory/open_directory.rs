//! One open workspace directory: its root handle, its limits, and the lock that orders changes to it.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, RenameFlags, mkdirat, renameat, renameat_with};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;
use warren_confined_fs::{Location, Owner, Root, Staged, Staging, Unsynced};
use warren_model::{ErrorCode, MIB};
use warren_workspace::{Error, WorkspacePath};

use super::errno;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    pub max_file_bytes: u64,
    pub max_grep_file_bytes: u64,
}

impl FileLimits {
    pub const fn from_mb(max_file_mb: u32, max_grep_file_mb: u32) -> Self {
        Self { max_file_bytes: max_file_mb as u64 * MIB, max_grep_file_bytes: max_grep_file_mb as u64 * MIB }
    }
}

/// Whether so many bytes more may be kept in a workspace; refuses once it is over its limit, and what alone is more than
/// that. May look at the disk.
#[derive(Clone)]
pub struct SpaceCheck(pub Arc<dyn Fn(u64) -> Result<(), Error> + Send + Sync>);

impl std::fmt::Debug for SpaceCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SpaceCheck")
    }
}

#[derive(Debug)]
pub struct OpenDirectory {
    pub(super) root: Root,
    pub(super) staging: Arc<Staging>,
    pub(super) max_file_bytes: u64,
    pub(super) max_grep_file_bytes: u64,
    pub(super) owner: Option<Owner>,
    room: Option<SpaceCheck>,
    /// Held while something is put in place, so that an edit cannot lose a write that came in between. Only our own
    /// changes wait here: programs in the workspace write as they like.
    changes: Mutex<()>,
    closed: CancellationToken,
}

impl OpenDirectory {
    /// `staging` must lie on the filesystem of `root`. With an `owner`, all that is made here belongs to it (which
    /// takes root); without one, to this process's user.
    pub fn new(root: Root, staging: Arc<Staging>, limits: FileLimits, owner: Option<Owner>) -> Self {
        Self {
            root,
            staging,
            max_file_bytes: limits.max_file_bytes,
            max_grep_file_bytes: limits.max_grep_file_bytes,
            owner,
            room: None,
            changes: Mutex::default(),
            closed: CancellationToken::new(),
        }
    }

    /// With a limit on all of its files together.
    pub fn with_space_check(mut self, room: SpaceCheck) -> Self {
        self.room = Some(room);
        self
    }

    /// Before anything is added.
    pub(super) fn check_space(&self) -> Result<(), Error> {
        self.check_space_for(0)
    }

    /// Before so much is added, or while it is.
    pub(super) fn check_space_for(&self, bytes: u64) -> Result<(), Error> {
        self.room.as_ref().map_or(Ok(()), |room| (room.0)(bytes))
    }

    pub const fn root(&self) -> &Root {
        &self.root
    }

    /// From now on every operation answers `evicted`; streams that are open end.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Answers when the place is closed.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub fn check_open(&self) -> Result<(), Error> {
        if self.closed.is_cancelled() {
            return Err(Error::evicted("the workspace was closed"));
        }
        Ok(())
    }

    fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change while nobody else does, and waits until the directories that it adds to its argument are on disk
    /// (Q20). Others change something meanwhile: the kernel writes what waits together.
    pub(super) fn change<T>(
        &self,
        path: &WorkspacePath,
        change: impl FnOnce(&mut Unsynced) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut unsynced = Unsynced::default();
        let changed = {
            let _changes = self.lock_changes();
            change(&mut unsynced)?
        };
        unsynced.sync().map_err(|errno| self.failure(errno, path))?;
        Ok(changed)
    }

    /// The error for `errno` at `path`. "Not found" in a directory that was taken away is an eviction (W13).
    pub fn failure(&self, errno: Errno, path: &WorkspacePath) -> Error {
        if errno == Errno::NOENT && self.root.is_gone() {
            return Error::evicted("the workspace's directory was removed from the host");
        }
        errno::operation(errno, path)
    }

    /// Makes `path` and missing parents; there already is success.
    pub(super) fn make_directories(&self, path: &WorkspacePath) -> Result<(), Errno> {
        self.root.make_directories(path, |location| self.make_directory(location))
    }

    /// Where something will be put, with its parents made. A link at the end is followed if `follows_links`.
    pub(super) fn location_with_parents(
        &self,
        path: &WorkspacePath,
        follows_links: bool,
    ) -> Result<Location, Error> {
        self.root
            .location_with_parents(path, follows_links, |location| self.make_directory(location))
            .map_err(|errno| self.failure(errno, path))
    }

    /// For an owner, a directory is made in staging and moved in: made in place, it could be swapped for another
    /// before it is given away.
    fn make_directory(&self, location: &Location) -> Result<(), Errno> {
        if self.owner.is_none() {
            return mkdirat(&location.directory, &location.name, Mode::from_raw_mode(0o777));
        }
        let (staged, _) = self.stage_directory()?;
        let (from, name) = (staged.directory(), &staged.name);
        match renameat_with(from, name, &location.directory, &location.name, RenameFlags::NOREPLACE) {
            // A filesystem without that flag: at worst an empty directory gives way to an empty one.
            Err(Errno::INVAL | Errno::NOSYS) => renameat(from, name, &location.directory, &location.name)
                .map_err(|errno| if errno == Errno::NOTEMPTY { Errno::EXIST } else { errno }),
            renamed => renamed,
        }?;
        staged.placed();
        Ok(())
    }

    /// An empty file of the owner's that is removed again unless it is put somewhere.
    pub(super) fn stage_file(&self) -> Result<(Staged, File), Errno> {
        let (staged, file) = self.staging.file()?;
        self.give_to_owner(&file)?;
        Ok((staged, file))
    }

    /// An empty directory, likewise.
    pub(super) fn stage_directory(&self) -> Result<(Staged, OwnedFd), Errno> {
        let (staged, directory) = self.staging.directory()?;
        self.give_to_owner(&directory)?;
        Ok((staged, directory))
    }

    fn give_to_owner(&self, made: impl AsFd) -> Result<(), Errno> {
        self.owner.map_or(Ok(()), |owner| owner.give(made))
    }

    /// Only for links in staging: nobody else can reach them.
    pub(super) fn give_link_to_owner(&self, staging: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        self.owner.map_or(Ok(()), |owner| owner.give_link(staging, name))
    }
}

pub(super) fn refuse_root(path: &WorkspacePath) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root cannot be removed, moved or replaced";
        return Err(Error::operation(ErrorCode::RootProtected, detail));
    }
    Ok(())
}
