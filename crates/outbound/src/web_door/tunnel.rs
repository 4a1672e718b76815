//! A tunnel: TLS from the box to the host, of which nothing is seen but the name that it asks for.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout_at};
use warren_model::NetworkScheme;
use warren_rules::outbound::network::HostPort;
use warren_rules::outbound::network::hello::{self, Hello};

use super::{Carried, DoorOutcome, DoorRefusal, DoorStream, Ended, Visit, answer, of_call, within};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const PIECE: usize = 16 << 10;

impl<S: DoorStream> Visit<'_, S> {
    /// To a host that is granted.
    pub(super) async fn tunnel(mut self, to: HostPort) -> Ended {
        let scheme = NetworkScheme::Https;
        let host = match self.door.0.connector.open(to.host.as_str(), to.port).await {
            Ok(host) => host,
            Err(error) => {
                tracing::info!(workspace.id = %self.workspace, host.name = %to, %error, "a tunnel was not opened");
                return self.refuse(scheme, of_call(&error, &to)).await;
            }
        };
        if self.stream.write_all(ESTABLISHED).await.is_err() {
            let outcome = DoorOutcome::Cut("the box hung up");
            return Ended { scheme, outcome, carried: Carried::default() };
        }
        if let Err(refusal) = self.read_hello(&to).await {
            answer::refuse_tls(self.stream).await;
            return Ended::refused(scheme, refusal);
        }
        let limits = *self.limits();
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut from_box, mut to_box) = tokio::io::split(self.stream);
        let (mut from_host, mut to_host) = tokio::io::split(host);
        let carrying = async {
            let out = async {
                to_host.write_all(&self.buffer).await?;
                sent.fetch_add(self.buffer.len() as u64, Ordering::Relaxed);
                pump(&mut from_box, &mut to_host, &sent, limits.bytes).await
            };
            let back = pump(&mut from_host, &mut to_box, &received, limits.bytes);
            tokio::try_join!(out, back)
        };
        let count = || sent.load(Ordering::Relaxed) + received.load(Ordering::Relaxed);
        let outcome = match within(&limits, count, carrying).await {
            Ok(Ok(_)) => DoorOutcome::Closed,
            Ok(Err(_)) => DoorOutcome::Cut("one side broke off"),
            Err(limit) => DoorOutcome::Cut(limit),
        };
        let carried =
            Carried { sent: sent.load(Ordering::Relaxed), received: received.load(Ordering::Relaxed) };
        Ended { scheme, outcome, carried }
    }

    /// Reads the first message of TLS into the buffer. It asks for the host of the tunnel, or is refused.
    async fn read_hello(&mut self, to: &HostPort) -> Result<(), DoorRefusal> {
        let until = Instant::now() + self.limits().head;
        loop {
            match hello::read(&self.buffer).map_err(DoorRefusal::hello)? {
                Hello::Name(name) if name == to.host => return Ok(()),
                Hello::Name(_) => return Err(DoorRefusal::other_name(to)),
                Hello::Partial => {}
            }
            match timeout_at(until, self.stream.read_buf(&mut self.buffer)).await {
                Ok(Ok(0) | Err(_)) => return Err(DoorRefusal::cut()),
                Ok(Ok(_)) => {}
                Err(_) => return Err(DoorRefusal::too_slow()),
            }
        }
    }
}

/// Carries one way until its end, which is passed on.
async fn pump<R, W>(from: &mut R, to: &mut W, count: &AtomicU64, most: u64) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        if count.fetch_add(read as u64, Ordering::Relaxed) + read as u64 > most {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        to.write_all(&piece[..read]).await?;
    }
}
