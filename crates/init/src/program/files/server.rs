//! Both ends of the channel between init and the process that serves files.

#![expect(unsafe_code, reason = "fork; each block says why it holds")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{Pid, Signal, kill_process};
use warren_confined_fs::{Root, UnnamedFile, Unsynced};
use warren_init::{
    Call, CallAnswer, Failure, FailureKind, FileAnswer, FileCall, FrameReader, MAX_PIECE_BYTES, Reply,
    Request, encode,
};

use super::copying::{self, Copy};
use super::watching::Watch;
use super::writing::Appending;
use super::{listing, reading, trees, writing};
use crate::program::descriptors;
use crate::program::owner::Owner;

/// A message is a packet: a piece of contents, or a page of a listing, and some more.
const PACKET_BYTES: usize = 160 << 10;
const MAX_UNSENT: usize = 256;
const MAX_HANDLES: usize = 128;
/// Changes that are waited for together.
const MAX_UNSYNCED: usize = 64;

/// The process, as init sees it.
#[derive(Debug)]
pub(in crate::program) struct FileProcess {
    pid: Pid,
    socket: OwnedFd,
    unsent: VecDeque<Vec<u8>>,
    /// Requests without an answer yet.
    under_way: BTreeSet<u32>,
    watched: EventFlags,
}

/// Forks the process that serves files beneath `root`.
pub(in crate::program) fn start(root: &Root) -> Result<FileProcess, Errno> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    let root = root.try_clone()?;
    // SAFETY: init has one thread, so the child's memory is whole. The child never returns from here.
    let number = unsafe { libc::fork() };
    if number == 0 {
        serve(&theirs, root);
    }
    let pid = Pid::from_raw(number.max(0)).ok_or(Errno::AGAIN)?;
    let (unsent, under_way, watched) = (VecDeque::new(), BTreeSet::new(), EventFlags::empty());
    Ok(FileProcess { pid, socket: ours, unsent, under_way, watched })
}

impl FileProcess {
    pub(in crate::program) fn is(&self, pid: i32) -> bool {
        self.pid.as_raw_nonzero().get() == pid
    }

    pub(in crate::program) fn ask(&mut self, request: &Request) -> Result<(), FailureKind> {
        if self.unsent.len() >= MAX_UNSENT {
            return Err(FailureKind::TooMany);
        }
        let frame = encode(request).map_err(|_| FailureKind::Invalid)?;
        if frame.len() > PACKET_BYTES || !self.under_way.insert(request.id) {
            return Err(FailureKind::Invalid);
        }
        self.unsent.push_back(frame);
        Ok(())
    }

