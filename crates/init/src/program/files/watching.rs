//! Watching a tree with inotify, each directory through its handle: a link cannot lead a watch out.
//!
//! A new directory is watched when its creation is told, and what is already in it is told as created, so nothing is
//! missed between the two; it may be told twice.

use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{Mode, openat};
use rustix::io::Errno;
use warren_init::FileChange;

use super::listing::{for_each_entry, is_directory};
use super::resolve::{LIST_FLAGS, Root};
use super::writing::STAGED_PREFIX;

/// Directories one watch may cover; the kernel's own limit is shared by the host.
const MAX_DIRECTORIES: usize = 8_192;
/// Changes of one answer, and those kept for the next.
const MAX_TOLD: usize = 256;
const MAX_PENDING: usize = 4_096;
/// What the changes of one answer may take together; a path is at most a few kilobytes.
const MAX_TOLD_BYTES: usize = 64 << 10;
const EVENT_BUFFER: usize = 16 << 10;
const WATCHED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) queue: OwnedFd,
    /// The request that waits for changes.
    pub(super) waiting: Option<u32>,
    /// From watch descriptor to path from the workspace root.
    directories: HashMap<i32, Vec<u8>>,
    pending: VecDeque<FileChange>,
}

impl Watch {
    pub(super) fn new(root: &Root, path: &[u8]) -> Result<Self, Errno> {
        let directory = root.listed(path)?;
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let mut watch = Self { queue, waiting: None, directories: HashMap::new(), pending: VecDeque::new() };
        watch.add_tree(directory.as_fd(), path, false)?;
        Ok(watch)
    }

    /// What there is to tell, as much as one answer takes.
    pub(super) fn take_changes(&mut self, root: &Root) -> Vec<FileChange> {
        self.drain(root);
        let mut told = Vec::new();
        let mut bytes = 0;
        while told.len() < MAX_TOLD && bytes < MAX_TOLD_BYTES {
            let Some(change) = self.pending.pop_front() else { break };
            bytes += match &change {
                FileChange::Created(path) | FileChange::Modified(path) | FileChange::Removed(path) => {
                    path.len()
                }
                FileChange::Lagged => 0,
            };
            told.push(change);
        }
        told
    }

    fn drain(&mut self, root: &Root) {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER];
        let Ok(queue) = self.queue.try_clone() else { return };
        let mut events = inotify::Reader::new(queue, &mut buffer);
        while self.pending.len() < MAX_PENDING {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes().to_vec());
                    let (watch, flags) = (event.wd(), event.events());
                    self.take(root, watch, flags, name.as_deref());
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
        // What was read and not looked at is lost with the buffer.
        if !events.is_buffer_empty() {
            self.lag();
        }
    }

    fn take(&mut self, root: &Root, watch: i32, flags: ReadFlags, name: Option<&[u8]>) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.lag();
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.directories.remove(&watch);
            return;
        }
        let (Some(directory), Some(name)) = (self.directories.get(&watch), name) else {
            return;
        };
        if name.starts_with(STAGED_PREFIX) {
            return;
        }
        let path = join(directory, name);
        let is_directory = flags.contains(ReadFlags::ISDIR);
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.tell(FileChange::Created(path.clone()));
            if is_directory {
                self.add_new(root, &path);
            }
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            if is_directory {
                self.forget(&path);
            }
            self.tell(FileChange::Removed(path));
        } else {
            self.tell(FileChange::Modified(path));
        }
    }

    /// One after the other of the same kind say no more than one.
    fn tell(&mut self, change: FileChange) {
        if self.pending.back() != Some(&change) {
            self.pending.push_back(change);
        }
    }

    fn lag(&mut self) {
        self.pending.clear();
        self.pending.push_back(FileChange::Lagged);
    }

    fn add_new(&mut self, root: &Root, path: &[u8]) {
        let opened =
            root.spot(path).and_then(|spot| openat(&spot.directory, &*spot.name, LIST_FLAGS, Mode::empty()));
        match opened.and_then(|directory| self.add_tree(directory.as_fd(), path, true)) {
            // Gone again, or never a directory.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) => self.tell(FileChange::Lagged),
        }
    }

    fn add_tree(&mut self, directory: BorrowedFd<'_>, path: &[u8], is_new: bool) -> Result<(), Errno> {
        if self.directories.len() >= MAX_DIRECTORIES {
            return Err(Errno::NOSPC);
        }
        let handle = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let watch = inotify::add_watch(&self.queue, handle, WATCHED)?;
        self.directories.insert(watch, path.to_vec());
        let mut below = Vec::new();
        for_each_entry(directory, |name, kind| {
            let is_directory = is_directory(directory, name, kind);
            if is_directory || is_new {
                below.push((name.to_vec(), is_directory));
            }
            Ok(())
        })?;
        for (name, is_directory) in below {
            let path = join(path, &name);
            if is_new && !name.starts_with(STAGED_PREFIX) {
                self.tell(FileChange::Created(path.clone()));
            }
            if !is_directory {
                continue;
            }
            match openat(directory, &*name, LIST_FLAGS, Mode::empty()) {
                Ok(inner) => self.add_tree(inner.as_fd(), &path, is_new)?,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// A directory that moved away keeps its watch in the kernel; it must not tell under its old name.
    fn forget(&mut self, path: &[u8]) {
        let below = [path, b"/"].concat();
        let is_gone = |known: &Vec<u8>| known == path || known.starts_with(&below);
        let gone: Vec<i32> =
            self.directories.iter().filter(|(_, known)| is_gone(known)).map(|(watch, _)| *watch).collect();
        for watch in gone {
            self.directories.remove(&watch);
            let _ = inotify::remove_watch(&self.queue, watch);
        }
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}
