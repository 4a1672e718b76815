//! The loop: events in, jobs moved on, replies out.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use warren_confined_fs::Root;
use warren_init::{CallAnswer, Facts, Failure, FailureKind, MAX_PIECE_BYTES, PROTOCOL_VERSION, PolledOutput};

use super::call::PendingPoll;
use super::children::{Children, Sweep};
use super::confinement::Prepared;
use super::files;
use super::job::{Context, Job, Purpose, Stage};
use super::launch::Launcher;
use super::limits::{FIRST_OWNER_PATIENCE, KILL_PATIENCE, SWEEP_INTERVAL};
use super::options::{Linger, Options};
use super::owner::{Owner, Received, Tokens};
use super::signals;
use super::system_v;
use super::table::Table;

const SIGNALS: u64 = 0;
const FILES: u64 = 4;
const OWNER: Tokens = Tokens { listener: 1, reading: 2, writing: 3 };
/// Each slot has a token for stdout, stderr and input.
const FIRST_SLOT: u64 = 16;
const PER_SLOT: u64 = 4;
const INPUT: u64 = 2;
const EVENTS_PER_TURN: usize = 64;

#[derive(Debug)]
pub(super) struct EventLoop {
    pub(super) owner: Owner,
    pub(super) table: Table,
    pub(super) polls: Vec<PendingPoll>,
    pub(super) launcher: Launcher,
    pub(super) root: Root,
    /// What programs without input read.
    pub(super) nothing: OwnedFd,
    /// Serves files, once somebody asked for one.
    pub(super) files: Option<files::FileProcess>,
    pub(super) facts: Facts,
    pub(super) now: Instant,
    epoll: OwnedFd,
    signals: OwnedFd,
    children: Children,
    linger: Linger,
    has_own_ipc: bool,
    /// When to leave unless an owner comes.
    leave_at: Option<Instant>,
    buffer: Vec<u8>,
    is_sweeping: bool,
}

