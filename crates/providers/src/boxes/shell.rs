//! The `shell` module of a box: commands are forks of process 1, asked for over the channel (W30, W77).
//!
//! Deadlines are kept inside the box. If process 1 itself does not answer past one, the box is ended as a whole: a
//! program that managed to stop it gains nothing by that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use warren_doors::{Clock, Environment};
use warren_init::{
    Call, CallAnswer, Channel as OutputChannel, Exit, Failure, FailureKind, OUTPUT_WINDOW_BYTES,
    ProcessSummary, Spawn, SpawnLimits, TerminalSize, WORKSPACE_ROOT, output_cost,
};
use warren_model::{ErrorCode, Timestamp};
use warren_workspace::shell::{
    Command, CommandKey, Dialog, Invocation, Poll, Polled, ProcessId, ProcessInfo, ProcessState, PtySize,
    RunEvent, RunResult, RunStream, Shell, Signal, Start,
};
use warren_workspace::{Error, WorkspacePath};

use super::channel::{ActiveCall, Channel, ChannelError};
use super::dialog;
use super::disk::DiskMeter;
use super::memory_limit::{MemoryLimit, MemoryWatch};
use crate::directory::{OpenDirectory, blocking, open_emptied};
use crate::process::{Arguments, HeadTail, Sources, Spill, build_environment, program_name};

/// Whatever the config says, one command's kept output stays small enough to answer with.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 16 << 20;
/// How long process 1 may be late with what it should do at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// How far a deadline may be overrun before the box is ended as a whole (sec/S13, S18).
const OVERRUN: Duration = Duration::from_millis(1_500);
/// Input that is sent before the box has said that it takes more.
const INPUT_WINDOW_BYTES: usize = 256 << 10;
const MAX_PENDING_EVENTS: usize = 16;
const MAX_POLL_BYTES: u64 = 512 << 10;
const MAX_WAIT_MS: u64 = 60_000;
const MAX_STDIN_BYTES: usize = 1 << 20;
const STDIN_PIECE_BYTES: usize = 256 << 10;
/// Processes whose end can be asked for after the box is closed.
const MAX_REMEMBERED: usize = 256;
/// A program that does not read its input must not hold a request for ever.
const STDIN_PATIENCE: Duration = Duration::from_secs(10);

/// Opens the file that takes a command's whole output.
pub(crate) type OpenSpill =
    Arc<dyn Fn(WorkspacePath) -> BoxFuture<'static, Result<Spill, Error>> + Send + Sync>;
/// Where a box's files are in a folder of the host.
pub(crate) fn spill_opener(place: Arc<OpenDirectory>) -> OpenSpill {
    Arc::new(move |path| {
        let place = Arc::clone(&place);
        Box::pin(blocking(move || open_emptied(&place, &path).map(Spill::new)))
    })
}

/// Ends the whole box, now.
pub(crate) type EndBox = Arc<dyn Fn() + Send + Sync>;

/// The rules for commands in one box, from its workspace's config.
#[derive(Debug, Clone)]
pub(crate) struct BoxRules {
    pub(crate) pass_env: Vec<String>,
    pub(crate) max_timeout_ms: u64,
    pub(crate) max_output_bytes: u64,
    pub(crate) limits: SpawnLimits,
}

pub(crate) struct BoxShell {
    channel: Channel,
    rules: BoxRules,
    environment: Arc<Environment>,
    clock: Arc<dyn Clock>,
    open_spill: OpenSpill,
    end_box: EndBox,
    runner: &'static str,
    programs: &'static str,
    memory: MemoryLimit,
    closing: CancellationToken,
    runs: TaskTracker,
    disk: Option<Arc<DiskMeter>>,
    /// What was started here, for those who ask after the box is closed.
    started: Mutex<BTreeMap<ProcessId, Option<ProcessState>>>,
}

impl std::fmt::Debug for BoxShell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoxShell").field("channel", &self.channel).field("rules", &self.rules).finish()
    }
}

pub(crate) struct BoxParts {
    pub(crate) channel: Channel,
    pub(crate) rules: BoxRules,
    /// What `pass_env` may draw from.
    pub(crate) environment: Arc<Environment>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) open_spill: OpenSpill,
    pub(crate) end_box: EndBox,
    /// Where the runner is in the box.
    pub(crate) runner: &'static str,
    /// Where programs of Warren are that commands can use.
    pub(crate) programs: &'static str,
    pub(crate) memory: MemoryLimit,
}

