//! Watching a tree with inotify.
//!
//! inotify takes a path, so each directory is opened beneath the root and watched through its handle
//! (`/proc/self/fd/N`): a link cannot lead a watch out. rustix's own binding is used, since a crate that walks by path
//! would undo that. A new directory is watched when its creation is reported, and what is already in it is reported as
//! created, so nothing is missed between the two; it may be reported twice.
//!
//! When more happens than is kept, here or in the kernel, the reader hears that it lagged. What was lost may have been
//! the creation or the move of a directory, so the tree is then walked again and the watches set anew.

use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{Mode, openat};
use rustix::io::Errno;

use crate::entries::{for_each_entry, is_directory};
use crate::root::{DIRECTORY_FLAGS, Root};
use crate::unnamed::TEMPORARY_PREFIX;

/// Directories one watch may cover; the kernel's own limit (`fs.inotify.max_user_watches`) is shared by the host.
const MAX_DIRECTORIES: usize = 8_192;
/// Changes kept for a reader that is not reading. Beyond, it hears that it lagged.
const MAX_PENDING: usize = 4_096;
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

/// A change, with the path from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeChange {
    Created(Vec<u8>),
    Modified(Vec<u8>),
    Removed(Vec<u8>),
    /// Changes were lost.
    Lagged,
}

#[derive(Debug)]
pub struct TreeWatch {
    /// The directory that is watched, and its path from the root.
    start: Arc<OwnedFd>,
    path: Vec<u8>,
    queue: Arc<OwnedFd>,
    /// From watch descriptor to path from the root.
    directories: HashMap<i32, Vec<u8>>,
    pending: VecDeque<TreeChange>,
    /// Directories may have come, moved or gone without our having heard of it.
    must_walk_again: bool,
    failure: Option<Errno>,
}

impl TreeWatch {
    /// Sets the watches. ENOSPC: the tree has more directories than can be watched at once.
    pub fn new(root: &Root, path: &[u8]) -> Result<Self, Errno> {
        let directory = root.listed_directory(path)?;
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let mut watch = Self {
            start: Arc::new(directory),
            path: path.to_vec(),
            queue: Arc::new(queue),
            directories: HashMap::new(),
            pending: VecDeque::new(),
            must_walk_again: false,
            failure: None,
        };
        watch.add_start()?;
        Ok(watch)
    }

    /// Readable when the kernel has something for `read`.
    pub fn queue(&self) -> &OwnedFd {
        &self.queue
    }

    pub fn next_change(&mut self) -> Option<TreeChange> {
        self.pending.pop_front()
    }

    /// Why a directory is not watched that should be, for the log.
    pub fn take_failure(&mut self) -> Option<Errno> {
        self.failure.take()
    }

    /// Takes in what the kernel has. Returns true when it has no more for now.
    pub fn read(&mut self, root: &Root) -> bool {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER];
        let queue = Arc::clone(&self.queue);
        let mut events = inotify::Reader::new(queue.as_fd(), &mut buffer);
        while self.pending.len() < MAX_PENDING {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes().to_vec());
                    let (watch, flags) = (event.wd(), event.events());
                    self.take_event(root, watch, flags, name.as_deref());
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    // Only now: a flood that goes on would have it done again and again.
                    if std::mem::take(&mut self.must_walk_again) {
                        self.walk_again();
                    }
                    return true;
                }
            }
        }
        // Leave the rest in the kernel's queue; should that overflow too, it says so. What was read and not looked at is lost.
        if !events.is_buffer_empty() {
            self.report_lag();
        }
        false
    }

    fn take_event(&mut self, root: &Root, watch: i32, flags: ReadFlags, name: Option<&[u8]>) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.report_lag();
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.directories.remove(&watch);
            return;
        }
        let (Some(directory), Some(name)) = (self.directories.get(&watch), name) else {
            return;
        };
        if is_temporary(name) {
            return;
        }
        let path = join(directory, name);
        let is_directory = flags.contains(ReadFlags::ISDIR);
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.report(TreeChange::Created(path.clone()));
            if is_directory {
                self.add_new(root, &path);
            }
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            if is_directory {
                self.forget(&path);
            }
            self.report(TreeChange::Removed(path));
        } else {
            self.report(TreeChange::Modified(path));
        }
    }

    /// The same change twice in a row is reported once.
    fn report(&mut self, change: TreeChange) {
        if self.pending.back() != Some(&change) {
            self.pending.push_back(change);
        }
    }

    fn report_lag(&mut self) {
        self.pending.clear();
        self.pending.push_back(TreeChange::Lagged);
        self.must_walk_again = true;
    }

    fn add_start(&mut self) -> Result<(), Errno> {
        let (start, path) = (Arc::clone(&self.start), self.path.clone());
        self.add_tree(start.as_fd(), &path, false)
    }

    /// Sets the watches of what is there now and drops those of what is not. A directory that is watched already keeps
    /// its watch, under the name it has now.
    fn walk_again(&mut self) {
        let known = std::mem::take(&mut self.directories);
        if let Err(errno) = self.add_start() {
            self.failure = Some(errno);
        }
        for watch in known.into_keys().filter(|watch| !self.directories.contains_key(watch)) {
            let _ = inotify::remove_watch(&self.queue, watch);
        }
    }

    fn add_new(&mut self, root: &Root, path: &[u8]) {
        let opened = root.location(path).and_then(|location| location.open_directory());
        match opened.and_then(|directory| self.add_tree(directory.as_fd(), path, true)) {
            // Gone again, or never a directory.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(errno) => {
                self.failure = Some(errno);
                self.report(TreeChange::Lagged);
            }
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
                below.push((name.to_owned(), is_directory));
            }
            Ok(())
        })?;
        for (name, is_directory) in below {
            let path = join(path, name.as_bytes());
            if is_new && !is_temporary(name.as_bytes()) {
                self.report(TreeChange::Created(path.clone()));
            }
            if !is_directory {
                continue;
            }
            match openat(directory, &name, DIRECTORY_FLAGS, Mode::empty()) {
                Ok(inner) => self.add_tree(inner.as_fd(), &path, is_new)?,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// A directory that moved away keeps its watch in the kernel; its changes must not be reported under its old name.
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

fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY_PREFIX.as_bytes())
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}
