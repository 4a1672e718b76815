//! One connection to a process, from the first message to the last.
//!
//! ```text
//!   process ── poll from `offset` ──▶ one message at a time ──▶ client
//!   process ◀── one message at a time ── write_stdin ─────────── client
//! ```
//!
//! Nothing is queued here. A reader that is slow is simply not sent more, and the process's own ring keeps the latest
//! output until it is; a process that does not read holds up the next message of its client, and no more (sec/W08).

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::ws::Message;
use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use warren_api::{TerminalFrame, TerminalRequest};
use warren_model::ErrorCode;
use warren_workspace::Error;
use warren_workspace::shell::{Poll, ProcessInfo, ProcessState, PtySize, Shell};

use crate::convert;

/// Output in one message.
const CHUNK_BYTES: u64 = 32 << 10;
const POLL_WAIT_MS: u64 = 30_000;
/// A client that has not answered one ping when the next is due is gone.
const PING_EVERY: Duration = Duration::from_secs(15);
/// More than any keyboard, mouse or paste makes.
const MAX_MESSAGES_PER_SECOND: u32 = 2_000;
/// Refusals of input that wait to be told; there is no use in telling more at once.
const MAX_PENDING_NOTES: usize = 8;
/// How long a goodbye may take to be taken.
const LAST_FRAME_LIMIT: Duration = Duration::from_secs(2);

pub(super) struct Connection<'a> {
    shell: &'a dyn Shell,
    process: ProcessInfo,
    offset: u64,
}

/// Why a connection ended.
enum Ended {
    /// The process did.
    Exited(TerminalFrame),
    /// The client left, broke the protocol, or answers no ping.
    Gone,
    /// The client said goodbye.
    Left,
    /// Warren ends it.
    Closed(ErrorCode),
}

impl<'a> Connection<'a> {
    pub(super) fn new(shell: &'a dyn Shell, process: ProcessInfo, offset: u64) -> Self {
        // Beyond the end there is nothing to begin at: the number names another process than the client thinks.
        let offset = offset.min(process.output_bytes);
        Self { shell, process, offset }
    }

    /// Carries bytes both ways until one side ends it, or `lost` says that the client may no longer be here.
    pub(super) async fn serve<O, I, E>(
        mut self,
        mut outgoing: O,
        incoming: I,
        lost: impl Future<Output = ErrorCode>,
    ) where
        O: Sink<Message> + Unpin,
        I: Stream<Item = Result<Message, E>> + Unpin,
    {
        let pulse = Pulse::default();
        let (notes, told) = mpsc::channel(MAX_PENDING_NOTES);
        let input = Input { shell: self.shell, process: &self.process.clone(), pulse: &pulse, notes };
        let ended = tokio::select! {
            ended = self.send_output(&mut outgoing, told, &pulse) => ended,
            ended = input.take(incoming) => ended,
            code = lost => Ended::Closed(code),
        };
        let last = match ended {
            Ended::Exited(frame) => frame,
            Ended::Closed(code) => {
                TerminalFrame::Closing { code: code.as_str().to_owned(), next_offset: self.offset }
            }
            Ended::Gone => return,
            Ended::Left => {
                // The answer to it is made by the protocol's layer, and still has to go out (RFC 6455, 5.5.1).
                let _ = tokio::time::timeout(LAST_FRAME_LIMIT, outgoing.flush()).await;
                return;
            }
        };
        let goodbye = async {
            if send(&mut outgoing, &last).await.is_ok() {
                let _ = outgoing.send(Message::Close(None)).await;
            }
        };
        // A client that takes nothing any more does not hold its place.
        let _ = tokio::time::timeout(LAST_FRAME_LIMIT, goodbye).await;
    }

    async fn send_output<O: Sink<Message> + Unpin>(
        &mut self,
        outgoing: &mut O,
        mut notes: mpsc::Receiver<TerminalFrame>,
        pulse: &Pulse,
    ) -> Ended {
        let attached = TerminalFrame::Attached {
            process: convert::process(&self.process),
            offset: self.offset,
            replay_end: self.process.output_bytes,
        };
        if send(outgoing, &attached).await.is_err() {
            return Ended::Gone;
        }
        let mut pings = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let poll = Poll { offset: self.offset, max_bytes: CHUNK_BYTES, wait_ms: POLL_WAIT_MS };
            let mut polling = pin!(self.shell.poll(self.process.id, poll));
            let polled = loop {
                let sent = tokio::select! {
                    polled = &mut polling => break polled,
                    Some(note) = notes.recv() => send(outgoing, &note).await,
                    _ = pings.tick() => {
                        if pulse.has_stopped() {
                            return Ended::Gone;
                        }
                        outgoing.send(Message::Ping(Bytes::new())).await.map_err(|_| Gone)
                    }
                };
                if sent.is_err() {
                    return Ended::Gone;
                }
            };
            let polled = match polled {
                Ok(polled) => polled,
                Err(error) => return Ended::Closed(error.code()),
            };
            if polled.offset > self.offset {
                let skipped = TerminalFrame::Skipped { offset: polled.offset };
                if send(outgoing, &skipped).await.is_err() {
                    return Ended::Gone;
                }
            }
            let is_empty = polled.bytes.is_empty();
            if !is_empty && outgoing.send(Message::Binary(polled.bytes)).await.is_err() {
                return Ended::Gone;
            }
            self.offset = polled.next_offset;
            if let (true, ProcessState::Exited { exit_code, signal, timed_out }) = (is_empty, polled.state) {
                return Ended::Exited(TerminalFrame::Exited { exit_code, signal, timed_out });
            }
        }
    }
}

