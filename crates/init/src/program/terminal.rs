//! Terminals, from the box's own `devpts`.

use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use warren_init::TerminalSize;

#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) ours: OwnedFd,
    pub(super) theirs: OwnedFd,
}

/// No name in `/dev/pts` is opened: the kernel hands the other side over by handle.
pub(super) fn open(size: TerminalSize) -> Result<Terminal, Errno> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    resize(&ours, size)?;
    fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    Ok(Terminal { ours, theirs })
}

pub(super) fn resize(ours: &OwnedFd, size: TerminalSize) -> Result<(), Errno> {
    let window =
        Winsize { ws_row: size.rows.max(1), ws_col: size.columns.max(1), ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(ours, window)
}
