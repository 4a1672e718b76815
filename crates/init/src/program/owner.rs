//! The owner's connection: frames in, frames out, one owner at a time.
//!
//! Nothing here trusts the wire. A frame that cannot be read ends the connection, as its end does.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use warren_init::{CallAnswer, FrameReader, Reply, Request, encode_into};

use super::limits::MAX_UNSENT_BYTES;

const READ_BYTES: usize = 64 << 10;
/// What was sent is dropped from the front of the buffer in steps of this.
const COMPACT_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Owner {
    connection: Option<Connection>,
    listener: Option<OwnedFd>,
    reader: FrameReader,
    unsent: Vec<u8>,
    sent: usize,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Connection {
    reading: OwnedFd,
    writing: OwnedFd,
    is_reading_watched: bool,
    is_writing_watched: bool,
    has_greeted: bool,
}

/// How to be told of the owner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens {
    pub(super) listener: u64,
    pub(super) reading: u64,
    pub(super) writing: u64,
}

/// The descriptors that the owner is behind.
#[derive(Debug)]
pub(super) enum OwnerDescriptors {
    Connected { reading: OwnedFd, writing: OwnedFd },
    Listening(OwnedFd),
}

#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it lives for a moment, on the stack")]
pub(super) enum Received {
    Request(Request),
    /// Nothing whole has come.
    Nothing,
    /// The connection has ended, or makes no sense.
    Gone,
}

impl Owner {
    pub(super) fn new(ends: OwnerDescriptors) -> Result<Self, Errno> {
        let (connection, listener) = match ends {
            OwnerDescriptors::Connected { reading, writing } => {
                (Some(Connection::new(reading, writing)?), None)
            }
            OwnerDescriptors::Listening(listener) => (None, Some(listener)),
        };
        let reader = FrameReader::default();
        Ok(Self { connection, listener, reader, unsent: Vec::new(), sent: 0, buffer: vec![0; READ_BYTES] })
    }

    pub(super) const fn is_present(&self) -> bool {
        self.connection.is_some()
    }