impl BoxShell {
    pub(crate) fn new(parts: BoxParts) -> Self {
        Self {
            channel: parts.channel,
            rules: parts.rules,
            environment: parts.environment,
            clock: parts.clock,
            open_spill: parts.open_spill,
            end_box: parts.end_box,
            runner: parts.runner,
            programs: parts.programs,
            memory: parts.memory,
            closing: CancellationToken::new(),
            runs: TaskTracker::new(),
            disk: None,
            started: Mutex::default(),
        }
    }

    /// Commands are refused while the workspace is over this limit.
    pub(crate) fn with_disk(mut self, disk: Arc<DiskMeter>) -> Self {
        self.disk = Some(disk);
        self
    }

    async fn check_disk(&self) -> Result<(), Error> {
        match &self.disk {
            Some(disk) => disk.check().await,
            None => Ok(()),
        }
    }

    /// From now on nothing is started, and commands that end with the box were closed, not lost.
    pub(crate) fn begin_closing(&self) {
        self.closing.cancel();
    }

    /// Ends the commands that callers wait for. The box itself is ended by its provider, before or after.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.runs.close();
        self.runs.wait().await;
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closing.is_cancelled() {
            return Err(Error::evicted("the workspace was closed"));
        }
        if self.channel.is_gone() {
            return Err(Error::evicted("the box has ended"));
        }
        Ok(())
    }

    fn spawn_of(
        &self,
        command: &Command,
        terminal: Option<PtySize>,
        deadline_ms: u64,
    ) -> Result<Spawn, Error> {
        let arguments = Arguments::of(&command.invocation)?;
        let variables = build_environment(&Sources {
            host: &self.environment,
            pass_env: &self.rules.pass_env,
            home: WORKSPACE_ROOT,
            has_terminal: terminal.is_some(),
            programs: Some(self.programs),
            given: &command.given,
            of_command: &command.env,
            mark: None,
        })?;
        let words = std::iter::once(arguments.program).chain(arguments.rest);
        Ok(Spawn {
            argv: words.map(String::into_bytes).collect(),
            directory: command.cwd.as_str().as_bytes().to_vec(),
            env: variables.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect(),
            input: Vec::new(),
            has_more_input: false,
            terminal: terminal.map(terminal_size),
            deadline_ms,
            limits: self.rules.limits,
            key: command.key.as_ref().map(|key| key.name.clone().into_bytes()).unwrap_or_default(),
        })
    }

    async fn begin(
        &self,
        command: Command,
        events: Option<mpsc::Sender<Result<RunEvent, Error>>>,
    ) -> Result<Running, Error> {
        self.check_open()?;
        self.check_disk().await?;
        let timeout = timeout_of(&command, &self.rules);
        let deadline_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let mut spawn = self.spawn_of(&command, None, deadline_ms)?;
        let spill = match command.spill_to.clone() {
            Some(path) => Some((self.open_spill)(path).await?),
            None => None,
        };
        let mut input = command.stdin.clone();
        spawn.input = input.split_to(input.len().min(INPUT_WINDOW_BYTES)).to_vec();
        spawn.has_more_input = !input.is_empty();
        let mut call = self.channel.start_call(Call::Run(spawn)).map_err(lost_before)?;
        call.leave = command.key.as_ref().map(|key| key.leave.clone());
        Ok(Running { input, spill, events, ..self.running(call, command, timeout) })
    }

    fn running(&self, call: ActiveCall, command: Command, timeout: Duration) -> Running {
        let max_output =
            usize::try_from(self.rules.max_output_bytes.min(MAX_OUTPUT_BYTES)).unwrap_or(usize::MAX);
        Running {
            call,
            command,
            input: Bytes::new(),
            stdout: HeadTail::new(max_output),
            stderr: HeadTail::new(max_output),
            spill: None,
            events: None,
            ungranted: 0,
            began: Instant::now(),
            timeout,
            closing: self.closing.clone(),
            end_box: Arc::clone(&self.end_box),
            is_taken_up: false,
            memory: self.memory.watch(),
        }
    }

    /// Output as it comes, from a task that ends with the stream.
    fn events_of(&self, running: Running, first: Option<Exit>, channel: EventChannel) -> RunStream {
        let (sender, receiver) = channel;
        let task = self.runs.spawn(async move {
            let finished = match first {
                Some(exit) => running.result(exit).await,
                None => running.finish().await,
            };
            // Nobody listening is fine.
            let _ = sender.send(finished.map(RunEvent::Finished)).await;
        });
        // The task goes with the stream, and the command with the task.
        let state = (receiver, AbortOnDropHandle::new(task));
        stream::unfold(state, |(mut receiver, task)| async move {
            let event = receiver.recv().await?;
            Some((event, (receiver, task)))
        })
        .boxed()
    }

    async fn simple(&self, process: ProcessId, call: Call, patience: Duration) -> Result<(), Error> {
        self.check_open()?;
        match self.channel.call(call, patience).await {
            Ok(CallAnswer::Done) => Ok(()),
            Ok(CallAnswer::Failed(failure)) => Err(process_failure(process, &failure)),
            Ok(_) => Err(nonsense()),
            Err(error) => Err(lost_before(error)),
        }
    }

    fn started(&self) -> MutexGuard<'_, BTreeMap<ProcessId, Option<ProcessState>>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After the box was closed: what is known of a process.
    fn remembered(&self, process: ProcessId) -> Result<ProcessState, Error> {
        match self.started().get(&process) {
            Some(Some(state)) => Ok(state.clone()),
            Some(None) => Ok(ProcessState::Exited { exit_code: None, signal: Some(9), timed_out: false }),
            None => Err(unknown_process(process)),
        }
    }
}

