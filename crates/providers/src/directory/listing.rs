//! Listing: page by page, with memory for a page (sec/F13), sorted by path byte by byte.
//!
//! How that order comes about without reading everything is told in `confined_fs::sorted_keys`.
//!
//! Surprise: sorting a page means reading the whole directory, and the kernel takes a third of a second to tell a
//! million names. So a directory with more than [`MAX_SORTED`] entries that is listed alone comes in its own order,
//! from the position where the page before ended: each page then costs a page. That needs positions that outlive the
//! handle, as NFS servers do; on a filesystem not known for them, and for deeper listings, it stays sorted and slow.
//! A listing keeps the order of its first page to the end, since the cursor says which it is.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, fstatfs, openat, statat};
use rustix::io::Errno;
use warren_confined_fs::{Attributes, DIRECTORY_FLAGS, Kind, read_link, scan, size_of, sorted_keys};
use warren_model::{ErrorCode, Timestamp};
use warren_workspace::fs::{Entry, EntryKind, Listing, LsQuery};
use warren_workspace::{Error, WorkspacePath};

use super::open_directory::OpenDirectory;
use crate::cursor;
use crate::search::MAX_PATHS;

/// Directories open at once on the way down.
const MAX_DEPTH: u32 = 128;
/// Entries of one directory that are sorted. Reading as many takes some 40 ms.
const MAX_SORTED: usize = 100_000;
/// What an entry adds to the size of its directory, at least: 12 on ext4, twice its name on btrfs.
const LEAST_ENTRY_BYTES: u64 = 8;
/// ext4, XFS and btrfs: a position is a hash, a block address or an index, and stays with its entry.
const STABLE_POSITIONS: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

pub(super) fn stat(place: &OpenDirectory, path: &WorkspacePath) -> Result<Entry, Error> {
    let (stat, target) = place.root.stat(path).map_err(|errno| place.failure(errno, path))?;
    Ok(entry(path.as_str().as_bytes(), &stat, target))
}

