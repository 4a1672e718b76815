//! What each call does.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use warren_init::{
    Call, CallAnswer, Failure, FailureKind, Greeting, MAX_KEY_BYTES, PROTOCOL_VERSION, ProcessSummary,
    Request, Spawn, TerminalSize,
};

use super::clock;
use super::event_loop::EventLoop;
use super::files;
use super::input::InputReceipt;
use super::job::{Job, OwnEnds, Purpose, Stage};
use super::kept::Kept;
use super::launch::{Plan, refused};
use super::limits::{MAX_POLL_WAIT, MAX_POLLS};
use super::terminal;

/// A poll that waits for output.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingPoll {
    pub(super) request: u32,
    pub(super) process: u32,
    pub(super) offset: u64,
    pub(super) max_bytes: usize,
    pub(super) until: Instant,
}

/// Both sides of a new command's pipes or terminal.
#[derive(Debug)]
struct Stdio {
    ours: OwnEnds,
    input: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl EventLoop {
    pub(super) fn answer(&mut self, request: Request) {
        let id = request.id;
        if let Call::File(_) = request.call {
            return self.ask_files(&request);
        }
        match request.call {
            Call::Hello { version } => self.hello_again(id, version),
            Call::Run(spawn) => self.start_run(id, spawn),
            Call::Start(spawn) => self.start_process(id, spawn),
            Call::Grant { bytes } => {
                if let Some(slot) = self.run_of(id) {
                    self.with_job(slot, |job, _| job.grant(bytes));
                    self.pump(slot);
                }
            }
            Call::Attach { key } => self.attach(id, &key),
            Call::FindRun { key } => match self.run_with_key(&key) {
                Some(_) => self.owner.send(id, CallAnswer::Done),
                None => self.fail(id, FailureKind::UnknownNumber),
            },
            Call::Input { bytes, last } => self.add_input(id, bytes, last),
            Call::Cancel => self.cancel(id),
            Call::Poll { process, offset, max_bytes, wait_ms } => {
                let wait = Duration::from_millis(wait_ms.into()).min(MAX_POLL_WAIT);
                let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
                self.poll(PendingPoll { request: id, process, offset, max_bytes, until: self.now + wait });
            }
            Call::Write { process, bytes, close } => self.write(id, process, bytes, close),
            Call::Resize { process, size } => self.resize(id, process, size),
            Call::Signal { process, signal } => self.signal(id, process, signal),
            Call::List => {
                let processes = self.summaries();
                self.owner.send(id, CallAnswer::Processes(processes));
            }
            Call::Ping => self.owner.send(id, CallAnswer::Done),
            Call::Leave => self.leave(),
            // Asked above, as a whole.
            Call::File(_) => {}
        }
    }

    pub(super) fn say_hello(&mut self, id: u32) {
        let greeting = Greeting { version: PROTOCOL_VERSION, facts: self.facts.clone() };
        self.owner.send(id, CallAnswer::Hello(greeting));
    }

    /// A new owner on the same wire (a container's own stdio has but one): the former one's requests are void.
    fn hello_again(&mut self, id: u32, version: u16) {
        self.forget_owner();
        if version == PROTOCOL_VERSION {
            self.say_hello(id);
        } else {
            self.fail(id, FailureKind::Version);
        }
    }

    fn ask_files(&mut self, request: &Request) {
        if self.files.is_none() {
            match files::start(&self.root) {
                Ok(helper) => self.files = Some(helper),
                Err(errno) => return self.owner.send(request.id, CallAnswer::Failed(refused(errno))),
            }
        }
        let asked = self.files.as_mut().map_or(Ok(()), |files| files.ask(request));
        if let Err(kind) = asked {
            self.fail(request.id, kind);
        }
    }

    fn run_of(&self, id: u32) -> Option<usize> {
        self.table.find(|job| job.is_run(id))
    }

    fn run_with_key(&self, key: &[u8]) -> Option<usize> {
        self.table.find(|job| job.kept().is_some_and(|kept| kept.has_key(key)))
    }

    fn attach(&mut self, id: u32, key: &[u8]) {
        let Some(slot) = self.run_with_key(key) else {
            return self.fail(id, FailureKind::UnknownNumber);
        };
        let is_awaited = self.table.get_mut(slot).is_some_and(|job| job.is_awaited());
        if is_awaited || self.run_of(id).is_some() {
            return self.fail(id, FailureKind::Invalid);
        }
        self.with_job(slot, |job, context| job.attach(id, context));
        self.pump(slot);
    }

    fn start_run(&mut self, id: u32, mut spawn: Spawn) {
        let is_taken = !spawn.key.is_empty() && self.run_with_key(&spawn.key).is_some();
        if self.run_of(id).is_some() || is_taken || spawn.key.len() > MAX_KEY_BYTES {
            return self.fail(id, FailureKind::Invalid);
        }
        if !self.outlives_owner() {
            spawn.key.clear();
        }
        if !self.table.has_room_for_run() {
            return self.fail(id, FailureKind::TooMany);
        }
        let kept = Kept::of(&spawn);
        if let Err(failure) = self.start(spawn, Purpose::run(id, kept)) {
            self.owner.send(id, CallAnswer::Failed(failure));
        }
    }

    fn start_process(&mut self, id: u32, mut spawn: Spawn) {
        if !self.table.has_room_for_process() {
            return self.fail(id, FailureKind::TooMany);
        }
        // A process can be fed later.
        spawn.has_more_input = true;
        let process = self.table.next_process();
        let purpose =
            Purpose::background(process, program_name(&spawn.argv), clock::now(), spawn.terminal.is_some());
        let answer = match self.start(spawn, purpose) {
            Ok(()) => CallAnswer::Started { process },
            Err(failure) => CallAnswer::Failed(failure),
        };
        self.owner.send(id, answer);
    }

    fn start(&mut self, spawn: Spawn, purpose: Purpose) -> Result<(), Failure> {
        let directory = self.directory(&spawn.directory)?;
        let has_input = spawn.has_more_input || !spawn.input.is_empty();
        let stdio = match spawn.terminal {
            Some(size) => terminal_stdio(size),
            None => self.pipes(has_input, purpose.has_one_log()),
        }
        .map_err(refused)?;
        let plan = Plan {
            argv: spawn.argv,
            env: spawn.env,
            directory: directory.as_ref().map_or(self.root.handle(), AsFd::as_fd),
            stdio: [stdio.input.as_fd(), stdio.stdout.as_fd(), stdio.stderr.as_fd()],
            has_terminal: spawn.terminal.is_some(),
            limits: spawn.limits,
        };
        let started = Instant::now();
        let leader = self.launcher.launch(plan)?;
        let deadline = match spawn.deadline_ms {
            0 => None,
            milliseconds => started.checked_add(Duration::from_millis(milliseconds)),
        };
        // Who has more to send hears how much of the beginning was taken.
        let told = match purpose {
            Purpose::Run { request: Some(run), .. } if spawn.has_more_input => InputReceipt::Run(run),
            Purpose::Run { .. } | Purpose::Background(_) => InputReceipt::Nobody,
        };
        let slot = self.table.insert(Job::new(purpose, leader, stdio.ours, started, deadline));
        self.with_job(slot, |job, context| {
            let is_last = has_input && !spawn.has_more_input && spawn.terminal.is_none();
            if !spawn.input.is_empty() || is_last {
                job.input.queue(spawn.input, is_last, told);
                job.input.feed(context.owner, context.epoll, context.token + 2);
            }
            job.watch_outputs(context);
        });
        Ok(())
    }

    /// The working directory, resolved beneath the workspace; absent: the workspace itself.
    fn directory(&self, path: &[u8]) -> Result<Option<OwnedFd>, Failure> {
        if path.is_empty() {
            return Ok(None);
        }
        let failed = |errno: Errno| Failure { kind: FailureKind::BadDirectory, errno: errno.raw_os_error() };
        self.root.directory(path).map(Some).map_err(failed)
    }

    /// With one log, errors and other output share a pipe: read from two, they could change places.
    fn pipes(&self, has_input: bool, has_one_log: bool) -> Result<Stdio, Errno> {
        let (stdout_ours, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr_ours, stderr) = if has_one_log {
            (None, fcntl_dupfd_cloexec(&stdout, 3)?)
        } else {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&ours, true)?;
            (Some(ours), theirs)
        };
        let (input, input_ours) = if has_input {
            let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&ours, true)?;
            (theirs, Some(ours))
        } else {
            (self.nothing.try_clone().map_err(|_| Errno::MFILE)?, None)
        };
        // Only our sides: a program that is handed a non-blocking pipe may fail to write to it.
        rustix::io::ioctl_fionbio(&stdout_ours, true)?;
        let ours =
            OwnEnds { input: input_ours, stdout: stdout_ours, stderr: stderr_ours, is_terminal: false };
        Ok(Stdio { ours, input, stdout, stderr })
    }

    /// More input than may wait is a breach of the protocol by the owner: its run ends.
    fn add_input(&mut self, id: u32, bytes: Vec<u8>, is_last: bool) {
        let Some(slot) = self.run_of(id) else { return };
        let has_room = self.with_job(slot, |job, context| {
            if !job.input.is_open() {
                let bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                context.owner.send(id, CallAnswer::InputTaken { bytes });
                return true;
            }
            if !job.input.has_room(bytes.len()) {
                return false;
            }
            job.input.queue(bytes, is_last, InputReceipt::Run(id));
            job.input.feed(context.owner, context.epoll, context.token + 2);
            true
        });
        if has_room == Some(false) {
            self.cancel(id);
        }
    }

    fn cancel(&mut self, id: u32) {
        if let Some(slot) = self.run_of(id) {
            self.kill(slot);
            self.with_job(slot, |job, _| job.forget_key());
            // Its output is not waited for: whoever cancels may grant nothing more.
            self.with_job(slot, |job, context| job.discard_output(context.epoll));
            self.pump(slot);
            // One that had ended, and whose output was still on its way.
            if self.table.get_mut(slot).is_some_and(|job| job.stage == Stage::Ended && job.kept().is_none()) {
                self.table.remove(slot);
            }
            return;
        }
        self.answer_polls(|poll| poll.request == id, true);
        for slot in self.table.slots() {
            self.with_job(slot, |job, context| job.input.withdraw(id, context.owner));
        }
    }

    fn poll(&mut self, poll: PendingPoll) {
        if self.table.process(poll.process).is_none() {
            return self.fail(poll.request, FailureKind::UnknownNumber);
        }
        if self.polls.len() >= MAX_POLLS {
            return self.fail(poll.request, FailureKind::TooMany);
        }
        self.polls.push(poll);
        let is_over = poll.until <= self.now;
        self.answer_polls(|other| other.request == poll.request, is_over);
    }

    fn write(&mut self, id: u32, process: u32, bytes: Vec<u8>, close: bool) {
        let Some(slot) = self.table.process(process) else {
            return self.fail(id, FailureKind::UnknownNumber);
        };
        let failed = self.with_job(slot, |job, context| {
            if bytes.is_empty() && !close {
                context.owner.send(id, CallAnswer::Done);
                return None;
            }
            if !job.input.is_open() {
                return Some(FailureKind::UnknownNumber);
            }
            if !job.input.has_room(bytes.len()) {
                return Some(FailureKind::TooMany);
            }
            job.input.queue(bytes, close, InputReceipt::Write(id));
            job.input.feed(context.owner, context.epoll, context.token + 2);
            None
        });
        if let Some(kind) = failed.flatten() {
            self.fail(id, kind);
        }
    }

    fn resize(&mut self, id: u32, process: u32, size: TerminalSize) {
        let Some(slot) = self.table.process(process) else {
            return self.fail(id, FailureKind::UnknownNumber);
        };
        let resized = self.with_job(slot, |job, _| job.resize(size));
        let answer = match resized {
            Some(Err(failure)) => CallAnswer::Failed(failure),
            Some(Ok(())) | None => CallAnswer::Done,
        };
        self.owner.send(id, answer);
    }

    fn signal(&mut self, id: u32, process: u32, number: i32) {
        let Some(slot) = self.table.process(process) else {
            return self.fail(id, FailureKind::UnknownNumber);
        };
        let Some(signal) = Signal::from_named_raw(number) else {
            return self.fail(id, FailureKind::Invalid);
        };
        if signal == Signal::KILL {
            self.kill(slot);
        } else {
            self.with_job(slot, |job, _| job.signal(signal));
        }
        self.owner.send(id, CallAnswer::Done);
    }

    fn summaries(&self) -> Vec<ProcessSummary> {
        let summary = |job: &Job| {
            let background = job.background()?;
            Some(ProcessSummary {
                process: background.process,
                program: background.program.clone(),
                started_at: background.started_at,
                output_bytes: background.output.end(),
                has_terminal: background.has_terminal,
                exit: (job.stage == Stage::Ended).then(|| job.exit()),
            })
        };
        let mut summaries: Vec<_> = self.table.jobs().filter_map(summary).collect();
        summaries.sort_unstable_by_key(|summary| summary.process);
        summaries
    }
}

fn terminal_stdio(size: TerminalSize) -> Result<Stdio, Errno> {
    let terminal = terminal::open(size)?;
    let again = || fcntl_dupfd_cloexec(&terminal.theirs, 3);
    let (input, stdout) = (again()?, again()?);
    let input_ours = fcntl_dupfd_cloexec(&terminal.ours, 3)?;
    let ours = OwnEnds { input: Some(input_ours), stdout: terminal.ours, stderr: None, is_terminal: true };
    Ok(Stdio { ours, input, stdout, stderr: terminal.theirs })
}

/// The last part of the program's path, never its arguments.
fn program_name(argv: &[Vec<u8>]) -> Vec<u8> {
    let program = argv.first().map_or(&[][..], Vec::as_slice);
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name[..name.len().min(255)].to_vec()
}
