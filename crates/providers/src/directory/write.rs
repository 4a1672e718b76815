//! Writing: whole files by rename, appending in place, and edits.
//!
//! A write is staged, its data synced, and renamed over the old file, which readers keep until they close it; then the
//! directory is synced. After a power loss the name holds the old contents or the new, whole, and the new ones if the write
//! was answered (Q20). A link at the end is followed if it stays inside, so writing through it changes the file it names.
//! The old file's permission bits are kept; other hard links to it keep the old contents.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use rustix::io::Errno;
use tokio::io::AsyncWriteExt;
use warren_confined_fs::{
    Location, Staged, Unsynced, finish_file, open_for_append, put_in_place, replaced_file, size_of,
};
use warren_model::ErrorCode;
use warren_workspace::fs::{ByteStream, Edit, Edited, WriteMode, Written};
use warren_workspace::{Error, WorkspacePath};

use super::blocking;
use super::errno;
use super::open_directory::OpenDirectory;
use crate::edit;

pub(super) async fn write(
    place: Arc<OpenDirectory>,
    path: &WorkspacePath,
    mut contents: ByteStream,
    mode: WriteMode,
) -> Result<Written, Error> {
    let (checked, at) = (Arc::clone(&place), path.clone());
    let (staged, file) = blocking(move || {
        check_location(&checked, &at, mode)?;
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
        // Before the change, so that nobody waits for the data of another.
        file.sync_data().map_err(|error| errno::io_operation(&error, &path))?;
        let created = place.change(&path, |unsynced| put(&place, &path, staged, &file, mode, unsynced))?;
        Ok(Written { bytes, created })
    })
    .await
}

pub(super) fn append(
    place: &OpenDirectory,
    path: &WorkspacePath,
    contents: &Bytes,
) -> Result<Written, Error> {
    check_location(place, path, WriteMode::Replace)?;
    let failed = |errno| place.failure(errno, path);
    let (file, created) = place.change(path, |unsynced| {
        let location = place.location_with_parents(path, true)?;
        let (mut file, stat, created) = open_for_append(&location, place.owner).map_err(failed)?;
        if size_of(&stat) + contents.len() as u64 > place.max_file_bytes {
            return Err(Error::file_too_large(path, place.max_file_bytes));
        }
        file.write_all(contents).map_err(|error| errno::io_operation(&error, path))?;
        if created {
            unsynced.add(location.directory);
        }
        Ok((file, created))
    })?;
    file.sync_data().map_err(|error| errno::io_operation(&error, path))?;
    Ok(Written { bytes: contents.len() as u64, created })
}

/// A new, empty file that grows in place, so that it can be read meanwhile: for what a command spills. It replaces the old
/// one as every write does, so that whoever is reading that reads it to its end.
pub fn open_emptied(place: &OpenDirectory, path: &WorkspacePath) -> Result<File, Error> {
    check_location(place, path, WriteMode::Replace)?;
    let (staged, file) = place.stage_file().map_err(|errno| place.failure(errno, path))?;
    place.change(path, |unsynced| put(place, path, staged, &file, WriteMode::Replace, unsynced))?;
    Ok(file)
}

pub(super) fn apply_edit(
    place: &OpenDirectory,
    path: &WorkspacePath,
    change: &Edit,
) -> Result<Edited, Error> {
    place.change(path, |unsynced| {
        let old = read_whole(place, path)?;
        let (contents, replacements) = edit::apply(&old, change, place.max_file_bytes)?;
        let (staged, mut file) = place.stage_file().map_err(|errno| place.failure(errno, path))?;
        file.write_all(&contents).map_err(|error| errno::io_operation(&error, path))?;
        put(place, path, staged, &file, WriteMode::Replace, unsynced)?;
        Ok(Edited { replacements, bytes: contents.len() as u64 })
    })
}

/// A file that fits the limit, as a whole.
fn read_whole(place: &OpenDirectory, path: &WorkspacePath) -> Result<Vec<u8>, Error> {
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
fn check_location(place: &OpenDirectory, path: &WorkspacePath, mode: WriteMode) -> Result<(), Error> {
    if path.is_root() {
        let detail = "the workspace root is a directory; name a file in it";
        return Err(Error::operation(ErrorCode::NotAFile, detail));
    }
    match location_for(place, path, mode) {
        Err(Errno::NOENT) => Ok(()),
        location => location
            .and_then(|location| replaced_file(&location, mode.must_be_new()))
            .map(drop)
            .map_err(|errno| place.failure(errno, path)),
    }
}

/// Puts a staged file at `path`, whole and at once. Tells whether nothing was there.
pub(super) fn put(
    place: &OpenDirectory,
    path: &WorkspacePath,
    staged: Staged,
    file: &File,
    mode: WriteMode,
    unsynced: &mut Unsynced,
) -> Result<bool, Error> {
    let failed = |errno| place.failure(errno, path);
    let location = place.location_with_parents(path, !mode.must_be_new())?;
    let replaced = replaced_file(&location, mode.must_be_new()).map_err(failed)?;
    finish_file(file, replaced.as_ref()).map_err(failed)?;
    rename_into(place, path, &staged, location, !mode.must_be_new(), unsynced)?;
    staged.placed();
    Ok(replaced.is_none())
}

/// Renames what is staged to where it belongs.
pub(super) fn rename_into(
    place: &OpenDirectory,
    path: &WorkspacePath,
    staged: &Staged,
    location: Location,
    overwrite: bool,
    unsynced: &mut Unsynced,
) -> Result<(), Error> {
    put_in_place(staged.directory(), &staged.name, &location, overwrite).map_err(|errno| match errno {
        Errno::XDEV => Error::operation(
            ErrorCode::PermissionDenied,
            format!("{path} lies on another filesystem than the workspace; write there by a command"),
        ),
        other => place.failure(other, path),
    })?;
    unsynced.add(location.directory);
    Ok(())
}

/// A new file is made where the path says; an old one is replaced where the link leads.
fn location_for(place: &OpenDirectory, path: &WorkspacePath, mode: WriteMode) -> Result<Location, Errno> {
    if mode.must_be_new() { place.root.location(path) } else { place.root.target_location(path) }
}
