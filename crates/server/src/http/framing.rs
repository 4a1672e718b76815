//! Where requests begin and end on a connection, and whether one says so twice (sec/A07).
//!
//! A request with both `Content-Length` and `Transfer-Encoding` is read by one of them here and perhaps by the other in
//! whatever stands before us, so that the end of its body may be a request of its own. The HTTP library follows RFC 9112,
//! goes by the chunks and drops the length before anybody sees it; so the bytes are looked at on their way to it.
//!
//! ```text
//!   bytes ─▶ Framing (looks, changes nothing) ─▶ HTTP library ─▶ RefuseAmbiguous ─▶ routes
//!              └─ both in one head: noted ─────────────────────────┘ 400, and the connection is closed
//! ```
//!
//! The library hands a request on only when it has all of its head, and has every byte from here: the note is there
//! before the request is. What is no HTTP any more, after an upgrade, may look like anything and is asked about by nobody.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::response::{IntoResponse as _, Response};
use futures_util::future::Either;
use http::{Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::Service;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::drain::Drain;

/// Longer than any line that the library takes: of longer ones only so much is kept.
const KEPT: usize = super::MAX_HEAD_BYTES;

/// Follows the requests of one connection.
#[derive(Debug)]
pub(super) struct Framing {
    place: Position,
    /// The line that is being read.
    line: Vec<u8>,
    head: Head,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    RequestLine,
    Head,
    /// So many bytes of a body are to come.
    Body(u64),
    ChunkSize,
    /// A chunk, and the line break behind it.
    Chunk(u64),
    Trailers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Head {
    content_length: Option<u64>,
    has_transfer_encoding: bool,
}

impl Default for Framing {
    fn default() -> Self {
        Self { place: Position::RequestLine, line: Vec::new(), head: Head::default() }
    }
}

impl Framing {
    /// Takes in the next bytes. Answers whether a head among them has both a length and chunks.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> bool {
        let mut is_ambiguous = false;
        while !bytes.is_empty() {
            if let Position::Body(left) | Position::Chunk(left) = self.place {
                let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                bytes = &bytes[taken..];
                self.pass_body(left - taken as u64);
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.keep(bytes);
                break;
            };
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            is_ambiguous |= self.end_line();
        }
        is_ambiguous
    }

    /// Whether more of a request's body is to come.
    pub(super) fn is_in_a_body(&self) -> bool {
        match self.place {
            Position::RequestLine | Position::Head => false,
            Position::Body(_) | Position::ChunkSize | Position::Chunk(_) | Position::Trailers => true,
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = KEPT.saturating_sub(self.line.len());
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn pass_body(&mut self, left: u64) {
        self.place = match self.place {
            Position::Body(_) if left > 0 => Position::Body(left),
            Position::Chunk(_) if left > 0 => Position::Chunk(left),
            Position::Body(_) => Position::RequestLine,
            Position::Chunk(_) | Position::ChunkSize => Position::ChunkSize,
            Position::RequestLine | Position::Head | Position::Trailers => self.place,
        };
    }

    fn end_line(&mut self) -> bool {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let is_empty = line.is_empty();
        let mut is_ambiguous = false;
        self.place = match self.place {
            // Empty lines before a request are passed over.
            Position::RequestLine if is_empty => Position::RequestLine,
            Position::RequestLine => Position::Head,
            Position::Head if is_empty => {
                let head = std::mem::take(&mut self.head);
                is_ambiguous = head.has_transfer_encoding && head.content_length.is_some();
                match head {
                    Head { has_transfer_encoding: true, .. } => Position::ChunkSize,
                    Head { content_length: Some(length @ 1..), .. } => Position::Body(length),
                    Head { .. } => Position::RequestLine,
                }
            }
            Position::Head => {
                note(&mut self.head, line);
                Position::Head
            }
            Position::ChunkSize => match chunk_size(line) {
                0 => Position::Trailers,
                size => Position::Chunk(size.saturating_add(2)),
            },
            Position::Trailers if is_empty => Position::RequestLine,
            Position::Trailers => Position::Trailers,
            Position::Body(_) | Position::Chunk(_) => self.place,
        };
        self.line.clear();
        is_ambiguous
    }
}

/// What a line of a head says about the length of the body. What is spelled wrong, the library refuses.
fn note(head: &mut Head, line: &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
    if name.eq_ignore_ascii_case(b"transfer-encoding") {
        head.has_transfer_encoding = true;
    } else if name.eq_ignore_ascii_case(b"content-length") {
        let digits = std::str::from_utf8(value).ok();
        head.content_length = Some(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0));
    }
}

fn chunk_size(line: &[u8]) -> u64 {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let digits = std::str::from_utf8(digits).ok();
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Set once a connection has sent a request whose end is not clear.
#[derive(Debug, Clone, Default)]
pub(super) struct AmbiguityFlag(Arc<AtomicBool>);

/// A stream whose bytes are looked at as they are read.
#[derive(Debug)]
pub(super) struct FramedStream<S> {
    inner: S,
    framing: Framing,
    note: AmbiguityFlag,
    drain: Drain,
    is_shut: bool,
}

impl<S> FramedStream<S> {
    pub(super) fn new(inner: S, note: AmbiguityFlag) -> Self {
        Self { inner, framing: Framing::default(), note, drain: Drain::default(), is_shut: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FramedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.inner).poll_read(context, buffer);
        if self.framing.take(&buffer.filled()[before..]) {
            self.note.0.store(true, Ordering::Release);
        }
        outcome
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for FramedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { inner, framing, drain, is_shut, .. } = &mut *self;
        if !*is_shut {
            std::task::ready!(Pin::new(&mut *inner).poll_shutdown(context))?;
            *is_shut = true;
        }
        drain.poll(inner, framing, context).map(Ok)
    }
}

/// Serves a connection until it sends a request whose end is not clear.
#[derive(Debug, Clone)]
pub(super) struct RefuseAmbiguous<S> {
    pub(super) inner: S,
    pub(super) note: AmbiguityFlag,
}

impl<S> Service<Request<Incoming>> for RefuseAmbiguous<S>
where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible>,
    S::Future: Future<Output = Result<Response, Infallible>>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<S::Future, Ready<Result<Response, Infallible>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        if !self.note.0.load(Ordering::Acquire) {
            return Either::Left(self.inner.call(request));
        }
        // As the library itself answers what it cannot read.
        let refusal = (StatusCode::BAD_REQUEST, [(header::CONNECTION, "close")]).into_response();
        Either::Right(ready(Ok(refusal)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: &str = "POST / HTTP/1.1\r\nContent-Length: 5\r\nTRANSFER-ENCODING:chunked\r\n\r\n0\r\n\r\n";

    fn looked_at(bytes: &[u8], step: usize) -> Vec<bool> {
        let mut framing = Framing::default();
        bytes.chunks(step.max(1)).map(|piece| framing.take(piece)).collect()
    }

    // sec/A07
    #[test]
    fn a_head_with_both_is_found_wherever_it_stands() {
        let before = [
            "",
            "\r\n",
            "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nt: 1\r\n\r\n",
            "GET / HTTP/1.1\nhost: x\n\n",
        ];
        let turned = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n";
        for first in before {
            for bad in [BOTH, turned] {
                let whole = format!("{first}{bad}");
                assert!(looked_at(whole.as_bytes(), whole.len()).contains(&true), "{whole}");
            }
        }
    }

    // sec/A07: what a body says is no head
    #[test]
    fn a_body_that_looks_like_such_a_head_is_none() {
        let plain = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{BOTH}", BOTH.len());
        let chunked = format!(
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{BOTH}\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            BOTH.len()
        );
        for whole in [plain, chunked] {
            assert!(!looked_at(whole.as_bytes(), whole.len()).contains(&true), "{whole}");
        }
    }

    proptest! {
        // sec/A07: however it arrives, and whatever it is
        #[test]
        fn pieces_are_the_same_as_the_whole_and_nothing_panics(
            noise in proptest::collection::vec(any::<u8>(), 0..200),
            step in 1_usize..40,
        ) {
            let alone = looked_at(&noise, step).contains(&true);
            prop_assert_eq!(alone, looked_at(&noise, noise.len()).contains(&true));
            let whole = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", noise.len());
            let whole = [whole.as_bytes(), &noise, BOTH.as_bytes()].concat();
            prop_assert!(looked_at(&whole, step).contains(&true));
        }
    }
}