/// A command under way.
struct Running {
    call: ActiveCall,
    command: Command,
    /// What was not sent yet.
    input: Bytes,
    stdout: HeadTail,
    stderr: HeadTail,
    spill: Option<Spill>,
    events: Option<mpsc::Sender<Result<RunEvent, Error>>>,
    /// Read, but the box was not yet told that it may send as much again.
    ungranted: u32,
    began: Instant,
    timeout: Duration,
    closing: CancellationToken,
    end_box: EndBox,
    /// Somebody else began it, some time ago.
    is_taken_up: bool,
    memory: MemoryWatch,
}

type EventChannel = (mpsc::Sender<Result<RunEvent, Error>>, mpsc::Receiver<Result<RunEvent, Error>>);

impl Running {
    async fn finish(mut self) -> Result<RunResult, Error> {
        let closing = self.closing.clone();
        let overrun = tokio::time::sleep_until(self.began + self.timeout + OVERRUN);
        tokio::pin!(overrun);
        loop {
            let answer = tokio::select! {
                biased;
                answer = self.call.next() => answer,
                () = closing.cancelled() => return Err(closed_meanwhile()),
                () = &mut overrun => return self.overrun().await,
            };
            match answer {
                Some(CallAnswer::Output { channel, bytes }) => {
                    self.take_output(channel, bytes.into()).await?;
                }
                Some(CallAnswer::InputTaken { bytes }) => self.send_input(bytes).map_err(lost_meanwhile)?,
                Some(CallAnswer::Exited(exit)) => {
                    self.call.has_ended = true;
                    return self.result(exit).await;
                }
                Some(CallAnswer::Failed(failure)) => {
                    self.call.has_ended = true;
                    return Err(start_failure(&self.command, &failure));
                }
                Some(_) => return Err(nonsense()),
                None if closing.is_cancelled() => return Err(closed_meanwhile()),
                None => return Err(lost_meanwhile(ChannelError::Gone)),
            }
        }
    }

