//! One command, from its start to its end.
//!
//! ```text
//!   Running ──leader reaped──▶ Ending ──nobody left──▶ Draining ──outputs read──▶ Ended
//!      │  deadline, Cancel: its group is killed; the rest follows
//! ```

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};
use warren_confined_fs::OutputRing;
use warren_init::{
    BACKGROUND_OUTPUT_BYTES, CallAnswer, Channel, Exit, Failure, FailureKind, MAX_PIECE_BYTES,
    OUTPUT_WINDOW_BYTES, Reply, TerminalSize, output_cost,
};

use super::input::Input;
use super::kept::Kept;
use super::limits::{PIECES_PER_TURN, TERMINAL_PATIENCE};
use super::output::{Output, Read};
use super::owner::Owner;
use super::terminal;

#[derive(Debug)]
pub(super) struct Job {
    pub(super) purpose: Purpose,
    pub(super) stage: Stage,
    pub(super) leader: Pid,
    pub(super) deadline: Option<Instant>,
    pub(super) input: Input,
    /// Stdout and stderr; a terminal has one of them.
    outputs: [Output; 2],
    started: Instant,
    /// Since when it is being killed.
    pub(super) killed: Option<Instant>,
    timed_out: bool,
    status: Option<WaitStatus>,
    ended: Option<Instant>,
    drain_until: Option<Instant>,
}

#[derive(Debug)]
pub(super) enum Purpose {
    /// Somebody waits for it; `None`: nobody does any more, and a later owner must not hear of it unless it asks by key.
    Run {
        request: Option<u32>,
        credit: usize,
        kept: Option<Box<Kept>>,
    },
    Background(Background),
}

#[derive(Debug)]
pub(super) struct Background {
    pub(super) process: u32,
    pub(super) program: Vec<u8>,
    pub(super) started_at: i64,
    pub(super) output: OutputRing,
    pub(super) has_terminal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Running,
    /// Its leader has ended; what it left is being killed.
    Ending,
    /// Nobody is left; what was written is still to be read.
    Draining,
    Ended,
}

/// Our ends of a new command's pipes or terminal.
#[derive(Debug)]
pub(super) struct OwnEnds {
    pub(super) input: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) is_terminal: bool,
}

/// What a job needs of its surroundings to move on.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) owner: &'a mut Owner,
    pub(super) epoll: BorrowedFd<'a>,
    pub(super) buffer: &'a mut Vec<u8>,
    pub(super) now: Instant,
    /// The first of the job's tokens; see `serve`.
    pub(super) token: u64,
}

impl Purpose {
    pub(super) const fn run(request: u32, kept: Option<Box<Kept>>) -> Self {
        Self::Run { request: Some(request), credit: OUTPUT_WINDOW_BYTES as usize, kept }
    }

    pub(super) const fn background(
        process: u32,
        program: Vec<u8>,
        started_at: i64,
        has_terminal: bool,
    ) -> Self {
        let output = OutputRing::new(BACKGROUND_OUTPUT_BYTES);
        Self::Background(Background { process, program, started_at, output, has_terminal })
    }

    /// A run tells its output and its errors apart; a process keeps both in one ring.
    pub(super) const fn has_one_log(&self) -> bool {
        match self {
            Self::Run { .. } => false,
            Self::Background(_) => true,
        }
    }
}

