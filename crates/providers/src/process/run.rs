//! One command to its end, its deadline, or the moment nobody waits for it any more.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use rustix::fd::OwnedFd;
use rustix::process::Pid;
use std::os::unix::process::ExitStatusExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use warren_model::ErrorCode;
use warren_workspace::Error;
use warren_workspace::shell::{Command, Output, RunEvent, RunResult, RunStream};

use super::arguments::Arguments;
use super::capture::HeadTail;
use super::group::{Group, KillGroupOnDrop};
use super::spawn::{Plan, Streams, spawn};
use super::{Doors, Rules, environment, random_mark};

pub(super) const READ_BYTES: usize = 32 << 10;
/// Pieces of output that wait for a slow reader; then the program waits.
const MAX_PENDING_EVENTS: usize = 16;
/// How long to wait for the end of output after all known processes are dead. Only one that escaped can hold it open.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);
/// How long to wait for a killed program that is stuck in the kernel.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);
/// The whole output goes to a file on request; an endless one must not fill the disk.
pub(crate) const MAX_SPILL_BYTES: u64 = 1 << 30;

/// A program that was started, with what is needed to end it.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) group: Group,
    pub(super) kill_on_drop: KillGroupOnDrop,
}

/// Checks the command and starts it in `directory`.
pub(super) fn start(
    command: &Command,
    directory: OwnedFd,
    streams: Streams,
    rules: &Rules,
    doors: &Doors,
) -> Result<Started, Error> {
    let arguments = Arguments::of(&command.invocation)?;
    let mark = format!("{}.{}", doors.instance, random_mark(doors.entropy.as_ref()));
    let environment = environment::build(&environment::Sources {
        host: &doors.environment,
        pass_env: &rules.pass_env,
        home: &rules.home,
        has_terminal: streams.is_terminal(),
        programs: None,
        given: &command.given,
        of_command: &command.env,
        mark: Some(&mark),
    })?;
    let child = spawn(Plan { arguments, environment, directory, streams })?;
    let leader = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
        .ok_or_else(|| Error::operation(ErrorCode::Internal, "the process has no id"))?;
    let group = Group::new(leader, &mark);
    let kill_on_drop = KillGroupOnDrop::new(group.clone());
    Ok(Started { child, group, kill_on_drop })
}

/// The caller's timeout, at most the configured one.
pub(super) fn timeout(command: &Command, rules: &Rules) -> Duration {
    let wanted = command.timeout_ms.unwrap_or(rules.max_timeout_ms);
    Duration::from_millis(wanted.clamp(1, rules.max_timeout_ms.max(1)))
}

pub(crate) async fn run(
    command: Command,
    directory: OwnedFd,
    spill: Option<Spill>,
    rules: &Rules,
    doors: &Doors,
) -> Result<RunResult, Error> {
    let started = start(&command, directory, Streams::Separate, rules, doors)?;
    let supervised = Supervision::new(&command, rules, spill, None).supervise(started);
    rules.foreground.runs.track_future(supervised).await
}

pub(crate) fn stream(
    command: &Command,
    directory: OwnedFd,
    spill: Option<Spill>,
    rules: &Rules,
    doors: &Doors,
) -> Result<RunStream, Error> {
    let started = start(command, directory, Streams::Separate, rules, doors)?;
    let (sender, receiver) = mpsc::channel(MAX_PENDING_EVENTS);
    let supervision = Supervision::new(command, rules, spill, Some(sender.clone()));
    let task = rules.foreground.runs.spawn(async move {
        let finished = supervision.supervise(started).await.map(RunEvent::Finished);
        // Nobody listening is fine.
        let _ = sender.send(finished).await;
    });
    // The task goes with the stream, and the command with the task.
    let state = (receiver, AbortOnDropHandle::new(task));
    Ok(stream::unfold(state, |(mut receiver, task)| async move {
        let event = receiver.recv().await?;
        Some((event, (receiver, task)))
    })
    .boxed())
}

struct Supervision {
    stdin: Bytes,
    timeout: Duration,
    max_output_bytes: usize,
    spill: Option<Arc<Mutex<Spill>>>,
    events: Option<mpsc::Sender<Result<RunEvent, Error>>>,
    closing: CancellationToken,
    /// All processes are dead: output that is still to come is only what the pipes hold.
    ended: CancellationToken,
}

impl Supervision {
    fn new(
        command: &Command,
        rules: &Rules,
        spill: Option<Spill>,
        events: Option<mpsc::Sender<Result<RunEvent, Error>>>,
    ) -> Self {
        Self {
            stdin: command.stdin.clone(),
            timeout: timeout(command, rules),
            max_output_bytes: rules.max_output_bytes,
            spill: spill.map(|spill| Arc::new(Mutex::new(spill))),
            events,
            closing: rules.foreground.closing.clone(),
            ended: CancellationToken::new(),
        }
    }

