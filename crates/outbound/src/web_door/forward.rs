//! A request in plain HTTP, made by Warren in the box's place: as it came, or by TLS and with the credential that is bound
//! to the origin.
//!
//! Both sides are written anew from what was understood, so that nothing that two readers could read in two ways passes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::Stream;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, header};
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf};
use url::Url;
use warren_model::NetworkScheme;
use warren_rules::outbound::network::HostPort;
use warren_rules::outbound::network::chunks::{Chunks, Piece};
use warren_rules::outbound::network::head::{BodyLength, ProxyHead};

use super::{Carried, DoorOutcome, DoorRefusal, DoorStream, Ended, Visit, answer, of_call, within};
use crate::{Forward, Forwarded};

const PIECE: usize = 16 << 10;
/// Of one connection, or about a way that the box does not go.
const NOT_PASSED_BACK: [HeaderName; 10] = [
    header::ALT_SVC,
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::STRICT_TRANSPORT_SECURITY,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

impl<S: DoorStream> Visit<'_, S> {
    /// To a URL that is granted.
    pub(super) async fn forward(mut self, request: ProxyHead, scheme: NetworkScheme, url: Url) -> Ended {
        let to = request.to().clone();
        let is_followed = match request.body {
            BodyLength::Empty => !self.buffer.is_empty(),
            BodyLength::Known(length) => self.buffer.len() as u64 > length,
            BodyLength::Chunked => false,
        };
        if is_followed {
            return self.refuse(scheme, DoorRefusal::pipelined()).await;
        }
        let Ok(method) = Method::from_bytes(request.method.as_bytes()) else {
            return self.refuse(scheme, DoorRefusal::method(&request.method, &to)).await;
        };
        let credential = match scheme {
            NetworkScheme::Secured => self.door.0.keeper.credential(self.workspace, &url).await,
            // Never in plain text.
            NetworkScheme::Http | NetworkScheme::Https => Ok(None),
        };
        let Ok(credential) = credential else {
            return self.refuse(scheme, DoorRefusal::no_credential(&to)).await;
        };
        if request.expects_continue && self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_err()
        {
            let outcome = DoorOutcome::Cut("the box hung up");
            return Ended { scheme, outcome, carried: Carried::default() };
        }
        let limits = *self.limits();
        let (sent, received) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
        let length = match request.body {
            BodyLength::Known(length) => Some(length),
            BodyLength::Empty | BodyLength::Chunked => None,
        };
        let (reading, mut writing) = tokio::io::split(self.stream);
        let body = match request.body {
            BodyLength::Empty | BodyLength::Known(0) => None,
            length => Some(body(BodyReader {
                reading,
                buffer: self.buffer,
                length,
                chunks: Chunks::default(),
                read: 0,
                count: Arc::clone(&sent),
                most: limits.bytes,
            })),
        };
        let forward = Forward {
            method: method.clone(),
            url: url.clone(),
            headers: request.headers,
            credential,
            length,
        };
        let count = || sent.load(Ordering::Relaxed) + received.load(Ordering::Relaxed);
        let passing = async {
            let mut answered = match self.door.0.connector.forward(forward, body).await {
                Ok(answered) => answered,
                Err(error) => {
                    tracing::info!(workspace.id = %self.workspace, host.name = %to, %error, "a request was not answered");
                    return Err(of_call(&error, &to));
                }
            };
            let shape = AnswerShape { method, is_http_1_0: request.is_http_1_0, scheme, url, to: to.clone() };
            Ok(pass_back(&mut answered, &shape, &mut writing, &received, limits.bytes).await)
        };
        let ended = within(&limits, count, passing).await;
        let carried =
            Carried { sent: sent.load(Ordering::Relaxed), received: received.load(Ordering::Relaxed) };
        let outcome = match ended {
            Ok(Ok(Ok(()))) => DoorOutcome::Closed,
            Ok(Ok(Err(_))) => DoorOutcome::Cut("one side broke off"),
            Ok(Err(refusal)) => {
                answer::refuse(tokio::io::join(tokio::io::empty(), &mut writing), &refusal).await;
                DoorOutcome::Refused(refusal)
            }
            Err(limit) => DoorOutcome::Cut(limit),
        };
        Ended { scheme, outcome, carried }
    }
}

struct AnswerShape {
    method: Method,
    is_http_1_0: bool,
    scheme: NetworkScheme,
    url: Url,
    to: HostPort,
}

