//! When schedules fire, and what becomes of slots that cannot (X40 to X42).
//!
//! ```text
//!            next_slot S          latest due slot L      now
//!   ─────────────┬──────┬──────┬───────┬──────────────────┬─────▶
//!                │◀── missed ─▶│◀──── on time ───────────▶│
//!                │             │  (less than ON_TIME_MS late)
//!                └ skip | once | all    └ each fires
//! ```
//!
//! A slot is a moment, not a reading of the wall clock; which moments a cron names on the nights on which clocks change is
//! settled in `wall_clock`. A slot that was dealt with
//! is never looked at again: the next one is always after it, wherever the clock has been set in the meantime.

mod clockwork;
#[cfg(test)]
mod tests;
mod wall_clock;

pub use clockwork::{Clockwork, Problem, canonical_time_zone};

use warren_model::{
    MissedPolicy, OrgId, OverlapPolicy, Principal, RunCause, Schedule, ScheduleId, ScheduleSpec, SkipReason,
    Status, Timestamp, Timing, WorkspaceId,
};

/// A slot that is not later than this is on time: a restart of Warren in between is no reason to lose one.
pub const ON_TIME_MS: i64 = 60_000;

/// Slots that a record counts one by one; more are told as this many.
pub const MAX_COUNTED_SLOTS: u32 = 10_000;

/// How long a run belongs to whoever took it up, before another may.
pub const FIRE_LEASE_MS: i64 = 30_000;

/// How often a run is tried before it has failed.
pub const MAX_FIRE_ATTEMPTS: u32 = 10;

/// How much later a slot fires: the same in every process, and different for schedules with the same slots.
pub fn jitter_ms(id: ScheduleId, slot: Timestamp, jitter_seconds: u32) -> i64 {
    if jitter_seconds == 0 {
        return 0;
    }
    let (high, low) = id.as_bytes().split_at(8);
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("half of sixteen bytes"));
    let mixed = mix(mix(mix(slot.as_micros().cast_unsigned()) ^ number(high)) ^ number(low));
    let span = u64::from(jitter_seconds) * 1_000;
    i64::try_from(mixed % span).expect("less than a u32 of seconds")
}

/// One round of splitmix64: neighbours in, strangers out.
const fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The id of the schedule that a workspace gets from its template: the same however often the transaction is run.
pub fn template_schedule_id(workspace_id: WorkspaceId, position: usize, at: Timestamp) -> ScheduleId {
    let (high, low) = workspace_id.as_bytes().split_at(8);
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("half of sixteen bytes"));
    let first = mix(mix(number(high) ^ position as u64) ^ number(low));
    let mut random = [0; 10];
    random[..8].copy_from_slice(&first.to_be_bytes());
    random[8..].copy_from_slice(&mix(first).to_be_bytes()[..2]);
    ScheduleId::from_parts(at, random)
}

/// A schedule that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    pub name: String,
    pub timing: Timing,
    pub prompt: String,
    pub jitter_seconds: u32,
    pub missed: MissedPolicy,
    pub overlap: OverlapPolicy,
}

impl NewSchedule {
    /// What a template says; the rest is as usual.
    pub fn of_spec(spec: &ScheduleSpec) -> Self {
        let timing = match (&spec.cron, spec.every_seconds) {
            (Some(expression), _) => Timing::Cron {
                expression: expression.clone(),
                time_zone: spec.time_zone.clone().unwrap_or_else(|| "UTC".into()),
            },
            (None, seconds) => Timing::Every { seconds: seconds.unwrap_or(0) },
        };
        Self {
            name: spec.name.clone(),
            timing,
            prompt: spec.prompt.clone(),
            jitter_seconds: 0,
            missed: MissedPolicy::Once,
            overlap: OverlapPolicy::Skip,
        }
    }
}

/// For whom and by whom a schedule is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Making {
    pub id: ScheduleId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    pub by: Principal,
    pub now: Timestamp,
    pub min_seconds: u32,
}

