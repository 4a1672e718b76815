//! Writing whole files from inside a tree, where there is no directory out of the tree's reach to make them in.
//!
//! A file has no name until it is committed, so nothing half-written is ever seen, and a box that dies leaves nothing.
//! Where the filesystem has no nameless files, the file has a temporary name in the root meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::put::{Unsynced, finish_file, replaced_file};
use crate::root::{Location, Root};

/// How temporary names begin. Watches do not report them.
pub const TEMPORARY_PREFIX: &str = ".warren-staged-";
const MAX_TRIES: u32 = 64;

/// A file on its way to `path`. Dropped without a commit, it is gone.
#[derive(Debug)]
pub struct UnnamedFile {
    file: File,
    path: Vec<u8>,
    must_be_new: bool,
    /// In the root, where the filesystem has no nameless files.
    temporary_name: Option<(OwnedFd, OsString)>,
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.temporary_name {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

impl UnnamedFile {
    /// Refuses early what the commit would refuse after the contents have arrived.
    pub fn create(root: &Root, path: &[u8], must_be_new: bool) -> Result<Self, Errno> {
        if path.is_empty() {
            return Err(Errno::ISDIR);
        }
        match if must_be_new { root.location(path) } else { root.target_location(path) } {
            Err(Errno::NOENT) => {}
            other => drop(replaced_file(&other?, must_be_new)?),
        }
        let mode = Mode::from_raw_mode(0o666);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let (file, temporary_name) = match openat(root.handle(), ".", flags, mode) {
            Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::ISDIR) => {
                let directory = root.directory(b"")?;
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let (file, name) = with_unused_name(|name| openat(&directory, name, flags, mode))?;
                (file, Some((directory, name)))
            }
            file => (file?, None),
        };
        Ok(Self { file: file.into(), path: path.to_vec(), must_be_new, temporary_name })
    }

    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Puts the file in its place, with parents made. Returns true if nothing was there. The directory whose names have to
    /// reach the disk is added to `unsynced`.
    pub fn commit(mut self, root: &Root, unsynced: &mut Unsynced) -> Result<bool, Errno> {
        let location = root.location_with_parents(&self.path, !self.must_be_new, make_directory)?;
        let replaced = replaced_file(&location, self.must_be_new)?;
        finish_file(&self.file, replaced.as_ref())?;
        self.put_at(&location).map_err(refuse_other_filesystem)?;
        unsynced.add(location.directory);
        Ok(replaced.is_none())
    }

    fn put_at(&mut self, location: &Location) -> Result<(), Errno> {
        if let Some((directory, name)) = &self.temporary_name {
            if self.must_be_new {
                return linkat(directory, name, &location.directory, &location.name, AtFlags::empty());
            }
            renameat(directory, name, &location.directory, &location.name)?;
            self.temporary_name = None;
            return Ok(());
        }
        if self.must_be_new {
            return give_name(self.file.as_fd(), &location.directory, &location.name);
        }
        // A name beside it first: only a rename replaces.
        let ((), name) = with_unused_name(|name| give_name(self.file.as_fd(), &location.directory, name))?;
        renameat(&location.directory, &name, &location.directory, &location.name).inspect_err(|_| {
            let _ = unlinkat(&location.directory, &name, AtFlags::empty());
        })
    }
}

/// A rename answers EXDEV for another filesystem below the root. That is refused, and must not be mistaken for a path that
/// leads out of the root, which is EXDEV too.
pub fn refuse_other_filesystem(errno: Errno) -> Errno {
    if errno == Errno::XDEV { Errno::PERM } else { errno }
}

/// For `Root::make_directories`, where what is made belongs to this process's user.
pub fn make_directory(location: &Location) -> Result<(), Errno> {
    mkdirat(&location.directory, &location.name, Mode::from_raw_mode(0o777))
}

fn give_name(file: BorrowedFd<'_>, directory: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, path, directory, name, AtFlags::SYMLINK_FOLLOW) {
        // A box without `/proc`.
        Err(Errno::NOENT) => linkat(file, "", directory, name, AtFlags::EMPTY_PATH),
        other => other,
    }
}

/// Calls `make` with new temporary names until one is free.
pub fn with_unused_name<T>(mut make: impl FnMut(&OsStr) -> Result<T, Errno>) -> Result<(T, OsString), Errno> {
    for _ in 0..MAX_TRIES {
        let name = OsString::from(format!("{TEMPORARY_PREFIX}{}", unique_text()));
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return Ok((made?, name)),
        }
    }
    Err(Errno::BUSY)
}

/// The process id and a count tell processes and calls apart; the time, processes of boxes that had the same id.
#[expect(clippy::disallowed_methods, reason = "the time makes a name unique and decides nothing")]
fn unique_text() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{nanos:x}-{count:x}", std::process::id())
}
