//! Making, removing and moving things. Links are moved and removed as links.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, unlinkat};
use rustix::io::Errno;
use warren_confined_fs::{
    self as confined_fs, Location, Root, Unsynced, delete_tree, refuse_other_filesystem,
};

pub(super) fn make_directory(root: &Root, path: &[u8]) -> Result<(), Errno> {
    match root.make_directories(path, confined_fs::make_directory) {
        // The directory is not there, something else is.
        Err(Errno::NOTDIR) if root.stat(path).is_ok() => Err(Errno::EXIST),
        other => other,
    }
}

/// Whether a directory is there, whose removal takes longer than that of a file.
pub(super) fn is_tree(root: &Root, path: &[u8]) -> bool {
    root.stat(path).is_ok_and(|(stat, _)| FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// As all that changes names here, adds the directories whose names have to reach the disk to `unsynced`.
pub(super) fn remove(
    root: &Root,
    path: &[u8],
    recursive: bool,
    unsynced: &mut Unsynced,
) -> Result<(), Errno> {
    if path.is_empty() {
        return Err(Errno::BUSY);
    }
    let location = root.location(path)?;
    remove_at(&location, recursive)?;
    unsynced.add(location.directory);
    Ok(())
}

fn remove_at(location: &Location, recursive: bool) -> Result<(), Errno> {
    match unlinkat(&location.directory, &location.name, AtFlags::empty()) {
        // EISDIR on Linux, EPERM by POSIX: a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other,
    }
    match unlinkat(&location.directory, &location.name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) if recursive => {}
        Err(Errno::EXIST) => return Err(Errno::NOTEMPTY),
        other => return other,
    }
    delete_tree(location.directory.as_fd(), &location.name)
}

pub(super) fn rename(
    root: &Root,
    from: &[u8],
    to: &[u8],
    overwrite: bool,
    unsynced: &mut Unsynced,
) -> Result<(), Errno> {
    if from.is_empty() || to.is_empty() {
        return Err(Errno::BUSY);
    }
    let source = root.location(from)?;
    source.stat()?.ok_or(Errno::NOENT)?;
    let target = root.location_with_parents(to, false, confined_fs::make_directory)?;
    confined_fs::rename(source.directory.as_fd(), &source.name, &target, overwrite)
        .map_err(refuse_other_filesystem)?;
    unsynced.add(target.directory);
    unsynced.add(source.directory);
    Ok(())
}
