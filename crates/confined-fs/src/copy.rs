//! Copying files and trees. Links are copied as links, and holes as holes: a tree that takes no space, or one file under
//! many names, must not become gigabytes before anybody measures it (sec/B01).

use std::ffi::{OsStr, OsString};
use std::fs::File;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, statat, symlinkat};
use rustix::io::Errno;

use crate::attributes::size_of;
use crate::entries::for_each_entry;
use crate::owner::Owner;
use crate::root::{DIRECTORY_FLAGS, open_regular, read_link};
use crate::sparse;

/// Directories open at once while a tree is copied.
const MAX_DEPTH: u32 = 128;
/// What an entry counts as, besides its contents.
const ENTRY_BYTES: u64 = 2_048;

/// Why a copy was given up. `E` is the refusal of the caller's own `admit`.
#[derive(Debug)]
pub enum CopyError<E> {
    Kernel(Errno),
    /// A file is larger than `max_file_bytes`.
    FileTooLarge,
    /// The tree is nested deeper than this.
    TooDeep(u32),
    /// The tree holds a device, fifo or socket of this name.
    SpecialFile(OsString),
    Refused(E),
}

impl<E> From<Errno> for CopyError<E> {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

/// Copies into a directory or file that the caller has made out of sight.
pub struct TreeCopy<'a, E> {
    /// To whom what is made is given.
    pub owner: Option<Owner>,
    pub max_file_bytes: u64,
    /// Asked before more is copied, with its bytes without holes.
    pub admit: &'a mut dyn FnMut(u64) -> Result<(), E>,
}

impl<E> std::fmt::Debug for TreeCopy<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeCopy").field("max_file_bytes", &self.max_file_bytes).finish_non_exhaustive()
    }
}

impl<E> TreeCopy<'_, E> {
    /// The entries of `original` into `made`, and its permission bits.
    pub fn copy_tree(&mut self, original: BorrowedFd<'_>, made: BorrowedFd<'_>) -> Result<(), CopyError<E>> {
        self.copy_entries(original, made, 0)
    }

    /// The bytes of a regular file, up to what its size was when it was opened, and its permission bits.
    pub fn copy_contents(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        into: &File,
    ) -> Result<(), CopyError<E>> {
        let (file, stat) = open_regular(directory, name)?;
        if size_of(&stat) > self.max_file_bytes {
            return Err(CopyError::FileTooLarge);
        }
        sparse::copy(&File::from(file), into, size_of(&stat), |bytes| self.admit(bytes))?;
        Ok(fchmod(into, Mode::from_raw_mode(stat.st_mode & 0o777))?)
    }

    fn admit(&mut self, bytes: u64) -> Result<(), CopyError<E>> {
        (self.admit)(bytes).map_err(CopyError::Refused)
    }

    fn copy_entries(
        &mut self,
        original: BorrowedFd<'_>,
        made: BorrowedFd<'_>,
        depth: u32,
    ) -> Result<(), CopyError<E>> {
        if depth > MAX_DEPTH {
            return Err(CopyError::TooDeep(MAX_DEPTH));
        }
        let mut failure = None;
        let listed = for_each_entry(original, |name, _| {
            self.copy_entry(original, made, name, depth).map_err(|error| {
                failure = Some(error);
                Errno::CANCELED
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        listed?;
        Ok(fchmod(made, Mode::from_raw_mode(fstat(original)?.st_mode & 0o777))?)
    }

    fn copy_entry(
        &mut self,
        original: BorrowedFd<'_>,
        made: BorrowedFd<'_>,
        name: &OsStr,
        depth: u32,
    ) -> Result<(), CopyError<E>> {
        self.admit(ENTRY_BYTES)?;
        let stat = statat(original, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                mkdirat(made, name, Mode::from_raw_mode(0o700))?;
                let below = openat(original, name, DIRECTORY_FLAGS, Mode::empty())?;
                let copy = openat(made, name, DIRECTORY_FLAGS, Mode::empty())?;
                self.give(&copy)?;
                self.copy_entries(below.as_fd(), copy.as_fd(), depth + 1)
            }
            FileType::Symlink => {
                symlinkat(&read_link(original, name)?, made, name)?;
                Ok(self.owner.map_or(Ok(()), |owner| owner.give_link(made, name))?)
            }
            FileType::RegularFile => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let copy = openat(made, name, flags, Mode::from_raw_mode(0o600))?;
                self.give(&copy)?;
                self.copy_contents(original, name, &File::from(copy))
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(CopyError::SpecialFile(name.to_owned())),
        }
    }

    fn give(&self, made: impl AsFd) -> Result<(), Errno> {
        self.owner.map_or(Ok(()), |owner| owner.give(made))
    }
}
