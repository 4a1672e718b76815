//! Handles that the runtime can wait for (inotify queues, terminals).

#![expect(unsafe_code, reason = "registering a handle with the runtime; the block says why it holds")]

use std::io;

use rustix::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a non-blocking handle. Must be called within the runtime.
pub(crate) fn register(handle: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor must stay open and the same until it is deregistered. An `OwnedFd` has exactly one
    // descriptor for its whole life, and the `AsyncFd` owns it and deregisters before it drops it.
    unsafe { AsyncFd::register_with_interest(handle, interest) }.map_err(io::Error::from)
}
