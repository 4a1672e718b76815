use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::PollSender;
use warren_model::Timestamp;
use warren_workspace::shell::{Command, Polled, ProcessId, RunResult, RunStream, Signal, Start};

use super::*;

/// A process that prints without end, or never, and takes its input or does not.
#[derive(Debug, Default)]
struct FakeShell {
    prints: bool,
    takes_no_input: bool,
    polls: AtomicUsize,
    typed: Mutex<Vec<u8>>,
}

#[async_trait]
impl Shell for FakeShell {
    async fn run(&self, _: Command) -> Result<RunResult, Error> {
        unreachable!("a terminal runs nothing to its end")
    }
    async fn stream(&self, _: Command) -> Result<RunStream, Error> {
        unreachable!("a terminal runs nothing to its end")
    }
    async fn start(&self, _: Start) -> Result<ProcessInfo, Error> {
        unreachable!("it was started before")
    }
    async fn poll(&self, _: ProcessId, poll: Poll) -> Result<Polled, Error> {
        if !self.prints {
            tokio::time::sleep(Duration::from_millis(poll.wait_ms)).await;
        }
        self.polls.fetch_add(1, Ordering::Relaxed);
        let bytes = if self.prints { Bytes::from(vec![b'x'; CHUNK_BYTES as usize]) } else { Bytes::new() };
        let next_offset = poll.offset + bytes.len() as u64;
        Ok(Polled { bytes, offset: poll.offset, next_offset, state: ProcessState::Running })
    }
    async fn write_stdin(&self, _: ProcessId, bytes: Bytes, _: bool) -> Result<(), Error> {
        if self.takes_no_input {
            std::future::pending::<()>().await;
        }
        self.typed.lock().unwrap().extend_from_slice(&bytes);
        Ok(())
    }
    async fn resize(&self, _: ProcessId, _: PtySize) -> Result<(), Error> {
        Ok(())
    }
    async fn kill(&self, _: ProcessId, _: Signal) -> Result<(), Error> {
        Ok(())
    }
    async fn list(&self) -> Result<Vec<ProcessInfo>, Error> {
        Ok(Vec::new())
    }
}

fn process() -> ProcessInfo {
    ProcessInfo {
        id: ProcessId(1),
        program: "sh".into(),
        state: ProcessState::Running,
        started_at: Timestamp::from_micros(1),
        output_bytes: 0,
        has_pty: true,
    }
}

/// A client: what it was sent, and how to send to it. Only `window` messages wait for it.
struct Client {
    sent: mpsc::Receiver<Message>,
    messages: mpsc::UnboundedSender<Result<Message, Infallible>>,
}

impl Client {
    fn last_frame(&mut self) -> Option<TerminalFrame> {
        let mut last = None;
        while let Ok(message) = self.sent.try_recv() {
            if let Message::Text(text) = message {
                last = serde_json::from_str(&text).ok();
            }
        }
        last
    }
}

fn connect(shell: &FakeShell, window: usize) -> (Client, impl Future<Output = ()> + '_) {
    let (outgoing, sent) = mpsc::channel(window);
    let (messages, incoming) = mpsc::unbounded_channel();
    let (outgoing, incoming) = (PollSender::new(outgoing), UnboundedReceiverStream::new(incoming));
    let connection = Connection::new(shell, process(), 0);
    (Client { sent, messages }, connection.serve(outgoing, incoming, std::future::pending()))
}

// sec/W08
#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_is_let_go() {
    let shell = FakeShell::default();
    let (mut client, session) = connect(&shell, 64);
    let started = Instant::now();
    session.await;
    assert_eq!(started.elapsed(), 2 * PING_EVERY);
    assert!(client.last_frame().is_some(), "it was sent the first message");
}

// sec/W08
#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays() {
    let shell = FakeShell::default();
    let (mut client, session) = connect(&shell, 64);
    let answering = async {
        while let Some(message) = client.sent.recv().await {
            if matches!(message, Message::Ping(_)) {
                client.messages.send(Ok(Message::Pong(Bytes::new()))).unwrap();
            }
        }
    };
    let day = Duration::from_secs(24 * 3_600);
    tokio::select! {
        () = session => panic!("it was let go"),
        () = answering => panic!("it was let go"),
        () = tokio::time::sleep(day) => {}
    }
}

// sec/W08: the pong waits behind input that the process does not take, and that is not the client's fault
#[tokio::test(start_paused = true)]
async fn a_client_is_not_let_go_for_input_that_its_process_does_not_take() {
    let shell = FakeShell { takes_no_input: true, ..FakeShell::default() };
    let (client, session) = connect(&shell, 64);
    client.messages.send(Ok(Message::Binary(Bytes::from_static(b"x")))).unwrap();
    let outcome = tokio::time::timeout(10 * PING_EVERY, session).await;
    assert!(outcome.is_err(), "it was let go");
}

// sec/W08, W31: what a slow reader has not taken is not collected for it
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_sent_no_more_than_it_takes() {
    let shell = FakeShell { prints: true, ..FakeShell::default() };
    let (client, session) = connect(&shell, 4);
    assert!(tokio::time::timeout(Duration::from_secs(3_600), session).await.is_err());
    let polls = shell.polls.load(Ordering::Relaxed);
    assert!(polls <= 8, "{polls} pieces were read for a client that took none");
    drop(client);
}

// sec/W08
#[tokio::test(start_paused = true)]
async fn a_flood_of_messages_ends_the_connection() {
    let shell = FakeShell::default();
    let (mut client, session) = connect(&shell, 64);
    for _ in 0..100_000 {
        client.messages.send(Ok(Message::Binary(Bytes::from_static(b"x")))).unwrap();
    }
    session.await;
    let last = client.last_frame();
    assert!(
        matches!(&last, Some(TerminalFrame::Closing { code, .. }) if code == "too_many_requests"),
        "{last:?}"
    );
    assert_eq!(shell.typed.lock().unwrap().len(), MAX_MESSAGES_PER_SECOND as usize);
}

// sec/U05
#[tokio::test(start_paused = true)]
async fn a_blocked_client_does_not_outlive_its_token() {
    let shell = FakeShell { prints: true, ..FakeShell::default() };
    let (outgoing, _sent) = mpsc::channel(1);
    let (_messages, incoming) = mpsc::unbounded_channel::<Result<Message, Infallible>>();
    let (outgoing, incoming) = (PollSender::new(outgoing), UnboundedReceiverStream::new(incoming));
    let lost = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        ErrorCode::TokenExpired
    };
    let started = Instant::now();
    Connection::new(&shell, process(), 0).serve(outgoing, incoming, lost).await;
    assert!(started.elapsed() <= Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_request_ends_the_connection() {
    for text in ["", "{}", r#"{"type":"fly"}"#, r#"{"type":"resize","rows":1,"columns":1,"colour":2}"#] {
        let shell = FakeShell::default();
        let (mut client, session) = connect(&shell, 64);
        client.messages.send(Ok(Message::Text(text.into()))).unwrap();
        session.await;
        let last = client.last_frame();
        assert!(
            matches!(&last, Some(TerminalFrame::Closing { code, .. }) if code == "invalid_request"),
            "{text}"
        );
    }
}
