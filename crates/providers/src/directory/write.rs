//! Writing: whole files by rename, appending in place, and edits.
//!
//! A write is staged, its data synced, and renamed over the old file, which readers keep until they close it. After a
//! power loss the name holds the old contents or the new, whole; that the rename itself has reached the disk is not
//! waited for. A link at the end is followed if it stays inside, so writing through it changes the file it names. The
//! old file's permission bits are kept; other hard links to it keep the old contents.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, linkat, openat, renameat,
    renameat_with, statat,
};
use rustix::io::Errno;
use tokio::io::AsyncWriteExt;
use warren_model::ErrorCode;
use warren_workspace::fs::{ByteStream, Edit, Edited, WriteMode, Written};
use warren_workspace::{Error, WorkspacePath};

use super::beneath::{Spot, refuse_special};
use super::blocking;
use super::errno;
use super::place::Place;
use super::staging::Staged;
use crate::edit;

/// A file that comes and goes while it is opened is given up after this many looks.
const MAX_RACES: u32 = 64;

pub(super) async fn write(
    place: Arc<Place>,
    path: &WorkspacePath,
    mut contents: ByteStream,
    mode: WriteMode,
) -> Result<Written, Error> {
    let (checked, at) = (Arc::clone(&place), path.clone());
    let (staged, file) = blocking(move || {
        check_spot(&checked, &at, mode)?;
        checked.stage_file().map_err(|errno| checked.failure(errno, &at))
    })
    .await?;
    let mut file = tokio::fs::File::from_std(file);
    let (mut bytes, limit) = (0, mode.limit(place.max_file_bytes));
    while let Some(piece) = contents.next().await {
        let piece = piece?;
        bytes += piece.len() as u64;
        if bytes > limit {
            return Err(Error::file_too_large(path, limit));
        }
        file.write_all(&piece).await.map_err(|error| errno::io_operation(&error, path))?;
    }
    file.flush().await.map_err(|error| errno::io_operation(&error, path))?;
    let (file, path) = (file.into_std().await, path.clone());
    blocking(move || {
        let _changes = place.lock_changes();
        let created = put(&place, &path, staged, &file, mode)?;
        Ok(Written { bytes, created })
    })
    .await
}

pub(super) fn append(place: &Place, path: &WorkspacePath, contents: &Bytes) -> Result<Written, Error> {
    check_spot(place, path, WriteMode::Replace)?;
    let _changes = place.lock_changes();
    let failed = |errno| place.failure(errno, path);
    let spot = made_spot(place, path, WriteMode::Replace)?;
    let (file, created) = open_or_make(place, &spot, OFlags::APPEND).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if size_of(&stat) + contents.len() as u64 > place.max_file_bytes {
        return Err(Error::file_too_large(path, place.max_file_bytes));
    }
    { file }.write_all(contents).map_err(|error| errno::io_operation(&error, path))?;
    Ok(Written { bytes: contents.len() as u64, created })
}

/// A new, empty file that grows in place, so that it can be read meanwhile: for what a command spills. It replaces the old
/// one as every write does, so that whoever is reading that reads it to its end.
pub fn open_emptied(place: &Place, path: &WorkspacePath) -> Result<File, Error> {
    check_spot(place, path, WriteMode::Replace)?;
    let (staged, file) = place.stage_file().map_err(|errno| place.failure(errno, path))?;
    let _changes = place.lock_changes();
    put(place, path, staged, &file, WriteMode::Replace)?;
    Ok(file)
}

/// A regular file to write in place, and whether it was made here. Two ways to open it instead of one with `O_CREAT`:
/// only what we made ourselves is given to the owner.
fn open_or_make(place: &Place, spot: &Spot, how: OFlags) -> Result<(File, bool), Errno> {
    let flags = how | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    for _ in 0..MAX_RACES {
        if let Some(stat) = existing(spot)? {
            refuse_special(&stat)?;
        }
        match openat(&spot.directory, &spot.name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            file => {
                let file = file?;
                refuse_special(&fstat(&file)?)?;
                return Ok((file.into(), false));
            }
        }
        let make = flags | OFlags::CREATE | OFlags::EXCL;
        match openat(&spot.directory, &spot.name, make, Mode::from_raw_mode(0o666)) {
            Err(Errno::EXIST) => {}
            file => {
                let file = file?;
                place.give_to_owner(&file)?;
                return Ok((file.into(), true));
            }
        }
    }
    Err(Errno::BUSY)
}

pub(super) fn apply_edit(place: &Place, path: &WorkspacePath, change: &Edit) -> Result<Edited, Error> {
    let _changes = place.lock_changes();
    let old = read_whole(place, path)?;
    let (contents, replacements) = edit::apply(&old, change, place.max_file_bytes)?;
    let (staged, mut file) = place.stage_file().map_err(|errno| place.failure(errno, path))?;
    file.write_all(&contents).map_err(|error| errno::io_operation(&error, path))?;
    put(place, path, staged, &file, WriteMode::Replace)?;
    Ok(Edited { replacements, bytes: contents.len() as u64 })
}

