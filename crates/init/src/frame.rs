//! Frames: four bytes of length (little-endian), then that many bytes of one message.

use serde::{Serialize, de::DeserializeOwned};

pub const LENGTH_BYTES: usize = 4;
/// A command may be long (2 MB of arguments are refused far earlier); nothing legitimate is longer than this.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// Why a peer cannot be understood. The connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    TooLong(usize),
    Empty,
    Unreadable,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(bytes) => write!(f, "a frame of {bytes} bytes is longer than {MAX_FRAME_BYTES}"),
            Self::Empty => f.write_str("a frame is empty"),
            Self::Unreadable => f.write_str("a frame holds no message of this protocol"),
        }
    }
}

impl std::error::Error for FrameError {}

/// One message as a frame.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::with_capacity(128);
    encode_into(message, &mut frame)?;
    Ok(frame)
}

/// Appends one message as a frame; on an error `buffer` is as before.
pub fn encode_into<T: Serialize>(message: &T, buffer: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; LENGTH_BYTES]);
    let Ok(()) = postcard::to_io(message, &mut *buffer).map(drop) else {
        buffer.truncate(start);
        return Err(FrameError::Unreadable);
    };
    let length = buffer.len() - start - LENGTH_BYTES;
    if length > MAX_FRAME_BYTES {
        buffer.truncate(start);
        return Err(FrameError::TooLong(length));
    }
    let length = u32::try_from(length).map_err(|_| FrameError::TooLong(length))?;
    buffer[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Cuts a stream of bytes into messages. Holds at most one frame and what came with it.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// What was already given out, from the front.
    taken: usize,
}

impl FrameReader {
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        } else if self.taken > MAX_FRAME_BYTES {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, if one has arrived.
    #[expect(clippy::should_implement_trait, reason = "the type of message is the caller's choice each time")]
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let rest = &self.buffer[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        match length {
            0 => return Err(FrameError::Empty),
            1..=MAX_FRAME_BYTES => {}
            _ => return Err(FrameError::TooLong(length)),
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let (message, unread) = postcard::take_from_bytes(body).map_err(|_| FrameError::Unreadable)?;
        if !unread.is_empty() {
            return Err(FrameError::Unreadable);
        }
        self.taken += LENGTH_BYTES + length;
        Ok(Some(message))
    }
}