/// Writes an answer to the box. One that is cut is not ended properly, so that the box can tell.
async fn pass_back<W: AsyncWrite + Unpin>(
    answered: &mut Forwarded,
    shape: &AnswerShape,
    writing: &mut W,
    received: &AtomicU64,
    most: u64,
) -> io::Result<()> {
    let status = answered.status;
    let has_no_body =
        shape.method == Method::HEAD || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let is_chunked =
        !has_no_body && !shape.is_http_1_0 && !answered.headers.contains_key(header::CONTENT_LENGTH);
    let mut head =
        format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or("-")).into_bytes();
    for (name, value) in passed_back(&answered.headers, shape) {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    if is_chunked {
        head.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    head.extend_from_slice(b"connection: close\r\n\r\n");
    writing.write_all(&head).await?;
    if !has_no_body {
        while let Some(piece) = answered.chunk().await.map_err(io::Error::other)? {
            if received.fetch_add(piece.len() as u64, Ordering::Relaxed) + piece.len() as u64 > most {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            if piece.is_empty() {
                continue;
            }
            if is_chunked {
                writing.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
            }
            writing.write_all(&piece).await?;
            if is_chunked {
                writing.write_all(b"\r\n").await?;
            }
        }
        if is_chunked {
            writing.write_all(b"0\r\n\r\n").await?;
        }
    }
    writing.shutdown().await
}

fn passed_back(headers: &HeaderMap, shape: &AnswerShape) -> Vec<(HeaderName, HeaderValue)> {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let is_passed = |name: &HeaderName| {
        !NOT_PASSED_BACK.contains(name)
            && (*name == header::CONTENT_LENGTH || !named.iter().any(|one| one == name.as_str()))
    };
    let kept = headers.iter().filter(|(name, _)| is_passed(name));
    kept.map(|(name, value)| match *name == header::LOCATION && shape.scheme == NetworkScheme::Secured {
        true => (name.clone(), as_box_says(value, shape)),
        false => (name.clone(), value.clone()),
    })
    .collect()
}

/// A place at the same origin, as the box asks for it. Any other stays as it is, and is judged when it is asked for.
fn as_box_says(value: &HeaderValue, shape: &AnswerShape) -> HeaderValue {
    let place = value.to_str().ok().and_then(|text| Url::parse(text).ok());
    let Some(mut place) = place.filter(|place| place.origin() == shape.url.origin()) else {
        return value.clone();
    };
    let is_written = place.set_port(None).is_ok()
        && place.set_scheme("http").is_ok()
        && (shape.to.port == 80 || place.set_port(Some(shape.to.port)).is_ok());
    let written =
        Some(place).filter(|_| is_written).and_then(|place| HeaderValue::from_str(place.as_str()).ok());
    written.unwrap_or_else(|| value.clone())
}

struct BodyReader<S> {
    reading: ReadHalf<S>,
    buffer: Vec<u8>,
    length: BodyLength,
    chunks: Chunks,
    read: u64,
    count: Arc<AtomicU64>,
    most: u64,
}

/// The body as it was meant, without its chunks.
fn body<S: DoorStream>(reader: BodyReader<S>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    futures_util::stream::try_unfold(reader, |mut reader| async move {
        let piece = reader.next().await?;
        Ok(piece.map(|piece| (piece, reader)))
    })
}

impl<S: DoorStream> BodyReader<S> {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let piece = match self.length {
            BodyLength::Empty => None,
            BodyLength::Known(length) if self.read >= length => None,
            BodyLength::Known(length) => {
                if self.buffer.is_empty() {
                    self.fill().await?;
                }
                let left = usize::try_from(length - self.read).unwrap_or(usize::MAX);
                Some(self.take(left.min(self.buffer.len())))
            }
            BodyLength::Chunked => loop {
                let (skipped, piece) = self.chunks.next(&self.buffer).map_err(io::Error::other)?;
                self.buffer.drain(..skipped);
                match piece {
                    Piece::Partial => self.fill().await?,
                    Piece::Data(count) => break Some(self.take(count)),
                    Piece::End => break None,
                }
            },
        };
        let Some(piece) = piece else { return Ok(None) };
        self.read += piece.len() as u64;
        if self.count.fetch_add(piece.len() as u64, Ordering::Relaxed) + piece.len() as u64 > self.most {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(Some(piece))
    }

    fn take(&mut self, count: usize) -> Bytes {
        self.buffer.drain(..count).collect::<Vec<u8>>().into()
    }

    async fn fill(&mut self) -> io::Result<()> {
        self.buffer.reserve(PIECE);
        match self.reading.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
