//! A small fleet, its runtimes, and a Warren that may be down.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warren_model::{
    CapabilitySet, Desired, MemoryConfig, Mending, OrgId, ProviderConfig, Runtime, RuntimeReport as Report,
    RuntimeState, Status, Timestamp, Vitals, Workspace, WorkspaceId, WorkspaceSpec,
};
use warren_rules::lifecycle::reconcile::{Opened, Step, is_well_again, judge_open, next_step};
use warren_rules::lifecycle::startup::{StartAction, plan as plan_start};
use warren_rules::lifecycle::sweeps::{Act, Sweep, Then, deed};
use warren_rules::lifecycle::vitals::{Expectations, after_change, after_report};
use warren_rules::lifecycle::{Decision, Facts, Signal, enter, is_booting, signal_towards, transition};

use super::chance::Chance;

const SWEEP_EVERY_MS: i64 = 5_000;
const BEAT_EVERY_MS: i64 = 30_000;
const LIVENESS_MS: i64 = 90_000;
const PROVISION_MS: i64 = 600_000;
const HOUR_MS: i64 = 3_600_000;
/// More restarts than this in an hour, without anybody's asking, would be a storm.
const MAX_MENDINGS_PER_HOUR: usize = 12;
const SWEEPS: [Sweep; 5] =
    [Sweep::Liveness, Sweep::Stalls, Sweep::Provisioning, Sweep::Mending, Sweep::Hibernation];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) clock_jumps: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Event {
    Sweep,
    /// The runtime says something, or would.
    Beat {
        at: usize,
        boot: u32,
    },
    /// What it said comes in.
    Report {
        at: usize,
        boot: u32,
        report: Report,
    },
    /// The provider answers; `life` is the life of Warren that asked.
    OpenAnswers {
        at: usize,
        generation: u64,
        is_open: bool,
        life: u32,
    },
    RuntimeStarts {
        at: usize,
        boot: u32,
    },
    RuntimeDies {
        at: usize,
    },
    Asked {
        at: usize,
    },
    WarrenDies,
    WarrenStarts,
    ClockJumps,
}

/// The process in the box, or elsewhere.
#[derive(Debug, Clone, Default)]
struct Agent {
    boot: u32,
    is_alive: bool,
    is_wedged: bool,
    tasks: u32,
    makes_progress: bool,
    /// By the true time.
    last_heard: Option<i64>,
}

#[derive(Debug)]
struct Place {
    row: Workspace,
    vitals: Vitals,
    agent: Agent,
    /// When it was restarted by itself, by the true time.
    mendings: Vec<i64>,
}

#[derive(Debug)]
pub(crate) struct World {
    chance: Chance,
    faults: Faults,
    /// The true time; Warren's clock is ahead of it by `skew`.
    now: i64,
    skew: i64,
    is_up: bool,
    /// Since when Warren is up, by the true time.
    up_since: i64,
    life: u32,
    places: Vec<Place>,
    queue: BinaryHeap<Reverse<(i64, u64)>>,
    events: Vec<Option<Event>>,
    checks: u64,
    fingerprint: u64,
}