    async fn take_output(&mut self, channel: OutputChannel, piece: Bytes) -> Result<(), Error> {
        let event = match channel {
            OutputChannel::Stdout => {
                self.stdout.push(&piece);
                RunEvent::Stdout
            }
            OutputChannel::Stderr => {
                self.stderr.push(&piece);
                RunEvent::Stderr
            }
        };
        if let Some(spill) = &mut self.spill {
            spill.write(&piece).await;
        }
        let length = u32::try_from(output_cost(piece.len())).unwrap_or(u32::MAX);
        if let Some(events) = &self.events {
            // A reader that does not read must not hold up the closing.
            tokio::select! {
                _ = events.send(Ok(event(piece))) => {}
                () = self.closing.cancelled() => {}
            }
        }
        self.ungranted = self.ungranted.saturating_add(length);
        if self.ungranted >= OUTPUT_WINDOW_BYTES / 2 {
            let bytes = std::mem::take(&mut self.ungranted);
            self.call.add(Call::Grant { bytes }).map_err(lost_meanwhile)?;
        }
        Ok(())
    }

    fn send_input(&mut self, room: u32) -> Result<(), ChannelError> {
        if self.input.is_empty() {
            return Ok(());
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(INPUT_WINDOW_BYTES);
        let piece = self.input.split_to(self.input.len().min(room));
        self.call.add(Call::Input { bytes: piece.to_vec(), last: self.input.is_empty() })
    }

    async fn result(mut self, exit: Exit) -> Result<RunResult, Error> {
        if let Some(spill) = &mut self.spill {
            spill.finish().await?;
        }
        if let Some(line) = self.memory.line(&exit).map(Bytes::from) {
            self.stderr.push(&line);
            if let Some(events) = &self.events {
                let _ = events.send(Ok(RunEvent::Stderr(line))).await;
            }
        }
        Ok(RunResult {
            exit_code: exit.exit_code,
            signal: exit.signal,
            timed_out: exit.timed_out,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            duration_ms: match self.is_taken_up {
                true => exit.duration_us / 1_000,
                false => u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            },
        })
    }

    /// Process 1 did not end the command in time, so that the whole box is ended.
    async fn overrun(mut self) -> Result<RunResult, Error> {
        tracing::warn!("a box did not end a command at its deadline; the box is ended");
        (self.end_box)();
        // Now, not when its end is noticed: the next command is for the next box.
        self.call.shut_channel();
        self.call.has_ended = true;
        self.result(Exit { exit_code: None, signal: Some(9), timed_out: true, duration_us: 0 }).await
    }
}

#[async_trait]
impl Shell for BoxShell {
    async fn run(&self, command: Command) -> Result<RunResult, Error> {
        let running = self.begin(command, None).await?;
        self.runs.track_future(running.finish()).await
    }

    async fn stream(&self, command: Command) -> Result<RunStream, Error> {
        let (sender, receiver) = mpsc::channel(MAX_PENDING_EVENTS);
        let mut running = self.begin(command, Some(sender.clone())).await?;
        // What cannot be started is told at once, as `run` does.
        let first = running.first().await?;
        Ok(self.events_of(running, first, (sender, receiver)))
    }

    async fn attach(&self, key: &CommandKey) -> Result<Option<RunStream>, Error> {
        self.check_open()?;
        let asked = Call::Attach { key: key.name.clone().into_bytes() };
        let mut call = self.channel.start_call(asked).map_err(lost_before)?;
        call.leave = Some(key.leave.clone());
        let answer = tokio::time::timeout(PATIENCE, call.next()).await;
        let Ok(Some(CallAnswer::Attached { missing_stdout, missing_stderr })) = answer else {
            // Nothing was taken up, so that there is nothing to end.
            call.has_ended = true;
            return match answer {
                Ok(Some(CallAnswer::Failed(failure))) if failure.kind == FailureKind::UnknownNumber => {
                    Ok(None)
                }
                Ok(Some(CallAnswer::Failed(_))) => {
                    let detail = "somebody else waits for this command";
                    Err(Error::operation(ErrorCode::TransitionRefused, detail))
                }
                Ok(Some(_)) => Err(nonsense()),
                Ok(None) => Err(lost_before(ChannelError::Gone)),
                Err(_) => Err(lost_before(ChannelError::Silent)),
            };
        };
        let (sender, receiver) = mpsc::channel(MAX_PENDING_EVENTS);
        // Process 1 keeps its deadline; this is only how long it can be at most.
        let timeout = Duration::from_millis(self.rules.max_timeout_ms.max(1));
        let command = Command { key: Some(key.clone()), ..Command::script("") };
        let mut running = Running { events: Some(sender.clone()), ..self.running(call, command, timeout) };
        running.stdout.skip(missing_stdout);
        running.stderr.skip(missing_stderr);
        running.is_taken_up = true;
        Ok(Some(self.events_of(running, None, (sender, receiver))))
    }

