//! Listing: a page at a time, in memory for a page.
//!
//! Within a directory the entries are keyed by their name and the subtrees by their name and a slash, so that walking
//! the keys in order yields all paths in order: `a`, `a-b`, `a/x`.

use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, RawDir, Stat, openat, statat};
use rustix::io::Errno;
use warren_init::{FileAnswer, FileEntry, FileKind, MAX_PAGE_BYTES};

use super::resolve::{LIST_FLAGS, Root, link_target};

const MAX_DEPTH: u32 = 128;
const BUFFER_BYTES: usize = 32 << 10;
/// What an entry takes in a frame beside its path.
const ENTRY_BYTES: usize = 48;

pub(super) fn stat(root: &Root, path: &[u8]) -> Result<FileAnswer, Errno> {
    let spot = root.spot(path)?;
    let stat = spot.stat()?.ok_or(Errno::NOENT)?;
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Some(spot.link_target()?),
        _ => None,
    };
    Ok(FileAnswer::Entry(entry(path, &stat, target)))
}

pub(super) fn list(
    root: &Root,
    path: &[u8],
    depth: u32,
    after: Option<Vec<u8>>,
    limit: u32,
) -> Result<FileAnswer, Errno> {
    let directory = root.listed(path)?;
    let prefix = if path.is_empty() { Vec::new() } else { [path, b"/"].concat() };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, 4_096);
    let mut page = Page { entries: Vec::new(), bytes: 0, limit, has_more: false, after };
    page.visit(directory.as_fd(), &prefix, depth.clamp(1, MAX_DEPTH))?;
    Ok(FileAnswer::Listing { entries: page.entries, has_more: page.has_more })
}

struct Page {
    entries: Vec<FileEntry>,
    bytes: usize,
    limit: usize,
    has_more: bool,
    after: Option<Vec<u8>>,
}

impl Page {
    fn visit(&mut self, directory: BorrowedFd<'_>, prefix: &[u8], depth: u32) -> Result<(), Errno> {
        for key in self.keys(directory, prefix, depth)? {
            if self.has_more {
                break;
            }
            match key.strip_suffix(b"/") {
                // What vanished or cannot be read is left out: a listing never breaks on one entry.
                Some(name) => {
                    if let Ok(inner) = openat(directory, name, LIST_FLAGS, Mode::empty()) {
                        let _ = self.visit(inner.as_fd(), &[prefix, name, b"/"].concat(), depth - 1);
                    }
                }
                None => self.add(directory, prefix, &key),
            }
        }
        Ok(())
    }

    fn add(&mut self, directory: BorrowedFd<'_>, prefix: &[u8], name: &[u8]) {
        let Some(entry) = entry_in(directory, prefix, name) else {
            return;
        };
        let bytes = ENTRY_BYTES + entry.path.len() + entry.link_target.as_ref().map_or(0, Vec::len);
        let is_full = self.entries.len() >= self.limit || self.bytes + bytes > MAX_PAGE_BYTES;
        if is_full && !self.entries.is_empty() {
            self.has_more = true;
            return;
        }
        self.bytes += bytes;
        self.entries.push(entry);
    }

    /// The keys of one directory that this page may need, in order. Of the smallest `2n + 2`, at least `n` are entries:
    /// a subtree's key comes after its entry's, save for the one subtree that the cursor is in.
    fn keys(&self, directory: BorrowedFd<'_>, prefix: &[u8], depth: u32) -> Result<Vec<Vec<u8>>, Errno> {
        let after = self.after.as_deref().and_then(|after| after.strip_prefix(prefix));
        let capacity = 2 * (self.limit + 1 - self.entries.len().min(self.limit)) + 2;
        let mut keys: BinaryHeap<Vec<u8>> = BinaryHeap::new();
        let mut offer = |key: Vec<u8>| {
            keys.push(key);
            if keys.len() > capacity {
                keys.pop();
            }
        };
        for_each_entry(directory, |name, kind| {
            if after.is_none_or(|after| name > after) {
                offer(name.to_vec());
            }
            if depth > 1 && is_directory(directory, name, kind) {
                let subtree = [name, b"/"].concat();
                if after.is_none_or(|after| subtree.as_slice() > after || after.starts_with(&subtree)) {
                    offer(subtree);
                }
            }
            Ok(())
        })?;
        Ok(keys.into_sorted_vec())
    }
}

/// Each name but `.` and `..`, with the kind the directory tells for it.
pub(super) fn for_each_entry(
    directory: BorrowedFd<'_>,
    mut visit: impl FnMut(&[u8], FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let handle = openat(directory, ".", LIST_FLAGS, Mode::empty())?;
    let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER_BYTES);
    let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            visit(name, entry.file_type())?;
        }
    }
    Ok(())
}

/// Not every filesystem tells the kind with the name.
pub(super) fn is_directory(directory: BorrowedFd<'_>, name: &[u8], kind: FileType) -> bool {
    match kind {
        FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
        kind => kind.is_dir(),
    }
}

fn entry_in(directory: BorrowedFd<'_>, prefix: &[u8], name: &[u8]) -> Option<FileEntry> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_link = FileType::from_raw_mode(stat.st_mode).is_symlink();
    let target = is_link.then(|| link_target(directory, name).ok()).flatten();
    Some(entry(&[prefix, name].concat(), &stat, target))
}

pub(super) fn entry(path: &[u8], stat: &Stat, link_target: Option<Vec<u8>>) -> FileEntry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => FileKind::Special,
    };
    let micros = i128::from(stat.st_mtime) * 1_000_000 + i128::from(stat.st_mtime_nsec) / 1_000;
    FileEntry {
        path: path.to_vec(),
        kind,
        bytes: match kind {
            FileKind::File | FileKind::Symlink => size_of_file(stat),
            FileKind::Directory | FileKind::Special => 0,
        },
        modified_at: i64::try_from(micros).unwrap_or(i64::MAX),
        mode: stat.st_mode & 0o7777,
        link_target,
    }
}

pub(super) fn size_of_file(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
