//! A running box: the channel to its process 1, and the means to end it.
//!
//! For each box a task waits for bubblewrap's end, however it comes, then reaps it, makes sure that nothing of the box
//! is left, and removes its control groups (`clean_up_after`).

use std::io::{self, Read as _};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use warren_init::{Call, Greeting};
use warren_model::ErrorCode;
use warren_workspace::Error;

use super::backend::{self, unavailable};
use super::cgroup::BoxCgroup;
use super::launch::{Launcher, Started};
use crate::boxes::channel::{Channel, ChannelError};
use crate::boxes::disk::LookForHidden;
use crate::boxes::hidden_files::{family_of, hidden_files};
use crate::boxes::memory_limit::CountKills;
use crate::directory::blocking;
use crate::readiness;

/// How long process 1 of a new box may take to answer.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of bubblewrap's error output is kept.
const MAX_COMPLAINT_BYTES: u64 = 2_048;

#[derive(Debug)]
pub(super) struct LiveBox {
    pub(super) channel: Channel,
    pub(super) greeting: Greeting,
    process: Arc<AsyncFd<OwnedFd>>,
    ended: CancellationToken,
    cgroup: BoxCgroup,
    /// Of bubblewrap.
    process_id: u32,
    /// Boxes die with the thread that started them.
    _launcher: Arc<Launcher>,
}

impl LiveBox {
    /// Takes over a started bubblewrap, and returns it once process 1 has answered and its confinement was checked.
    pub(super) async fn take_over(
        started: Started,
        channel: std::os::unix::net::UnixStream,
        complaints: io::PipeReader,
        launcher: Arc<Launcher>,
    ) -> Result<Self, Error> {
        let Started { child, cgroup } = started;
        let (kept, process_id) = (cgroup.clone(), child.id());
        let process =
            handle_of(&child).map_err(|error| unavailable(format!("the box cannot be watched: {error}")))?;
        let process = Arc::new(process);
        let ended = CancellationToken::new();
        tokio::spawn(clean_up_after(Arc::clone(&process), child, cgroup, ended.clone()));
        let kill_on_drop = KillOnDrop(&process);
        let opened = tokio::select! {
            opened = open_channel(channel) => opened,
            () = ended.cancelled() => Err(ChannelError::Gone),
        };
        let (channel, greeting) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                drop(kill_on_drop);
                ended.cancelled().await;
                return Err(start_failure(error, complaints));
            }
        };
        backend::judge(&greeting)?;
        std::mem::forget(kill_on_drop);
        Ok(Self { channel, greeting, process, ended, cgroup: kept, process_id, _launcher: launcher })
    }

    /// Kills everything in the box. `ended` waits until that is done.
    pub(super) fn kill(&self) {
        // Either is enough; process 1 may be stopped, and bubblewrap may be gone.
        let _ = self.channel.tell(Call::Leave);
        kill(&self.process);
    }

    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled() || self.channel.is_gone()
    }

    /// What the box holds of a device besides what its folder shows.
    pub(super) fn look_for_hidden(&self) -> LookForHidden {
        let (cgroup, process) = (self.cgroup.clone(), self.process_id);
        Arc::new(move |device| {
            hidden_files(|| cgroup.processes().unwrap_or_else(|| family_of(process)), device)
        })
    }

    /// Asks the kernel how often the box met its memory limit.
    pub(super) fn count_kills(&self) -> CountKills {
        let cgroup = self.cgroup.clone();
        Arc::new(move || cgroup.memory_kills())
    }

    /// A handle by which others may end it without keeping it.
    pub(super) fn killer(&self) -> Arc<dyn Fn() + Send + Sync> {
        let process = Arc::clone(&self.process);
        Arc::new(move || kill(&process))
    }
}

impl Drop for LiveBox {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills a box that is not returned to the caller.
struct KillOnDrop<'a>(&'a AsyncFd<OwnedFd>);

impl Drop for KillOnDrop<'_> {
    fn drop(&mut self) {
        kill(self.0);
    }
}

fn kill(process: &AsyncFd<OwnedFd>) {
    // An error means that it is gone already.
    let _ = pidfd_send_signal(process.get_ref().as_fd(), Signal::KILL);
}

fn handle_of(child: &Child) -> io::Result<AsyncFd<OwnedFd>> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::NONBLOCK)?;
    readiness::register(handle, Interest::READABLE)
}

async fn open_channel(stream: std::os::unix::net::UnixStream) -> Result<(Channel, Greeting), ChannelError> {
    let stream = stream.set_nonblocking(true).and_then(|()| UnixStream::from_std(stream));
    let (reading, writing) = stream.map_err(|_| ChannelError::Gone)?.into_split();
    Channel::open(Box::new(reading), Box::new(writing), START_TIMEOUT).await
}

async fn clean_up_after(
    process: Arc<AsyncFd<OwnedFd>>,
    mut child: Child,
    cgroup: BoxCgroup,
    ended: CancellationToken,
) {
    // Readable once it has ended. Should the wait itself fail, the blocking one below does it.
    let _ = process.readable().await;
    let cleaned = blocking(move || {
        let _ = child.kill();
        let _ = child.wait();
        cgroup.end().map_err(|error| Error::operation(ErrorCode::Internal, error.to_string()))
    })
    .await;
    if let Err(error) = cleaned {
        tracing::warn!(%error, "the control groups of a box are left to the reaper");
    }
    ended.cancel();
}

fn start_failure(error: ChannelError, complaints: io::PipeReader) -> Error {
    let mut text = String::new();
    // All writers are dead, so that this does not wait.
    let _ = complaints.take(MAX_COMPLAINT_BYTES).read_to_string(&mut text);
    let told: String = text.lines().next().unwrap_or_default().chars().take(300).collect();
    match error {
        ChannelError::Version => unavailable("process 1 of the box speaks another protocol than this Warren"),
        _ if told.is_empty() => unavailable(format!("the box did not come up: {error}")),
        _ if is_shortage(&told) => {
            let detail = format!("bubblewrap found the host too busy to make the box: {told}");
            Error::transient(ErrorCode::ProviderUnavailable, detail)
        }
        _ => unavailable(format!("bubblewrap could not make the box: {told}")),
    }
}

/// What passes by itself: namespaces, processes and memory that others hold at the moment. Bubblewrap tells them in the
/// C library's words, and speaks no other language with an empty environment.
fn is_shortage(told: &str) -> bool {
    const WORDS: [&str; 3] =
        ["Resource temporarily unavailable", "Cannot allocate memory", "No space left on device"];
    WORDS.iter().any(|words| told.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    // W12
    #[test]
    fn a_host_that_is_short_of_something_is_tried_again_and_one_that_refuses_is_not() {
        assert!(is_shortage("bwrap: Creating new namespace failed: Resource temporarily unavailable"));
        assert!(!is_shortage("bwrap: No permissions to create new namespace"));
    }
}