/// A file that fits the limit, as a whole.
fn read_whole(place: &Place, path: &WorkspacePath) -> Result<Vec<u8>, Error> {
    let (file, _) = place.root.file(path).map_err(|errno| place.failure(errno, path))?;
    let mut contents = Vec::new();
    // Bounded by what is read, not by what the size was a moment ago.
    file.take(place.max_file_bytes + 1)
        .read_to_end(&mut contents)
        .map_err(|error| errno::io_operation(&error, path))?;
    if contents.len() as u64 > place.max_file_bytes {
        let limit = place.max_file_bytes;
        let detail = format!("{path} is larger than {limit} bytes, the most that can be edited");
        return Err(Error::operation(ErrorCode::FileTooLarge, detail));
    }
    Ok(contents)
}

/// Refuses early what the rename would refuse after the contents have arrived.
fn check_spot(place: &Place, path: &WorkspacePath, mode: WriteMode) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root is a directory; name a file in it";
        return Err(Error::operation(ErrorCode::NotAFile, detail));
    }
    match spot_for(place, path, mode) {
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(place.failure(errno, path)),
        Ok(spot) => check_target(&spot, mode).map(drop).map_err(|errno| place.failure(errno, path)),
    }
}

/// Puts a staged file at `path`, whole and at once. Tells whether nothing was there.
pub(super) fn put(
    place: &Place,
    path: &WorkspacePath,
    staged: Staged,
    file: &File,
    mode: WriteMode,
) -> Result<bool, Error> {
    let failed = |errno| place.failure(errno, path);
    let spot = made_spot(place, path, mode)?;
    let old = check_target(&spot, mode).map_err(failed)?;
    if let Some(stat) = &old {
        fchmod(file, Mode::from_raw_mode(stat.st_mode & 0o777)).map_err(failed)?;
    }
    file.sync_data().map_err(|error| errno::io_operation(&error, path))?;
    rename_into(place, path, &staged, &spot, !mode.must_be_new())?;
    staged.placed();
    Ok(old.is_none())
}

/// Renames what is staged to its spot.
pub(super) fn rename_into(
    place: &Place,
    path: &WorkspacePath,
    staged: &Staged,
    spot: &Spot,
    overwrite: bool,
) -> Result<(), Error> {
    let (from, name) = (staged.directory(), &staged.name);
    let renamed = if overwrite {
        renameat(from, name, &spot.directory, &spot.name)
    } else {
        match renameat_with(from, name, &spot.directory, &spot.name, RenameFlags::NOREPLACE) {
            // A filesystem without that flag: a second name is made only where there is none, too.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(from, name, &spot.directory, &spot.name, AtFlags::empty())
                    .and_then(|()| rustix::fs::unlinkat(from, name, AtFlags::empty()))
            }
            other => other,
        }
    };
    renamed.map_err(|errno| match errno {
        Errno::XDEV => Error::operation(
            ErrorCode::PermissionDenied,
            format!("{path} lies on another filesystem than the workspace; write there by a command"),
        ),
        other => place.failure(other, path),
    })
}

fn made_spot(place: &Place, path: &WorkspacePath, mode: WriteMode) -> Result<Spot, Error> {
    let failed = |errno| place.failure(errno, path);
    match spot_for(place, path, mode) {
        Err(Errno::NOENT) => {
            let parent = path.parent().unwrap_or_else(WorkspacePath::root);
            place.make_directories(&parent).map_err(failed)?;
            spot_for(place, path, mode).map_err(failed)
        }
        other => other.map_err(failed),
    }
}

/// A new file is made where the path says; an old one is replaced where the link leads.
fn spot_for(place: &Place, path: &WorkspacePath, mode: WriteMode) -> Result<Spot, Errno> {
    if mode.must_be_new() { place.root.spot(path) } else { place.root.target_spot(path) }
}

fn check_target(spot: &Spot, mode: WriteMode) -> Result<Option<Stat>, Errno> {
    match existing(spot)? {
        None => Ok(None),
        Some(_) if mode.must_be_new() => Err(Errno::EXIST),
        Some(stat) => {
            // A link here was swapped in after the path was resolved; the rename replaces the link itself.
            if FileType::from_raw_mode(stat.st_mode).is_symlink() {
                return Ok(None);
            }
            refuse_special(&stat)?;
            Ok(Some(stat))
        }
    }
}

fn existing(spot: &Spot) -> Result<Option<Stat>, Errno> {
    match statat(&spot.directory, &spot.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
