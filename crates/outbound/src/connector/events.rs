//! Server-sent events of a peer, read under the limits of the call.

pub use warren_api::sse::Message as ServerEvent;
use warren_api::sse::{Decoder, TooLong};

use super::answer::Body;
use super::{BadAnswer, CallError};

/// Events as they come. Dropping it hangs up.
#[derive(Debug)]
pub struct EventStream {
    body: Body,
    decoder: Decoder,
}

impl EventStream {
    pub(super) fn new(body: Body) -> Self {
        let decoder = Decoder::new(body.limits.line_bytes);
        Self { body, decoder }
    }

    /// The next event; nothing when the peer has closed the stream. An event that the end cuts off is dropped, as the
    /// format says.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, CallError> {
        loop {
            if let Some(event) = self.decoder.next_message() {
                return Ok(Some(event));
            }
            match self.body.chunk().await? {
                Some(chunk) => self.decoder.push(&chunk).map_err(BadAnswer::from)?,
                None => return Ok(None),
            }
        }
    }
}

impl From<TooLong> for BadAnswer {
    fn from(error: TooLong) -> Self {
        Self::LineBytes(error.max_bytes)
    }
}
