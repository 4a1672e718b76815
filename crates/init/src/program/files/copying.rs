//! Copying files and trees. Links are copied as links, and holes as holes: a tree that takes no space, or one file under
//! many names, must not become gigabytes in a volume that nobody measures (sec/B01).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, SeekFrom, fchmod, fstat, ftruncate, mkdirat, openat, seek, statat,
    symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::listing::{for_each_entry, size_of_file};
use super::resolve::{LIST_FLAGS, Root, Spot, link_target, open_regular};
use super::trees::{MAX_DEPTH, delete_tree, put};
use super::writing::{stage, with_new_name};

const PIECE_BYTES: usize = 128 << 10;
/// What an entry counts as besides its contents.
const ENTRY_BYTES: u64 = 2_048;

/// What to copy, and how.
#[derive(Debug)]
pub(super) struct Copy<'a> {
    pub(super) from: &'a [u8],
    pub(super) to: &'a [u8],
    pub(super) recursive: bool,
    pub(super) overwrite: bool,
    pub(super) max_file_bytes: u64,
    /// Of all that is copied together, without holes.
    pub(super) max_bytes: u64,
}

/// Made aside and renamed into place, so that others see all of it or nothing.
pub(super) fn copy(root: &Root, copy: &Copy<'_>) -> Result<(), Errno> {
    let source = root.spot(copy.from)?;
    let stat = source.stat()?.ok_or(Errno::NOENT)?;
    let top = root.directory(b"")?;
    let mut copier = Copier { max_file_bytes: copy.max_file_bytes, left: copy.max_bytes };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory if !copy.recursive => Err(Errno::ISDIR),
        FileType::Directory => {
            let mode = Mode::from_raw_mode(0o700);
            let ((), name) = with_new_name(|name| mkdirat(&top, name, mode))?;
            let copied = copier
                .tree(&source, top.as_fd(), &name)
                .and_then(|()| root.made_spot(copy.to, false))
                .and_then(|target| put(top.as_fd(), &name, &target, copy.overwrite));
            copied.inspect_err(|_| {
                let _ = delete_tree(top.as_fd(), &name);
            })
        }
        FileType::Symlink => {
            let target = source.link_target()?;
            let ((), name) = with_new_name(|name| symlinkat(&*target, &top, name))?;
            let copied = root
                .made_spot(copy.to, false)
                .and_then(|target| put(top.as_fd(), &name, &target, copy.overwrite));
            copied.inspect_err(|_| {
                let _ = unlinkat(&top, &*name, AtFlags::empty());
            })
        }
        _ => {
            let staged = stage(root, copy.to, !copy.overwrite)?;
            copier.contents(source.directory.as_fd(), &source.name, staged.file())?;
            staged.commit(root).map(drop)
        }
    }
}

/// What one copy may still take.
#[derive(Debug)]
struct Copier {
    max_file_bytes: u64,
    left: u64,
}

impl Copier {
    fn count(&mut self, bytes: u64) -> Result<(), Errno> {
        self.left = self.left.checked_sub(bytes).ok_or(Errno::DQUOT)?;
        Ok(())
    }

    fn tree(&mut self, source: &Spot, top: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        let original = openat(&source.directory, &*source.name, LIST_FLAGS, Mode::empty())?;
        let made = openat(top, name, LIST_FLAGS, Mode::empty())?;
        self.entries(original.as_fd(), made.as_fd(), 0)
    }

    fn entries(&mut self, original: BorrowedFd<'_>, made: BorrowedFd<'_>, depth: u32) -> Result<(), Errno> {
        if depth > MAX_DEPTH {
            return Err(Errno::NAMETOOLONG);
        }
        for_each_entry(original, |name, _| self.entry(original, made, name, depth))?;
        fchmod(made, Mode::from_raw_mode(fstat(original)?.st_mode & 0o777))
    }

    fn entry(
        &mut self,
        original: BorrowedFd<'_>,
        made: BorrowedFd<'_>,
        name: &[u8],
        depth: u32,
    ) -> Result<(), Errno> {
        self.count(ENTRY_BYTES)?;
        let stat = statat(original, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                mkdirat(made, name, Mode::from_raw_mode(0o700))?;
                let below = openat(original, name, LIST_FLAGS, Mode::empty())?;
                let copy = openat(made, name, LIST_FLAGS, Mode::empty())?;
                self.entries(below.as_fd(), copy.as_fd(), depth + 1)
            }
            FileType::Symlink => symlinkat(&*link_target(original, name)?, made, name),
            FileType::RegularFile => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let copy = openat(made, name, flags, Mode::from_raw_mode(0o600))?;
                self.contents(original, name, &copy)
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(Errno::NXIO),
        }
    }

    /// The bytes, up to what its size was when it was opened, and the permission bits.
    fn contents(&mut self, directory: BorrowedFd<'_>, name: &[u8], into: &OwnedFd) -> Result<(), Errno> {
        let (file, stat) = open_regular(directory, name)?;
        let length = size_of_file(&stat);
        if length > self.max_file_bytes {
            return Err(Errno::FBIG);
        }
        let mut buffer = vec![0; PIECE_BYTES];
        let mut at = 0;
        while at < length {
            let begin = match seek(&file, SeekFrom::Data(at)) {
                // Nothing but a hole is left, or the file has become shorter.
                Err(Errno::NXIO) => break,
                begin => begin?,
            };
            let end = seek(&file, SeekFrom::Hole(begin)).unwrap_or(length).min(length);
            if begin >= end {
                break;
            }
            at = self.range(&file, into, begin..end, &mut buffer)?;
            if at < end {
                break;
            }
        }
        ftruncate(into, length)?;
        fchmod(into, Mode::from_raw_mode(stat.st_mode & 0o777))
    }

    /// How far it came: not to the end of the range if the file has become shorter.
    fn range(
        &mut self,
        file: &OwnedFd,
        into: &OwnedFd,
        range: std::ops::Range<u64>,
        buffer: &mut [u8],
    ) -> Result<u64, Errno> {
        let mut at = range.start;
        while at < range.end {
            let wanted = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(buffer.len());
            let count = match rustix::io::pread(file, &mut buffer[..wanted], at) {
                Ok(0) => break,
                Err(Errno::INTR) => continue,
                other => other?,
            };
            self.count(count as u64)?;
            write_at(into, &buffer[..count], at)?;
            at += count as u64;
        }
        Ok(at)
    }
}

fn write_at(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(count) => (bytes, at) = (&bytes[count..], at + count as u64),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