impl EventLoop {
    pub(super) fn new(options: &Options, prepared: Prepared) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &prepared.signals, EventData::new_u64(SIGNALS), EventFlags::IN)?;
        let mut owner = Owner::new(prepared.ends)?;
        owner.watch_listener(epoll.as_fd(), OWNER)?;
        owner.watch(epoll.as_fd(), OWNER);
        let now = Instant::now();
        let is_process_1 = prepared.facts.is_process_1;
        let patience = match options.linger {
            Linger::For(linger) => Some(linger.max(FIRST_OWNER_PATIENCE)),
            Linger::Forever => None,
        };
        Ok(Self {
            leave_at: patience.filter(|_| !owner.is_present()).map(|patience| now + patience),
            owner,
            table: Table::default(),
            polls: Vec::new(),
            launcher: Launcher::new(is_process_1, prepared.score),
            root: prepared.root,
            nothing: prepared.nothing,
            files: None,
            facts: prepared.facts,
            now,
            epoll,
            signals: prepared.signals,
            children: Children::new(is_process_1),
            linger: options.linger,
            has_own_ipc: options.has_own_ipc,
            buffer: Vec::with_capacity(MAX_PIECE_BYTES),
            is_sweeping: false,
        })
    }

    pub(super) fn run(&mut self) -> std::process::ExitCode {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            let timeout = self.timeout();
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => self.leave(),
            }
            self.now = Instant::now();
            for event in &events {
                self.handle(*event);
            }
            self.pass_time();
            self.end_turn();
        }
    }

    fn handle(&mut self, event: Event) {
        match event.data.u64() {
            SIGNALS => self.hear_signals(),
            token if token == OWNER.listener => self.meet_owner(),
            token if token == OWNER.reading => self.hear_owner(),
            // Both move on at the end of the turn.
            token if token == OWNER.writing || token == FILES => {}
            token => {
                let (slot, role) = place(token);
                if role == INPUT { self.feed(slot) } else { self.pump(slot) }
            }
        }
    }

    /// What was said in this turn goes out in one write; then what waited for room moves on.
    fn end_turn(&mut self) {
        self.relay_files();
        let had_room = self.owner.has_room();
        if !self.owner.flush() {
            return self.lose_owner();
        }
        if !had_room && self.owner.has_room() {
            self.table.slots().for_each(|slot| self.pump(slot));
            if !self.owner.flush() {
                return self.lose_owner();
            }
        }
        self.owner.watch(self.epoll.as_fd(), OWNER);
        if let Some(files) = &mut self.files {
            files.watch(self.owner.has_room(), self.epoll.as_fd(), FILES);
        }
    }

    /// Calls on files go to those who serve them, and their answers to the owner.
    fn relay_files(&mut self) {
        if let Some(files) = &mut self.files
            && !files.relay(&mut self.owner)
        {
            self.end_files();
        }
    }

    fn end_files(&mut self) {
        if let Some(files) = self.files.take() {
            files.end(&mut self.owner);
        }
    }

    fn hear_signals(&mut self) {
        let told = signals::read(&self.signals, self.facts.is_process_1);
        if told.asked_to_leave {
            self.leave();
        }
        if told.child_changed {
            self.reap();
        }
    }

    /// Takes all that have ended; then sees whether they left anyone.
    fn reap(&mut self) {
        while let Some((pid, status)) = self.children.reap() {
            let number = pid.as_raw_nonzero().get();
            if self.files.as_ref().is_some_and(|files| files.is(number)) {
                self.end_files();
            }
            if let Some(slot) = self.table.forget_leader(number) {
                self.with_job(slot, |job, context| job.leader_ended(Some(status), context));
            }
            // A stray's death may have brought up more of them.
            self.is_sweeping = true;
        }
        self.sweep();
    }

    fn sweep(&mut self) {
        if !self.is_sweeping {
            return;
        }
        let (table, files) = (&self.table, self.files.as_ref());
        let is_ours = |pid| table.is_leader(pid) || files.is_some_and(|files| files.is(pid));
        if self.children.sweep(is_ours, self.now) == Sweep::Busy {
            return;
        }
        // Before anybody hears that it has ended: the next one may make its own.
        if self.has_own_ipc && self.table.has_no_leader() {
            system_v::remove_all();
        }
        self.is_sweeping = self.table.jobs().any(|job| job.is_alive() && job.killed.is_some());
        for slot in self.table.slots() {
            if self.table.get_mut(slot).is_some_and(|job| job.stage == Stage::Ending) {
                self.with_job(slot, Job::drain);
                self.after_output(slot);
            }
        }
    }

    fn feed(&mut self, slot: usize) {
        self.with_job(slot, |job, context| {
            job.input.feed(context.owner, context.epoll, context.token + INPUT);
        });
    }

    pub(super) fn pump(&mut self, slot: usize) {
        if self.with_job(slot, Job::pump_all) == Some(true) {
            self.after_output(slot);
        }
    }

    /// A job has new output or has ended: its pollers hear of it, and a run that ended is forgotten.
    fn after_output(&mut self, slot: usize) {
        let Some(job) = self.table.get_mut(slot) else { return };
        let has_ended = job.stage == Stage::Ended;
        match &job.purpose {
            Purpose::Run { kept: Some(_), .. } if has_ended => self.table.forget_oldest(),
            Purpose::Run { .. } if has_ended => self.table.remove(slot),
            Purpose::Run { .. } => {}
            Purpose::Background(background) => {
                let process = background.process;
                self.answer_polls(|poll| poll.process == process, false);
                if has_ended {
                    self.table.forget_oldest();
                }
            }
        }
    }

    /// Answers those of the chosen polls for which there is something, or all of them.
    pub(super) fn answer_polls(&mut self, chosen: impl Fn(&PendingPoll) -> bool, even_empty: bool) {
        let mut at = 0;
        while let Some(poll) = self.polls.get(at).copied() {
            let answer = chosen(&poll).then(|| self.polled(poll)).flatten();
            let is_due =
                |polled: &PolledOutput| even_empty || !polled.bytes.is_empty() || polled.exit.is_some();
            match answer {
                Some(polled) if is_due(&polled) => {
                    self.owner.send(poll.request, CallAnswer::Polled(polled));
                    self.polls.swap_remove(at);
                }
                Some(_) => at += 1,
                None if chosen(&poll) => {
                    self.fail(poll.request, FailureKind::UnknownNumber);
                    self.polls.swap_remove(at);
                }
                None => at += 1,
            }
        }
    }

    pub(super) fn polled(&mut self, poll: PendingPoll) -> Option<PolledOutput> {
        let slot = self.table.process(poll.process)?;
        let job = self.table.get_mut(slot)?;
        let background = job.background()?;
        let (offset, bytes) = background.output.read(poll.offset, poll.max_bytes.min(MAX_PIECE_BYTES));
        let is_all = offset + bytes.len() as u64 == background.output.end();
        let exit = (job.stage == Stage::Ended && is_all).then(|| job.exit());
        Some(PolledOutput { bytes, offset, exit })
    }

    pub(super) fn with_job<T>(
        &mut self,
        slot: usize,
        act: impl FnOnce(&mut Job, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let job = self.table.get_mut(slot)?;
        let mut context = Context {
            owner: &mut self.owner,
            epoll: self.epoll.as_fd(),
            buffer: &mut self.buffer,
            now: self.now,
            token: token(slot),
        };
        Some(act(job, &mut context))
    }

    pub(super) fn fail(&mut self, request: u32, kind: FailureKind) {
        self.owner.send(request, CallAnswer::Failed(Failure { kind, errno: 0 }));
    }

    /// Whether anybody can come back for what is left here.
    pub(super) const fn outlives_owner(&self) -> bool {
        !matches!(self.linger, Linger::For(Duration::ZERO))
    }

    /// Killed, and soon seen to be gone.
    pub(super) fn kill(&mut self, slot: usize) {
        let now = self.now;
        self.with_job(slot, |job, _| job.kill(now));
        self.is_sweeping = true;
    }

    fn pass_time(&mut self) {
        let now = self.now;
        for slot in self.table.slots() {
            let Some(job) = self.table.get_mut(slot) else { continue };
            if job.deadline.is_some_and(|deadline| deadline <= now) {
                job.time_out(now);
                self.is_sweeping = true;
            }
            if job.drain_until().is_some_and(|until| until <= now) {
                self.pump(slot);
                continue;
            }
            // Its death is kept from us, by a tracer or the kernel: nobody waits for it.
            let is_kept = job.is_alive() && job.killed.is_some_and(|at| at + KILL_PATIENCE <= now);
            if is_kept {
                let leader = job.leader.as_raw_nonzero().get();
                self.with_job(slot, |job, context| job.leader_ended(None, context));
                self.table.forget_leader(leader);
            }
        }
        if self.is_sweeping {
            self.reap();
        }
        self.answer_polls(|poll| poll.until <= now, true);
        if self.leave_at.is_some_and(|at| at <= now) {
            self.leave();
        }
    }

    /// Until when nothing happens by itself.
    fn timeout(&self) -> Option<Timespec> {
        let jobs = self.table.jobs().flat_map(|job| [job.deadline, job.drain_until()]).flatten();
        let polls = self.polls.iter().map(|poll| poll.until);
        let sweep = self.is_sweeping.then(|| self.now + SWEEP_INTERVAL);
        let next = jobs.chain(polls).chain(self.leave_at).chain(sweep).min()?;
        let left = next.saturating_duration_since(Instant::now());
        // The kernel counts whole milliseconds here; to be early would be to be called again for nothing.
        let left = left.checked_add(Duration::from_micros(500)).unwrap_or(left);
        Some(Timespec { tv_sec: i64::try_from(left.as_secs()).ok()?, tv_nsec: left.subsec_nanos().into() })
    }

    fn meet_owner(&mut self) {
        if self.owner.accept(self.facts.is_process_1) {
            self.leave_at = None;
        }
    }

    fn hear_owner(&mut self) {
        if self.owner.read() == Received::Gone {
            return self.lose_owner();
        }
        loop {
            match self.owner.receive() {
                Received::Request(request) if self.owner.has_greeted() => self.answer(request),
                Received::Request(request) => {
                    if !self.greet(request.id, &request.call) {
                        return;
                    }
                }
                Received::Nothing => return,
                Received::Gone => return self.lose_owner(),
            }
        }
    }

    /// False: the two cannot talk, and the connection is closed.
    fn greet(&mut self, request: u32, call: &warren_init::Call) -> bool {
        let is_understood =
            matches!(call, warren_init::Call::Hello { version } if *version == PROTOCOL_VERSION);
        if is_understood {
            self.owner.greet();
            self.say_hello(request);
        } else {
            self.fail(request, FailureKind::Version);
            let _ = self.owner.flush();
            self.lose_owner();
        }
        is_understood
    }

    /// What the owner waited for goes with it. What it started stays only if the box is to linger.
    pub(super) fn lose_owner(&mut self) {
        self.owner.disconnect();
        self.forget_owner();
        match self.linger {
            Linger::For(Duration::ZERO) => self.leave(),
            Linger::For(linger) => self.leave_at = Some(self.now + linger),
            Linger::Forever => {}
        }
    }

    /// Ends what only the owner that was here could use.
    pub(super) fn forget_owner(&mut self) {
        self.polls.clear();
        if let Some(files) = self.files.take() {
            files.abandon();
        }
        for slot in self.table.slots() {
            let Some(job) = self.table.get_mut(slot) else { continue };
            job.forget_owner();
            if job.background().is_some() {
                continue;
            }
            if !job.outlives_its_owner() {
                job.forget_key();
                self.kill(slot);
                self.with_job(slot, |job, context| job.discard_output(context.epoll));
            }
            self.pump(slot);
        }
    }

    /// Kills everything in the box, and ends.
    pub(super) fn leave(&mut self) -> ! {
        self.table.jobs().for_each(|job| job.signal(Signal::KILL));
        self.children.kill_everything();
        let until = Instant::now() + KILL_PATIENCE;
        // With process 1 the kernel ends the rest; else they are ours to end.
        while !self.facts.is_process_1 && Instant::now() < until {
            while self.children.reap().is_some() {}
            if self.children.sweep(|_| false, Instant::now()) == Sweep::Clean {
                break;
            }
            let brief = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
            let _ = rustix::event::poll(&mut [], Some(&brief));
        }
        std::process::exit(0)
    }
}

const fn token(slot: usize) -> u64 {
    FIRST_SLOT + PER_SLOT * slot as u64
}

fn place(token: u64) -> (usize, u64) {
    let number = token.saturating_sub(FIRST_SLOT);
    (usize::try_from(number / PER_SLOT).unwrap_or(usize::MAX), number % PER_SLOT)
}
