//! What a program writes: read from its pipe or terminal when there is room for it.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

#[derive(Debug)]
pub(super) struct Output {
    /// Absent: at its end.
    source: Option<OwnedFd>,
    is_terminal: bool,
    is_watched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    Some(usize),
    /// Nothing now.
    Nothing,
    End,
}

impl Output {
    pub(super) const fn new(source: Option<OwnedFd>, is_terminal: bool) -> Self {
        Self { source, is_terminal, is_watched: false }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.source.is_some()
    }

    pub(super) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    pub(super) const fn source(&self) -> Option<&OwnedFd> {
        self.source.as_ref()
    }

    pub(super) fn read(&mut self, buffer: &mut [u8], epoll: BorrowedFd<'_>) -> Read {
        let Some(source) = &self.source else {
            return Read::End;
        };
        match rustix::io::read(source, buffer) {
            Ok(count @ 1..) => Read::Some(count),
            Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
            // A terminal says EIO when the last program has closed its side.
            Ok(0) | Err(_) => {
                self.close(epoll);
                Read::End
            }
        }
    }

    pub(super) fn close(&mut self, epoll: BorrowedFd<'_>) {
        // A terminal is open twice (see `Input`), so closing alone would leave it watched.
        self.watch(false, epoll, 0);
        self.source = None;
    }

    /// Whether to be told of output. A descriptor that is not read must not be watched: its end would be told for ever.
    pub(super) fn watch(&mut self, wanted: bool, epoll: BorrowedFd<'_>, token: u64) {
        let Some(source) = &self.source else { return };
        if wanted == self.is_watched {
            return;
        }
        let changed = if wanted {
            epoll::add(epoll, source, EventData::new_u64(token), EventFlags::IN)
        } else {
            epoll::delete(epoll, source)
        };
        if changed.is_ok() {
            self.is_watched = wanted;
        }
    }
}