    async fn supervise(self, started: Started) -> Result<RunResult, Error> {
        let Started { mut child, group, kill_on_drop } = started;
        let began = Instant::now();
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdout, stderr, (), (status, timed_out)) = tokio::join!(
            self.pump(stdout, RunEvent::Stdout),
            self.pump(stderr, RunEvent::Stderr),
            self.feed(stdin),
            async {
                let outcome = wait_or(&mut child, &group, Some(began + self.timeout), &self.closing).await;
                self.ended.cancel();
                outcome
            },
        );
        kill_on_drop.let_go();
        if self.closing.is_cancelled() {
            // No eviction: a command that was ended on purpose must not be run again.
            let detail = "the workspace was closed while the command ran";
            return Err(Error::operation(ErrorCode::WorkspaceNotReady, detail));
        }
        if let Some(spill) = &self.spill {
            spill.lock().await.finish().await?;
        }
        let status = status?;
        Ok(RunResult {
            exit_code: status.code(),
            signal: status.signal(),
            timed_out,
            stdout,
            stderr,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Reads one output to its end.
    async fn pump(&self, source: Option<impl AsyncRead + Unpin>, event: fn(Bytes) -> RunEvent) -> Output {
        let mut capture = HeadTail::new(self.max_output_bytes);
        let Some(mut source) = source else {
            return capture.finish();
        };
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(READ_BYTES);
            let read = tokio::select! {
                biased;
                read = source.read_buf(&mut buffer) => read,
                () = drained(&self.ended) => break,
            };
            if !matches!(read, Ok(1..)) {
                break;
            }
            let piece = buffer.split().freeze();
            capture.push(&piece);
            if let Some(spill) = &self.spill {
                spill.lock().await.write(&piece).await;
            }
            if let Some(events) = &self.events {
                // A reader that does not read must not hold up the closing.
                tokio::select! {
                    _ = events.send(Ok(event(piece))) => {}
                    () = self.closing.cancelled() => {}
                }
            }
        }
        capture.finish()
    }

    async fn feed(&self, stdin: Option<tokio::process::ChildStdin>) {
        let Some(mut stdin) = stdin else { return };
        // A program that does not read all its input is none of our business.
        tokio::select! {
            _ = stdin.write_all(&self.stdin) => {}
            () = self.ended.cancelled() => {}
        }
    }
}

pub(super) async fn drained(ended: &CancellationToken) {
    ended.cancelled().await;
    tokio::time::sleep(DRAIN_PATIENCE).await;
}

/// Waits for the program or the deadline, then ends all that is left of it. Tells whether it was the deadline.
async fn wait(child: &mut Child, group: &Group, deadline: Instant) -> (Result<ExitStatus, Error>, bool) {
    let in_time = tokio::time::timeout_at(deadline, child.wait()).await;
    group.kill_all_and_wait().await;
    let timed_out = in_time.is_err();
    let status = match in_time {
        Ok(status) => status,
        Err(_) => match tokio::time::timeout(EXIT_PATIENCE, child.wait()).await {
            Ok(status) => status,
            Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
        },
    };
    let status = status.map_err(|error| {
        tracing::error!(%error, "the end of a process could not be learned");
        Error::operation(ErrorCode::Internal, "the end of the process could not be learned")
    });
    (status, timed_out)
}

/// The outcome of a background process.
pub(super) async fn wait_or(
    child: &mut Child,
    group: &Group,
    deadline: Option<Instant>,
    cancelled: &CancellationToken,
) -> (Result<ExitStatus, Error>, bool) {
    let expired = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let until = tokio::select! {
        _ = child.wait() => Instant::now() + EXIT_PATIENCE,
        () = cancelled.cancelled() => {
            group.kill_all_and_wait().await;
            Instant::now() + EXIT_PATIENCE
        }
        () = expired => Instant::now(),
    };
    wait(child, group, until).await
}

/// The file that takes the whole output (W31).
pub(crate) struct Spill {
    sink: Sink,
    bytes: u64,
    left_out: u64,
    has_failed: bool,
}

enum Sink {
    File(tokio::fs::File),
    Elsewhere(AddPiece),
}

/// Adds to a file that is not on this host.
pub(crate) type AddPiece = Box<dyn FnMut(Vec<u8>) -> BoxFuture<'static, Result<(), Error>> + Send>;

impl Spill {
    pub(crate) fn new(file: std::fs::File) -> Self {
        Self::to(Sink::File(tokio::fs::File::from_std(file)))
    }

    pub(crate) fn elsewhere(add: AddPiece) -> Self {
        Self::to(Sink::Elsewhere(add))
    }

    const fn to(sink: Sink) -> Self {
        Self { sink, bytes: 0, left_out: 0, has_failed: false }
    }

    pub(crate) async fn write(&mut self, piece: &[u8]) {
        let room = usize::try_from(MAX_SPILL_BYTES - self.bytes).unwrap_or(usize::MAX);
        let (kept, rest) = piece.split_at(piece.len().min(room));
        self.bytes += kept.len() as u64;
        self.left_out += rest.len() as u64;
        self.add(kept).await;
    }

    async fn add(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        self.has_failed |= match &mut self.sink {
            Sink::File(file) => file.write_all(piece).await.is_err(),
            Sink::Elsewhere(add) => add(piece.to_vec()).await.is_err(),
        };
    }

    pub(crate) async fn finish(&mut self) -> Result<(), Error> {
        if self.left_out > 0 {
            let note = format!("\n[{} bytes left out]\n", self.left_out);
            self.add(note.as_bytes()).await;
        }
        if let Sink::File(file) = &mut self.sink {
            self.has_failed |= file.flush().await.is_err();
        }
        if self.has_failed {
            let detail = "the command ran, but its output could not be kept in the spill file";
            return Err(Error::operation(ErrorCode::StorageFull, detail));
        }
        Ok(())
    }
}