/// A schedule as it would be made, with its first slot.
pub fn draft(new: NewSchedule, making: Making) -> Result<Schedule, Problem> {
    let mut schedule = Schedule {
        id: making.id,
        org_id: making.org_id,
        workspace_id: making.workspace_id,
        name: new.name,
        timing: new.timing,
        prompt: new.prompt,
        jitter_seconds: new.jitter_seconds,
        missed: new.missed,
        overlap: new.overlap,
        is_paused: false,
        next_slot: None,
        next_at: None,
        created_by: making.by,
        created_at: making.now,
        updated_at: making.now,
        version: 1,
        unreadable: None,
    };
    settle(&mut schedule, making.now, making.min_seconds)?;
    Ok(schedule)
}

/// Checks a schedule as it is now written, spells its time zone as the database does, and finds its next slot.
pub fn settle(schedule: &mut Schedule, now: Timestamp, min_seconds: u32) -> Result<(), Problem> {
    let characters = schedule.name.chars().count();
    if !(1..=Schedule::MAX_NAME_CHARACTERS).contains(&characters)
        || schedule.name.chars().any(char::is_control)
    {
        return Err(Problem::Name);
    }
    if schedule.prompt.is_empty() || schedule.prompt.contains('\0') {
        return Err(Problem::Prompt);
    }
    if schedule.prompt.len() > Schedule::MAX_PROMPT_BYTES {
        return Err(Problem::PromptTooLarge { bytes: schedule.prompt.len() });
    }
    if let Timing::Cron { time_zone, .. } = &mut schedule.timing {
        *time_zone = canonical_time_zone(time_zone)?;
    }
    let clockwork = Clockwork::read(&schedule.timing, schedule.created_at)?;
    let next = clockwork.check(now, min_seconds, schedule.jitter_seconds)?;
    let next = (!schedule.is_paused).then_some(next);
    schedule.next_slot = next;
    schedule.next_at = next.map(|slot| slot.plus_ms(jitter_ms(schedule.id, slot, schedule.jitter_seconds)));
    Ok(())
}

/// What a schedule says, as far as its slots go.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    pub id: ScheduleId,
    pub jitter_seconds: u32,
    pub missed: MissedPolicy,
    /// Slots that are caught up with.
    pub max_catch_up: u32,
}

impl Habits {
    pub fn of(schedule: &Schedule, max_catch_up: u32) -> Self {
        Self {
            id: schedule.id,
            jitter_seconds: schedule.jitter_seconds,
            missed: schedule.missed,
            max_catch_up,
        }
    }

    /// When a slot fires.
    pub fn due_at(&self, slot: Timestamp) -> Timestamp {
        slot.plus_ms(jitter_ms(self.id, slot, self.jitter_seconds))
    }
}

/// A slot that is to fire now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Firing {
    pub slot: Timestamp,
    pub cause: RunCause,
}

/// Slots that do not fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipping {
    pub first: Timestamp,
    pub last: Timestamp,
    /// [`MAX_COUNTED_SLOTS`] where there were more.
    pub count: u32,
    pub reason: SkipReason,
}

/// What is due of a schedule, and when it is to be looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub skipping: Option<Skipping>,
    /// The oldest first.
    pub firing: Vec<Firing>,
    /// After all of them.
    pub next_slot: Option<Timestamp>,
    pub next_at: Option<Timestamp>,
}

