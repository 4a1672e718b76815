//! Making, removing, moving and copying things.
//!
//! A removal is a rename out of the workspace and a deletion after, so that others see all of it or nothing, and a crash
//! in between is finished by the sweep. A copy is made in staging and renamed into place, likewise. Links are moved,
//! copied and removed as links; none is followed at the end of a path here. What was answered is on disk (Q20).

use std::sync::Arc;

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType, symlinkat, syncfs, unlinkat};
use rustix::io::Errno;
use warren_confined_fs::{CopyError, Location, Staged, TreeCopy, delete_tree, sync_directory};
use warren_model::ErrorCode;
use warren_workspace::fs::{CpOptions, WriteMode};
use warren_workspace::{Error, WorkspacePath};

use super::errno;
use super::open_directory::{OpenDirectory, refuse_root};
use super::write::{put, rename_into};

pub(super) fn mkdir(place: &OpenDirectory, path: &WorkspacePath) -> Result<(), Error> {
    match place.make_directories(path) {
        // The directory is not there, something else is.
        Err(Errno::NOTDIR) if place.root.stat(path).is_ok() => {
            Err(Error::operation(ErrorCode::FileExists, format!("{path} exists and is not a directory")))
        }
        other => other.map_err(|errno| place.failure(errno, path)),
    }
}

pub(super) fn rm(place: &OpenDirectory, path: &WorkspacePath, recursive: bool) -> Result<(), Error> {
    refuse_root(path)?;
    let failed = |errno| place.failure(errno, path);
    let location = place.root.location(path).map_err(failed)?;
    remove(place, &location, recursive).map_err(failed)?;
    sync_directory(&location.directory).map_err(failed)
}

fn remove(place: &OpenDirectory, location: &Location, recursive: bool) -> Result<(), Errno> {
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
    match place.staging.discard(location.directory.as_fd(), &location.name) {
        Ok(discarded) => place.staging.delete_discarded(&discarded),
        // A mount point is below: delete where it is.
        Err(Errno::XDEV | Errno::BUSY) => delete_tree(location.directory.as_fd(), &location.name),
        Err(errno) => Err(errno),
    }
}

pub(super) fn mv(
    place: &OpenDirectory,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    refuse_root(from)?;
    refuse_root(to)?;
    place.change(to, |unsynced| {
        let source = place.root.location(from).map_err(|errno| place.failure(errno, from))?;
        source
            .stat()
            .and_then(|stat| stat.ok_or(Errno::NOENT))
            .map_err(|errno| place.failure(errno, from))?;
        if from == to {
            return Ok(());
        }
        if to.is_within(from) {
            return Err(inside_itself(to, "moved"));
        }
        let target = place.location_with_parents(to, false)?;
        let renamed = warren_confined_fs::rename(source.directory.as_fd(), &source.name, &target, overwrite);
        renamed.map_err(|errno| match errno {
            Errno::INVAL => inside_itself(to, "moved"),
            Errno::XDEV => Error::operation(
                ErrorCode::PermissionDenied,
                format!("{from} and {to} lie on different filesystems; move it by a command"),
            ),
            errno => place.failure(errno, to),
        })?;
        unsynced.add(target.directory);
        unsynced.add(source.directory);
        Ok(())
    })
}

pub(super) fn cp(
    place: &Arc<OpenDirectory>,
    from: &WorkspacePath,
    to: &WorkspacePath,
    options: CpOptions,
) -> Result<(), Error> {
    refuse_root(to)?;
    let source = place.root.location(from).map_err(|errno| place.failure(errno, from))?;
    let stat = source
        .stat()
        .and_then(|stat| stat.ok_or(Errno::NOENT))
        .map_err(|errno| place.failure(errno, from))?;
    if to.is_within(from) {
        return Err(inside_itself(to, "copied"));
    }
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory if options.recursive => copy_tree(place, &source, from, to, options.overwrite),
        FileType::Directory => {
            Err(Error::operation(ErrorCode::NotAFile, format!("{from} is a directory; copy it recursively")))
        }
        FileType::Symlink => copy_link(place, &source, from, to, options.overwrite),
        _ => copy_file(place, &source, from, to, options.overwrite),
    }
}