impl Job {
    pub(super) fn new(
        purpose: Purpose,
        leader: Pid,
        ends: OwnEnds,
        now: Instant,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            purpose,
            stage: Stage::Running,
            leader,
            deadline,
            input: Input::new(ends.input, ends.is_terminal),
            outputs: [Output::new(Some(ends.stdout), ends.is_terminal), Output::new(ends.stderr, false)],
            started: now,
            killed: None,
            timed_out: false,
            status: None,
            ended: None,
            drain_until: None,
        }
    }

    pub(super) const fn background(&self) -> Option<&Background> {
        match &self.purpose {
            Purpose::Background(background) => Some(background),
            Purpose::Run { .. } => None,
        }
    }

    pub(super) fn kept(&self) -> Option<&Kept> {
        match &self.purpose {
            Purpose::Run { kept, .. } => kept.as_deref(),
            Purpose::Background(_) => None,
        }
    }

    /// Whether it can go on without an owner: it has a key, and all of its input.
    pub(super) fn outlives_its_owner(&self) -> bool {
        self.kept().is_some() && !self.input.is_open()
    }

    /// Whether an owner waits for it.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(self.purpose, Purpose::Run { request: Some(_), .. })
    }

    pub(super) const fn ended_at(&self) -> Option<Instant> {
        match self.stage {
            Stage::Ended => self.ended,
            Stage::Running | Stage::Ending | Stage::Draining => None,
        }
    }

    /// An owner comes back for it.
    pub(super) fn attach(&mut self, id: u32, context: &mut Context<'_>) {
        let Purpose::Run { request, credit, kept: Some(kept) } = &mut self.purpose else { return };
        *request = Some(id);
        *credit = OUTPUT_WINDOW_BYTES as usize;
        let [missing_stdout, missing_stderr] = kept.begin_again();
        context.owner.send(id, CallAnswer::Attached { missing_stdout, missing_stderr });
    }

    /// Whoever waited does not want it any more, now or later.
    pub(super) fn forget_key(&mut self) {
        if let Purpose::Run { kept, .. } = &mut self.purpose {
            *kept = None;
        }
    }

    pub(super) const fn is_run(&self, id: u32) -> bool {
        matches!(self.purpose, Purpose::Run { request: Some(request), .. } if request == id)
    }

    pub(super) const fn is_alive(&self) -> bool {
        matches!(self.stage, Stage::Running)
    }

    /// The whole group at once; what left the group follows when the leader is gone.
    pub(super) fn signal(&self, signal: Signal) {
        if self.is_alive() {
            // Not reaped yet, so the number is nobody else's.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    pub(super) fn kill(&mut self, now: Instant) {
        self.signal(Signal::KILL);
        self.killed.get_or_insert(now);
    }

    /// The deadline has passed.
    pub(super) fn time_out(&mut self, now: Instant) {
        self.deadline = None;
        if self.is_alive() {
            self.timed_out = true;
            self.kill(now);
        }
    }

    /// The owner that waited for it is gone.
    pub(super) fn forget_owner(&mut self) {
        self.input.forget_owner();
        if let Purpose::Run { request, .. } = &mut self.purpose {
            *request = None;
        }
    }

    /// Nobody wants its output any more.
    pub(super) fn discard_output(&mut self, epoll: BorrowedFd<'_>) {
        self.outputs.iter_mut().for_each(|output| output.close(epoll));
    }

    pub(super) fn grant(&mut self, bytes: u32) {
        if let Purpose::Run { credit, .. } = &mut self.purpose {
            *credit = credit.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
    }

    pub(super) fn leader_ended(&mut self, status: Option<WaitStatus>, context: &mut Context<'_>) {
        self.stage = Stage::Ending;
        self.status = status;
        self.ended = Some(context.now);
        self.deadline = None;
        self.input.close(context.owner, context.epoll);
    }

    pub(super) fn watch_outputs(&mut self, context: &mut Context<'_>) {
        for (index, output) in self.outputs.iter_mut().enumerate() {
            output.watch(true, context.epoll, context.token + index as u64);
        }
    }

    /// Nobody of it is left.
    pub(super) fn drain(&mut self, context: &mut Context<'_>) {
        self.stage = Stage::Draining;
        self.drain_until = Some(context.now + TERMINAL_PATIENCE);
        self.pump_all(context);
    }

    pub(super) const fn drain_until(&self) -> Option<Instant> {
        match self.stage {
            Stage::Draining => self.drain_until,
            Stage::Running | Stage::Ending | Stage::Ended => None,
        }
    }

    /// Reads both outputs as far as there is room. True: there is something new for those who poll.
    pub(super) fn pump_all(&mut self, context: &mut Context<'_>) -> bool {
        self.send_kept(context);
        let has_new = self.pump(Channel::Stdout, context) | self.pump(Channel::Stderr, context);
        has_new | self.end_if_drained(context)
    }

    /// An owner that came back is sent what there was before it, ahead of anything new.
    fn send_kept(&mut self, context: &mut Context<'_>) {
        let Purpose::Run { request: Some(request), credit, kept: Some(kept) } = &mut self.purpose else {
            return;
        };
        while *credit > 0 && context.owner.has_room() {
            let Some((channel, bytes)) = kept.next((*credit).min(MAX_PIECE_BYTES)) else { return };
            *credit = credit.saturating_sub(output_cost(bytes.len()));
            context.owner.send(*request, CallAnswer::Output { channel, bytes });
        }
    }

    fn pump(&mut self, channel: Channel, context: &mut Context<'_>) -> bool {
        let index = channel as usize;
        let mut has_new = false;
        let mut room = self.room(context.owner);
        let turns = if self.stage == Stage::Draining { usize::MAX } else { PIECES_PER_TURN };
        for _ in 0..turns {
            if room == 0 {
                break;
            }
            context.buffer.resize(MAX_PIECE_BYTES, 0);
            let piece = &mut context.buffer[..room.min(MAX_PIECE_BYTES)];
            match self.outputs[index].read(piece, context.epoll) {
                Read::Some(count) => {
                    has_new = true;
                    self.take(channel, count, context);
                    room = self.room(context.owner);
                    if count < MAX_PIECE_BYTES && self.stage != Stage::Draining {
                        break;
                    }
                }
                Read::Nothing => {
                    self.nothing_now(index, context);
                    break;
                }
                Read::End => break,
            }
        }
        let is_wanted = room > 0;
        self.outputs[index].watch(is_wanted, context.epoll, context.token + index as u64);
        has_new
    }

    /// All writers are dead, so what is not there will not come, whoever else holds the pipe open. Only a terminal
    /// hands over late.
    fn nothing_now(&mut self, index: usize, context: &Context<'_>) {
        let is_late = self.drain_until.is_some_and(|until| context.now >= until);
        if self.stage == Stage::Draining && (is_late || !self.outputs[index].is_terminal()) {
            self.outputs[index].close(context.epoll);
        }
    }

    /// How much output may be taken now.
    fn room(&self, owner: &Owner) -> usize {
        match &self.purpose {
            Purpose::Run { request: None, kept: Some(_), .. } | Purpose::Background(_) => usize::MAX,
            Purpose::Run { kept: Some(kept), .. } if !kept.is_all_sent() => 0,
            Purpose::Run { credit, .. } if owner.has_room() => *credit,
            Purpose::Run { .. } => 0,
        }
    }

    fn take(&mut self, channel: Channel, count: usize, context: &mut Context<'_>) {
        match &mut self.purpose {
            Purpose::Run { request: None, kept, .. } => {
                if let Some(kept) = kept {
                    kept.push(channel, &context.buffer[..count], false);
                }
            }
            Purpose::Run { request: Some(request), credit, kept } => {
                if let Some(kept) = kept {
                    kept.push(channel, &context.buffer[..count], true);
                }
                *credit = credit.saturating_sub(output_cost(count));
                context.buffer.truncate(count);
                // Lent to the message and taken back: the buffer is made once.
                let bytes = std::mem::take(context.buffer);
                let reply = Reply { id: *request, answer: CallAnswer::Output { channel, bytes } };
                context.owner.send_reply(&reply);
                if let CallAnswer::Output { bytes, .. } = reply.answer {
                    *context.buffer = bytes;
                }
            }
            Purpose::Background(background) => background.output.push(&context.buffer[..count]),
        }
    }

    fn end_if_drained(&mut self, context: &mut Context<'_>) -> bool {
        let is_drained = self.stage == Stage::Draining && !self.outputs.iter().any(Output::is_open);
        if is_drained {
            self.stage = Stage::Ended;
        }
        self.tell_end(context);
        is_drained
    }

    /// Once, and after all output.
    fn tell_end(&mut self, context: &mut Context<'_>) {
        let exit = self.exit();
        if self.stage == Stage::Ended
            && let Purpose::Run { request, kept, .. } = &mut self.purpose
            && kept.as_ref().is_none_or(|kept| kept.is_all_sent())
            && let Some(request) = request.take()
        {
            context.owner.send(request, CallAnswer::Exited(exit));
        }
    }

    pub(super) fn exit(&self) -> Exit {
        let duration = self.ended.unwrap_or(self.started).duration_since(self.started);
        Exit {
            exit_code: self.status.and_then(WaitStatus::exit_status),
            // One whose death is not told to us was killed.
            signal: self.status.map_or(Some(libc::SIGKILL), WaitStatus::terminating_signal),
            timed_out: self.timed_out,
            duration_us: u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
        }
    }

    pub(super) fn resize(&self, size: TerminalSize) -> Result<(), Failure> {
        let terminal = self.outputs.first().filter(|output| output.is_terminal());
        let Some(terminal) = terminal else {
            return Err(Failure { kind: FailureKind::Invalid, errno: Errno::NOTTY.raw_os_error() });
        };
        // One that has ended needs no size.
        terminal.source().map_or(Ok(()), |ours| terminal::resize(ours, size)).map_err(super::launch::refused)
    }
}
