//! Making, removing, moving and copying things.
//!
//! A removal is a rename out of the workspace and a deletion after, so that others see all of it or nothing, and a crash
//! in between is finished by the sweep. A copy is made in staging and renamed into place, likewise. Links are moved,
//! copied and removed as links; none is followed at the end of a path here.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, mkdirat, openat, renameat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use warren_model::ErrorCode;
use warren_workspace::fs::{CpOptions, WriteMode};
use warren_workspace::{Error, WorkspacePath};

use super::beneath::{READ_FLAGS, Spot, read_link, refuse_special};
use super::delete::delete_tree;
use super::entries::for_each_entry;
use super::errno;
use super::listing::readable;
use super::place::{Place, refuse_root};
use super::sparse;
use super::write::{put, rename_into, size_of};

/// Directories open at once while a tree is copied.
const MAX_COPY_DEPTH: u32 = 128;
/// What an entry costs besides its contents.
const ENTRY_BYTES: u64 = 2_048;

pub(super) fn mkdir(place: &Place, path: &WorkspacePath) -> Result<(), Error> {
    match place.make_directories(path) {
        // The directory is not there, something else is.
        Err(Errno::NOTDIR) if place.root.stat(path).is_ok() => {
            Err(Error::operation(ErrorCode::FileExists, format!("{path} exists and is not a directory")))
        }
        other => other.map_err(|errno| place.failure(errno, path)),
    }
}

pub(super) fn rm(place: &Place, path: &WorkspacePath, recursive: bool) -> Result<(), Error> {
    refuse_root(path)?;
    let failed = |errno| place.failure(errno, path);
    let spot = place.root.spot(path).map_err(failed)?;
    match unlinkat(&spot.directory, &spot.name, AtFlags::empty()) {
        // EISDIR on Linux, EPERM by POSIX: a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other.map_err(failed),
    }
    match unlinkat(&spot.directory, &spot.name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) if recursive => {}
        Err(Errno::EXIST) => return Err(failed(Errno::NOTEMPTY)),
        other => return other.map_err(failed),
    }
    match place.staging.discard(spot.directory.as_fd(), &spot.name) {
        Ok(discarded) => place.staging.delete_discarded(&discarded).map_err(failed),
        // A mount point is below: delete where it is.
        Err(Errno::XDEV | Errno::BUSY) => delete_tree(spot.directory.as_fd(), &spot.name).map_err(failed),
        Err(errno) => Err(failed(errno)),
    }
}

pub(super) fn mv(
    place: &Place,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    refuse_root(from)?;
    refuse_root(to)?;
    let _changes = place.lock_changes();
    let source = place.root.spot(from).map_err(|errno| place.failure(errno, from))?;
    statat(&source.directory, &source.name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| place.failure(errno, from))?;
    if from == to {
        return Ok(());
    }
    if to.is_within(from) {
        return Err(inside_itself(to, "moved"));
    }
    let target = target_for(place, to)?;
    let renamed = if overwrite {
        renameat(&source.directory, &source.name, &target.directory, &target.name)
    } else {
        let flags = RenameFlags::NOREPLACE;
        renameat_with(&source.directory, &source.name, &target.directory, &target.name, flags)
    };
    renamed.map_err(|errno| match errno {
        Errno::EXIST if overwrite => place.failure(Errno::NOTEMPTY, to),
        Errno::INVAL => inside_itself(to, "moved"),
        Errno::XDEV => Error::operation(
            ErrorCode::PermissionDenied,
            format!("{from} and {to} lie on different filesystems; move it by a command"),
        ),
        errno => place.failure(errno, to),
    })
}

pub(super) fn cp(
    place: &Arc<Place>,
    from: &WorkspacePath,
    to: &WorkspacePath,
    options: CpOptions,
) -> Result<(), Error> {
    refuse_root(to)?;
    let source = place.root.spot(from).map_err(|errno| place.failure(errno, from))?;
    let stat = statat(&source.directory, &source.name, AtFlags::SYMLINK_NOFOLLOW)
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
    place: &Arc<Place>,
    source: &Spot,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    let (staged, mut file) = place.stage_file().map_err(|errno| place.failure(errno, to))?;
    copy_contents(place, source.directory.as_fd(), &source.name, from, &mut file)?;
    let _changes = place.lock_changes();
    let mode = if overwrite { WriteMode::Replace } else { WriteMode::CreateNew };
    put(place, to, staged, &file, mode).map(drop)
}

/// The bytes and the permission bits, to the size limit; holes stay holes. Answers how many bytes were written.
fn copy_contents(
    place: &Place,
    directory: BorrowedFd<'_>,
    name: &OsStr,
    from: &WorkspacePath,
    into: &mut File,
) -> Result<u64, Error> {
    let failed = |errno| place.failure(errno, from);
    refuse_special(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?).map_err(failed)?;
    let file = openat(directory, name, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty()).map_err(failed)?;
    let stat: Stat = fstat(&file).map_err(failed)?;
    refuse_special(&stat).map_err(failed)?;
    if size_of(&stat) > place.max_file_bytes {
        return Err(Error::file_too_large(from, place.max_file_bytes));
    }
    let copied = sparse::copy(&File::from(file), into, size_of(&stat))
        .map_err(|error| errno::io_operation(&error, from))?;
    fchmod(&*into, Mode::from_raw_mode(stat.st_mode & 0o777)).map_err(failed)?;
    Ok(copied.data)
}

