//! What a peer answered, read piece by piece under the limits of its call.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::{StatusCode, Version};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use super::events::EventStream;
use super::{BadAnswer, CallError, CallLimits};

/// The head of an answer, with its body still to come.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Body,
}

impl Answer {
    /// Takes an answer, or refuses it by its head alone.
    pub(super) fn of(
        response: reqwest::Response,
        limits: CallLimits,
        end: Instant,
    ) -> Result<Self, BadAnswer> {
        let status = response.status();
        let headers = response.headers().clone();
        debug_assert!(response.version() <= Version::HTTP_11);
        if status.is_redirection() {
            return Err(BadAnswer::Redirect(status.as_u16()));
        }
        if head_bytes(&headers) > limits.header_bytes {
            return Err(BadAnswer::HeaderBytes(limits.header_bytes));
        }
        if !has_plain_encoding(&headers) {
            return Err(BadAnswer::Encoded);
        }
        if declared_length(&headers).is_some_and(|length| length > limits.body_bytes) {
            return Err(BadAnswer::BodyBytes(limits.body_bytes));
        }
        let body = Body { response, limits, end, taken: 0 };
        Ok(Self { status, headers, body })
    }

    /// Said by the peer itself: not now (X11).
    pub fn is_busy(&self) -> bool {
        matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
    }

    /// How long a busy peer asks to be left alone, if it says so in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
        text.trim().parse().ok().map(Duration::from_secs)
    }

    /// Without parameters, in small letters.
    pub fn media_type(&self) -> Option<String> {
        let text = self.headers.get(CONTENT_TYPE)?.to_str().ok()?;
        Some(text.split(';').next()?.trim().to_ascii_lowercase())
    }

    /// Whether the body says that it is an event stream; the choice between [`Answer::events`] and [`Answer::json`].
    pub fn is_event_stream(&self) -> bool {
        self.media_type().as_deref() == Some("text/event-stream")
    }

    pub fn into_body(self) -> Body {
        self.body
    }

    /// The whole body.
    pub async fn bytes(self) -> Result<Bytes, CallError> {
        self.body.bytes().await
    }

    /// The whole body as JSON, of bounded depth and size.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, CallError> {
        let is_json =
            self.media_type().is_some_and(|text| text == "application/json" || text.ends_with("+json"));
        if !is_json {
            return Err(BadAnswer::ContentType("JSON").into());
        }
        let bounds = self.body.limits.json;
        let bytes = self.body.bytes().await?;
        bounds.check(&bytes).map_err(BadAnswer::Json)?;
        serde_json::from_slice(&bytes).map_err(|_| BadAnswer::NotJson.into())
    }

    /// The body as server-sent events.
    pub fn events(self) -> Result<EventStream, CallError> {
        if !self.is_event_stream() {
            return Err(BadAnswer::ContentType("text/event-stream").into());
        }
        Ok(EventStream::new(self.body))
    }
}

/// A body that is read as it comes. Dropping it hangs up.
#[derive(Debug)]
pub struct Body {
    response: reqwest::Response,
    pub(super) limits: CallLimits,
    end: Instant,
    taken: u64,
}

impl Body {
    /// The next piece; nothing at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, CallError> {
        let until = self.end.min(Instant::now() + self.limits.idle);
        let chunk = match timeout_at(until, self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => return Err(CallError::NoAnswer { cause: super::chain(&error) }),
            Err(_) => return Err(CallError::NoAnswer { cause: self.why_late() }),
        };
        let Some(chunk) = chunk else { return Ok(None) };
        self.taken += chunk.len() as u64;
        if self.taken > self.limits.body_bytes {
            return Err(BadAnswer::BodyBytes(self.limits.body_bytes).into());
        }
        Ok(Some(chunk))
    }

    pub async fn bytes(mut self) -> Result<Bytes, CallError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.into())
    }

    fn why_late(&self) -> String {
        if Instant::now() >= self.end {
            format!("the answer did not end within {:?}", self.limits.whole)
        } else {
            format!("no byte for {:?}", self.limits.idle)
        }
    }
}

/// As it was on the wire: `name: value`, and the end of the line.
fn head_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// We asked for none. What comes compressed all the same is refused and not unpacked: a few bytes can stand for
/// gigabytes.
fn has_plain_encoding(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
