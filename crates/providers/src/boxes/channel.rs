//! The owner's end of the channel to process 1 of a box.
//!
//! Many requests share one connection. A reader task hands replies to whoever asked; sending needs no task as long as
//! the kernel takes what is written, so that a command costs one write and one wake-up.
//!
//! The peer is not trusted: replies to ids nobody asked for are dropped, a frame that cannot be read or a request that
//! sends more than it was granted ends the connection.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use warren_init::{
    Call, CallAnswer, FrameReader, Greeting, OUTPUT_WINDOW_BYTES, PROTOCOL_VERSION, Reply, Request, encode,
    output_cost,
};
use warren_workspace::Presence;

pub(crate) type Reading = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// Read at once from a peer that has much to say, and from one that is idle: thousands of boxes may be.
const BUSY_READ_BYTES: usize = 64 << 10;
const IDLE_READ_BYTES: usize = 1 << 10;
/// What may wait for a peer that does not read. Input is sent in granted pieces, so this is many commands' worth.
const MAX_OUTBOX_BYTES: usize = 8 << 20;
/// A peer that was granted a window may overrun it by its last piece.
const MAX_UNREAD_BYTES: usize = 2 * OUTPUT_WINDOW_BYTES as usize;

/// How long process 1 has to say that it is there.
const PING_PATIENCE: Duration = Duration::from_secs(5);

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("the box is gone")]
    Gone,
    #[error("the box did not answer in time")]
    Silent,
    #[error("process 1 of the box speaks another protocol")]
    Version,
    #[error("the request is too long for the channel")]
    TooLong,
}

#[derive(Debug, Clone)]
pub(crate) struct Channel {
    shared: Arc<Shared>,
    /// Ends the tasks when the last clone goes.
    _lifetime: Arc<Lifetime>,
}

#[derive(Debug)]
struct Lifetime(CancellationToken);

impl Drop for Lifetime {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[derive(Debug)]
struct Shared {
    outbox: Mutex<Outbox>,
    /// Something waits in the outbox.
    unsent: Notify,
    requests: Mutex<Requests>,
    gone: CancellationToken,
}

struct Outbox {
    writing: Writing,
    waiting: Vec<u8>,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("waiting", &self.waiting.len()).finish()
    }
}

#[derive(Debug, Default)]
struct Requests {
    last_id: u32,
    under_way: HashMap<u32, Inbox>,
}

#[derive(Debug)]
struct Inbox {
    replies: mpsc::UnboundedSender<CallAnswer>,
    unread: Arc<AtomicUsize>,
}

impl Channel {
    /// Takes a connection and greets the peer. Must be called within the runtime.
    pub(crate) async fn open(
        reading: Reading,
        writing: Writing,
        patience: Duration,
    ) -> Result<(Self, Greeting), ChannelError> {
        let shared = Arc::new(Shared {
            outbox: Mutex::new(Outbox { writing, waiting: Vec::new() }),
            unsent: Notify::new(),
            requests: Mutex::default(),
            gone: CancellationToken::new(),
        });
        tokio::spawn(run_to_end(Arc::clone(&shared), receive(Arc::clone(&shared), reading)));
        tokio::spawn(run_to_end(Arc::clone(&shared), flush(Arc::clone(&shared))));
        let lifetime = Arc::new(Lifetime(shared.gone.clone()));
        let channel = Self { shared, _lifetime: lifetime };
        match channel.call(Call::Hello { version: PROTOCOL_VERSION }, patience).await? {
            CallAnswer::Hello(greeting) if greeting.version == PROTOCOL_VERSION => Ok((channel, greeting)),
            _ => Err(ChannelError::Version),
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.shared.gone.is_cancelled()
    }

    /// Cancelled once the connection has ended, and ends it when it is cancelled. Whoever holds it does not keep the
    /// connection.
    pub(crate) fn end(&self) -> CancellationToken {
        self.shared.gone.clone()
    }

    /// Lets go of the connection; what is under way ends as `Gone`.
    pub(crate) fn shut(&self) {
        self.shared.gone.cancel();
    }

    /// Whether process 1 answers. One that takes long is not gone.
    pub(crate) async fn presence(&self, ended: &'static str) -> Presence {
        match self.call(Call::Ping, PING_PATIENCE).await {
            Ok(_) => Presence::Here,
            Err(ChannelError::Gone) => Presence::Gone(ended),
            Err(ChannelError::Silent | ChannelError::Version | ChannelError::TooLong) => Presence::Unknown,
        }
    }

    /// A call with one answer.
    pub(crate) async fn call(&self, call: Call, patience: Duration) -> Result<CallAnswer, ChannelError> {
        let mut active = self.start_call(call)?;
        match tokio::time::timeout(patience, active.next()).await {
            Ok(Some(answer)) => {
                active.has_ended = true;
                Ok(answer)
            }
            Ok(None) => Err(ChannelError::Gone),
            Err(_) => Err(ChannelError::Silent),
        }
    }

    /// A call with many answers. Dropping the call before its end cancels it.
    pub(crate) fn start_call(&self, call: Call) -> Result<ActiveCall, ChannelError> {
        let (sender, replies) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let id = self.shared.requests().add(Inbox { replies: sender, unread: Arc::clone(&unread) });
        let active = ActiveCall { channel: self.clone(), id, replies, unread, has_ended: false, leave: None };
        if let Err(error) = self.shared.send(id, call) {
            self.shared.requests().under_way.remove(&id);
            return Err(error);
        }
        Ok(active)
    }

    /// A call that is not answered.
    pub(crate) fn tell(&self, call: Call) -> Result<(), ChannelError> {
        let id = self.shared.requests().next_id();
        self.shared.send(id, call)
    }
}

/// One request and its replies.
#[derive(Debug)]
pub(crate) struct ActiveCall {
    channel: Channel,
    id: u32,
    replies: mpsc::UnboundedReceiver<CallAnswer>,
    unread: Arc<AtomicUsize>,
    pub(crate) has_ended: bool,
    /// Once cancelled, the request is not cancelled when it is dropped.
    pub(crate) leave: Option<CancellationToken>,
}

impl ActiveCall {
    /// The next reply; absent once the box is gone.
    pub(crate) async fn next(&mut self) -> Option<CallAnswer> {
        let answer = tokio::select! {
            biased;
            answer = self.replies.recv() => answer?,
            () = self.channel.shared.gone.cancelled() => self.replies.try_recv().ok()?,
        };
        self.unread.fetch_sub(cost(&answer), Ordering::Relaxed);
        Some(answer)
    }

