//! All streams of one line, seen from one side.
//!
//! ```text
//!   line ──▶ receive ──▶ per stream: what was received ──▶ poll_read        taken: `more` goes back
//!   line ◀── next_line ◀── in turn ◀── per stream: what is to be sent ◀── poll_write
//! ```
//!
//! One lock, held for a few lines and never over an await. Frames that give way (`more`, `end` without data before it,
//! `reset`) go before data.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::frame::{Frame, Target};
use crate::{MAX_STREAMS, PIECE_BYTES, WINDOW_BYTES};

/// What a stream keeps for sending; whoever writes more waits.
const UNSENT_BYTES: usize = 64 << 10;

/// Who numbers how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Warren,
    InBox,
}

impl Side {
    const fn first_id(self) -> u64 {
        match self {
            Self::InBox => 1,
            Self::Warren => 2,
        }
    }

    const fn opened(self, id: u64) -> bool {
        id > 0 && id % 2 == self.first_id() % 2
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("at most {MAX_STREAMS} connections are open at once")]
    TooMany,
    #[error("the line has ended")]
    Ended,
}

/// What came of a line.
#[derive(Debug)]
pub enum Received {
    /// Seen to.
    Nothing,
    /// The other side wants to reach something here.
    Opened { target: Target, stream: LineStream },
    /// It is no frame, or no sound one.
    NotAFrame,
}

/// The streams of a line. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Multiplexer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    side: Side,
    next_id: u64,
    /// The highest that the other side has opened.
    last_of_other: u64,
    streams: HashMap<u64, Stream>,
    /// Frames that go before data.
    first: VecDeque<Frame>,
    /// Streams that may have something to send, in turn.
    ready: VecDeque<u64>,
    sender: Option<Waker>,
    is_ended: bool,
}

#[derive(Debug, Default)]
struct Stream {
    received: VecDeque<Bytes>,
    received_bytes: usize,
    /// Read here, but the other side was not yet told that it may send as much again.
    ungranted: usize,
    other_ended: bool,
    unsent: BytesMut,
    /// What may be sent.
    room: usize,
    /// Nothing more will be written here.
    is_shut: bool,
    has_sent_end: bool,
    reset: Option<String>,
    /// Nobody here holds it any more; it goes when what is to be sent has been.
    is_dropped: bool,
    is_ready: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Stream {
    fn new() -> Self {
        Self { room: WINDOW_BYTES, ..Self::default() }
    }

    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}

impl Multiplexer {
    pub fn new(side: Side) -> Self {
        Self(Arc::new(Mutex::new(State {
            side,
            next_id: side.first_id(),
            last_of_other: 0,
            streams: HashMap::new(),
            first: VecDeque::new(),
            ready: VecDeque::new(),
            sender: None,
            is_ended: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream to the other side.
    pub fn open(&self, target: Target) -> Result<LineStream, OpenError> {
        let mut state = self.lock();
        if state.is_ended {
            return Err(OpenError::Ended);
        }
        if state.count_of(state.side) >= MAX_STREAMS {
            return Err(OpenError::TooMany);
        }
        let id = state.next_id;
        state.next_id += 2;
        state.streams.insert(id, Stream::new());
        state.send_first(Frame::Open { stream: id, target });
        Ok(LineStream { id, line: self.clone() })
    }

    /// Takes a line that the other side wrote. Never waits.
    pub fn receive(&self, line: &[u8]) -> Received {
        let Some(frame) = Frame::read(line) else { return Received::NotAFrame };
        let mut state = self.lock();
        if state.is_ended {
            return Received::Nothing;
        }
        match state.take(frame) {
            Some((id, target)) => {
                drop(state);
                Received::Opened { target, stream: LineStream { id, line: self.clone() } }
            }
            None => Received::Nothing,
        }
    }

    /// The next line to be written; nothing once the line has ended. To be asked by one task alone.
    pub async fn next_line(&self) -> Option<Vec<u8>> {
        let frame = poll_fn(|context| {
            let mut state = self.lock();
            if state.is_ended {
                return Poll::Ready(None);
            }
            match state.next_frame() {
                Some(frame) => Poll::Ready(Some(frame)),
                None => {
                    state.sender = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        });
        frame.await.map(|frame| frame.to_line())
    }

    /// The line is gone, and so are all streams.
    pub fn end(&self) {
        let mut state = self.lock();
        state.is_ended = true;
        for stream in state.streams.values_mut() {
            stream.reset.get_or_insert_with(|| OpenError::Ended.to_string());
            stream.wake();
        }
        state.wake_sender();
    }
}

impl State {
    fn count_of(&self, side: Side) -> usize {
        self.streams.keys().filter(|id| side.opened(**id)).count()
    }

    fn wake_sender(&mut self) {
        if let Some(waker) = self.sender.take() {
            waker.wake();
        }
    }

    fn send_first(&mut self, frame: Frame) {
        self.first.push_back(frame);
        self.wake_sender();
    }

    fn make_ready(&mut self, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !stream.is_ready {
            stream.is_ready = true;
            self.ready.push_back(id);
            self.wake_sender();
        }
    }

    /// What the other side said. Returns the stream that it opened.
    fn take(&mut self, frame: Frame) -> Option<(u64, Target)> {
        match frame {
            Frame::Open { stream: id, target } => return self.accept(id).then_some((id, target)),
            Frame::Data { stream: id, bytes } => self.take_data(id, bytes),
            Frame::More { stream: id, bytes } => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.room = stream.room.saturating_add(bytes as usize).min(WINDOW_BYTES);
                    self.make_ready(id);
                }
            }
            Frame::End { stream: id } => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.other_ended = true;
                    stream.wake();
                    self.forget_if_over(id);
                }
            }
            Frame::Reset { stream: id, reason } => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.unsent.clear();
                    stream.reset.get_or_insert(reason);
                    stream.wake();
                    self.forget_if_over(id);
                }
            }
        }
        None
    }

    fn accept(&mut self, id: u64) -> bool {
        // One number stands for one stream, for ever.
        let other = match self.side {
            Side::Warren => Side::InBox,
            Side::InBox => Side::Warren,
        };
        if !other.opened(id) || id <= self.last_of_other {
            return false;
        }
        self.last_of_other = id;
        if self.count_of(other) >= MAX_STREAMS {
            self.send_first(Frame::Reset { stream: id, reason: OpenError::TooMany.to_string() });
            return false;
        }
        self.streams.insert(id, Stream::new());
        true
    }

    fn take_data(&mut self, id: u64, bytes: Bytes) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.reset.is_some() || stream.is_dropped || bytes.is_empty() {
            return;
        }
        let under_way = stream.received_bytes + stream.ungranted + bytes.len();
        if stream.other_ended || under_way > WINDOW_BYTES {
            let reason = "more was sent than was allowed".to_owned();
            stream.reset = Some(reason.clone());
            stream.unsent.clear();
            stream.wake();
            self.send_first(Frame::Reset { stream: id, reason });
            return;
        }
        stream.received_bytes += bytes.len();
        stream.received.push_back(bytes);
        if let Some(reader) = stream.reader.take() {
            reader.wake();
        }
    }

