//! Terminals for background processes.

use std::io;

use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use warren_workspace::shell::PtySize;

use crate::readiness::register;

/// Our side of a terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    ours: AsyncFd<OwnedFd>,
}

impl Terminal {
    /// A new terminal and the side that the program gets. No name in `/dev/pts` is opened: the kernel hands the other
    /// side over by handle.
    pub(super) fn open(size: PtySize) -> io::Result<(Self, OwnedFd)> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs =
            ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        tcsetwinsize(&ours, window(size))?;
        fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
        let ours = register(ours, Interest::READABLE | Interest::WRITABLE)?;
        Ok((Self { ours }, theirs))
    }

    pub(super) fn resize(&self, size: PtySize) -> io::Result<()> {
        Ok(tcsetwinsize(self.ours.get_ref(), window(size))?)
    }

    /// Zero at the end: the kernel says EIO when the last program has closed its side.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            self.ours.async_io(Interest::READABLE, |ours| Ok(rustix::io::read(ours, &mut *buffer)?)).await;
        match read {
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            other => other,
        }
    }

    pub(super) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written =
                self.ours.async_io(Interest::WRITABLE, |ours| Ok(rustix::io::write(ours, bytes)?)).await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

fn window(size: PtySize) -> Winsize {
    Winsize { ws_row: size.rows.max(1), ws_col: size.columns.max(1), ws_xpixel: 0, ws_ypixel: 0 }
}
