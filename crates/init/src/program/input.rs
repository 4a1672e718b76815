//! What a program reads: queued here until its pipe or terminal takes it.

use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use warren_init::{CallAnswer, Failure, FailureKind};

use super::limits::MAX_INPUT_BYTES;
use super::owner::Owner;

/// What a terminal's user types to end the input.
const END_OF_TRANSMISSION: u8 = 4;

#[derive(Debug)]
pub(super) struct Input {
    /// Absent: at its end.
    target: Option<OwnedFd>,
    is_terminal: bool,
    queue: VecDeque<Chunk>,
    queued_bytes: usize,
    /// Nothing more will be queued.
    has_end: bool,
    is_watched: bool,
}

#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    taken: usize,
    told: InputReceipt,
}

/// Who hears that a chunk was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputReceipt {
    Nobody,
    /// The sender of a `Run`'s input may send so much more.
    Run(u32),
    /// A `Write` is done.
    Write(u32),
}

impl Input {
    pub(super) const fn new(target: Option<OwnedFd>, is_terminal: bool) -> Self {
        Self {
            target,
            is_terminal,
            queue: VecDeque::new(),
            queued_bytes: 0,
            has_end: false,
            is_watched: false,
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.target.is_some() && !self.has_end
    }

    /// Whether so much more may wait.
    pub(super) const fn has_room(&self, bytes: usize) -> bool {
        self.queued_bytes + bytes <= MAX_INPUT_BYTES
    }

    pub(super) fn queue(&mut self, mut bytes: Vec<u8>, is_last: bool, told: InputReceipt) {
        if is_last && self.is_terminal {
            // A terminal stays open: this is what ends a line-wise reader's input.
            bytes.push(END_OF_TRANSMISSION);
        } else {
            self.has_end |= is_last;
        }
        self.queued_bytes += bytes.len();
        self.queue.push_back(Chunk { bytes, taken: 0, told });
    }

    /// Writes what is taken now, and asks to be called again for the rest.
    pub(super) fn feed(&mut self, owner: &mut Owner, epoll: BorrowedFd<'_>, token: u64) {
        let Some(target) = &self.target else {
            return self.close(owner, epoll);
        };
        while let Some(chunk) = self.queue.front_mut() {
            let rest = &chunk.bytes[chunk.taken..];
            let written = if rest.is_empty() { Ok(0) } else { rustix::io::write(target, rest) };
            match written {
                Ok(count) => {
                    chunk.taken += count;
                    self.queued_bytes -= count;
                    if let InputReceipt::Run(run) = chunk.told {
                        owner.send(
                            run,
                            CallAnswer::InputTaken { bytes: u32::try_from(count).unwrap_or(u32::MAX) },
                        );
                    }
                    if chunk.taken < chunk.bytes.len() {
                        continue;
                    }
                    if let InputReceipt::Write(request) = chunk.told {
                        owner.send(request, CallAnswer::Done);
                    }
                    self.queue.pop_front();
                }
                Err(Errno::AGAIN) => return self.watch(epoll, token),
                Err(Errno::INTR) => {}
                // Nobody will ever read it.
                Err(_) => return self.close(owner, epoll),
            }
        }
        if self.has_end {
            self.close(owner, epoll);
        } else if self.is_watched && epoll::delete(epoll, target).is_ok() {
            self.is_watched = false;
        }
    }

    fn watch(&mut self, epoll: BorrowedFd<'_>, token: u64) {
        if let Some(target) = &self.target
            && !self.is_watched
        {
            let added = epoll::add(epoll, target, EventData::new_u64(token), EventFlags::OUT);
            self.is_watched = added.is_ok();
        }
    }

    /// The end of the program's input; who waits hears of it.
    pub(super) fn close(&mut self, owner: &mut Owner, epoll: BorrowedFd<'_>) {
        if let Some(target) = self.target.take()
            && std::mem::take(&mut self.is_watched)
        {
            let _ = epoll::delete(epoll, &target);
        }
        self.has_end = true;
        self.queued_bytes = 0;
        for chunk in self.queue.drain(..) {
            let left = chunk.bytes.len() - chunk.taken;
            match chunk.told {
                InputReceipt::Nobody => {}
                // The sender of what nobody reads must not wait for room.
                InputReceipt::Run(run) => {
                    owner
                        .send(run, CallAnswer::InputTaken { bytes: u32::try_from(left).unwrap_or(u32::MAX) });
                }
                InputReceipt::Write(request) => {
                    owner.send(
                        request,
                        CallAnswer::Failed(Failure { kind: FailureKind::UnknownNumber, errno: 0 }),
                    );
                }
            }
        }
    }

    /// Takes back what a `Write` has not handed over yet.
    pub(super) fn withdraw(&mut self, request: u32, owner: &mut Owner) {
        let Some(at) = self.queue.iter().position(|chunk| chunk.told == InputReceipt::Write(request)) else {
            return;
        };
        if let Some(chunk) = self.queue.remove(at) {
            self.queued_bytes -= chunk.bytes.len() - chunk.taken;
            owner.send(request, CallAnswer::Failed(Failure { kind: FailureKind::UnknownNumber, errno: 0 }));
        }
    }

    /// The owner is gone: what it queued stays, but nobody is told.
    pub(super) fn forget_owner(&mut self) {
        self.queue.iter_mut().for_each(|chunk| chunk.told = InputReceipt::Nobody);
    }
}