    fn next_frame(&mut self) -> Option<Frame> {
        if let Some(frame) = self.first.pop_front() {
            return Some(frame);
        }
        while let Some(id) = self.ready.pop_front() {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            stream.is_ready = false;
            if stream.reset.is_some() {
                continue;
            }
            let piece = stream.unsent.len().min(stream.room).min(PIECE_BYTES);
            if piece > 0 {
                let bytes = stream.unsent.split_to(piece).freeze();
                stream.room -= piece;
                if let Some(writer) = stream.writer.take() {
                    writer.wake();
                }
                self.make_ready(id);
                return Some(Frame::Data { stream: id, bytes });
            }
            if stream.unsent.is_empty() && stream.is_shut && !stream.has_sent_end {
                stream.has_sent_end = true;
                // What still comes is read by nobody.
                if stream.is_dropped && !stream.other_ended {
                    let reason = "nobody reads on".to_owned();
                    self.first.push_back(Frame::Reset { stream: id, reason });
                    self.streams.remove(&id);
                } else {
                    self.forget_if_over(id);
                }
                return Some(Frame::End { stream: id });
            }
        }
        None
    }

    fn forget_if_over(&mut self, id: u64) {
        let is_over = self.streams.get(&id).is_some_and(|stream| {
            stream.is_dropped && (stream.reset.is_some() || (stream.has_sent_end && stream.other_ended))
        });
        if is_over {
            self.streams.remove(&id);
        }
    }

    fn drop_stream(&mut self, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_dropped = true;
        stream.received.clear();
        if stream.reset.is_some() || self.is_ended {
            self.streams.remove(&id);
        } else if stream.has_sent_end {
            if !stream.other_ended {
                self.send_first(Frame::Reset { stream: id, reason: "nobody reads on".to_owned() });
            }
            self.streams.remove(&id);
        } else if !stream.is_shut {
            self.streams.remove(&id);
            self.send_first(Frame::Reset { stream: id, reason: "it was given up".to_owned() });
        }
        // Otherwise what was written before its end is still sent.
    }
}

/// One stream. Dropped before its end is written, it is reset.
#[derive(Debug)]
pub struct LineStream {
    id: u64,
    line: Multiplexer,
}

impl Drop for LineStream {
    fn drop(&mut self) {
        self.line.lock().drop_stream(self.id);
    }
}

fn gone(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, reason.to_owned())
}

impl AsyncRead for LineStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.line.lock();
        let Some(stream) = state.streams.get_mut(&self.id) else {
            return Poll::Ready(Err(gone("it is over")));
        };
        if let Some(piece) = stream.received.front_mut() {
            let taken = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece[..taken]);
            piece.advance(taken);
            if piece.is_empty() {
                stream.received.pop_front();
            }
            stream.received_bytes -= taken;
            stream.ungranted += taken;
            if stream.ungranted >= WINDOW_BYTES / 2 && !stream.other_ended && stream.reset.is_none() {
                let bytes = u32::try_from(std::mem::take(&mut stream.ungranted)).unwrap_or(u32::MAX);
                state.send_first(Frame::More { stream: self.id, bytes });
            }
            return Poll::Ready(Ok(()));
        }
        if stream.other_ended {
            return Poll::Ready(Ok(()));
        }
        if let Some(reason) = &stream.reset {
            return Poll::Ready(Err(gone(reason)));
        }
        stream.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for LineStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.line.lock();
        let Some(stream) = state.streams.get_mut(&self.id) else {
            return Poll::Ready(Err(gone("it is over")));
        };
        if let Some(reason) = &stream.reset {
            return Poll::Ready(Err(gone(reason)));
        }
        if stream.is_shut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = UNSENT_BYTES.saturating_sub(stream.unsent.len()).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            stream.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        stream.unsent.extend_from_slice(&bytes[..room]);
        state.make_ready(self.id);
        Poll::Ready(Ok(room))
    }

    /// What was written is sent as soon as the other side has room for it.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.line.lock();
        if let Some(stream) = state.streams.get_mut(&self.id) {
            stream.is_shut = true;
            state.make_ready(self.id);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