    /// The box is not to be used any more, by anybody.
    pub(crate) fn shut_channel(&self) {
        self.channel.shut();
    }

    /// More of the same request: `Grant`, `Input`, `Cancel`.
    pub(crate) fn add(&self, call: Call) -> Result<(), ChannelError> {
        self.channel.shared.send(self.id, call)
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.channel.shared.requests().under_way.remove(&self.id);
        let is_left = self.leave.as_ref().is_some_and(CancellationToken::is_cancelled);
        if !self.has_ended && !is_left {
            // A box that is gone needs no telling.
            let _ = self.channel.shared.send(self.id, Call::Cancel);
        }
    }
}

impl Requests {
    fn add(&mut self, inbox: Inbox) -> u32 {
        let id = self.next_id();
        self.under_way.insert(id, inbox);
        id
    }

    /// Numbers come round after 2^32; those still in use are passed over.
    fn next_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            if !self.under_way.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }
}

impl Shared {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, id: u32, call: Call) -> Result<(), ChannelError> {
        let frame = encode(&Request { id, call }).map_err(|_| ChannelError::TooLong)?;
        if self.gone.is_cancelled() {
            return Err(ChannelError::Gone);
        }
        let mut outbox = self.outbox();
        let written = if outbox.waiting.is_empty() { outbox.try_write(&frame) } else { Ok(0) };
        match written {
            Ok(all) if all == frame.len() => return Ok(()),
            Ok(some) if outbox.waiting.len() + frame.len() <= MAX_OUTBOX_BYTES => {
                outbox.waiting.extend_from_slice(&frame[some..]);
                self.unsent.notify_one();
                return Ok(());
            }
            Ok(_) | Err(_) => {}
        }
        drop(outbox);
        self.gone.cancel();
        Err(ChannelError::Gone)
    }

    /// Whether the peer may go on.
    fn deliver(&self, reply: Reply) -> bool {
        let requests = self.requests();
        let Some(inbox) = requests.under_way.get(&reply.id) else {
            return true;
        };
        let cost = cost(&reply.answer);
        let unread = inbox.unread.fetch_add(cost, Ordering::Relaxed) + cost;
        // Whoever asked may have stopped listening.
        let _ = inbox.replies.send(reply.answer);
        // A single answer may be as long as a frame; many must not pile up.
        unread <= MAX_UNREAD_BYTES.max(cost)
    }
}

impl Outbox {
    /// Writes what the kernel takes at once.
    fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.writing).poll_write(&mut context, bytes) {
            Poll::Ready(Ok(0)) => Err(std::io::ErrorKind::WriteZero.into()),
            Poll::Ready(written) => written,
            Poll::Pending => Ok(0),
        }
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        while !self.waiting.is_empty() {
            let Self { writing, waiting } = self;
            match std::task::ready!(Pin::new(writing).poll_write(context, waiting)) {
                Ok(0) => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                Ok(written) => waiting.drain(..written),
                Err(error) => return Poll::Ready(Err(error)),
            };
        }
        // One that was long once must not stay so for ever.
        self.waiting.shrink_to(0);
        Poll::Ready(Ok(()))
    }
}

/// What a reply takes while nobody has read it.
fn cost(answer: &CallAnswer) -> usize {
    output_cost(match answer {
        CallAnswer::Output { bytes, .. } => bytes.len(),
        CallAnswer::Polled(polled) => polled.bytes.len(),
        // They must not pile up either.
        _ => 0,
    })
}

async fn run_to_end(shared: Arc<Shared>, task: impl Future<Output = ()>) {
    tokio::select! {
        () = task => shared.gone.cancel(),
        () = shared.gone.cancelled() => {}
    }
}

async fn receive(shared: Arc<Shared>, mut reading: Reading) {
    let mut frames = FrameReader::default();
    let mut buffer = vec![0; IDLE_READ_BYTES];
    while let Ok(count @ 1..) = reading.read(&mut buffer).await {
        frames.push(&buffer[..count]);
        let is_busy = count == buffer.len();
        buffer.resize(if is_busy { BUSY_READ_BYTES } else { IDLE_READ_BYTES }, 0);
        buffer.shrink_to_fit();
        loop {
            match frames.next::<Reply>() {
                Ok(None) => break,
                Ok(Some(reply)) => {
                    if !shared.deliver(reply) {
                        tracing::warn!("a box sent more than it was granted; its channel is closed");
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a box sent what is no message; its channel is closed");
                    return;
                }
            }
        }
    }
}

async fn flush(shared: Arc<Shared>) {
    loop {
        shared.unsent.notified().await;
        let flushed = poll_fn(|context| shared.outbox().poll_flush(context)).await;
        if flushed.is_err() {
            return;
        }
    }
}