    pub(super) fn has_greeted(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.has_greeted)
    }

    pub(super) fn greet(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.has_greeted = true;
        }
    }

    /// Whether more may be put on the way to the owner.
    pub(super) const fn has_room(&self) -> bool {
        self.connection.is_some() && self.unsent.len() - self.sent < MAX_UNSENT_BYTES
    }

    /// Puts a reply on its way. Without an owner it is nobody's.
    pub(super) fn send(&mut self, id: u32, answer: CallAnswer) {
        self.send_reply(&Reply { id, answer });
    }

    pub(super) fn send_reply(&mut self, reply: &Reply) {
        if self.connection.is_some() {
            // No reply of ours is longer than a frame may be.
            let _ = encode_into(reply, &mut self.unsent);
        }
    }

    /// The next request that has arrived whole.
    pub(super) fn receive(&mut self) -> Received {
        match self.reader.next() {
            Ok(Some(request)) => Received::Request(request),
            Ok(None) => Received::Nothing,
            Err(_) => Received::Gone,
        }
    }

    /// Reads once from the wire.
    pub(super) fn read(&mut self) -> Received {
        let Some(connection) = &self.connection else {
            return Received::Nothing;
        };
        match rustix::io::read(&connection.reading, &mut self.buffer[..]) {
            Ok(0) => Received::Gone,
            Ok(count) => {
                self.reader.push(&self.buffer[..count]);
                Received::Nothing
            }
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(_) => Received::Gone,
        }
    }

    /// Sends what the wire takes now. False: the connection has ended.
    #[must_use]
    pub(super) fn flush(&mut self) -> bool {
        let Some(connection) = &self.connection else {
            return true;
        };
        while self.sent < self.unsent.len() {
            match rustix::io::write(&connection.writing, &self.unsent[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        } else if self.sent > COMPACT_BYTES {
            self.unsent.drain(..self.sent);
            self.sent = 0;
        }
        true
    }

    /// Asks to be told of what can be done next. Requests are not read while replies are stuck.
    pub(super) fn watch(&mut self, epoll: BorrowedFd<'_>, tokens: Tokens) {
        let (has_room, has_unsent) = (self.has_room(), self.sent < self.unsent.len());
        if let Some(connection) = &mut self.connection {
            let Connection { reading, writing, is_reading_watched, is_writing_watched, .. } = connection;
            set(epoll, reading, is_reading_watched, has_room, tokens.reading, EventFlags::IN);
            set(epoll, writing, is_writing_watched, has_unsent, tokens.writing, EventFlags::OUT);
        }
    }

    pub(super) fn watch_listener(&self, epoll: BorrowedFd<'_>, tokens: Tokens) -> Result<(), Errno> {
        match &self.listener {
            Some(listener) => {
                epoll::add(epoll, listener, EventData::new_u64(tokens.listener), EventFlags::IN)
            }
            None => Ok(()),
        }
    }

    /// Takes a new owner's connection if there is none. True: there is a new one.
    ///
    /// Those in the box could reach the socket too. Seen from process 1 of a pid namespace they have a process id,
    /// while everyone outside has none.
    pub(super) fn accept(&mut self, is_process_1: bool) -> bool {
        let Some(listener) = &self.listener else {
            return false;
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok(socket) = rustix::net::accept_with(listener, flags) else {
            return false;
        };
        let is_inside = is_process_1 && peer(&socket).is_none_or(|pid| pid != 0);
        if is_inside || self.connection.is_some() {
            return false;
        }
        let Ok(reading) = socket.try_clone() else {
            return false;
        };
        self.connection = Connection::new(reading, socket).ok();
        self.connection.is_some()
    }

    pub(super) fn disconnect(&mut self) {
        self.connection = None;
        self.reader = FrameReader::default();
        self.unsent = Vec::new();
        self.sent = 0;
    }
}

impl Connection {
    fn new(reading: OwnedFd, writing: OwnedFd) -> Result<Self, Errno> {
        for descriptor in [&reading, &writing] {
            fcntl_setfl(descriptor, fcntl_getfl(descriptor)? | OFlags::NONBLOCK)?;
        }
        let (is_reading_watched, is_writing_watched) = (false, false);
        Ok(Self { reading, writing, is_reading_watched, is_writing_watched, has_greeted: false })
    }
}

fn set(
    epoll: BorrowedFd<'_>,
    descriptor: &OwnedFd,
    is_watched: &mut bool,
    wanted: bool,
    token: u64,
    flags: EventFlags,
) {
    if wanted == *is_watched {
        return;
    }
    let changed = if wanted {
        epoll::add(epoll, descriptor, EventData::new_u64(token), flags)
    } else {
        epoll::delete(epoll, descriptor)
    };
    if changed.is_ok() {
        *is_watched = wanted;
    }
}

/// The process id of the other side as this namespace sees it: 0 is outside.
#[expect(unsafe_code, reason = "the safe interface cannot say that there is no such process")]
fn peer(socket: &OwnedFd) -> Option<i32> {
    use std::os::fd::AsRawFd;

    let mut credentials = libc::ucred { pid: -1, uid: 0, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of::<libc::ucred>()).ok()?;
    // SAFETY: the kernel writes at most `length` bytes to a structure of that size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    (result == 0).then_some(credentials.pid)
}

/// A socket at `path` for owners to come to.
pub(super) fn listen(path: &Path) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::bind(&socket, &address) {
        // What a former process 1 of this box left.
        Err(Errno::ADDRINUSE) => {
            rustix::fs::unlink(path)?;
            rustix::net::bind(&socket, &address)?;
        }
        other => other?,
    }
    rustix::net::listen(&socket, 4)?;
    Ok(socket)
}
