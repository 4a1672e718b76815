//! Putting things where they belong: a rename into place, and adding to a file in place; and seeing to it that they are there
//! after a power loss.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fdatasync, fstat, fsync, linkat,
    mkdirat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use crate::owner::Owner;
use crate::root::{DIRECTORY_FLAGS, Location, refuse_special};

/// A file that comes and goes while it is opened is given up after this many tries.
const MAX_RACES: u32 = 64;

/// Renames `name` in `from` to `to`.
pub fn rename(from: BorrowedFd<'_>, name: &OsStr, to: &Location, overwrite: bool) -> Result<(), Errno> {
    if !overwrite {
        return renameat_with(from, name, &to.directory, &to.name, RenameFlags::NOREPLACE);
    }
    renameat(from, name, &to.directory, &to.name).map_err(|errno| match errno {
        // Some filesystems say so of a directory that is not empty.
        Errno::EXIST => Errno::NOTEMPTY,
        other => other,
    })
}

/// As `rename`, for what was made out of sight; also on filesystems that cannot refuse to replace.
pub fn put_in_place(from: BorrowedFd<'_>, name: &OsStr, to: &Location, overwrite: bool) -> Result<(), Errno> {
    match rename(from, name, to, overwrite) {
        // A second name is made only where there is none, too.
        Err(Errno::INVAL | Errno::NOSYS) if !overwrite => {
            linkat(from, name, &to.directory, &to.name, AtFlags::empty())
                .and_then(|()| unlinkat(from, name, AtFlags::empty()))
        }
        other => other,
    }
}

/// The file that a write to `location` would replace, if there is one. What cannot be replaced by a file is refused.
pub fn replaced_file(location: &Location, must_be_new: bool) -> Result<Option<Stat>, Errno> {
    match location.stat()? {
        None => Ok(None),
        Some(_) if must_be_new => Err(Errno::EXIST),
        // A link here was swapped in after the path was resolved; the rename replaces the link itself.
        Some(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => Ok(None),
        Some(stat) => refuse_special(&stat).map(|()| Some(stat)),
    }
}

/// Before a new file is put in the place of `replaced`: it gets that one's permission bits, and its data reaches the disk,
/// so that after a power loss the name holds the old contents or the new, whole. Where the data is on disk already, that
/// costs next to nothing.
pub fn finish_file(file: impl AsFd, replaced: Option<&Stat>) -> Result<(), Errno> {
    if let Some(stat) = replaced {
        let mode = stat.st_mode & 0o777;
        if fstat(&file)?.st_mode & 0o777 != mode {
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
    }
    fdatasync(file)
}

/// Waits until the names that a directory has now are on disk: made, renamed and removed ones (Q20). The handle may be one
/// that cannot be listed.
pub fn sync_directory(directory: impl AsFd) -> Result<(), Errno> {
    let listed = match openat(directory, ".", DIRECTORY_FLAGS, Mode::empty()) {
        // One that may be written and not read, or is gone again.
        Err(Errno::ACCESS | Errno::NOENT) => return Ok(()),
        listed => listed?,
    };
    match fsync(listed) {
        // Filesystems that have nothing to write.
        Err(Errno::INVAL) => Ok(()),
        other => other,
    }
}

/// Makes a folder for a workspace unless it is there, and waits until it is on disk.
pub fn make_folder(folder: &Path) -> Result<(), Errno> {
    match mkdirat(CWD, folder, Mode::from_raw_mode(0o700)) {
        Err(Errno::EXIST) => return Ok(()),
        made => made?,
    }
    let parent = folder.parent().unwrap_or(Path::new("/"));
    sync_directory(openat(CWD, parent, DIRECTORY_FLAGS, Mode::empty())?)
}

/// Directories with names that may not be on disk yet. Whoever changed them waits for that before it says that it did; many
/// changes in one directory are waited for together.
#[derive(Debug, Default)]
#[must_use]
pub struct Unsynced(Vec<OwnedFd>);

impl Unsynced {
    pub fn add(&mut self, directory: OwnedFd) {
        self.0.push(directory);
    }

    /// How many were added.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each directory once.
    pub fn sync(self) -> Result<(), Errno> {
        let mut done = Vec::new();
        for directory in self.0 {
            let stat = fstat(&directory)?;
            let identity = (stat.st_dev, stat.st_ino);
            if !done.contains(&identity) {
                sync_directory(&directory)?;
                done.push(identity);
            }
        }
        Ok(())
    }
}

/// A regular file to add to, what it is now, and whether it was made here. It is opened in two ways instead of one with
/// `O_CREAT`: only what we made ourselves is given to the owner.
pub fn open_for_append(location: &Location, owner: Option<Owner>) -> Result<(File, Stat, bool), Errno> {
    let flags = OFlags::APPEND
        | OFlags::WRONLY
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    for _ in 0..MAX_RACES {
        if let Some(stat) = location.stat()? {
            refuse_special(&stat)?;
        }
        match openat(&location.directory, &location.name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            file => {
                let file = file?;
                let stat = fstat(&file)?;
                refuse_special(&stat)?;
                return Ok((file.into(), stat, false));
            }
        }
        let make = flags | OFlags::CREATE | OFlags::EXCL;
        match openat(&location.directory, &location.name, make, Mode::from_raw_mode(0o666)) {
            Err(Errno::EXIST) => {}
            file => {
                let file = file?;
                owner.map_or(Ok(()), |owner| owner.give(&file))?;
                let stat = fstat(&file)?;
                return Ok((file.into(), stat, true));
            }
        }
    }
    Err(Errno::BUSY)
}
