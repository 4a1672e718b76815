//! The descriptors that init was started with: its channel stays, the rest is closed (sec/S05).

#![expect(unsafe_code, reason = "descriptors by number; each block says why it holds")]

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};

/// Handles of our own begin here: 0, 1 and 2 are what a child gets.
const FIRST_OF_OURS: RawFd = 3;

/// A handle of our own to a descriptor that was inherited. Must be taken before `close_all_but`.
pub(super) fn inherit(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: the number is used for this one call, which answers EBADF if nothing is open there.
    let inherited = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_dupfd_cloexec(inherited, FIRST_OF_OURS)
}

/// Closes everything but `kept`, and puts nothing (in the sense of `/dev/null`) on 0 and 1. Tells that nothing.
///
/// 2 stays until `let_go_of_stderr`: what goes wrong before the loop has no other way to be told.
pub(super) fn close_all_but(kept: &[BorrowedFd<'_>]) -> Result<OwnedFd, Errno> {
    let mut numbers: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    numbers.sort_unstable();
    let mut from = FIRST_OF_OURS;
    for number in numbers {
        close_range(from, number - 1)?;
        from = number + 1;
    }
    close_range(from, RawFd::MAX)?;
    let nothing = fcntl_dupfd_cloexec(&open_nothing()?, FIRST_OF_OURS)?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(nothing)
}

pub(super) fn let_go_of_stderr(nothing: &OwnedFd) -> Result<(), Errno> {
    rustix::stdio::dup2_stderr(nothing)
}

/// `/dev/null`; in a box without it, a pipe that is at its end.
fn open_nothing() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .or_else(|_| pipe_with(PipeFlags::CLOEXEC).map(|(reading, _writing)| reading))
}

fn close_range(from: RawFd, to: RawFd) -> Result<(), Errno> {
    if from > to {
        return Ok(());
    }
    // SAFETY: called before any handle but those left out was made, or in a fork that never uses another one, so no
    // owned descriptor is closed under its owner.
    let result = unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
    if result == 0 {
        return Ok(());
    }
    // Before Linux 5.9. As many as a process usually may have.
    for number in from..=to.min(65_536) {
        // SAFETY: as above; EBADF does not matter.
        unsafe { libc::close(number) };
    }
    Ok(())
}

/// Takes over a descriptor that a system call has just made.
pub(super) fn own(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: the caller got it from the kernel and has told nobody else.
    (number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })
}
