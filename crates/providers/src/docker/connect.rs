//! The way to process 1 of a container: a socket in a directory that both sides see; or, with a daemon elsewhere, its input
//! and output, which the daemon passes on.
//!
//! What lies in that directory may have been put there by a program in the box. So the socket is opened without following
//! a link, looked at, and only then connected to, through its handle: a link to another socket of the host leads nowhere.

use std::path::Path;
use std::time::Duration;

use rustix::fd::AsRawFd as _;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use tokio::net::UnixStream;

use super::spec::SOCKET;
use crate::boxes::channel::{Channel, ChannelError, Reading, Writing};
use warren_init::Greeting;

const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
const GREETING_PATIENCE: Duration = Duration::from_secs(5);
/// The same, with the start of the program in it.
const START_PATIENCE: Duration = Duration::from_secs(15);

/// One try. Absent: there is no socket yet, or nobody listens on it.
pub(super) async fn try_connect(run: &Path) -> std::io::Result<Option<UnixStream>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let socket = match openat(CWD, run.join(SOCKET), flags, Mode::empty()) {
        Ok(socket) => socket,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if FileType::from_raw_mode(fstat(&socket)?.st_mode) != FileType::Socket {
        return Err(std::io::Error::other("what lies where the box's socket should be is no socket"));
    }
    match UnixStream::connect(format!("/proc/self/fd/{}", socket.as_raw_fd())).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for a new box's socket for as long as `is_alive` says that there is one to wait for.
pub(super) async fn wait_for<F: Future<Output = bool>>(
    run: &Path,
    patience: Duration,
    is_alive: impl Fn() -> F,
) -> std::io::Result<Option<UnixStream>> {
    /// Asking the daemon costs more than looking for a file.
    const TRIES_PER_QUESTION: u32 = 25;
    let trying = async {
        let mut pause = SHORTEST_PAUSE;
        for tries in 1_u32.. {
            if let Some(stream) = try_connect(run).await? {
                return Ok(Some(stream));
            }
            if tries.is_multiple_of(TRIES_PER_QUESTION) && !is_alive().await {
                return Ok(None);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(None)
    };
    tokio::time::timeout(patience, trying).await.unwrap_or(Ok(None))
}

/// A process 1 that answers.
#[derive(Debug)]
pub(super) struct ConnectedInit {
    pub(super) channel: Channel,
    pub(super) greeting: Greeting,
    /// The number that it has here; absent where it cannot be seen from here.
    pub(super) process: Option<u32>,
}

pub(super) async fn greet(stream: UnixStream) -> Result<ConnectedInit, ChannelError> {
    let process = stream.peer_cred().ok().and_then(|peer| u32::try_from(peer.pid()?).ok());
    let (reading, writing) = stream.into_split();
    let (channel, greeting) = Channel::open(Box::new(reading), Box::new(writing), GREETING_PATIENCE).await?;
    Ok(ConnectedInit { channel, greeting, process: process.filter(|&number| number != 0) })
}

/// By the container's input and output, taken before it was started.
pub(super) async fn greet_through_daemon(
    reading: Reading,
    writing: Writing,
) -> Result<ConnectedInit, ChannelError> {
    let (channel, greeting) = Channel::open(reading, writing, START_PATIENCE).await?;
    Ok(ConnectedInit { channel, greeting, process: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    // sec/S11
    #[tokio::test]
    async fn a_link_to_another_socket_of_the_host_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere.sock");
        let _listener = tokio::net::UnixListener::bind(&elsewhere).unwrap();
        let run = folder.path().join("run");
        std::fs::create_dir(&run).unwrap();
        assert!(try_connect(&run).await.unwrap().is_none(), "nothing is there yet");
        std::os::unix::fs::symlink(&elsewhere, run.join(SOCKET)).unwrap();
        assert!(try_connect(&run).await.is_err());
        std::fs::remove_file(run.join(SOCKET)).unwrap();
        std::fs::write(run.join(SOCKET), "").unwrap();
        assert!(try_connect(&run).await.is_err(), "a file is no socket");
        std::fs::remove_file(run.join(SOCKET)).unwrap();
        let _own = tokio::net::UnixListener::bind(run.join(SOCKET)).unwrap();
        assert!(try_connect(&run).await.unwrap().is_some());
    }
}
