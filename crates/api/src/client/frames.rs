//! A stream of typed frames over server-sent events.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::StreamExt as _;
use futures_util::future::FutureExt as _;
use futures_util::stream::BoxStream;
use serde::de::DeserializeOwned;

use super::Error;
use crate::sse::Decoder;

/// Frames of type `T`, one per message. It ends when the server closes the stream, and after the first error.
pub struct Frames<T> {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    decoder: Decoder,
    silence: Option<Silence>,
    is_over: bool,
    frame: PhantomData<fn() -> T>,
}

/// How long nothing may come, keep-alives counted as something.
struct Silence {
    limit: Duration,
    timer: Pin<Box<tokio::time::Sleep>>,
}

impl<T: DeserializeOwned> Frames<T> {
    pub(super) fn of(response: reqwest::Response, silence_limit: Option<Duration>) -> Self {
        Self {
            bytes: response.bytes_stream().boxed(),
            decoder: Decoder::default(),
            silence: silence_limit.map(|limit| Silence { limit, timer: Box::pin(tokio::time::sleep(limit)) }),
            is_over: false,
            frame: PhantomData,
        }
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if let Poll::Ready(chunk) = self.bytes.poll_next_unpin(context) {
            if let Some(silence) = &mut self.silence {
                silence.timer.as_mut().reset(tokio::time::Instant::now() + silence.limit);
            }
            return Poll::Ready(chunk.map(|chunk| chunk.map_err(Error::from_body)));
        }
        match &mut self.silence {
            Some(silence) => silence.timer.poll_unpin(context).map(|()| Some(Err(Error::Silent))),
            None => Poll::Pending,
        }
    }
}

impl<T: DeserializeOwned> Stream for Frames<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(message) = self.decoder.next_message() {
                let frame = serde_json::from_str(&message.data)
                    .map_err(|error| Error::BadAnswer { detail: format!("a frame cannot be read: {error}") });
                self.is_over = frame.is_err();
                return Poll::Ready(Some(frame));
            }
            let pushed = match ready!(self.poll_chunk(context)) {
                Some(Ok(chunk)) => self
                    .decoder
                    .push(&chunk)
                    .map_err(|too_long| Error::BadAnswer { detail: too_long.to_string() }),
                Some(Err(error)) => Err(error),
                None => {
                    self.is_over = true;
                    continue;
                }
            };
            if let Err(error) = pushed {
                self.is_over = true;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl<T> std::fmt::Debug for Frames<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
