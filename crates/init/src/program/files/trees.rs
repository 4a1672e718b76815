//! Removing and moving things. Links are moved and removed as links.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, RenameFlags, fchmod, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::listing::for_each_entry;
use super::resolve::{LIST_FLAGS, Root, Spot};
use super::writing::{elsewhere, with_new_name};

/// Directories open at once.
pub(super) const MAX_DEPTH: u32 = 128;
/// A directory that keeps filling while it is emptied is given up after this many passes.
const MAX_PASSES: u32 = 1_000;
const NAMES_PER_PASS: usize = 8_192;

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
pub(super) fn delete_tree(top: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
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

/// Gives something that was made aside its place.
pub(super) fn put(from: BorrowedFd<'_>, name: &[u8], target: &Spot, overwrite: bool) -> Result<(), Errno> {
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