fn copy_link(
    place: &Arc<Place>,
    source: &Spot,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    let target =
        read_link(source.directory.as_fd(), &source.name).map_err(|errno| place.failure(errno, from))?;
    let staged = place.staging.staged();
    symlinkat(&target, staged.directory(), &staged.name)
        .and_then(|()| place.give_link_to_owner(staged.directory(), &staged.name))
        .map_err(|errno| place.failure(errno, to))?;
    let _changes = place.lock_changes();
    let spot = target_for(place, to)?;
    rename_into(place, to, &staged, &spot, overwrite)?;
    staged.placed();
    Ok(())
}

fn copy_tree(
    place: &Arc<Place>,
    source: &Spot,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), Error> {
    let (staged, copy) = place.stage_directory().map_err(|errno| place.failure(errno, to))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let original = openat(&source.directory, &source.name, flags, Mode::empty())
        .map_err(|errno| place.failure(errno, from))?;
    let mut copying = TreeCopy { place, from, bytes: 0 };
    copying.entries(original.as_fd(), copy.as_fd(), 0)?;
    let _changes = place.lock_changes();
    let spot = target_for(place, to)?;
    rename_into(place, to, &staged, &spot, overwrite)?;
    staged.placed();
    Ok(())
}

/// A tree on its way. What it holds may be one file under many names: the copy is counted as it grows.
struct TreeCopy<'a> {
    place: &'a Place,
    from: &'a WorkspacePath,
    bytes: u64,
}

impl TreeCopy<'_> {
    fn entries(&mut self, original: BorrowedFd<'_>, copy: BorrowedFd<'_>, depth: u32) -> Result<(), Error> {
        let from = self.from;
        if depth > MAX_COPY_DEPTH {
            let detail = format!("{from} is nested deeper than {MAX_COPY_DEPTH} directories");
            return Err(Error::operation(ErrorCode::InvalidPath, detail));
        }
        let mut refusal = None;
        let listed = for_each_entry(original, |name, _| {
            self.entry(original, copy, name, depth).map_err(|error| {
                refusal = Some(error);
                Errno::CANCELED
            })
        });
        match (refusal, listed) {
            (Some(error), _) => Err(error),
            (None, listed) => listed
                .and_then(|()| fchmod(copy, Mode::from_raw_mode(fstat(original)?.st_mode & 0o777)))
                .map_err(|errno| self.place.failure(errno, from)),
        }
    }

    fn entry(
        &mut self,
        original: BorrowedFd<'_>,
        copy: BorrowedFd<'_>,
        name: &OsStr,
        depth: u32,
    ) -> Result<(), Error> {
        let (place, from) = (self.place, self.from);
        let failed = |errno| place.failure(errno, from);
        self.count(ENTRY_BYTES)?;
        let stat = statat(original, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let inner = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                mkdirat(copy, name, Mode::from_raw_mode(0o700)).map_err(failed)?;
                let below = openat(original, name, inner, Mode::empty()).map_err(failed)?;
                let made = openat(copy, name, inner, Mode::empty()).map_err(failed)?;
                place.give_to_owner(&made).map_err(failed)?;
                self.entries(below.as_fd(), made.as_fd(), depth + 1)
            }
            FileType::Symlink => {
                let target = read_link(original, name).map_err(failed)?;
                symlinkat(&target, copy, name).map_err(failed)?;
                place.give_link_to_owner(copy, name).map_err(failed)
            }
            FileType::RegularFile => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let made = openat(copy, name, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
                place.give_to_owner(&made).map_err(failed)?;
                let written = copy_contents(place, original, name, from, &mut File::from(made))?;
                self.count(written)
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(Error::operation(
                ErrorCode::SpecialFile,
                format!("{from} holds `{}`, a device, fifo or socket", name.to_string_lossy()),
            )),
        }
    }

    /// A copy that is more than a workspace may hold is given up, and so is one of a workspace that is over its limit by now.
    fn count(&mut self, bytes: u64) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.place.check_room_for(self.bytes)
    }
}

/// Where something will be put, with its parents made.
fn target_for(place: &Place, to: &WorkspacePath) -> Result<Spot, Error> {
    let failed = |errno| place.failure(errno, to);
    if let Some(parent) = to.parent() {
        place.make_directories(&parent).map_err(failed)?;
    }
    place.root.spot(to).map_err(failed)
}

fn inside_itself(to: &WorkspacePath, what: &str) -> Error {
    Error::operation(ErrorCode::InvalidPath, format!("{to} lies inside what is to be {what}"))
}

/// A directory for commands to run in.
pub fn working_directory(place: &Place, path: &WorkspacePath) -> Result<rustix::fd::OwnedFd, Error> {
    place
        .root
        .directory(path)
        .and_then(|directory| readable(directory.as_fd()))
        .map_err(|errno| place.failure(errno, path))
}
