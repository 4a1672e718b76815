//! Watching a tree with inotify.
//!
//! inotify takes a path, so each directory is opened beneath the root and watched through its handle
//! (`/proc/self/fd/N`): a link cannot lead a watch out. rustix's own binding is used, since a crate that walks by path
//! would undo that. A new directory is watched when its creation is told, and what is already in it is told as created,
//! so nothing is missed between the two; it may be told twice.
//!
//! When more happens than is kept, here or in the kernel, the reader is told that it lagged. What was lost may have been
//! the creation or the move of a directory, so the tree is then walked again and the watches set anew.

use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use warren_model::ErrorCode;
use warren_workspace::fs::{Change, ChangeStream};
use warren_workspace::{Error, WorkspacePath};

use super::entries::for_each_entry;
use super::listing::{is_directory, readable};
use super::place::Place;
use crate::readiness::register;

/// Directories one watch may cover; the kernel's own limit (`fs.inotify.max_user_watches`) is shared by the host.
const MAX_DIRECTORIES: usize = 8_192;
/// Changes kept for a reader that is not looking. Beyond, it is told that it lagged.
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

/// Sets the watches, on the calling thread; the stream then reads without blocking.
pub(super) fn watch(place: &Arc<Place>, path: &WorkspacePath) -> Result<Watching, Error> {
    let failed = |errno| place.failure(errno, path);
    let directory =
        place.root.directory(path).and_then(|directory| readable(directory.as_fd())).map_err(failed)?;
    let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(failed)?;
    let mut watching = Watching {
        place: Arc::clone(place),
        start: Arc::new(directory),
        path: path.as_str().as_bytes().to_vec(),
        queue: Arc::new(queue),
        directories: HashMap::new(),
        pending: VecDeque::new(),
        must_look_again: false,
    };
    match watching.add_start() {
        Ok(()) => Ok(watching),
        Err(Errno::NOSPC) => Err(Error::operation(
            ErrorCode::TooManyRequests,
            format!("{path} has more directories than can be watched at once"),
        )),
        Err(errno) => Err(failed(errno)),
    }
}

#[derive(Debug)]
pub(super) struct Watching {
    place: Arc<Place>,
    /// What is watched, and its path from the workspace root.
    start: Arc<OwnedFd>,
    path: Vec<u8>,
    queue: Arc<OwnedFd>,
    /// From watch descriptor to path from the workspace root.
    directories: HashMap<i32, Vec<u8>>,
    pending: VecDeque<Change>,
    /// Directories may have come, moved or gone untold.
    must_look_again: bool,
}

impl Watching {
    /// Must be called within the runtime: the queue is registered with it.
    pub(super) fn into_stream(self) -> Result<ChangeStream, Error> {
        // The clone shares the kernel's queue: one is waited on, the other is read.
        let queue = self
            .queue
            .try_clone()
            .and_then(|queue| register(queue, Interest::READABLE))
            .map_err(|error| super::errno::io_operation(&error, &WorkspacePath::root()))?;
        let state = (queue, self);
        Ok(stream::unfold(state, |(queue, mut watching)| async move {
            loop {
                if let Some(change) = watching.pending.pop_front() {
                    return Some((Ok(change), (queue, watching)));
                }
                watching.place.check_open().ok()?;
                let place = Arc::clone(&watching.place);
                let mut ready = tokio::select! {
                    () = place.closed() => return None,
                    ready = queue.readable() => ready.ok()?,
                };
                // On a thread that may block: a new directory is walked, and after a flood the whole tree.
                let drained = super::blocking(move || {
                    let is_empty = watching.drain();
                    Ok((watching, is_empty))
                });
                let is_empty;
                (watching, is_empty) = drained.await.ok()?;
                if is_empty {
                    ready.clear_ready();
                }
            }
        })
        .boxed())
    }

