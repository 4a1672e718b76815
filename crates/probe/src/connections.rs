//! What can be reached: addresses, sockets, and objects that processes share (sec/S11, S12, S20, S28).

#![expect(unsafe_code, reason = "System V and POSIX objects, and abstract sockets, are made by bare calls")]

use std::ffi::CString;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::time::Duration;

use libc::c_long;

use crate::system::{call, tell};

const PATIENCE: Duration = Duration::from_millis(400);
/// A question for the address of `probe.`.
const QUESTION: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x05probe\0\0\x01\0\x01";

pub(crate) fn connect(addresses: &[&str]) {
    for address in addresses {
        let reached = match address.split_once(':') {
            Some(("tcp", rest)) => {
                every(rest, |address| TcpStream::connect_timeout(&address, PATIENCE)?.write_all(b"probe"))
            }
            Some(("udp", rest)) => every(rest, |address| {
                let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                UdpSocket::bind(any)?.send_to(QUESTION, address).map(drop)
            }),
            Some(("icmp", rest)) => every(&format!("{rest}:0"), ping),
            Some(("unix", path)) => {
                UnixStream::connect(path).and_then(|mut stream| stream.write_all(b"probe"))
            }
            Some(("abstract", name)) => UnixAddr::from_abstract_name(name)
                .and_then(|address| UnixStream::connect_addr(&address))
                .and_then(|mut stream| stream.write_all(b"probe")),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        };
        match reached {
            Ok(()) => tell(address, Ok(0)),
            Err(error) => tell(address, Err(error.raw_os_error().unwrap_or(libc::ETIMEDOUT))),
        }
    }
}

/// Names are resolved first, so that a resolver is asked too.
fn every(text: &str, reach: impl Fn(SocketAddr) -> io::Result<()>) -> io::Result<()> {
    let mut last = Err(io::Error::from_raw_os_error(libc::ENOENT));
    for address in text.to_socket_addrs().map_err(|_| io::Error::from_raw_os_error(libc::ENOENT))? {
        last = reach(address);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// The socket that needs no privilege.
fn ping(address: SocketAddr) -> io::Result<()> {
    let SocketAddr::V4(address) = address else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let echo = [8_u8, 0, 0xf7, 0xff, 0, 0, 0, 0];
    let to = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    };
    // SAFETY: a new socket, a local buffer and a local address of the length that is told.
    let sent = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::sendto(socket, echo.as_ptr().cast(), echo.len(), 0, (&raw const to).cast(), 16)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes objects under a key, or looks for those that somebody else has made.
pub(crate) fn ipc(verb: &str, key: &str) {
    let number: c_long = key.parse().unwrap_or(4_242);
    let flags = if verb == "make" { 0o1666 } else { 0o666 };
    tell("shared_memory", call(libc::SYS_shmget, [number, 4_096, flags, 0, 0, 0]));
    tell("message_queue", call(libc::SYS_msgget, [number, flags, 0, 0, 0, 0]));
    tell("semaphores", call(libc::SYS_semget, [number, 1, flags, 0, 0, 0]));
    let name = CString::new(format!("probe-{key}")).unwrap_or_default();
    let open = if verb == "make" { libc::O_CREAT | libc::O_RDWR } else { libc::O_RDWR };
    tell("posix_queue", call(libc::SYS_mq_open, [name.as_ptr() as c_long, open.into(), 0o666, 0, 0, 0]));
}
