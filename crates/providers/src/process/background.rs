//! Processes that outlive the request that started them: started, polled, fed, signalled, listed.
//!
//! Each has a task that owns it, and a ring of its latest output that pollers read by offset. Ending the workspace ends
//! them all. Finished ones are kept for a while so that their end can be read.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rustix::fd::OwnedFd;
use rustix::process::Signal as KernelSignal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warren_confined_fs::OutputRing;
use warren_model::{ErrorCode, Timestamp};
use warren_workspace::Error;
use warren_workspace::shell::{
    Invocation, Poll, Polled, ProcessId, ProcessInfo, ProcessState, PtySize, Signal, Start,
};

use super::group::Group;
use super::pty::Terminal;
use super::run::{READ_BYTES, Started, drained, start, timeout, wait_or};
use super::spawn::Streams;
use super::{Doors, Rules};

/// Output kept of each process.
pub(crate) const RING_BYTES: usize = 1 << 20;
pub(crate) const MAX_RUNNING: usize = 64;
const MAX_FINISHED: usize = 64;
const KEEP_FINISHED: Duration = Duration::from_secs(600);
const MAX_POLL_BYTES: usize = 1 << 20;
const MAX_WAIT_MS: u64 = 60_000;
const MAX_STDIN_BYTES: usize = 1 << 20;
/// A program that does not read its input must not hold a request for ever.
const STDIN_PATIENCE: Duration = Duration::from_secs(10);
/// What a terminal's user types to end the input.
const END_OF_TRANSMISSION: &[u8] = &[4];

#[derive(Debug, Default)]
pub(crate) struct Background {
    table: Mutex<Table>,
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct Table {
    last_id: u32,
    processes: BTreeMap<ProcessId, Arc<Process>>,
    is_closed: bool,
}

#[derive(Debug)]
struct Process {
    id: ProcessId,
    program: String,
    started_at: Timestamp,
    group: Group,
    inner: Mutex<Inner>,
    /// Told on every change of `inner`.
    changed: watch::Sender<()>,
    input: AsyncMutex<Option<Input>>,
    terminal: Option<Arc<Terminal>>,
    cancelled: CancellationToken,
}

#[derive(Debug)]
struct Inner {
    output: OutputRing,
    state: ProcessState,
    finished: Option<Instant>,
}

#[derive(Debug)]
enum Input {
    Pipe(ChildStdin),
    Terminal(Arc<Terminal>),
}

impl Background {
    /// Without a timeout the process lives as long as the workspace is open; with one, at most as long as configured.
    pub(crate) fn start(
        &self,
        request: &Start,
        directory: OwnedFd,
        rules: &Rules,
        doors: &Doors,
    ) -> Result<ProcessInfo, Error> {
        let mut table = self.table();
        if table.is_closed {
            return Err(Error::evicted("the workspace was closed"));
        }
        table.prune();
        if table.running() >= MAX_RUNNING {
            let detail = format!("{MAX_RUNNING} background processes are running; end one first");
            return Err(Error::operation(ErrorCode::TooManyRequests, detail));
        }
        let (output, streams) = open_output(request.pty)?;
        let mut started = start(&request.command, directory, streams, rules, doors)?;
        table.last_id += 1;
        let (input, terminal) = match &output {
            Output::Terminal(terminal) => {
                (Some(Input::Terminal(Arc::clone(terminal))), Some(Arc::clone(terminal)))
            }
            Output::Pipe(_) => (started.child.stdin.take().map(Input::Pipe), None),
        };
        let process = Arc::new(Process {
            id: ProcessId(table.last_id),
            program: program_name(&request.command.invocation),
            started_at: doors.clock.now(),
            group: started.group.clone(),
            inner: Mutex::new(Inner {
                output: OutputRing::new(RING_BYTES),
                state: ProcessState::Running,
                finished: None,
            }),
            changed: watch::Sender::new(()),
            input: AsyncMutex::new(input),
            terminal,
            cancelled: CancellationToken::new(),
        });
        table.processes.insert(process.id, Arc::clone(&process));
        let deadline = request.command.timeout_ms.map(|_| Instant::now() + timeout(&request.command, rules));
        self.tasks.spawn(Arc::clone(&process).supervise(
            started,
            output,
            deadline,
            request.command.stdin.clone(),
        ));
        Ok(process.info())
    }

