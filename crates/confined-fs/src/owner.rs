//! To whom files belong that are made for another user.

use std::ffi::OsStr;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, Gid, Uid, chownat, fchown};
use rustix::io::Errno;

/// The uid and gid that a workspace's programs run as, where they are not this process's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

impl Owner {
    /// Gives away what this process has just made, through its handle. Takes root.
    pub fn give(self, made: impl AsFd) -> Result<(), Errno> {
        fchown(made, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))
    }

    /// A link has no handle to be given by, so `directory` must be one that nobody else can reach.
    pub fn give_link(self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        chownat(directory, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }
}