fn copy_file(
    place: &Arc<OpenDirectory>,
    source: &Location,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    let (staged, file) = place.stage_file().map_err(|errno| place.failure(errno, to))?;
    let mut admit = |_| Ok(());
    tree_copy(place, &mut admit)
        .copy_contents(source.directory.as_fd(), &source.name, &file)
        .map_err(|error| copy_failure(place, from, error))?;
    file.sync_data().map_err(|error| errno::io_operation(&error, to))?;
    let mode = if overwrite { WriteMode::Replace } else { WriteMode::CreateNew };
    place.change(to, |unsynced| put(place, to, staged, &file, mode, unsynced)).map(drop)
}

fn copy_link(
    place: &Arc<OpenDirectory>,
    source: &Location,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    let target = source.link_target().map_err(|errno| place.failure(errno, from))?;
    let staged = place.staging.staged();
    symlinkat(&target, staged.directory(), &staged.name)
        .and_then(|()| place.give_link_to_owner(staged.directory(), &staged.name))
        .map_err(|errno| place.failure(errno, to))?;
    put_copy(place, to, staged, overwrite)
}

fn put_copy(place: &OpenDirectory, to: &WorkspacePath, staged: Staged, overwrite: bool) -> Result<(), Error> {
    place.change(to, |unsynced| {
        let location = place.location_with_parents(to, false)?;
        rename_into(place, to, &staged, location, overwrite, unsynced)
    })?;
    staged.placed();
    Ok(())
}

fn copy_tree(
    place: &Arc<OpenDirectory>,
    source: &Location,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    let (staged, copy) = place.stage_directory().map_err(|errno| place.failure(errno, to))?;
    let original = source.open_directory().map_err(|errno| place.failure(errno, from))?;
    // What the tree holds may be one file under many names, so the copy is counted as it grows. One that is more than a
    // workspace may hold is given up, and so is one in a workspace that is over its limit by now.
    let mut bytes = 0u64;
    let mut admit = |more| {
        bytes = bytes.saturating_add(more);
        place.check_space_for(bytes)
    };
    tree_copy(place, &mut admit)
        .copy_tree(original.as_fd(), copy.as_fd())
        .map_err(|error| copy_failure(place, from, error))?;
    // All of its files at once: one after the other, a tree of thousands would take minutes.
    syncfs(&copy).map_err(|errno| place.failure(errno, to))?;
    put_copy(place, to, staged, overwrite)
}

fn tree_copy<'a>(
    place: &OpenDirectory,
    admit: &'a mut dyn FnMut(u64) -> Result<(), Error>,
) -> TreeCopy<'a, Error> {
    TreeCopy { owner: place.owner, max_file_bytes: place.max_file_bytes, admit }
}

fn copy_failure(place: &OpenDirectory, from: &WorkspacePath, error: CopyError<Error>) -> Error {
    match error {
        CopyError::Kernel(errno) => place.failure(errno, from),
        CopyError::Refused(error) => error,
        CopyError::FileTooLarge => Error::file_too_large(from, place.max_file_bytes),
        CopyError::TooDeep(limit) => {
            let detail = format!("{from} is nested deeper than {limit} directories");
            Error::operation(ErrorCode::InvalidPath, detail)
        }
        CopyError::SpecialFile(name) => Error::operation(
            ErrorCode::SpecialFile,
            format!("{from} holds `{}`, a device, fifo or socket", name.to_string_lossy()),
        ),
    }
}

fn inside_itself(to: &WorkspacePath, what: &str) -> Error {
    Error::operation(ErrorCode::InvalidPath, format!("{to} lies inside what is to be {what}"))
}

/// A directory for commands to run in.
pub fn working_directory(place: &OpenDirectory, path: &WorkspacePath) -> Result<rustix::fd::OwnedFd, Error> {
    place.root.listed_directory(path).map_err(|errno| place.failure(errno, path))
}