pub(super) fn ls(place: &OpenDirectory, path: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error> {
    let failed = |errno| place.failure(errno, path);
    let limit = query.limit.clamp(1, MAX_PATHS) as usize;
    let directory = place.root.listed_directory(path).map_err(failed)?;
    let prefix = match path.as_str() {
        "" => Vec::new(),
        path => [path.as_bytes(), b"/"].concat(),
    };
    let after = match query.after.as_deref().map(Cursor::decode).transpose()? {
        Some(Cursor::Position { path: of, position }) if of == prefix && query.depth <= 1 => {
            return page_in_place(directory.as_fd(), &prefix, position, limit).map_err(failed);
        }
        Some(Cursor::After(after)) if after.starts_with(&prefix) => Some(after),
        Some(_) => {
            let detail = "the cursor belongs to another listing";
            return Err(Error::operation(ErrorCode::InvalidCursor, detail));
        }
        None if query.depth <= 1 && is_crowded(directory.as_fd()).map_err(failed)? => {
            return page_in_place(directory.as_fd(), &prefix, 0, limit).map_err(failed);
        }
        None => None,
    };
    let mut page = Page { entries: Vec::new(), wanted: limit + 1, after };
    page.visit(directory.as_fd(), &prefix, query.depth.clamp(1, MAX_DEPTH)).map_err(failed)?;
    let has_more = page.entries.len() > limit;
    page.entries.truncate(limit);
    let next = page.entries.last().filter(|_| has_more).map(|(path, _)| Cursor::After(path.clone()).encode());
    Ok(Listing { entries: page.entries.into_iter().map(|(_, entry)| entry).collect(), next })
}

/// Where a listing goes on.
enum Cursor {
    /// After this path, in byte order.
    After(Vec<u8>),
    /// At this position of the directory with this prefix, in its own order.
    Position { path: Vec<u8>, position: u64 },
}

impl Cursor {
    /// A path never begins with a slash, so a position does.
    fn encode(&self) -> String {
        match self {
            Self::After(path) => cursor::encode(path),
            Self::Position { path, position } => format!("/{position:x}/{}", cursor::encode(path)),
        }
    }

    fn decode(text: &str) -> Result<Self, Error> {
        let Some(rest) = text.strip_prefix('/') else {
            return cursor::decode(text).map(Self::After);
        };
        let (position, path) = rest.split_once('/').ok_or_else(cursor::invalid)?;
        let position = u64::from_str_radix(position, 16).map_err(|_| cursor::invalid())?;
        Ok(Self::Position { path: cursor::decode(path)?, position })
    }
}

/// Whether a directory has more entries than are worth sorting, on a filesystem whose positions outlive the handle.
/// Counts no further than it must, and not at all where the directory is too small to hold so many.
fn is_crowded(directory: BorrowedFd<'_>) -> Result<bool, Errno> {
    if size_of(&fstat(directory)?) < MAX_SORTED as u64 * LEAST_ENTRY_BYTES
        || !STABLE_POSITIONS.contains(&u64::try_from(fstatfs(directory)?.f_type).unwrap_or(0))
    {
        return Ok(false);
    }
    let mut count = 0;
    scan(directory, 0, |_| {
        count += 1;
        Ok(if count > MAX_SORTED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(count > MAX_SORTED)
}

/// A page of one directory in its own order. What is there all the time is told once, whatever comes and goes.
fn page_in_place(
    directory: BorrowedFd<'_>,
    prefix: &[u8],
    from: u64,
    limit: usize,
) -> Result<Listing, Errno> {
    let mut entries = Vec::new();
    let (mut position, mut has_more) = (from, false);
    scan(directory, from, |told| {
        if entries.len() == limit {
            has_more = true;
            return Ok(ControlFlow::Break(()));
        }
        entries.extend(entry_in(directory, prefix, told.name));
        position = told.next;
        Ok(ControlFlow::Continue(()))
    })?;
    let next = has_more.then(|| Cursor::Position { path: prefix.to_vec(), position }.encode());
    Ok(Listing { entries: entries.into_iter().map(|(_, entry)| entry).collect(), next })
}

struct Page {
    entries: Vec<(Vec<u8>, Entry)>,
    wanted: usize,
    after: Option<Vec<u8>>,
}

impl Page {
    fn visit(&mut self, directory: BorrowedFd<'_>, prefix: &[u8], depth: u32) -> Result<(), Errno> {
        for key in self.keys(directory, prefix, depth)? {
            if self.entries.len() >= self.wanted {
                break;
            }
            match key.strip_suffix(b"/") {
                Some(name) => self.visit_below(directory, prefix, name, depth),
                None => self.entries.extend(entry_in(directory, prefix, OsStr::from_bytes(&key))),
            }
        }
        Ok(())
    }

    fn keys(&self, directory: BorrowedFd<'_>, prefix: &[u8], depth: u32) -> Result<Vec<Vec<u8>>, Errno> {
        // What the cursor says about this directory. One that is past it as a whole is not visited.
        let after = self.after.as_deref().and_then(|after| after.strip_prefix(prefix));
        sorted_keys(directory, after, self.wanted - self.entries.len(), depth > 1)
    }

    /// What vanished or cannot be read meanwhile is left out: a listing never breaks on one entry.
    fn visit_below(&mut self, directory: BorrowedFd<'_>, prefix: &[u8], name: &[u8], depth: u32) {
        if let Ok(inner) = openat(directory, OsStr::from_bytes(name), DIRECTORY_FLAGS, Mode::empty()) {
            let _ = self.visit(inner.as_fd(), &[prefix, name, b"/"].concat(), depth - 1);
        }
    }
}

/// One entry with its path; `None` if it vanished meanwhile.
fn entry_in(directory: BorrowedFd<'_>, prefix: &[u8], name: &OsStr) -> Option<(Vec<u8>, Entry)> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let target =
        FileType::from_raw_mode(stat.st_mode).is_symlink().then(|| read_link(directory, name).ok()).flatten();
    let path = [prefix, name.as_bytes()].concat();
    let entry = entry(&path, &stat, target);
    Some((path, entry))
}

pub(super) fn entry(path: &[u8], stat: &Stat, link_target: Option<OsString>) -> Entry {
    let attributes = Attributes::from(stat);
    Entry {
        path: String::from_utf8_lossy(path).into_owned(),
        is_lossy: str::from_utf8(path).is_err(),
        kind: match attributes.kind {
            Kind::File => EntryKind::File,
            Kind::Directory => EntryKind::Directory,
            Kind::Symlink => EntryKind::Symlink,
            Kind::Special => EntryKind::Special,
        },
        bytes: attributes.bytes,
        modified_at: Timestamp::from_micros(attributes.modified_micros),
        mode: attributes.mode,
        link_target: link_target.map(|target| String::from_utf8_lossy(&target.into_vec()).into_owned()),
    }
}