/// What is due at `now` of a schedule whose first slot that was not dealt with is `next_slot`.
pub fn plan(clockwork: &Clockwork, habits: &Habits, next_slot: Timestamp, now: Timestamp) -> Plan {
    let Some(latest) = latest_due(clockwork, habits, now).filter(|latest| *latest >= next_slot) else {
        // Its time has come and it is no slot any more: a government changed its clocks since it was written down.
        let has_moved = habits.due_at(next_slot) <= now;
        let next_slot = if has_moved { clockwork.after(now) } else { Some(next_slot) };
        let next_at = next_slot.map(|slot| habits.due_at(slot));
        return Plan { skipping: None, firing: Vec::new(), next_slot, next_at };
    };
    let max = habits.max_catch_up.max(1) as usize;
    let backwards = || slots_backwards(clockwork, latest, next_slot);
    let is_on_time = |slot: &Timestamp| now.ms_since(habits.due_at(*slot)) <= ON_TIME_MS;
    let on_time = backwards().take(max).take_while(is_on_time).count();
    let wanted = match habits.missed {
        MissedPolicy::Skip => on_time,
        MissedPolicy::Once => on_time.max(1),
        MissedPolicy::All => max,
    };
    let cause = |at: usize| if at < on_time { RunCause::Slot } else { RunCause::Missed };
    let mut firing: Vec<Firing> =
        backwards().take(wanted).enumerate().map(|(at, slot)| Firing { slot, cause: cause(at) }).collect();
    firing.reverse();
    let kept = firing.first().map_or(latest.plus_ms(1), |oldest| oldest.slot);
    let skipping = (kept > next_slot).then(|| {
        let reason = match habits.missed {
            MissedPolicy::Skip => SkipReason::Missed,
            MissedPolicy::Once => SkipReason::Coalesced,
            MissedPolicy::All => SkipReason::CatchUpLimit,
        };
        skipped_before(clockwork, next_slot, kept, reason)
    });
    let following = clockwork.after(latest);
    Plan { skipping, firing, next_slot: following, next_at: following.map(|slot| habits.due_at(slot)) }
}

/// The latest slot whose time to fire has come. Jitter is shorter than the time between slots, so that it is one of two.
fn latest_due(clockwork: &Clockwork, habits: &Habits, now: Timestamp) -> Option<Timestamp> {
    let newest = clockwork.at_or_before(now)?;
    if habits.due_at(newest) <= now { Some(newest) } else { clockwork.before(newest) }
}

/// Slots from `latest` back to `first`.
fn slots_backwards(
    clockwork: &Clockwork,
    latest: Timestamp,
    first: Timestamp,
) -> impl Iterator<Item = Timestamp> {
    std::iter::successors(Some(latest), |slot| clockwork.before(*slot)).take_while(move |slot| *slot >= first)
}

/// The slots from `first` to before `end`. `first` is always one of them.
fn skipped_before(clockwork: &Clockwork, first: Timestamp, end: Timestamp, reason: SkipReason) -> Skipping {
    let slots = std::iter::successors(Some(first), |slot| clockwork.after(*slot))
        .take_while(|slot| *slot < end)
        .take(MAX_COUNTED_SLOTS as usize);
    let count = u32::try_from(slots.count()).unwrap_or(MAX_COUNTED_SLOTS);
    let last = clockwork.before(end).map_or(first, |last| last.max(first));
    Skipping { first, last, count, reason }
}

/// What stands in the way of a slot, at the moment in which it is to fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    pub status: Status,
    /// Its runtime fires its own schedule (F17).
    pub has_own_scheduler: bool,
    pub overlap: OverlapPolicy,
    /// A run before this one is not over: not fired yet, or its task has not ended.
    pub is_previous_open: bool,
    /// Runs of the schedule that wait already.
    pub waiting: u32,
    pub max_waiting: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Fire,
    Wait,
    Skip(SkipReason),
    /// Nobody will ever be there again.
    Stop,
}

/// Whether a slot fires. A hibernated workspace is woken by a message, so that it fires as any other; so do those that
/// are on their way up or out of reach, whose queue keeps what comes.
pub fn admit(gate: &Gate) -> Admission {
    match gate.status {
        Status::Removed => return Admission::Stop,
        Status::Paused => return Admission::Skip(SkipReason::WorkspacePaused),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Hibernated => {}
    }
    if gate.has_own_scheduler {
        return Admission::Skip(SkipReason::OwnScheduler);
    }
    match gate.overlap {
        OverlapPolicy::Allow => Admission::Fire,
        OverlapPolicy::Skip | OverlapPolicy::Queue if !gate.is_previous_open => Admission::Fire,
        OverlapPolicy::Skip => Admission::Skip(SkipReason::Overlap),
        OverlapPolicy::Queue if gate.waiting >= gate.max_waiting => Admission::Skip(SkipReason::QueueFull),
        OverlapPolicy::Queue => Admission::Wait,
    }
}