    async fn knows(&self, key: &CommandKey) -> Result<bool, Error> {
        self.check_open()?;
        let asked = Call::FindRun { key: key.name.clone().into_bytes() };
        match self.channel.call(asked, PATIENCE).await {
            Ok(CallAnswer::Done) => Ok(true),
            Ok(CallAnswer::Failed(failure)) if failure.kind == FailureKind::UnknownNumber => Ok(false),
            Ok(_) => Err(nonsense()),
            Err(error) => Err(lost_before(error)),
        }
    }

    async fn start(&self, start: Start) -> Result<ProcessInfo, Error> {
        self.check_open()?;
        self.check_disk().await?;
        let command = &start.command;
        let deadline = command.timeout_ms.map(|_| timeout_of(command, &self.rules));
        let deadline_ms =
            deadline.map_or(0, |deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
        let mut spawn = self.spawn_of(command, start.pty, deadline_ms)?;
        spawn.has_more_input = true;
        let mut input = command.stdin.clone();
        spawn.input = input.split_to(input.len().min(INPUT_WINDOW_BYTES)).to_vec();
        let process = match self.channel.call(Call::Start(spawn), PATIENCE).await {
            Ok(CallAnswer::Started { process }) => ProcessId(process),
            Ok(CallAnswer::Failed(failure)) => return Err(start_failure(command, &failure)),
            Ok(_) => return Err(nonsense()),
            Err(error) => return Err(lost_before(error)),
        };
        remember(&mut self.started(), process);
        if !input.is_empty() {
            self.write_stdin(process, input, false).await?;
        }
        Ok(ProcessInfo {
            id: process,
            program: program_name(&command.invocation),
            state: ProcessState::Running,
            started_at: self.clock.now(),
            output_bytes: 0,
            has_pty: start.pty.is_some(),
        })
    }

    async fn poll(&self, process: ProcessId, poll: Poll) -> Result<Polled, Error> {
        if self.closing.is_cancelled() {
            let state = self.remembered(process)?;
            return Ok(Polled { bytes: Bytes::new(), offset: poll.offset, next_offset: poll.offset, state });
        }
        self.check_open()?;
        let wait_ms = poll.wait_ms.min(MAX_WAIT_MS);
        let max_bytes = u32::try_from(poll.max_bytes.min(MAX_POLL_BYTES)).unwrap_or(u32::MAX);
        let call = Call::Poll {
            process: process.0,
            offset: poll.offset,
            max_bytes,
            wait_ms: u32::try_from(wait_ms).unwrap_or(u32::MAX),
        };
        let polled = match self.channel.call(call, Duration::from_millis(wait_ms) + PATIENCE).await {
            Ok(CallAnswer::Polled(polled)) => polled,
            Ok(CallAnswer::Failed(failure)) => return Err(process_failure(process, &failure)),
            Ok(_) => return Err(nonsense()),
            Err(error) => return Err(lost_before(error)),
        };
        let state = state_of(polled.exit);
        if state != ProcessState::Running {
            self.started().insert(process, Some(state.clone()));
        }
        let next_offset = polled.offset.saturating_add(polled.bytes.len() as u64);
        Ok(Polled { bytes: polled.bytes.into(), offset: polled.offset, next_offset, state })
    }

    async fn write_stdin(&self, process: ProcessId, mut bytes: Bytes, close: bool) -> Result<(), Error> {
        if bytes.len() > MAX_STDIN_BYTES {
            let detail = format!("at most {MAX_STDIN_BYTES} bytes of input are taken at once");
            return Err(Error::operation(ErrorCode::PayloadTooLarge, detail));
        }
        let until = Instant::now() + STDIN_PATIENCE;
        loop {
            let piece = bytes.split_to(bytes.len().min(STDIN_PIECE_BYTES));
            let is_last = bytes.is_empty();
            let call = Call::Write { process: process.0, bytes: piece.to_vec(), close: close && is_last };
            self.check_open()?;
            match self.channel.call(call, until.saturating_duration_since(Instant::now())).await {
                Ok(CallAnswer::Done) if is_last => return Ok(()),
                Ok(CallAnswer::Done) => {}
                Ok(CallAnswer::Failed(failure)) if failure.kind == FailureKind::System => {
                    let detail = format!("the input of process {} is closed", process.0);
                    return Err(Error::operation(ErrorCode::ProcessNotFound, detail));
                }
                Ok(CallAnswer::Failed(failure)) => return Err(process_failure(process, &failure)),
                Ok(_) => return Err(nonsense()),
                Err(ChannelError::Silent) => {
                    let detail = "the process does not read its input";
                    return Err(Error::operation(ErrorCode::RequestTimeout, detail));
                }
                Err(error) => return Err(lost_before(error)),
            }
        }
    }

    async fn resize(&self, process: ProcessId, size: PtySize) -> Result<(), Error> {
        let call = Call::Resize { process: process.0, size: terminal_size(size) };
        self.simple(process, call, PATIENCE).await
    }

    async fn kill(&self, process: ProcessId, signal: Signal) -> Result<(), Error> {
        if self.closing.is_cancelled() {
            return self.remembered(process).map(drop);
        }
        let number = match signal {
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
        };
        self.simple(process, Call::Signal { process: process.0, signal: number }, PATIENCE).await
    }

    async fn list(&self) -> Result<Vec<ProcessInfo>, Error> {
        self.check_open()?;
        match self.channel.call(Call::List, PATIENCE).await {
            Ok(CallAnswer::Processes(processes)) => Ok(processes.iter().map(info_of).collect()),
            Ok(_) => Err(nonsense()),
            Err(error) => Err(lost_before(error)),
        }
    }

    fn runner(&self) -> Option<&'static str> {
        Some(self.runner)
    }

