//! The end of a connection, such that its last answer arrives. To close a socket while the client still sends makes the
//! kernel reset the connection, and a reset throws away what the client has not read yet: instead of "too large" it would
//! see a broken pipe. So the sending side is closed first, and what is left of the request is read and thrown away.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

use super::framing::Framing;

/// As long as this a client may go on with a request that is answered already.
const LIMIT: Duration = Duration::from_secs(5);
const PIECE_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Drain {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Drain {
    /// Ready once the request is over, the client is gone, or its time is.
    pub(super) fn poll<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        framing: &mut Framing,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut piece = [0; PIECE_BYTES];
        while framing.is_in_a_body() {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(LIMIT)));
            if timer.as_mut().poll(context).is_ready() {
                break;
            }
            let mut buffer = ReadBuf::new(&mut piece);
            let outcome = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
            if outcome.is_err() || buffer.filled().is_empty() {
                break;
            }
            framing.take(buffer.filled());
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::Instant;

    use super::*;
    use crate::http::framing::{AmbiguityFlag, FramedStream};

    const HEAD: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 1000000\r\n\r\n";

    /// A connection that has read a head, and the client's end of it.
    async fn begun() -> (FramedStream<tokio::io::DuplexStream>, tokio::io::DuplexStream) {
        let (ours, mut theirs) = tokio::io::duplex(1_024);
        let mut watched = FramedStream::new(ours, AmbiguityFlag::default());
        theirs.write_all(HEAD).await.unwrap();
        watched.read_exact(&mut [0; HEAD.len()]).await.unwrap();
        (watched, theirs)
    }

    // S22
    #[tokio::test(start_paused = true)]
    async fn what_is_left_of_a_request_is_taken_after_the_last_word() {
        let (mut watched, mut theirs) = begun().await;
        let client = tokio::spawn(async move {
            theirs.write_all(&[b'a'; 1_000_000]).await.unwrap();
            let mut said = String::new();
            theirs.read_to_string(&mut said).await.unwrap();
            said
        });
        watched.write_all(b"too large").await.unwrap();
        watched.shutdown().await.unwrap();
        drop(watched);
        assert_eq!(client.await.unwrap(), "too large");
    }

    // S22, sec/W05
    #[tokio::test(start_paused = true)]
    async fn a_client_that_neither_ends_nor_sends_is_left_after_its_time() {
        let (mut watched, _theirs) = begun().await;
        let begun = Instant::now();
        watched.shutdown().await.unwrap();
        assert_eq!(begun.elapsed(), LIMIT);
    }

    // S22
    #[tokio::test(start_paused = true)]
    async fn between_requests_nobody_is_waited_for() {
        let (ours, mut theirs) = tokio::io::duplex(1_024);
        let mut watched = FramedStream::new(ours, AmbiguityFlag::default());
        theirs.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        watched.read_exact(&mut [0; 18]).await.unwrap();
        let begun = Instant::now();
        watched.shutdown().await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
