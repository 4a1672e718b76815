//! Removing, moving and copying things. Links are moved, copied and removed as links.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, openat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::listing::{for_each_entry, size_of_file};
use super::resolve::{LIST_FLAGS, Root, Spot, link_target, open_regular};
use super::writing::{add, elsewhere, stage, with_new_name};

/// Directories open at once.
const MAX_DEPTH: u32 = 128;
/// A directory that keeps filling while it is emptied is given up after this many passes.
const MAX_PASSES: u32 = 1_000;
const NAMES_PER_PASS: usize = 8_192;
const COPY_BYTES: usize = 128 << 10;

pub(super) fn make_directory(root: &Root, path: &[u8]) -> Result<(), Errno> {
    match root.make_directories(path) {
        // The directory is not there, something else is.
        Err(Errno::NOTDIR)
            if root.spot(path).and_then(|spot| spot.stat()).is_ok_and(|stat| stat.is_some()) =>
        {
            Err(Errno::EXIST)
        }
        other => other,
    }
}

/// True: what is there is a tree, and it takes longer.
pub(super) fn is_tree(root: &Root, path: &[u8]) -> bool {
    let stat = root.spot(path).and_then(|spot| spot.stat());
    stat.is_ok_and(|stat| stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()))
}

pub(super) fn remove(root: &Root, path: &[u8], recursive: bool) -> Result<(), Errno> {
    if path.is_empty() {
        return Err(Errno::BUSY);
    }
    let spot = root.spot(path)?;
    match unlinkat(&spot.directory, &*spot.name, AtFlags::empty()) {
        // EISDIR on Linux, EPERM by POSIX: a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other,
    }
    match unlinkat(&spot.directory, &*spot.name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) if recursive => {}
        Err(Errno::EXIST) => return Err(Errno::NOTEMPTY),
        other => return other,
    }
    delete_tree(spot.directory.as_fd(), &spot.name)
}

/// By handle: whatever is swapped in meanwhile, no link is followed. What lies too deep is moved up and deleted after.
fn delete_tree(top: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let mut waiting = vec![name.to_vec()];
    while let Some(next) = waiting.pop() {
        delete(top, top, &next, 0, &mut waiting)?;
    }
    Ok(())
}

fn delete(
    top: BorrowedFd<'_>,
    parent: BorrowedFd<'_>,
    name: &[u8],
    depth: u32,
    waiting: &mut Vec<Vec<u8>>,
) -> Result<(), Errno> {
    for _ in 0..MAX_PASSES {
        match unlinkat(parent, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(Errno::NOENT) => return Ok(()),
            other => return other,
        }
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            // Swapped for something else meanwhile: look again.
            Err(Errno::NOTDIR) => continue,
            Err(Errno::NOENT) => return Ok(()),
            other => return other,
        }
        if depth >= MAX_DEPTH {
            let ((), lifted) = with_new_name(|lifted| renameat(parent, name, top, lifted))?;
            waiting.push(lifted);
            return Ok(());
        }
        let directory = match openat(parent, name, LIST_FLAGS, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => continue,
            other => other?,
        };
        // Our own files: only the mode may be in the way.
        let _ = fchmod(&directory, Mode::from_raw_mode(0o700));
        for inner in names(directory.as_fd())? {
            delete(top, directory.as_fd(), &inner, depth + 1, waiting)?;
        }
    }
    Err(Errno::NOTEMPTY)
}

fn names(directory: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    let listed = for_each_entry(directory, |name, _| {
        names.push(name.to_vec());
        if names.len() < NAMES_PER_PASS { Ok(()) } else { Err(Errno::CANCELED) }
    });
    match listed {
        Ok(()) | Err(Errno::CANCELED) => Ok(names),
        Err(errno) => Err(errno),
    }
}

pub(super) fn rename(root: &Root, from: &[u8], to: &[u8], overwrite: bool) -> Result<(), Errno> {
    if from.is_empty() || to.is_empty() {
        return Err(Errno::BUSY);
    }
    let source = root.spot(from)?;
    source.stat()?.ok_or(Errno::NOENT)?;
    let target = root.made_spot(to, false)?;
    put(source.directory.as_fd(), &source.name, &target, overwrite)
}