    /// Takes in what the kernel has. True when it has no more for now.
    fn drain(&mut self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER];
        let queue = Arc::clone(&self.queue);
        let mut events = inotify::Reader::new(queue.as_fd(), &mut buffer);
        while self.pending.len() < MAX_PENDING {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes().to_vec());
                    let (watch, flags) = (event.wd(), event.events());
                    self.take(watch, flags, name.as_deref());
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    // Only now: a flood that goes on would have it done again and again.
                    if std::mem::take(&mut self.must_look_again) {
                        self.look_again();
                    }
                    return true;
                }
            }
        }
        // Leave the rest in the kernel's queue; should that overflow too, it says so.
        if !events.is_buffer_empty() {
            self.lag();
        }
        false
    }

    fn take(&mut self, watch: i32, flags: ReadFlags, name: Option<&[u8]>) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.lag();
            return;
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.directories.remove(&watch);
            return;
        }
        let (Some(directory), Some(name)) = (self.directories.get(&watch), name) else {
            return;
        };
        let path = match directory.as_slice() {
            b"" => name.to_vec(),
            directory => [directory, b"/", name].concat(),
        };
        let is_directory = flags.contains(ReadFlags::ISDIR);
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.tell(Change::Created(shown(&path)));
            if is_directory {
                self.add_new(&path);
            }
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            if is_directory {
                self.forget(&path);
            }
            self.tell(Change::Removed(shown(&path)));
        } else {
            self.tell(Change::Modified(shown(&path)));
        }
    }

    /// One after the other of the same kind say no more than one.
    fn tell(&mut self, change: Change) {
        if self.pending.back() != Some(&change) {
            self.pending.push_back(change);
        }
    }

    fn lag(&mut self) {
        self.pending.clear();
        self.pending.push_back(Change::Lagged);
        self.must_look_again = true;
    }

    fn add_start(&mut self) -> Result<(), Errno> {
        let (start, path) = (Arc::clone(&self.start), self.path.clone());
        self.add_tree(start.as_fd(), &path, false)
    }

    /// Sets the watches of what is there now and drops those of what is not. A directory that is watched already keeps
    /// its watch, under the name it has now.
    fn look_again(&mut self) {
        let known = std::mem::take(&mut self.directories);
        if let Err(errno) = self.add_start() {
            tracing::warn!(%errno, "not every directory could be watched again");
        }
        for watch in known.into_keys().filter(|watch| !self.directories.contains_key(watch)) {
            let _ = inotify::remove_watch(&self.queue, watch);
        }
    }

    fn add_new(&mut self, path: &[u8]) {
        let Some(path_text) = str::from_utf8(path).ok().and_then(|text| WorkspacePath::parse(text).ok())
        else {
            // Cannot be named by a client; its own creation was told.
            return;
        };
        let added = self.place.root.spot(&path_text).and_then(|spot| {
            let flags = rustix::fs::OFlags::RDONLY
                | rustix::fs::OFlags::DIRECTORY
                | rustix::fs::OFlags::NOFOLLOW
                | rustix::fs::OFlags::CLOEXEC;
            rustix::fs::openat(&spot.directory, &spot.name, flags, rustix::fs::Mode::empty())
        });
        match added.and_then(|directory| self.add_tree(directory.as_fd(), path, true)) {
            // Gone again, or never a directory of ours.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(errno) => {
                tracing::warn!(%errno, "a new directory could not be watched");
                self.tell(Change::Lagged);
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
            let is_directory = is_directory(directory, name.as_bytes(), kind);
            if is_directory || is_new {
                below.push((name.to_owned(), is_directory));
            }
            Ok(())
        })?;
        for (name, is_directory) in below {
            let path = match path {
                b"" => name.as_bytes().to_vec(),
                path => [path, b"/", name.as_bytes()].concat(),
            };
            if is_new {
                self.tell(Change::Created(shown(&path)));
            }
            if !is_directory {
                continue;
            }
            let flags = rustix::fs::OFlags::RDONLY
                | rustix::fs::OFlags::DIRECTORY
                | rustix::fs::OFlags::NOFOLLOW
                | rustix::fs::OFlags::CLOEXEC;
            match rustix::fs::openat(directory, &name, flags, rustix::fs::Mode::empty()) {
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
        let gone: Vec<i32> = self
            .directories
            .iter()
            .filter(|(_, known)| known.as_slice() == path || known.starts_with(&below))
            .map(|(watch, _)| *watch)
            .collect();
        for watch in gone {
            self.directories.remove(&watch);
            let _ = inotify::remove_watch(&self.queue, watch);
        }
    }
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
