//! A directory handed from one process to another through a socket: a way into a workspace for whoever is not in it.

#![expect(unsafe_code, reason = "descriptors are handed over by bare calls")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]

use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::system::tell;

/// Room for one descriptor, aligned as the kernel wants it.
#[repr(align(8))]
struct ControlBuffer([u8; 64]);

fn address_of(text: &str) -> io::Result<SocketAddr> {
    match text.split_once(':') {
        Some(("unix", path)) => SocketAddr::from_pathname(path),
        Some(("abstract", name)) => SocketAddr::from_abstract_name(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Says when it listens, and hands its working directory to everybody who comes.
pub(crate) fn listen(text: &str) {
    let listener = match address_of(text).and_then(|address| UnixListener::bind_addr(&address)) {
        Ok(listener) => listener,
        Err(error) => return tell("listen", Err(error.raw_os_error().unwrap_or(-1))),
    };
    tell("listen", Ok(0));
    while let Ok((stream, _)) = listener.accept() {
        if let Ok(here) = std::fs::File::open(".") {
            let _ = hand(&stream, here.as_raw_fd());
        }
    }
}

pub(crate) fn take(text: &str) {
    let taken =
        address_of(text).and_then(|address| UnixStream::connect_addr(&address)).and_then(|s| receive(&s));
    match taken {
        Ok(descriptor) => {
            let listed =
                std::fs::read_dir(format!("/proc/self/fd/{descriptor}")).into_iter().flatten().flatten();
            for entry in listed {
                println!("found {}", entry.file_name().to_string_lossy());
            }
            tell("take", Ok(0));
        }
        Err(error) => tell("take", Err(error.raw_os_error().unwrap_or(libc::ENOMSG))),
    }
}

pub(crate) fn hand(stream: &UnixStream, descriptor: RawFd) -> io::Result<()> {
    let (mut room, mut byte) = (ControlBuffer([0; 64]), [1_u8]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: all that the message points at lives until the call is over, and has the room that is told.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let control = libc::CMSG_FIRSTHDR(&raw const message);
        (*control).cmsg_level = libc::SOL_SOCKET;
        (*control).cmsg_type = libc::SCM_RIGHTS;
        (*control).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(control).cast::<RawFd>().write_unaligned(descriptor);
        if libc::sendmsg(stream.as_raw_fd(), &raw const message, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

pub(crate) fn receive(stream: &UnixStream) -> io::Result<RawFd> {
    let (mut room, mut byte) = (ControlBuffer([0; 64]), [0_u8]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: as above; what is read of the answer is what the kernel says is there.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = room.0.len();
        if libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        let control = libc::CMSG_FIRSTHDR(&raw const message);
        if control.is_null() || (*control).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::from_raw_os_error(libc::ENOMSG));
        }
        Ok(libc::CMSG_DATA(control).cast::<RawFd>().read_unaligned())
    }
}
