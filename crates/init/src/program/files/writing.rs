//! Writing: whole files by rename, and adding in place.
//!
//! What is staged has no name until it is committed, so nothing half-written is ever seen and nothing is left by a box
//! that dies. Where the filesystem has no nameless files, it has a name in the root meanwhile.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fchmod, fdatasync, fstat, linkat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use warren_init::FileEntry;

use super::listing::entry;
use super::resolve::{Root, Spot, refuse_special};

/// Names that are ours for a moment.
pub(super) const STAGED_PREFIX: &[u8] = b".warren-staged-";
const MAX_RACES: u32 = 64;

#[derive(Debug)]
pub(super) struct Staged {
    file: OwnedFd,
    path: Vec<u8>,
    create_new: bool,
    /// In the root, where nameless files are not to be had.
    name: Option<(OwnedFd, Vec<u8>)>,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.name {
            let _ = unlinkat(directory, &**name, AtFlags::empty());
        }
    }
}

pub(super) fn stage(root: &Root, path: &[u8], create_new: bool) -> Result<Staged, Errno> {
    if path.is_empty() {
        return Err(Errno::ISDIR);
    }
    // Refuses early what the commit would refuse after the contents have arrived.
    match if create_new { root.spot(path) } else { root.target_spot(path) } {
        Err(Errno::NOENT) => {}
        other => drop(check_target(&other?, create_new)?),
    }
    let mode = Mode::from_raw_mode(0o666);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(&root.0, ".", flags, mode) {
        Ok(file) => Ok(Staged { file, path: path.to_vec(), create_new, name: None }),
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::ISDIR) => {
            let directory = root.directory(b"")?;
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let (file, name) = with_new_name(|name| openat(&directory, name, flags, mode))?;
            Ok(Staged { file, path: path.to_vec(), create_new, name: Some((directory, name)) })
        }
        Err(errno) => Err(errno),
    }
}

pub(super) fn add(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

impl Staged {
    pub(super) const fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Tells whether nothing was there.
    pub(super) fn commit(mut self, root: &Root) -> Result<bool, Errno> {
        let spot = root.made_spot(&self.path, !self.create_new)?;
        let old = check_target(&spot, self.create_new)?;
        if let Some(stat) = &old {
            fchmod(&self.file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        }
        fdatasync(&self.file)?;
        self.place(&spot).map_err(elsewhere)?;
        Ok(old.is_none())
    }

    fn place(&mut self, spot: &Spot) -> Result<(), Errno> {
        if let Some((directory, name)) = &self.name {
            if self.create_new {
                return linkat(directory, &**name, &spot.directory, &*spot.name, AtFlags::empty());
            }
            renameat(directory, &**name, &spot.directory, &*spot.name)?;
            self.name = None;
            return Ok(());
        }
        if self.create_new {
            return give_name(self.file.as_fd(), &spot.directory, &spot.name);
        }
        // A name beside it first: only a rename replaces.
        let ((), name) = with_new_name(|name| give_name(self.file.as_fd(), &spot.directory, name))?;
        renameat(&spot.directory, &*name, &spot.directory, &*spot.name).inspect_err(|_| {
            let _ = unlinkat(&spot.directory, &*name, AtFlags::empty());
        })
    }
}

fn give_name(file: BorrowedFd<'_>, directory: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, path, directory, name, AtFlags::SYMLINK_FOLLOW) {
        // A box without `/proc`.
        Err(Errno::NOENT) => linkat(file, "", directory, name, AtFlags::EMPTY_PATH),
        other => other,
    }
}

/// Another filesystem below the workspace: refused, and not mistaken for a way out.
pub(super) fn elsewhere(errno: Errno) -> Errno {
    if errno == Errno::XDEV { Errno::PERM } else { errno }
}

/// Calls `make` with new names until one is free.
pub(super) fn with_new_name<T>(
    mut make: impl FnMut(&[u8]) -> Result<T, Errno>,
) -> Result<(T, Vec<u8>), Errno> {
    for _ in 0..MAX_RACES {
        let unique = format!("{:x}-{:x}", std::process::id(), super::super::clock::now_nanos());
        let name = [STAGED_PREFIX, unique.as_bytes()].concat();
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return Ok((made?, name)),
        }
    }
    Err(Errno::BUSY)
}

/// A file to add to, what it is now, and whether it was made here.
pub(super) fn open_append(root: &Root, path: &[u8]) -> Result<(OwnedFd, FileEntry, bool), Errno> {
    if path.is_empty() {
        return Err(Errno::ISDIR);
    }
    let spot = root.made_spot(path, true)?;
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    for _ in 0..MAX_RACES {
        if let Some(stat) = spot.stat()? {
            refuse_special(&stat)?;
        }
        let mode = Mode::from_raw_mode(0o666);
        let (file, created) = match openat(&spot.directory, &*spot.name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                match openat(&spot.directory, &*spot.name, flags | OFlags::CREATE | OFlags::EXCL, mode) {
                    Err(Errno::EXIST) => continue,
                    made => (made?, true),
                }
            }
            opened => (opened?, false),
        };
        let stat = fstat(&file)?;
        refuse_special(&stat)?;
        return Ok((file, entry(path, &stat, None), created));
    }
    Err(Errno::BUSY)
}

fn check_target(spot: &Spot, create_new: bool) -> Result<Option<Stat>, Errno> {
    match spot.stat()? {
        None => Ok(None),
        Some(_) if create_new => Err(Errno::EXIST),
        // A link here was swapped in after the path was resolved; the rename replaces the link itself.
        Some(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => Ok(None),
        Some(stat) => refuse_special(&stat).map(|()| Some(stat)),
    }
}