    async fn open_dialog(&self, command: Command) -> Result<Dialog, Error> {
        self.check_open()?;
        self.check_disk().await?;
        let spawn = self.spawn_of(&command, None, 0)?;
        dialog::begin(&self.channel, command, spawn, self.closing.clone(), &self.runs)
    }
}

impl Running {
    /// Waits for the first sign: a failure to start is an error, an end without output is handed on.
    async fn first(&mut self) -> Result<Option<Exit>, Error> {
        let closing = self.closing.clone();
        let answer = tokio::select! {
            answer = self.call.next() => answer,
            () = closing.cancelled() => return Err(closed_meanwhile()),
            // Silent so far: it runs.
            () = tokio::time::sleep(FIRST_SIGN) => return Ok(None),
        };
        match answer {
            Some(CallAnswer::Failed(failure)) => {
                self.call.has_ended = true;
                Err(start_failure(&self.command, &failure))
            }
            Some(CallAnswer::Exited(exit)) => {
                self.call.has_ended = true;
                Ok(Some(exit))
            }
            Some(CallAnswer::Output { channel, bytes }) => {
                self.take_output(channel, bytes.into()).await?;
                Ok(None)
            }
            Some(CallAnswer::InputTaken { bytes }) => {
                self.send_input(bytes).map_err(lost_meanwhile)?;
                Ok(None)
            }
            Some(_) => Err(nonsense()),
            None => Err(lost_meanwhile(ChannelError::Gone)),
        }
    }
}

/// The oldest go first; a box may live for long and start much.
fn remember(started: &mut BTreeMap<ProcessId, Option<ProcessState>>, process: ProcessId) {
    started.insert(process, None);
    while started.len() > MAX_REMEMBERED {
        started.pop_first();
    }
}

/// How long a stream waits for a program to fail to start before it is given out.
const FIRST_SIGN: Duration = Duration::from_millis(20);

/// The caller's timeout, at most the configured one.
fn timeout_of(command: &Command, rules: &BoxRules) -> Duration {
    let most = rules.max_timeout_ms.max(1);
    Duration::from_millis(command.timeout_ms.unwrap_or(most).clamp(1, most))
}

const fn terminal_size(size: PtySize) -> TerminalSize {
    TerminalSize { rows: size.rows, columns: size.columns }
}

fn state_of(exit: Option<Exit>) -> ProcessState {
    match exit {
        None => ProcessState::Running,
        Some(Exit { exit_code, signal, timed_out, .. }) => {
            ProcessState::Exited { exit_code, signal, timed_out }
        }
    }
}

fn info_of(summary: &ProcessSummary) -> ProcessInfo {
    ProcessInfo {
        id: ProcessId(summary.process),
        program: String::from_utf8_lossy(&summary.program).chars().take(255).collect(),
        state: state_of(summary.exit),
        started_at: Timestamp::from_micros(summary.started_at),
        output_bytes: summary.output_bytes,
        has_pty: summary.has_terminal,
    }
}

pub(super) fn start_failure(command: &Command, failure: &Failure) -> Error {
    let program = match &command.invocation {
        Invocation::Argv(words) => words.first().map_or("", String::as_str),
        Invocation::Script(_) => "/bin/sh",
    };
    let shown: String = program.chars().take(200).collect();
    match failure.kind {
        FailureKind::ProgramNotFound => Error::operation(
            ErrorCode::ProgramNotFound,
            format!("the program `{shown}` was not found in the box"),
        ),
        FailureKind::ProgramNotExecutable => {
            Error::operation(ErrorCode::ProgramNotFound, format!("the program `{shown}` cannot be executed"))
        }
        FailureKind::BadDirectory => {
            let code = match failure.errno {
                libc::ENOENT => ErrorCode::FileNotFound,
                libc::ENOTDIR => ErrorCode::NotADirectory,
                _ => ErrorCode::PathEscapes,
            };
            Error::operation(code, format!("{} is no directory that a command can run in", command.cwd))
        }
        FailureKind::TooMany => Error::operation(
            ErrorCode::TooManyRequests,
            "the box runs as many processes as it may; end one first",
        ),
        FailureKind::Invalid => {
            Error::operation(ErrorCode::InvalidCommand, "the box does not take this command")
        }
        FailureKind::System if matches!(failure.errno, libc::E2BIG | libc::EINVAL | libc::ENAMETOOLONG) => {
            Error::operation(ErrorCode::InvalidCommand, "the box does not take this command")
        }
        FailureKind::System
            if matches!(failure.errno, libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE) =>
        {
            Error::operation(ErrorCode::TooManyRequests, "the box has no room for another process; try again")
        }
        FailureKind::UnknownNumber | FailureKind::Version | FailureKind::System => {
            tracing::error!(?failure, "a command could not be started in a box");
            Error::operation(ErrorCode::Internal, "the command could not be started")
        }
    }
}

fn process_failure(process: ProcessId, failure: &Failure) -> Error {
    match failure.kind {
        FailureKind::UnknownNumber => unknown_process(process),
        FailureKind::Invalid => {
            let detail = format!("process {} does not take this", process.0);
            Error::operation(ErrorCode::InvalidRequest, detail)
        }
        FailureKind::TooMany => {
            Error::operation(ErrorCode::TooManyRequests, "too much is waiting for this process already")
        }
        _ => {
            tracing::error!(?failure, "a process in a box could not be reached");
            Error::operation(ErrorCode::Internal, "the process could not be reached")
        }
    }
}

fn unknown_process(process: ProcessId) -> Error {
    let detail = format!("there is no process {} in this workspace", process.0);
    Error::operation(ErrorCode::ProcessNotFound, detail)
}

/// Nothing has begun, so that it may be tried again in another box.
pub(super) fn lost_before(error: ChannelError) -> Error {
    match error {
        ChannelError::TooLong => {
            Error::operation(ErrorCode::InvalidCommand, "the command is too long for the box")
        }
        ChannelError::Gone | ChannelError::Silent | ChannelError::Version => {
            Error::evicted(error.to_string())
        }
    }
}

/// Something may have happened, so that it is not tried again by itself.
pub(super) fn lost_meanwhile(_: ChannelError) -> Error {
    let detail = "the box ended while the command ran; what it had done by then has happened";
    Error::operation(ErrorCode::WorkspaceEvicted, detail)
}

/// No eviction: a command that was ended on purpose must not be run again.
pub(super) fn closed_meanwhile() -> Error {
    Error::operation(ErrorCode::WorkspaceNotReady, "the workspace was closed while the command ran")
}

pub(super) fn nonsense() -> Error {
    Error::operation(ErrorCode::Internal, "process 1 of the box answered something else than was asked")
}