    pub(crate) async fn poll(&self, id: ProcessId, poll: Poll) -> Result<Polled, Error> {
        let process = self.find(id)?;
        let deadline = Instant::now() + Duration::from_millis(poll.wait_ms.min(MAX_WAIT_MS));
        let mut changed = process.changed.subscribe();
        loop {
            let polled = process.read(poll);
            let is_final = !matches!(polled.state, ProcessState::Running);
            if !polled.bytes.is_empty() || is_final {
                return Ok(polled);
            }
            if tokio::time::timeout_at(deadline, changed.changed()).await.is_err() {
                return Ok(polled);
            }
        }
    }

    pub(crate) async fn write_stdin(&self, id: ProcessId, bytes: Bytes, close: bool) -> Result<(), Error> {
        if bytes.len() > MAX_STDIN_BYTES {
            let detail = format!("at most {MAX_STDIN_BYTES} bytes of input are taken at once");
            return Err(Error::operation(ErrorCode::PayloadTooLarge, detail));
        }
        let process = self.find(id)?;
        let written = tokio::time::timeout(STDIN_PATIENCE, process.write(&bytes, close)).await;
        written.unwrap_or_else(|_| {
            Err(Error::operation(ErrorCode::RequestTimeout, "the process does not read its input"))
        })
    }

    pub(crate) fn resize(&self, id: ProcessId, size: PtySize) -> Result<(), Error> {
        let process = self.find(id)?;
        let Some(terminal) = &process.terminal else {
            let detail = format!("process {} has no terminal", id.0);
            return Err(Error::operation(ErrorCode::InvalidRequest, detail));
        };
        terminal.resize(size).map_err(|error| {
            tracing::warn!(%error, "a terminal could not be resized");
            Error::operation(ErrorCode::Internal, "the terminal could not be resized")
        })
    }

    /// A process that has ended already is left as it is.
    pub(crate) async fn kill(&self, id: ProcessId, signal: Signal) -> Result<(), Error> {
        let process = self.find(id)?;
        if !process.is_running() {
            return Ok(());
        }
        match signal {
            Signal::Interrupt => process.group.signal(KernelSignal::INT),
            Signal::Terminate => process.group.signal(KernelSignal::TERM),
            Signal::Kill => process.group.kill_all_and_wait().await,
        }
        Ok(())
    }

    pub(crate) fn list(&self) -> Vec<ProcessInfo> {
        let mut table = self.table();
        table.prune();
        table.processes.values().map(|process| process.info()).collect()
    }

