//! The entries of an open directory, straight from the kernel: no allocation per name, and none for the whole.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, RawDir, SeekFrom, openat, seek, statat};
use rustix::io::Errno;

use crate::root::DIRECTORY_FLAGS;

/// One call of the kernel fills this much. Eight times as much was measured to be no faster over a million names.
const BUFFER_BYTES: usize = 32 << 10;

/// One entry, as the kernel returns it.
#[derive(Debug, Clone, Copy)]
pub struct RawEntry<'a> {
    pub name: &'a OsStr,
    /// `Unknown` on filesystems that do not say.
    pub kind: FileType,
    /// The position in the directory after this entry, for `scan`.
    pub next: u64,
}

/// Calls `visit` with each entry but `.` and `..`, from the position `from` on, until it breaks. Reads through a handle of
/// its own, so that the position of `directory` does not matter.
pub fn scan(
    directory: BorrowedFd<'_>,
    from: u64,
    mut visit: impl FnMut(RawEntry<'_>) -> Result<ControlFlow<()>, Errno>,
) -> Result<(), Errno> {
    let handle = open_for_listing(directory)?;
    if from != 0 {
        seek(&handle, SeekFrom::Start(from))?;
    }
    let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER_BYTES);
    let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
    while let Some(raw) = entries.next() {
        let raw = raw?;
        let name = OsStr::from_bytes(raw.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let entry = RawEntry { name, kind: raw.file_type(), next: raw.next_entry_cookie() };
        if visit(entry)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Calls `visit` with each name and the kind that the directory states for it.
pub fn for_each_entry(
    directory: BorrowedFd<'_>,
    mut visit: impl FnMut(&OsStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    scan(directory, 0, |entry| visit(entry.name, entry.kind).map(ControlFlow::Continue))
}

/// At most `limit` of the names in an open directory.
pub fn list_names(directory: BorrowedFd<'_>, limit: usize) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    scan(directory, 0, |entry| {
        names.push(entry.name.to_owned());
        Ok(if names.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(names)
}

/// Whether an entry is a directory. Not every filesystem states the kind with the name.
pub fn is_directory(directory: BorrowedFd<'_>, name: &OsStr, kind: FileType) -> bool {
    match kind {
        FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
        kind => kind.is_dir(),
    }
}

/// A handle that can be listed, from one that only says where a directory is.
pub fn open_for_listing(directory: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    openat(directory, ".", DIRECTORY_FLAGS, Mode::empty())
}