/// The client's side: what it types and asks for.
struct Input<'a> {
    shell: &'a dyn Shell,
    process: &'a ProcessInfo,
    pulse: &'a Pulse,
    notes: mpsc::Sender<TerminalFrame>,
}

impl Input<'_> {
    async fn take<I, E>(self, mut incoming: I) -> Ended
    where
        I: Stream<Item = Result<Message, E>> + Unpin,
    {
        let mut rate = MessageRate::default();
        while let Some(Ok(message)) = incoming.next().await {
            if rate.is_exceeded(Instant::now()) {
                return Ended::Closed(ErrorCode::TooManyRequests);
            }
            let done = match message {
                Message::Binary(bytes) => self.write(bytes).await,
                Message::Text(text) => match serde_json::from_str(&text) {
                    Ok(request) => self.carry_out(request).await,
                    Err(_) => return Ended::Closed(ErrorCode::InvalidRequest),
                },
                Message::Pong(_) => {
                    self.pulse.beat();
                    Ok(())
                }
                Message::Ping(_) => Ok(()),
                Message::Close(_) => return Ended::Left,
            };
            match done {
                Ok(()) => {}
                Err(Error::Operation { code, .. }) => {
                    // A client that has not taken the last ones learns nothing new from this one.
                    let _ =
                        self.notes.try_send(TerminalFrame::InputRefused { code: code.as_str().to_owned() });
                }
                Err(lost @ (Error::Failed { .. } | Error::Evicted { .. })) => {
                    return Ended::Closed(lost.code());
                }
            }
        }
        Ended::Gone
    }

    async fn write(&self, bytes: Bytes) -> Result<(), Error> {
        self.pulse.hold();
        let written = self.shell.write_stdin(self.process.id, bytes, false).await;
        self.pulse.release();
        written
    }

    async fn carry_out(&self, request: TerminalRequest) -> Result<(), Error> {
        let TerminalRequest::Resize { rows, columns } = request;
        let is_sensible = |count: u16| (1..=4_096).contains(&count);
        if !is_sensible(rows) || !is_sensible(columns) {
            let detail = "a terminal has from 1 to 4096 rows and columns";
            return Err(Error::operation(ErrorCode::InvalidRequest, detail));
        }
        self.shell.resize(self.process.id, PtySize { rows, columns }).await
    }
}

/// Whether the client is there. While its input is held up by the process, its pongs wait behind that input, and
/// their absence says nothing.
#[derive(Debug, Default)]
struct Pulse {
    awaits_pong: AtomicBool,
    is_held: AtomicBool,
}

impl Pulse {
    /// Asked once per ping.
    fn has_stopped(&self) -> bool {
        let was_awaited = self.awaits_pong.swap(true, Ordering::Relaxed);
        was_awaited && !self.is_held.load(Ordering::Relaxed)
    }

    fn beat(&self) {
        self.awaits_pong.store(false, Ordering::Relaxed);
    }

    fn hold(&self) {
        self.is_held.store(true, Ordering::Relaxed);
    }

    fn release(&self) {
        self.is_held.store(false, Ordering::Relaxed);
    }
}

/// Messages within the current second.
#[derive(Debug, Default)]
struct MessageRate {
    since: Option<Instant>,
    count: u32,
}

impl MessageRate {
    /// Counts one more.
    fn is_exceeded(&mut self, now: Instant) -> bool {
        let is_current = self.since.is_some_and(|since| now.duration_since(since) < Duration::from_secs(1));
        if !is_current {
            self.since = Some(now);
            self.count = 0;
        }
        self.count += 1;
        self.count > MAX_MESSAGES_PER_SECOND
    }
}

struct Gone;

async fn send<O: Sink<Message> + Unpin>(outgoing: &mut O, frame: &TerminalFrame) -> Result<(), Gone> {
    let text = serde_json::to_string(frame).map_err(|_| Gone)?;
    outgoing.send(Message::Text(text.into())).await.map_err(|_| Gone)
}

#[cfg(test)]
mod tests;