    /// Ends all of them and waits until they are gone. No other is started after.
    pub(crate) async fn close(&self) {
        {
            let mut table = self.table();
            table.is_closed = true;
            table.processes.values().for_each(|process| process.cancelled.cancel());
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn find(&self, id: ProcessId) -> Result<Arc<Process>, Error> {
        self.table().processes.get(&id).cloned().ok_or_else(|| {
            let detail = format!("there is no process {} in this workspace", id.0);
            Error::operation(ErrorCode::ProcessNotFound, detail)
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Background {
    /// A workspace dropped without being closed ends its processes too; their tasks see to it.
    fn drop(&mut self) {
        self.table().processes.values().for_each(|process| process.cancelled.cancel());
    }
}

impl Table {
    fn running(&self) -> usize {
        self.processes.values().filter(|process| process.is_running()).count()
    }

    /// Forgets what finished long ago, and the oldest of too many.
    fn prune(&mut self) {
        self.processes.retain(|_, process| process.finished().is_none_or(|at| at.elapsed() < KEEP_FINISHED));
        let finished: Vec<_> = self
            .processes
            .values()
            .filter(|process| !process.is_running())
            .map(|process| process.id)
            .collect();
        for id in finished.iter().take(finished.len().saturating_sub(MAX_FINISHED)) {
            self.processes.remove(id);
        }
    }
}

impl Process {
    async fn supervise(
        self: Arc<Self>,
        started: Started,
        output: Output,
        deadline: Option<Instant>,
        stdin: Bytes,
    ) {
        let Started { mut child, group, kill_on_drop } = started;
        let ended = CancellationToken::new();
        let ((), (), (status, timed_out)) = tokio::join!(
            self.pump(output, &ended),
            async {
                // Nobody reading is the program's choice, and a failed write shows in its output.
                let feeding = self.write(&stdin, false);
                tokio::select! { _ = feeding => {}, () = ended.cancelled() => {} }
            },
            async {
                let outcome = wait_or(&mut child, &group, deadline, &self.cancelled).await;
                ended.cancel();
                outcome
            },
        );
        kill_on_drop.let_go();
        self.input.lock().await.take();
        let (exit_code, signal) = match status {
            Ok(status) => (status.code(), status.signal()),
            Err(_) => (None, None),
        };
        self.change(|inner| {
            inner.state = ProcessState::Exited { exit_code, signal, timed_out };
            inner.finished = Some(Instant::now());
        });
    }

    async fn pump(&self, mut output: Output, ended: &CancellationToken) {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let read = tokio::select! {
                biased;
                read = output.read(&mut buffer) => read,
                () = drained(ended) => break,
            };
            match read {
                Ok(count @ 1..) => self.change(|inner| inner.output.push(&buffer[..count])),
                Ok(0) | Err(_) => break,
            }
        }
    }

    async fn write(&self, bytes: &[u8], close: bool) -> Result<(), Error> {
        let mut input = self.input.lock().await;
        let closed = || {
            Error::operation(
                ErrorCode::ProcessNotFound,
                format!("the input of process {} is closed", self.id.0),
            )
        };
        let written = match input.as_mut() {
            _ if bytes.is_empty() && !close => Ok(()),
            None => return Err(closed()),
            Some(Input::Pipe(pipe)) => pipe.write_all(bytes).await,
            Some(Input::Terminal(terminal)) => {
                let end = if close { END_OF_TRANSMISSION } else { &[] };
                terminal.write_all(&[bytes, end].concat()).await
            }
        };
        if close && matches!(*input, Some(Input::Pipe(_))) {
            *input = None;
        }
        written.map_err(|_| closed())
    }

    fn read(&self, poll: Poll) -> Polled {
        let inner = self.inner();
        let max_bytes = usize::try_from(poll.max_bytes).map_or(MAX_POLL_BYTES, |max| max.min(MAX_POLL_BYTES));
        let (offset, bytes) = inner.output.read(poll.offset, max_bytes);
        let next_offset = offset + bytes.len() as u64;
        // The end is told with the last of the output, not before it.
        let state =
            if next_offset < inner.output.end() { ProcessState::Running } else { inner.state.clone() };
        Polled { bytes: bytes.into(), offset, next_offset, state }
    }

    fn info(&self) -> ProcessInfo {
        let inner = self.inner();
        ProcessInfo {
            id: self.id,
            program: self.program.clone(),
            state: inner.state.clone(),
            started_at: self.started_at,
            output_bytes: inner.output.end(),
            has_pty: self.terminal.is_some(),
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.inner().state, ProcessState::Running)
    }

    fn finished(&self) -> Option<Instant> {
        self.inner().finished
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.inner());
        self.changed.send_replace(());
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our end of what a process prints.
enum Output {
    Pipe(pipe::Receiver),
    Terminal(Arc<Terminal>),
}

impl Output {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.read(buffer).await,
            Self::Terminal(terminal) => terminal.read(buffer).await,
        }
    }
}

/// Errors and other output share one pipe, as they share one log: read from two, they could change places.
fn open_output(terminal: Option<PtySize>) -> Result<(Output, Streams), Error> {
    if let Some(size) = terminal {
        let (ours, theirs) = Terminal::open(size).map_err(|error| {
            tracing::error!(%error, "no terminal could be opened");
            Error::operation(ErrorCode::TooManyRequests, "the host has no terminal to give")
        })?;
        return Ok((Output::Terminal(Arc::new(ours)), Streams::Terminal(theirs)));
    }
    let opened = pipe::pipe().and_then(|(theirs, ours)| Ok((ours, theirs.into_blocking_fd()?)));
    let (ours, theirs) = opened.map_err(|error| {
        tracing::error!(%error, "no pipe could be opened");
        Error::operation(ErrorCode::TooManyRequests, "the host has no pipe to give")
    })?;
    Ok((Output::Pipe(ours), Streams::Joined(theirs)))
}

/// The last part of the program's path, never its arguments.
pub(crate) fn program_name(invocation: &Invocation) -> String {
    match invocation {
        Invocation::Argv(words) => {
            words.first().and_then(|program| program.rsplit('/').next()).unwrap_or("").to_owned()
        }
        Invocation::Script(_) => "sh".to_owned(),
    }
}
