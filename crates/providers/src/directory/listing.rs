//! Listing: sorted by path byte by byte, page by page, with memory for a page (sec/F13).
//!
//! Within a directory the entries are keyed by their name and the subtrees by their name and a slash. All paths of a
//! subtree share that prefix, so walking the keys in order yields all paths in order: `a`, `a-b`, `a/x`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;
use warren_model::{ErrorCode, Timestamp};
use warren_workspace::fs::{Entry, EntryKind, Listing, LsQuery};
use warren_workspace::{Error, WorkspacePath};

use super::beneath::read_link;
use super::delete::for_each_entry;
use super::place::Place;
use crate::cursor;
use crate::search::{MAX_PATHS, Smallest};

/// Directories open at once on the way down.
const MAX_DEPTH: u32 = 128;

pub(super) fn stat(place: &Place, path: &WorkspacePath) -> Result<Entry, Error> {
    let (stat, target) = place.root.stat(path).map_err(|errno| place.failure(errno, path))?;
    Ok(entry(path.as_str().as_bytes(), &stat, target))
}

pub(super) fn ls(place: &Place, path: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error> {
    let limit = query.limit.clamp(1, MAX_PATHS) as usize;
    let mut page = Page {
        entries: Vec::new(),
        wanted: limit + 1,
        after: query.after.as_deref().map(cursor::decode).transpose()?,
    };
    let directory = place
        .root
        .directory(path)
        .and_then(|directory| readable(directory.as_fd()))
        .map_err(|errno| place.failure(errno, path))?;
    let prefix = match path.as_str() {
        "" => Vec::new(),
        path => [path.as_bytes(), b"/"].concat(),
    };
    if page.after.as_ref().is_some_and(|after| !after.starts_with(&prefix)) {
        let detail = "the cursor belongs to another directory";
        return Err(Error::operation(ErrorCode::InvalidCursor, detail));
    }
    page.visit(directory.as_fd(), &prefix, query.depth.clamp(1, MAX_DEPTH))
        .map_err(|errno| place.failure(errno, path))?;
    let has_more = page.entries.len() > limit;
    page.entries.truncate(limit);
    let next = page.entries.last().filter(|_| has_more).map(|(path, _)| cursor::encode(path));
    Ok(Listing { entries: page.entries.into_iter().map(|(_, entry)| entry).collect(), next })
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
                None => self.add(directory, prefix, &key),
            }
        }
        Ok(())
    }

    /// The keys of one directory that this page may need, in order. Of the smallest `2n + 2`, at least `n` are entries:
    /// a subtree's key comes after its entry's, save for the one subtree that the cursor is in.
    fn keys(&self, directory: BorrowedFd<'_>, prefix: &[u8], depth: u32) -> Result<Vec<Vec<u8>>, Errno> {
        let mut keys = Smallest::new(2 * (self.wanted - self.entries.len()) + 2);
        for_each_entry(directory, |name, kind| {
            let name = name.as_bytes();
            if self.is_after([prefix, name].concat().as_slice()) {
                keys.offer(name.to_vec());
            }
            if depth > 1 && is_directory(directory, name, kind) {
                let subtree = [name, b"/"].concat();
                let path = [prefix, &subtree].concat();
                if self.is_after(&path) || self.after.as_ref().is_some_and(|after| after.starts_with(&path)) {
                    keys.offer(subtree);
                }
            }
            Ok(())
        })?;
        Ok(keys.into_sorted())
    }

    fn is_after(&self, path: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| path > after)
    }

    /// What vanished or cannot be read meanwhile is left out: a listing never breaks on one entry.
    fn visit_below(&mut self, directory: BorrowedFd<'_>, prefix: &[u8], name: &[u8], depth: u32) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(inner) = openat(directory, OsStr::from_bytes(name), flags, Mode::empty()) {
            let _ = self.visit(inner.as_fd(), &[prefix, name, b"/"].concat(), depth - 1);
        }
    }

    fn add(&mut self, directory: BorrowedFd<'_>, prefix: &[u8], name: &[u8]) {
        let name = OsStr::from_bytes(name);
        if let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            let target = FileType::from_raw_mode(stat.st_mode)
                .is_symlink()
                .then(|| read_link(directory, name).ok())
                .flatten();
            let path = [prefix, name.as_bytes()].concat();
            let entry = entry(&path, &stat, target);
            self.entries.push((path, entry));
        }
    }
}

/// Not every filesystem tells the kind with the name.
pub(super) fn is_directory(directory: BorrowedFd<'_>, name: &[u8], kind: FileType) -> bool {
    match kind {
        FileType::Unknown => statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
        kind => kind.is_dir(),
    }
}

/// A handle that can be listed, from one that only names a place.
pub(super) fn readable(directory: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(directory, ".", flags, Mode::empty())
}

pub(super) fn entry(path: &[u8], stat: &Stat, link_target: Option<OsString>) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => EntryKind::Special,
    };
    let micros = i128::from(stat.st_mtime) * 1_000_000 + i128::from(stat.st_mtime_nsec) / 1_000;
    Entry {
        path: String::from_utf8_lossy(path).into_owned(),
        is_lossy: str::from_utf8(path).is_err(),
        kind,
        bytes: match kind {
            EntryKind::File | EntryKind::Symlink => super::write::size_of(stat),
            EntryKind::Directory | EntryKind::Special => 0,
        },
        modified_at: Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)),
        mode: stat.st_mode & 0o7777,
        link_target: link_target.map(|target| String::from_utf8_lossy(&target.into_vec()).into_owned()),
    }
}
