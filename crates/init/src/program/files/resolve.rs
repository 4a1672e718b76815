//! Where a path leads: beneath the root, in the kernel.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;
/// The kernel answers EAGAIN when a rename elsewhere races with `..` in a link; it settles at once.
const MAX_RACES: u32 = 64;
const MAX_PATH_BYTES: usize = 8_192;

pub(super) const READ_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW);
const PLACE_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);
pub(super) const LIST_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// A name in an open directory: where something is, or would be.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Root(pub(super) OwnedFd);

impl Root {
    /// A place to go on from. Links are followed as far as they stay inside.
    pub(super) fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut races = 0;
        loop {
            match openat2(&self.0, path, PLACE_FLAGS, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) if races < MAX_RACES => races += 1,
                result => return result,
            }
        }
    }

    /// One whose entries can be read.
    pub(super) fn listed(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        openat(self.directory(path)?, ".", LIST_FLAGS, Mode::empty())
    }

    /// The directory and the name; a link at the end is not followed. The root is `.` in itself.
    pub(super) fn spot(&self, path: &[u8]) -> Result<Spot, Errno> {
        if path.len() > MAX_PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        if path.is_empty() {
            return Ok(Spot { directory: self.directory(b"")?, name: b".".to_vec() });
        }
        let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(0) => return Err(Errno::XDEV),
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        if matches!(name, b"" | b"." | b"..") {
            return Err(Errno::ISDIR);
        }
        Ok(Spot { directory: self.directory(parent)?, name: name.to_vec() })
    }

    /// As `spot`, with links at the end followed: where a file reached through `path` really is.
    pub(super) fn target_spot(&self, path: &[u8]) -> Result<Spot, Errno> {
        let mut path = path.to_vec();
        for _ in 0..MAX_LINKS {
            let spot = self.spot(&path)?;
            let Some(stat) = spot.stat()? else {
                return Ok(spot);
            };
            if !FileType::from_raw_mode(stat.st_mode).is_symlink() {
                return Ok(spot);
            }
            let target = spot.link_target()?;
            if target.starts_with(b"/") {
                return Err(Errno::XDEV);
            }
            // Relative to the directory that the link is in; the kernel resolves `..` in it, and no further than the root.
            let parent = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            path.truncate(parent);
            path.extend(target);
        }
        Err(Errno::LOOP)
    }

    /// Makes a directory and its parents; there already is success.
    pub(super) fn make_directories(&self, path: &[u8]) -> Result<(), Errno> {
        match self.directory(path) {
            Err(Errno::NOENT) if !path.is_empty() => {}
            other => return other.map(drop),
        }
        let parent = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.make_directories(&path[..parent])?;
        let spot = self.spot(path)?;
        match mkdirat(&spot.directory, &*spot.name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        // A dangling link or a file made meanwhile shows here.
        self.directory(path).map(drop)
    }

    /// A spot whose parents are made if need be.
    pub(super) fn made_spot(&self, path: &[u8], follow: bool) -> Result<Spot, Errno> {
        let find = || if follow { self.target_spot(path) } else { self.spot(path) };
        match find() {
            Err(Errno::NOENT) => {
                let parent = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                self.make_directories(&path[..parent])?;
                find()
            }
            other => other,
        }
    }
}

impl Spot {
    /// What is there, itself.
    pub(super) fn stat(&self) -> Result<Option<Stat>, Errno> {
        match statat(&self.directory, &*self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn link_target(&self) -> Result<Vec<u8>, Errno> {
        link_target(self.directory.as_fd(), &self.name)
    }
}

pub(super) fn link_target(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    Ok(readlinkat(directory, name, Vec::new())?.into_bytes())
}

/// A regular file for reading. Looked at before it is opened, and again after, should it have been swapped in between;
/// `O_NONBLOCK` keeps a fifo from hanging even then (W24).
pub(super) fn open_regular(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(OwnedFd, Stat), Errno> {
    refuse_special(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let file = openat(directory, name, READ_FLAGS, Mode::empty())?;
    let stat = fstat(&file)?;
    refuse_special(&stat)?;
    Ok((file, stat))
}

/// EISDIR for a directory, ENXIO for a device, fifo or socket.
pub(super) fn refuse_special(stat: &Stat) -> Result<(), Errno> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Errno::ISDIR),
        FileType::Symlink => Err(Errno::LOOP),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(Errno::NXIO),
    }
}
