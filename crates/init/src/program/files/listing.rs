//! Listing: a page at a time, in memory for a page. See `confined_fs::sorted_keys` for the order.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{AtFlags, FileType, Mode, Stat, openat, statat};
use rustix::io::Errno;
use warren_confined_fs::{Attributes, DIRECTORY_FLAGS, Kind, Root, read_link, sorted_keys};
use warren_init::{FileAnswer, FileEntry, FileKind, MAX_PAGE_BYTES};

const MAX_DEPTH: u32 = 128;
/// What an entry takes in a frame beside its path.
const ENTRY_BYTES: usize = 48;

pub(super) fn stat(root: &Root, path: &[u8]) -> Result<FileAnswer, Errno> {
    let (stat, target) = root.stat(path)?;
    Ok(FileAnswer::Entry(entry(path, &stat, target)))
}

pub(super) fn list(
    root: &Root,
    path: &[u8],
    depth: u32,
    after: Option<Vec<u8>>,
    limit: u32,
) -> Result<FileAnswer, Errno> {
    let directory = root.listed_directory(path)?;
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
                    if let Ok(inner) = openat(directory, name, DIRECTORY_FLAGS, Mode::empty()) {
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

    fn keys(&self, directory: BorrowedFd<'_>, prefix: &[u8], depth: u32) -> Result<Vec<Vec<u8>>, Errno> {
        let after = self.after.as_deref().and_then(|after| after.strip_prefix(prefix));
        let wanted = self.limit + 1 - self.entries.len().min(self.limit);
        sorted_keys(directory, after, wanted, depth > 1)
    }
}

fn entry_in(directory: BorrowedFd<'_>, prefix: &[u8], name: &[u8]) -> Option<FileEntry> {
    let file_name = OsStr::from_bytes(name);
    let stat = statat(directory, file_name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_link = FileType::from_raw_mode(stat.st_mode).is_symlink();
    let target = is_link.then(|| read_link(directory, file_name).ok()).flatten();
    Some(entry(&[prefix, name].concat(), &stat, target))
}

pub(super) fn entry(path: &[u8], stat: &Stat, link_target: Option<OsString>) -> FileEntry {
    let attributes = Attributes::from(stat);
    FileEntry {
        path: path.to_vec(),
        kind: match attributes.kind {
            Kind::File => FileKind::File,
            Kind::Directory => FileKind::Directory,
            Kind::Symlink => FileKind::Symlink,
            Kind::Special => FileKind::Special,
        },
        bytes: attributes.bytes,
        modified_at: attributes.modified_micros,
        mode: attributes.mode,
        link_target: link_target.map(OsString::into_vec),
    }
}