impl World {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let mut world = Self {
            chance: Chance::new(seed),
            faults,
            now: 0,
            skew: 0,
            is_up: true,
            up_since: 0,
            life: 0,
            places: Vec::new(),
            queue: BinaryHeap::new(),
            events: Vec::new(),
            checks: 0,
            fingerprint: 0,
        };
        for (number, runtime) in
            [Runtime::Resident, Runtime::Resident, Runtime::External, Runtime::Hosted].into_iter().enumerate()
        {
            world.create(number, runtime);
        }
        world.after(SWEEP_EVERY_MS, Event::Sweep);
        let first = world.chance.between(HOUR_MS, 6 * HOUR_MS);
        world.after(first, Event::WarrenDies);
        if faults.clock_jumps {
            world.after(2 * HOUR_MS, Event::ClockJumps);
        }
        world
    }

    fn create(&mut self, at: usize, runtime: Runtime) {
        let now = self.clock();
        let provider = ProviderConfig::Memory(MemoryConfig::default());
        let mut row = Workspace {
            id: WorkspaceId::from_parts(now, [u8::try_from(at).unwrap(); 10]),
            org_id: OrgId::DEFAULT,
            parent_id: None,
            name: "a".parse().unwrap(),
            spec: WorkspaceSpec { runtime, ..WorkspaceSpec::new(provider, CapabilitySet::EMPTY) },
            generation: 1,
            observed_generation: 0,
            secrets_since: None,
            version: 1,
            status: Status::Provisioning,
            reason: None,
            reference: None,
            created_at: now,
            updated_at: now,
            provisioning_started_at: Some(now),
            provision_deadline: Some(now.plus_ms(PROVISION_MS)),
            mending: Mending { attempts: 0, next_at: Some(now.plus_ms(60_000)) },
            removed_at: None,
            is_purged: false,
        };
        // Two of three fall asleep when they have nothing to do.
        row.spec.hibernate_after_seconds = self.chance.percent(66).then_some(3_600);
        self.places.push(Place {
            row,
            vitals: Vitals::default(),
            agent: Agent::default(),
            mendings: Vec::new(),
        });
        self.reconcile(at);
        if runtime == Runtime::External {
            self.start_runtime(at, 30_000);
        }
        let first = self.chance.between(HOUR_MS / 2, 3 * HOUR_MS);
        self.after(first, Event::Asked { at });
    }

    pub(crate) fn checks(&self) -> u64 {
        self.checks
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Warren's clock.
    fn clock(&self) -> Timestamp {
        Timestamp::from_micros((1_800_000_000_000 + self.now + self.skew) * 1_000)
    }

    fn after(&mut self, wait: i64, event: Event) {
        let number = self.events.len();
        self.events.push(Some(event));
        self.queue.push(Reverse((self.now + wait, number as u64)));
    }

    pub(crate) fn run_until(&mut self, end: i64) {
        while let Some(Reverse((at, number))) = self.queue.pop() {
            if at > end {
                return;
            }
            self.now = at;
            let event = self.events[usize::try_from(number).unwrap()].take().unwrap();
            let before: Vec<Status> = self.places.iter().map(|place| place.row.status).collect();
            self.happen(&event);
            self.check(&event, &before);
            for place in &self.places {
                let mark = place.row.status as u64 ^ place.row.generation;
                self.fingerprint = self.fingerprint.wrapping_mul(31).wrapping_add(mark);
            }
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Sweep => {
                self.after(SWEEP_EVERY_MS, Event::Sweep);
                if self.is_up {
                    self.sweep();
                }
            }
            Event::Beat { at, boot } => self.beat(*at, *boot),
            Event::Report { at, boot, report } => self.hear(*at, *boot, report),
            Event::OpenAnswers { at, generation, is_open, life } => {
                if *life == self.life && self.is_up {
                    self.opened(*at, *generation, *is_open);
                }
            }
            Event::RuntimeStarts { at, boot } => self.runtime_starts(*at, *boot),
            Event::RuntimeDies { at } => {
                self.places[*at].agent.is_alive = false;
                // What lives elsewhere is started again by whoever runs it.
                if self.places[*at].row.spec.runtime == Runtime::External {
                    let wait = self.chance.between(1_000, HOUR_MS);
                    self.start_runtime(*at, wait);
                }
            }
            Event::Asked { at } => self.ask(*at),
            Event::WarrenDies => {
                self.is_up = false;
                let wait = self.chance.one_of(&[100, 5_000, 60_000, 600_000]);
                self.after(wait, Event::WarrenStarts);
            }
            Event::WarrenStarts => self.warren_starts(),
            Event::ClockJumps => {
                self.skew += self.chance.one_of(&[-HOUR_MS, -60_000, 60_000, HOUR_MS]);
                let wait = self.chance.between(2 * HOUR_MS, 8 * HOUR_MS);
                self.after(wait, Event::ClockJumps);
            }
        }
    }

    fn warren_starts(&mut self) {
        self.is_up = true;
        self.up_since = self.now;
        self.life += 1;
        for at in 0..self.places.len() {
            match plan_start(&self.places[at].row) {
                StartAction::Reconcile | StartAction::FinishRemoval => self.reconcile(at),
                StartAction::Keep | StartAction::MarkLost | StartAction::Nothing => {}
                StartAction::Settle => {
                    let row = &mut self.places[at].row;
                    row.observed_generation = row.generation;
                }
            }
        }
        let wait = self.chance.between(HOUR_MS, 6 * HOUR_MS);
        self.after(wait, Event::WarrenDies);
    }

    // The carriers: as the fleet's, with a map in place of the database.

    fn signal(&mut self, at: usize, signal: Signal) -> bool {
        let now = self.clock();
        let place = &mut self.places[at];
        let facts = Facts::of(&place.row, &place.vitals, now);
        match transition(place.row.status, signal, &facts) {
            Decision::Change(change) => {
                enter(&mut place.row, change, None, None, now);
                if let Some(vitals) = after_change(place.row.spec.runtime, place.row.status, &place.vitals) {
                    place.vitals = vitals;
                }
                let is_boxed = place.row.spec.runtime == Runtime::Resident;
                if is_boxed
                    && matches!(
                        place.row.status,
                        Status::Paused | Status::Hibernated | Status::Provisioning | Status::Removed
                    )
                {
                    place.agent = Agent { boot: place.agent.boot + 1, ..Agent::default() };
                }
                true
            }
            Decision::Stay => true,
            Decision::Refuse(_) => false,
        }
    }

    fn wish(&mut self, at: usize, desired: Desired) {
        let row = &self.places[at].row;
        let Some(signal) = signal_towards(row.status, desired) else { return };
        let known = row.clone();
        self.places[at].row.spec.desired = desired;
        self.places[at].row.generation += 1;
        if !self.signal(at, signal) {
            self.places[at].row = known;
            return;
        }
        self.reconcile(at);
    }

    fn reconcile(&mut self, at: usize) {
        loop {
            let row = &mut self.places[at].row;
            match next_step(row) {
                Step::Open { .. } => {
                    let (generation, life) = (row.generation, self.life);
                    let wait = self.chance.one_of(&[100, 1_000, 20_000, 300_000, 900_000]);
                    let is_open = self.chance.percent(90);
                    return self.after(wait, Event::OpenAnswers { at, generation, is_open, life });
                }
                Step::Close | Step::Settle => {
                    row.observed_generation = row.generation;
                    row.mending = Mending::default();
                }
                Step::Restart => {
                    self.signal(at, Signal::Restart);
                }
                Step::Destroy | Step::Erase | Step::Rest => return,
            }
        }
    }

    fn opened(&mut self, at: usize, generation: u64, is_open: bool) {
        let row = &mut self.places[at].row;
        row.observed_generation = row.observed_generation.max(generation);
        if judge_open(row.generation, generation) == Opened::AsWanted {
            let before = row.status;
            self.signal(at, if is_open { Signal::PlaceReady } else { Signal::PlaceFailed });
            let row = &self.places[at].row;
            if before != row.status
                && row.status == Status::AwaitingAgent
                && row.spec.runtime == Runtime::Resident
            {
                let wait = self.chance.one_of(&[1_000, 10_000, 120_000]);
                self.start_runtime(at, wait);
            }
        }
        self.reconcile(at);
    }

    fn sweep(&mut self) {
        for sweep in SWEEPS {
            for at in 0..self.places.len() {
                self.carry_out(sweep, at);
            }
        }
    }

    fn carry_out(&mut self, sweep: Sweep, at: usize) {
        let now = self.clock();
        let place = &mut self.places[at];
        let Some(deed) = deed(sweep, &place.row, &place.vitals, now) else { return };
        place.row = deed.row;
        match deed.act {
            Act::Write => {}
            Act::Signal(signal) => {
                if signal == Signal::Restart {
                    place.mendings.push(self.now);
                }
                self.signal(at, signal);
            }
            Act::SetDesired(desired) => return self.wish(at, desired),
        }
        if let Some(vitals) = deed.vitals {
            self.places[at].vitals = vitals;
        }
        match deed.then {
            // Whoever asks finds nothing out here.
            Then::Nothing | Then::Probe => {}
            Then::Reconcile => self.reconcile(at),
        }
    }

    // The runtimes, and those who ask.

    fn start_runtime(&mut self, at: usize, wait: i64) {
        let agent = &mut self.places[at].agent;
        agent.boot += 1;
        let boot = agent.boot;
        self.after(wait, Event::RuntimeStarts { at, boot });
    }

    fn runtime_starts(&mut self, at: usize, boot: u32) {
        if self.places[at].agent.boot != boot || self.chance.percent(5) {
            return;
        }
        let agent = &mut self.places[at].agent;
        *agent = Agent { boot, is_alive: true, makes_progress: true, ..Agent::default() };
        let lives = self.chance.one_of(&[40_000, 10 * 60_000, 4 * HOUR_MS, 24 * HOUR_MS]);
        self.after(lives, Event::RuntimeDies { at });
        self.after(0, Event::Beat { at, boot });
    }

    fn beat(&mut self, at: usize, boot: u32) {
        let agent = &mut self.places[at].agent;
        if agent.boot != boot || !agent.is_alive {
            return;
        }
        if self.chance.percent(3) {
            agent.is_wedged = !agent.is_wedged;
        }
        if self.chance.percent(10) {
            agent.tasks = u32::try_from(self.chance.between(0, 3)).unwrap();
            agent.makes_progress = self.chance.percent(80);
        }
        let agent = agent.clone();
        let says_all = self.chance.percent(50);
        let ahead = self.chance.one_of(&[0, 0, 0, -5_000, 7_200_000]);
        let state = if agent.is_wedged { RuntimeState::Wedged } else { RuntimeState::Well };
        let report = Report {
            runtime_state: says_all.then_some(state),
            active_tasks: says_all.then_some(agent.tasks),
            last_progress_at: agent.makes_progress.then(|| self.clock().plus_ms(ahead)),
            error_rate: says_all.then(|| self.chance.one_of(&[0.0, 0.05, 0.3, 0.6])),
            ..Report::default()
        };
        if !self.chance.percent(15) {
            let late = self.chance.one_of(&[10, 50, 2_000, 45_000]);
            self.after(late, Event::Report { at, boot, report: report.clone() });
            if self.chance.percent(10) {
                self.after(late + 20_000, Event::Report { at, boot, report });
            }
        }
        self.after(BEAT_EVERY_MS, Event::Beat { at, boot });
    }

    fn hear(&mut self, at: usize, boot: u32, report: &Report) {
        let place = &mut self.places[at];
        // Its credential ended with its boot, or with the workspace.
        if !self.is_up || place.agent.boot != boot || place.row.status == Status::Removed {
            return;
        }
        place.agent.last_heard = Some(self.now);
        let now = self.clock();
        let place = &mut self.places[at];
        let expectations = Expectations::default();
        let (mut vitals, _) = after_report(&place.vitals, report, &place.row.spec, &expectations, now);
        if matches!(place.row.status, Status::Paused | Status::Hibernated) {
            vitals.liveness_deadline = None;
            vitals.stall_deadline = None;
            vitals.idle_deadline = None;
        }
        place.vitals = vitals;
        self.signal(at, Signal::Heartbeat);
        let place = &mut self.places[at];
        if is_well_again(&place.row, now) {
            place.row.mending = Mending::default();
        }
    }

    fn ask(&mut self, at: usize) {
        let next = self.chance.between(HOUR_MS / 4, 4 * HOUR_MS);
        self.after(next, Event::Asked { at });
        if !self.is_up {
            return;
        }
        match self.chance.between(0, 100) {
            0..25 => self.wish(at, Desired::Paused),
            25..60 => self.wish(at, Desired::Running),
            60..75 => self.wish(at, Desired::Hibernated),
            75..90 => {
                self.places[at].row.generation += 1;
                let is_taken = self.signal(at, Signal::Restart);
                if is_taken {
                    self.places[at].row.mending.attempts = 0;
                    self.places[at].mendings.clear();
                } else {
                    self.places[at].row.generation -= 1;
                }
                self.reconcile(at);
            }
            90..98 => {
                self.signal(at, Signal::Reset);
                self.reconcile(at);
            }
            _ if self.places[at].row.status != Status::Removed => {
                self.wish(at, Desired::Removed);
                // Another takes its turn, so that the world does not fall silent.
                let (next, runtime) = (self.places.len(), self.places[at].row.spec.runtime);
                self.create(next, runtime);
            }
            _ => {}
        }
    }

    // What must hold after whatever happened.

    fn check(&mut self, event: &Event, before: &[Status]) {
        for (at, was) in before.iter().enumerate() {
            let place = &self.places[at];
            let story = || format!("{event:?} at {} ms made {was} into {place:#?}", self.now);
            if *was == Status::Removed {
                assert_eq!(place.row.status, Status::Removed, "there is no way back: {}", story());
            }
            if place.row.observed_generation > place.row.generation {
                panic!("what was not asked for was brought about: {}", story());
            }
            self.check_report(event, at, *was);
            self.checks += 1;
        }
        if *event == Event::Sweep && self.is_up {
            for at in 0..self.places.len() {
                self.check_swept(at);
            }
        }
    }

    fn check_report(&self, event: &Event, at: usize, was: Status) {
        let place = &self.places[at];
        match event {
            Event::Report { at: of, .. } if *of == at && place.agent.last_heard == Some(self.now) => {
                let allowed = match was {
                    Status::Paused | Status::Hibernated => place.row.status == was,
                    _ => matches!(place.row.status, Status::Online | Status::Degraded),
                };
                assert!(allowed, "a report is proof of life and wakes nobody: {was} → {place:#?}");
                if place.vitals.runtime_state == RuntimeState::Wedged {
                    assert_ne!(place.row.status, Status::Online, "a wedge was papered over: {place:#?}");
                }
            }
            // Nobody leaves a rest by itself.
            Event::Asked { .. } => {}
            _ if matches!(was, Status::Paused | Status::Hibernated) => {
                assert_eq!(place.row.status, was, "{event:?} woke it: {place:#?}");
            }
            _ => {}
        }
    }

    /// After a sweep, with Warren's own clock.
    fn check_swept(&self, at: usize) {
        let place = &self.places[at];
        let (row, now) = (&place.row, self.clock());
        if row.spec.runtime != Runtime::Hosted && matches!(row.status, Status::Online | Status::Degraded) {
            let is_expected = place.vitals.liveness_deadline.is_some_and(|deadline| deadline > now);
            assert!(is_expected, "a silent one is taken for alive: {place:#?}");
        }
        if is_booting(row.status) {
            assert!(
                row.provision_deadline.is_some_and(|deadline| deadline > now),
                "it boots for ever: {place:#?}"
            );
        }
        if row.status == Status::Offline && row.spec.runtime == Runtime::Resident {
            assert!(row.mending.next_at.is_some_and(|at| at > now), "nobody mends it: {place:#?}");
        }
        let hour_ago = self.now - HOUR_MS;
        let mendings = place.mendings.iter().filter(|mended| **mended > hour_ago).count();
        assert!(mendings <= MAX_MENDINGS_PER_HOUR, "{mendings} restarts in an hour: {place:#?}");
        if !self.faults.clock_jumps {
            self.check_truth(at);
        }
    }

    /// What can be told from outside, as long as clocks are true.
    fn check_truth(&self, at: usize) {
        let place = &self.places[at];
        let Some(heard) = place.agent.last_heard else { return };
        let silence = self.now - heard;
        match place.row.status {
            Status::Offline => {
                assert!(silence >= LIVENESS_MS, "it reported {silence} ms ago: {place:#?}");
            }
            Status::Online | Status::Degraded if place.row.spec.runtime != Runtime::Hosted => {
                assert!(silence < LIVENESS_MS + SWEEP_EVERY_MS, "silent for {silence} ms: {place:#?}");
            }
            _ => {}
        }
    }
}