fn put(from: BorrowedFd<'_>, name: &[u8], target: &Spot, overwrite: bool) -> Result<(), Errno> {
    let renamed = if overwrite {
        renameat(from, name, &target.directory, &*target.name)
    } else {
        renameat_with(from, name, &target.directory, &*target.name, RenameFlags::NOREPLACE)
    };
    renamed.map_err(|errno| match errno {
        Errno::EXIST if overwrite => Errno::NOTEMPTY,
        other => elsewhere(other),
    })
}

/// What to copy, and how.
#[derive(Debug)]
pub(super) struct Copy<'a> {
    pub(super) from: &'a [u8],
    pub(super) to: &'a [u8],
    pub(super) recursive: bool,
    pub(super) overwrite: bool,
    pub(super) max_file_bytes: u64,
}

/// Made aside and renamed into place, so that others see all of it or nothing.
pub(super) fn copy(root: &Root, copy: &Copy<'_>) -> Result<(), Errno> {
    let source = root.spot(copy.from)?;
    let stat = source.stat()?.ok_or(Errno::NOENT)?;
    let top = root.directory(b"")?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory if !copy.recursive => Err(Errno::ISDIR),
        FileType::Directory => {
            let mode = Mode::from_raw_mode(0o700);
            let ((), name) = with_new_name(|name| mkdirat(&top, name, mode))?;
            let copied = copy_tree(&source, top.as_fd(), &name, copy.max_file_bytes)
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
            copy_contents(source.directory.as_fd(), &source.name, staged.file(), copy.max_file_bytes)?;
            staged.commit(root).map(drop)
        }
    }
}

fn copy_tree(source: &Spot, top: BorrowedFd<'_>, name: &[u8], max_file_bytes: u64) -> Result<(), Errno> {
    let original = openat(&source.directory, &*source.name, LIST_FLAGS, Mode::empty())?;
    let made = openat(top, name, LIST_FLAGS, Mode::empty())?;
    copy_entries(original.as_fd(), made.as_fd(), max_file_bytes, 0)
}

fn copy_entries(
    original: BorrowedFd<'_>,
    made: BorrowedFd<'_>,
    max_file_bytes: u64,
    depth: u32,
) -> Result<(), Errno> {
    if depth > MAX_DEPTH {
        return Err(Errno::NAMETOOLONG);
    }
    for_each_entry(original, |name, _| copy_entry(original, made, name, max_file_bytes, depth))?;
    fchmod(made, Mode::from_raw_mode(fstat(original)?.st_mode & 0o777))
}

fn copy_entry(
    original: BorrowedFd<'_>,
    made: BorrowedFd<'_>,
    name: &[u8],
    max_file_bytes: u64,
    depth: u32,
) -> Result<(), Errno> {
    let stat = statat(original, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            mkdirat(made, name, Mode::from_raw_mode(0o700))?;
            let below = openat(original, name, LIST_FLAGS, Mode::empty())?;
            let copy = openat(made, name, LIST_FLAGS, Mode::empty())?;
            copy_entries(below.as_fd(), copy.as_fd(), max_file_bytes, depth + 1)
        }
        FileType::Symlink => symlinkat(&*link_target(original, name)?, made, name),
        FileType::RegularFile => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let copy = openat(made, name, flags, Mode::from_raw_mode(0o600))?;
            copy_contents(original, name, &copy, max_file_bytes)
        }
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(Errno::NXIO),
    }
}

/// The bytes and the permission bits.
fn copy_contents(
    directory: BorrowedFd<'_>,
    name: &[u8],
    into: &OwnedFd,
    max_file_bytes: u64,
) -> Result<(), Errno> {
    let (file, stat) = open_regular(directory, name)?;
    if size_of_file(&stat) > max_file_bytes {
        return Err(Errno::FBIG);
    }
    let mut buffer = vec![0; COPY_BYTES];
    let mut copied = 0;
    loop {
        let count = match rustix::io::read(&file, &mut buffer[..]) {
            Ok(0) => break,
            Err(Errno::INTR) => continue,
            other => other?,
        };
        copied += count as u64;
        if copied > max_file_bytes {
            return Err(Errno::FBIG);
        }
        add(into, &buffer[..count])?;
    }
    fchmod(into, Mode::from_raw_mode(stat.st_mode & 0o777))
}