    /// Passes on what waits, both ways, as far as there is room. False: the process is gone.
    #[must_use]
    pub(in crate::program) fn relay(&mut self, owner: &mut Owner) -> bool {
        while let Some(packet) = self.unsent.front() {
            match send(&self.socket, packet, SendFlags::NOSIGNAL) {
                Ok(_) => drop(self.unsent.pop_front()),
                Err(Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        let mut packet = Vec::new();
        while owner.has_room() && !self.under_way.is_empty() {
            packet.resize(PACKET_BYTES, 0);
            match recv(&self.socket, &mut packet[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return false,
                Ok((count, _)) => {
                    let mut reader = FrameReader::default();
                    reader.push(&packet[..count]);
                    let Ok(Some(reply)) = reader.next::<Reply>() else {
                        return false;
                    };
                    if self.under_way.remove(&reply.id) {
                        owner.send_reply(&reply);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(_) => return false,
            }
        }
        true
    }

    pub(in crate::program) fn watch(&mut self, has_room: bool, epoll: BorrowedFd<'_>, token: u64) {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, has_room);
        wanted.set(EventFlags::OUT, !self.unsent.is_empty());
        if wanted == self.watched {
            return;
        }
        let data = EventData::new_u64(token);
        let changed = match (self.watched.is_empty(), wanted.is_empty()) {
            (true, _) => epoll::add(epoll, &self.socket, data, wanted),
            // One that is not read must not be watched: its end would be told for ever.
            (false, true) => epoll::delete(epoll, &self.socket),
            (false, false) => epoll::modify(epoll, &self.socket, data, wanted),
        };
        if changed.is_ok() {
            self.watched = wanted;
        }
    }

    /// Ends the process. Nobody is told: the owner that asked is gone.
    pub(in crate::program) fn abandon(self) {
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// Ends the process. Those who wait for an answer get none better than this.
    pub(in crate::program) fn end(self, owner: &mut Owner) {
        // A child of ours: its number is nobody else's until it is reaped.
        let _ = kill_process(self.pid, Signal::KILL);
        for request in self.under_way {
            let failure = Failure { kind: FailureKind::System, errno: libc::EIO };
            owner.send(request, CallAnswer::Failed(failure));
        }
    }
}

/// The process itself.
fn serve(socket: &OwnedFd, root: Root) -> ! {
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // SAFETY: no handler is installed; the forks for trees are reaped by the kernel.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    if descriptors::close_all_but(&[socket.as_fd(), root.handle()]).is_ok() {
        let server = Server {
            root,
            handles: BTreeMap::new(),
            last_handle: 0,
            unsynced: Unsynced::default(),
            unanswered: Vec::new(),
        };
        { server }.run(socket);
    }
    exit()
}

/// Without what a program does at its end: this is a copy of another's memory.
fn exit() -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

#[derive(Debug)]
struct Server {
    root: Root,
    handles: BTreeMap<u32, Handle>,
    last_handle: u32,
    /// Directories in which something was changed, and who is told when that is on disk (Q20). As long as there is more to
    /// do, they wait, so that many changes share one wait for the disk.
    unsynced: Unsynced,
    unanswered: Vec<(u32, CallAnswer)>,
}

#[derive(Debug)]
enum Handle {
    Reading(File),
    Staged(UnnamedFile),
    Appending(Appending),
    Watching(Watch),
}

/// Why there is no answer.
enum NoAnswer {
    Kernel(Errno),
    Kind(FailureKind),
    /// It comes later.
    Later,
}

impl From<Errno> for NoAnswer {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

const UNKNOWN: NoAnswer = NoAnswer::Kind(FailureKind::UnknownNumber);

impl Server {
    fn run(&mut self, socket: &OwnedFd) {
        let mut packet = vec![0; PACKET_BYTES];
        loop {
            if !self.unanswered.is_empty()
                && (self.unanswered.len() >= MAX_UNSYNCED || !has_more(socket))
                && self.settle(socket).is_err()
            {
                return;
            }
            match self.wait(socket) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => return,
            }
            let count = match recv(socket, &mut packet[..], RecvFlags::empty()) {
                Ok((count @ 1.., _)) => count,
                Err(Errno::INTR) => continue,
                Ok((0, _)) | Err(_) => return,
            };
            let mut reader = FrameReader::default();
            reader.push(&packet[..count]);
            let Ok(Some(Request { id, call: Call::File(call) })) = reader.next::<Request>() else {
                return;
            };
            // Whoever waits for changes of a watch that is closed waits no longer.
            if let FileCall::Close { handle } = call
                && let Some(Handle::Watching(Watch { waiting: Some(waiting), .. })) =
                    self.handles.get(&handle)
                && answer(socket, *waiting, Err(UNKNOWN)).is_err()
            {
                return;
            }
            if self.takes_long(&call) {
                // SAFETY: one thread, as in `start`; the child answers and ends.
                match unsafe { libc::fork() } {
                    0 => {
                        // Of what waits here, the parent tells.
                        (self.unsynced, self.unanswered) = (Unsynced::default(), Vec::new());
                        let _ = self.serve(socket, id, call).and_then(|()| self.settle(socket));
                        exit()
                    }
                    1.. => continue,
                    _ => {}
                }
            }
            if self.serve(socket, id, call).is_err() {
                return;
            }
        }
    }

    /// Answers at once, unless something was changed that is not on disk yet.
    fn serve(&mut self, socket: &OwnedFd, id: u32, call: FileCall) -> Result<(), Errno> {
        let known = self.unsynced.len();
        match self.act(id, call) {
            Ok(changed) if self.unsynced.len() > known => {
                self.unanswered.push((id, changed));
                Ok(())
            }
            acted => answer(socket, id, acted),
        }
    }

    /// Waits for the disk, and tells those who wait for that.
    fn settle(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        let synced = std::mem::take(&mut self.unsynced).sync();
        for (id, changed) in std::mem::take(&mut self.unanswered) {
            answer(socket, id, synced.map(|()| changed).map_err(NoAnswer::Kernel))?;
        }
        Ok(())
    }

    /// Until there is a request. Changes that somebody waits for are told meanwhile.
    fn wait(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        let mut waiting = vec![PollFd::new(socket, PollFlags::IN)];
        let watches = self.handles.values().filter_map(|handle| match handle {
            Handle::Watching(watch) if watch.waiting.is_some() => Some(watch),
            _ => None,
        });
        waiting.extend(watches.map(|watch| PollFd::new(watch.tree.queue(), PollFlags::IN)));
        match poll(&mut waiting, None) {
            Err(Errno::INTR) => return Ok(false),
            other => other?,
        };
        let has_request = !waiting[0].revents().is_empty();
        let has_changes = waiting[1..].iter().any(|one| !one.revents().is_empty());
        if has_changes {
            self.tell_changes(socket)?;
        }
        Ok(has_request)
    }

    fn tell_changes(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        for handle in self.handles.values_mut() {
            let Handle::Watching(watch) = handle else { continue };
            let Some(request) = watch.waiting else { continue };
            let changes = watch.take_changes(&self.root);
            if !changes.is_empty() {
                watch.waiting = None;
                answer(socket, request, Ok(CallAnswer::File(FileAnswer::Changes(changes))))?;
            }
        }
        Ok(())
    }

    /// Whether it would keep others waiting for more than a file's worth.
    fn takes_long(&self, call: &FileCall) -> bool {
        match call {
            FileCall::Remove { path, recursive: true } => trees::is_tree(&self.root, path),
            FileCall::Copy { .. } => true,
            _ => false,
        }
    }

    fn act(&mut self, id: u32, call: FileCall) -> Result<CallAnswer, NoAnswer> {
        if !paths_of(&call).into_iter().flatten().all(is_plain) {
            return Err(NoAnswer::Kernel(Errno::XDEV));
        }
        let root = &self.root;
        match call {
            FileCall::Stat { path } => Ok(CallAnswer::File(listing::stat(root, &path)?)),
            FileCall::List { path, depth, after, limit } => {
                Ok(CallAnswer::File(listing::list(root, &path, depth, after, limit)?))
            }
            FileCall::Open { path } => {
                let (file, entry) = reading::open(root, &path)?;
                let handle = self.keep(Handle::Reading(file))?;
                Ok(CallAnswer::File(FileAnswer::Opened { handle, entry, created: false }))
            }
            FileCall::Read { handle, offset, max_bytes } => match self.handles.get(&handle) {
                Some(Handle::Reading(file)) => Ok(CallAnswer::File(reading::read(file, offset, max_bytes)?)),
                _ => Err(UNKNOWN),
            },
            FileCall::Stage { path, create_new } => {
                let staged = UnnamedFile::create(root, &path, create_new)?;
                let stat = rustix::fs::fstat(staged.file())?;
                let handle = self.keep(Handle::Staged(staged))?;
                let entry = listing::entry(&path, &stat, None);
                Ok(CallAnswer::File(FileAnswer::Opened { handle, entry, created: true }))
            }
            FileCall::OpenAppend { path } => {
                let (file, entry, created) = writing::open_append(root, &path)?;
                let handle = self.keep(Handle::Appending(file))?;
                Ok(CallAnswer::File(FileAnswer::Opened { handle, entry, created }))
            }
            FileCall::Add { bytes, .. } if bytes.len() > MAX_PIECE_BYTES => {
                Err(NoAnswer::Kind(FailureKind::Invalid))
            }
            FileCall::Add { handle, bytes } => {
                let file = match self.handles.get(&handle) {
                    Some(Handle::Staged(staged)) => staged.file(),
                    Some(Handle::Appending(appending)) => &appending.file,
                    _ => return Err(UNKNOWN),
                };
                writing::add(file, &bytes)?;
                Ok(CallAnswer::Done)
            }
            FileCall::Commit { handle } => match self.handles.remove(&handle) {
                Some(Handle::Staged(staged)) => {
                    let created = staged.commit(root, &mut self.unsynced)?;
                    Ok(CallAnswer::File(FileAnswer::Written { created }))
                }
                Some(Handle::Appending(appending)) => {
                    let created = appending.finish(&mut self.unsynced)?;
                    Ok(CallAnswer::File(FileAnswer::Written { created }))
                }
                _ => Err(UNKNOWN),
            },
            FileCall::Close { handle } => {
                self.handles.remove(&handle);
                Ok(CallAnswer::Done)
            }
            FileCall::MakeDirectory { path } => {
                Ok(trees::make_directory(root, &path).map(|()| CallAnswer::Done)?)
            }
            FileCall::Remove { path, recursive } => {
                Ok(trees::remove(root, &path, recursive, &mut self.unsynced).map(|()| CallAnswer::Done)?)
            }
            FileCall::Rename { from, to, overwrite } => {
                Ok(trees::rename(root, &from, &to, overwrite, &mut self.unsynced)
                    .map(|()| CallAnswer::Done)?)
            }
            FileCall::Copy { from, to, recursive, overwrite, max_file_bytes, max_bytes } => {
                let copy = Copy { from: &from, to: &to, recursive, overwrite, max_file_bytes, max_bytes };
                Ok(copying::copy(root, &copy, &mut self.unsynced).map(|()| CallAnswer::Done)?)
            }
            FileCall::Watch { path } => {
                let FileAnswer::Entry(entry) = listing::stat(root, &path)? else {
                    return Err(UNKNOWN);
                };
                let watch = Watch::new(root, &path)?;
                let handle = self.keep(Handle::Watching(watch))?;
                Ok(CallAnswer::File(FileAnswer::Opened { handle, entry, created: false }))
            }
            FileCall::Changes { handle } => match self.handles.get_mut(&handle) {
                Some(Handle::Watching(watch)) => {
                    let changes = watch.take_changes(&self.root);
                    if changes.is_empty() {
                        watch.waiting = Some(id);
                        return Err(NoAnswer::Later);
                    }
                    Ok(CallAnswer::File(FileAnswer::Changes(changes)))
                }
                _ => Err(UNKNOWN),
            },
        }
    }

    fn keep(&mut self, handle: Handle) -> Result<u32, NoAnswer> {
        if self.handles.len() >= MAX_HANDLES {
            return Err(NoAnswer::Kind(FailureKind::TooMany));
        }
        self.last_handle = self.last_handle.wrapping_add(1);
        self.handles.insert(self.last_handle, handle);
        Ok(self.last_handle)
    }
}

/// Whether another request is there already.
fn has_more(socket: &OwnedFd) -> bool {
    let mut one = [PollFd::new(socket, PollFlags::IN)];
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut one, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// The paths that a call names.
fn paths_of(call: &FileCall) -> [Option<&[u8]>; 2] {
    match call {
        FileCall::Stat { path }
        | FileCall::List { path, .. }
        | FileCall::Open { path }
        | FileCall::Stage { path, .. }
        | FileCall::OpenAppend { path }
        | FileCall::MakeDirectory { path }
        | FileCall::Remove { path, .. }
        | FileCall::Watch { path } => [Some(path), None],
        FileCall::Rename { from, to, .. } | FileCall::Copy { from, to, .. } => [Some(from), Some(to)],
        FileCall::Read { .. }
        | FileCall::Add { .. }
        | FileCall::Commit { .. }
        | FileCall::Close { .. }
        | FileCall::Changes { .. } => [None, None],
    }
}

/// Names and slashes, or the root. The kernel would refuse what leads out as well; but what is made on the way there
/// would stay.
fn is_plain(path: &[u8]) -> bool {
    path.is_empty() || path.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

fn answer(socket: &OwnedFd, id: u32, answer: Result<CallAnswer, NoAnswer>) -> Result<(), Errno> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(NoAnswer::Kernel(errno)) => {
            CallAnswer::Failed(Failure { kind: FailureKind::System, errno: errno.raw_os_error() })
        }
        Err(NoAnswer::Kind(kind)) => CallAnswer::Failed(Failure { kind, errno: 0 }),
        Err(NoAnswer::Later) => return Ok(()),
    };
    let frame = encode(&Reply { id, answer }).map_err(|_| Errno::INVAL)?;
    loop {
        match send(socket.as_fd(), &frame, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => return other.map(drop),
        }
    }
}
