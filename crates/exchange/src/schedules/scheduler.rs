//! Finds what is due, and claims it (X41).
//!
//! ```text
//!   wake: the next deadline, a change, a second at most ──▶ anything due? (one read)
//!        │ yes
//!        ▼ one transaction: per schedule, the next slot is written under the version that was read, and its runs
//!   claimed runs ──▶ fired in the background, each by itself; nobody waits for one
//! ```
//!
//! A sleep is never longer than a second: a machine that was suspended, or whose clock was set, would sleep on past
//! its deadlines otherwise. What a dead process claimed is found again when the claim ends.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex, Notify, watch};
use warren_fleet::{BackgroundLoop, Tally};
use warren_model::event::{ScheduleChanged, ScheduleSkipped};
use warren_model::{
    ErrorCode, OverlapPolicy, Principal, RunState, Schedule, ScheduleChange, ScheduleRun, SkipReason, Status,
    Timestamp,
};
use warren_rules::messages::schedules::{
    self as schedule_rules, Admission, Clockwork, FIRE_LEASE_MS, Firing, Gate, Habits, MAX_FIRE_ATTEMPTS,
    Skipping,
};
use warren_service::{Context, Error};
use warren_store::{ReadTx, WriteTx};

use super::{change_of, event_of, new_run};
use crate::messages::Messages;

/// Schedules and runs of one transaction. What is left is taken up at once by the next.
const BATCH: u32 = 50;
/// How long a schedule rests that cannot be read.
const SET_ASIDE_MS: i64 = 3_600_000;
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Fires what is due. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Scheduler {
    pub(super) context: Context,
    pub(super) messages: Messages,
    /// Is told when schedules change in this process.
    changed: Arc<Notify>,
}

impl Scheduler {
    pub(crate) fn new(context: Context, messages: Messages) -> Self {
        Self { context, messages, changed: Arc::default() }
    }

    /// Looks again at what is due.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    /// What looks for due schedules, for whoever looks after it.
    pub(crate) fn background_loop(&self) -> impl BackgroundLoop + 'static {
        let newest = Mutex::new(self.context.store().newest_event());
        SchedulerLoop { scheduler: self.clone(), rest: Mutex::new(Rest::NONE), newest }
    }

    /// Claims all that is due and has it fired in the background. Returns how long there is nothing to do.
    pub async fn fire_due(&self) -> Result<Rest, Error> {
        loop {
            let now = self.context.now();
            let (next, waiting) = self
                .context
                .store()
                .read(move |tx| Ok::<_, Error>((tx.next_schedule_moment()?, tx.waiting_runs(BATCH)?)))
                .await?;
            let waiting = self.context.readable(waiting);
            let is_due = next.is_some_and(|at| at <= now);
            if is_due {
                self.claim_due(now).await?;
                self.take_over(now).await?;
            }
            let has_waiting = !waiting.is_empty();
            if has_waiting {
                self.release_waiting(waiting, now).await?;
            }
            if !is_due || self.context.stopping().is_cancelled() {
                return Ok(Rest { until: next.filter(|_| !is_due), has_waiting });
            }
        }
    }

    async fn claim_due(&self, now: Timestamp) -> Result<(), Error> {
        let due =
            self.context.store().read(move |tx| tx.due_schedules(now, BATCH).map_err(Error::from)).await?;
        match self.claim_schedules(due.clone(), now).await {
            Err(error) if error.code == ErrorCode::DatabaseDamaged => {}
            claimed => return claimed,
        }
        // Something that belongs to one of them cannot be read: each by itself, so that it holds up no other.
        for schedule in due {
            match self.claim_schedules(vec![schedule.clone()], now).await {
                Err(error) if error.code == ErrorCode::DatabaseDamaged => {
                    tracing::error!(schedule.id = %schedule.id, %error, "a schedule cannot be fired; it is set aside");
                    self.context.store().write(move |tx| set_aside(tx, &schedule, now)).await?;
                }
                claimed => claimed?,
            }
        }
        Ok(())
    }

    async fn claim_schedules(&self, due: Vec<Schedule>, now: Timestamp) -> Result<(), Error> {
        let (service, max) = (self.clone(), self.context.limits().max_schedule_catch_up);
        let claimed = self
            .context
            .store()
            .write(move |tx| {
                let mut claimed = Vec::new();
                for schedule in due.clone() {
                    claimed.extend(service.claim_slots(tx, schedule, max, now)?);
                }
                Ok::<_, Error>(claimed)
            })
            .await?;
        for run in claimed {
            self.fire_in_background(run);
        }
        Ok(())
    }

    /// Moves one schedule on and writes its runs. Returns those to be fired.
    fn claim_slots(
        &self,
        tx: &mut dyn WriteTx,
        mut schedule: Schedule,
        max: u32,
        now: Timestamp,
    ) -> Result<Vec<ScheduleRun>, Error> {
        if schedule.unreadable.is_some() {
            set_aside(tx, &schedule, now)?;
            return Ok(Vec::new());
        }
        let status = tx.workspace(schedule.workspace_id)?.map_or(Status::Removed, |row| row.status);
        let clockwork = Clockwork::read(&schedule.timing, schedule.created_at);
        let (Ok(clockwork), Some(next)) = (clockwork, schedule.next_slot) else {
            // A zone or a spelling that an older Warren knew and this one does not.
            return stop(tx, schedule, ScheduleChange::Unreadable, now);
        };
        if status == Status::Removed {
            return stop(tx, schedule, ScheduleChange::Stopped, now);
        }
        let plan = schedule_rules::plan(&clockwork, &Habits::of(&schedule, max), next, now);
        (schedule.next_slot, schedule.next_at) = (plan.next_slot, plan.next_at);
        schedule.updated_at = now;
        // First of all: whoever read an old version writes nothing.
        match tx.update_schedule(&schedule, schedule.version) {
            Ok(version) => schedule.version = version,
            Err(warren_store::Error::Conflict) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let mut gate = gate(tx, &schedule, status, max)?;
        let mut runs = Vec::new();
        if let Some(skipping) = plan.skipping {
            runs.push(skipped(&schedule, &skipping, now));
        }
        for firing in &plan.firing {
            let run = admitted(&schedule, firing, &gate, now);
            gate.is_previous_open |= !run.state.is_final();
            gate.waiting += u32::from(run.state == RunState::Waiting);
            runs.push(run);
        }
        let mut claimed = Vec::new();
        for (at, mut run) in runs.into_iter().enumerate() {
            // Runs of one schedule sort by when they were made, also those of one moment.
            run.id = self.context.entropy().id(now.plus_ms(i64::try_from(at).unwrap_or(0)));
            if tx.insert_schedule_run(&run)? {
                tell_skip(tx, &schedule, &run, now)?;
                claimed.extend((run.state == RunState::Claimed).then_some(run));
            }
        }
        Ok(claimed)
    }

    /// Runs whose claim has ended: whoever had it is gone, or could not send.
    async fn take_over(&self, now: Timestamp) -> Result<(), Error> {
        let service = self.clone();
        let taken = self
            .context
            .store()
            .write(move |tx| {
                let mut taken = Vec::new();
                for mut run in service.context.readable(tx.unfinished_runs(now, BATCH)?) {
                    let attempts = run.attempts;
                    if attempts >= MAX_FIRE_ATTEMPTS {
                        super::fire::fail(tx, run, "unreachable", now)?;
                        continue;
                    }
                    run.attempts += 1;
                    run.lease_until = Some(now.plus_ms(FIRE_LEASE_MS));
                    if tx.update_schedule_run(&run, RunState::Claimed, attempts)? {
                        taken.push(run);
                    }
                }
                Ok::<_, Error>(taken)
            })
            .await?;
        for run in taken {
            self.fire_in_background(run);
        }
        Ok(())
    }

    /// Of runs that wait for the one before, those that need not any more.
    async fn release_waiting(&self, waiting: Vec<ScheduleRun>, now: Timestamp) -> Result<(), Error> {
        let released = self
            .context
            .store()
            .write(move |tx| {
                let mut released = Vec::new();
                for mut run in waiting.clone() {
                    if is_task_open(tx, run.schedule_id)? {
                        continue;
                    }
                    let attempts = run.attempts;
                    run.state = RunState::Claimed;
                    run.attempts += 1;
                    run.lease_until = Some(now.plus_ms(FIRE_LEASE_MS));
                    if tx.update_schedule_run(&run, RunState::Waiting, attempts)? {
                        released.push(run);
                    }
                }
                Ok::<_, Error>(released)
            })
            .await?;
        for run in released {
            self.fire_in_background(run);
        }
        Ok(())
    }
}

/// How long the scheduler has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub until: Option<Timestamp>,
    /// Some run waits for a task to end.
    pub has_waiting: bool,
}

impl Rest {
    const NONE: Self = Self { until: None, has_waiting: false };
}

#[derive(Debug)]
struct SchedulerLoop {
    scheduler: Scheduler,
    /// How the last run left it.
    rest: Mutex<Rest>,
    newest: Mutex<watch::Receiver<u64>>,
}

#[async_trait]
impl BackgroundLoop for SchedulerLoop {
    fn name(&self) -> &'static str {
        "schedules"
    }

    fn meaning(&self) -> &'static str {
        "Fires schedules that are due."
    }

    fn interval(&self) -> Duration {
        LONGEST_SLEEP
    }

    async fn run(&self, _tally: &mut Tally) -> Result<(), Error> {
        *self.rest.lock().await = Rest::NONE;
        let rest = self.scheduler.fire_due().await?;
        *self.rest.lock().await = rest;
        Ok(())
    }

    async fn rest(&self) {
        let (until, has_waiting) = {
            let rest = self.rest.lock().await;
            (rest.until, rest.has_waiting)
        };
        let now = self.scheduler.context.now();
        let sleep = until.map_or(LONGEST_SLEEP, |at| {
            Duration::from_millis(u64::try_from(at.ms_since(now)).unwrap_or(0)).min(LONGEST_SLEEP)
        });
        let mut newest = self.newest.lock().await;
        tokio::select! {
            () = self.scheduler.changed.notified() => {}
            // The end of a task is an event, and may be what a run waits for.
            _ = newest.changed(), if has_waiting => {}
            () = tokio::time::sleep(sleep) => {}
        }
    }
}

/// Looked at again in a while, perhaps by a Warren that can read it: its slots are then missed ones.
fn set_aside(tx: &mut dyn WriteTx, schedule: &Schedule, now: Timestamp) -> Result<(), Error> {
    if !tx.postpone_schedule(schedule.id, schedule.version, now.plus_ms(SET_ASIDE_MS))? {
        return Ok(());
    }
    let problem = schedule.unreadable.clone();
    let data = ScheduleChanged { problem, ..change_of(schedule, ScheduleChange::SetAside) };
    let by = Principal::system("scheduler");
    Ok(tx.append_event(&event_of(schedule, &by, now, data))?)
}

/// Nobody is there to be spoken to, or nobody knows when.
fn stop(
    tx: &mut dyn WriteTx,
    mut schedule: Schedule,
    change: ScheduleChange,
    now: Timestamp,
) -> Result<Vec<ScheduleRun>, Error> {
    schedule.is_paused = true;
    (schedule.next_slot, schedule.next_at) = (None, None);
    schedule.updated_at = now;
    match tx.update_schedule(&schedule, schedule.version) {
        Ok(_) => {}
        Err(warren_store::Error::Conflict) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let by = Principal::system("scheduler");
    tx.append_event(&event_of(&schedule, &by, now, change_of(&schedule, change)))?;
    Ok(Vec::new())
}

fn gate(tx: &mut dyn ReadTx, schedule: &Schedule, status: Status, max: u32) -> Result<Gate, Error> {
    let has_own_scheduler = tx.vitals(schedule.workspace_id)?.displaced.scheduler;
    let waiting = tx.schedule_runs_in(schedule.id, RunState::Waiting, max)?.len();
    let is_previous_open = match schedule.overlap {
        OverlapPolicy::Allow => false,
        OverlapPolicy::Skip | OverlapPolicy::Queue => waiting > 0 || is_task_open(tx, schedule.id)?,
    };
    let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
    let overlap = schedule.overlap;
    Ok(Gate { status, has_own_scheduler, overlap, is_previous_open, waiting, max_waiting: max })
}

/// Whether a run is being fired, or the task of the last that was fired has not ended.
fn is_task_open(tx: &mut dyn ReadTx, of: warren_model::ScheduleId) -> Result<bool, Error> {
    if !tx.schedule_runs_in(of, RunState::Claimed, 1)?.is_empty() {
        return Ok(true);
    }
    let last = tx.schedule_runs_in(of, RunState::Fired, 1)?.pop();
    let Some(task_id) = last.and_then(|run| run.task_id) else { return Ok(false) };
    Ok(tx.task(task_id)?.is_some_and(|task| !task.state.is_final()))
}

/// A run for a slot, as the gate lets it through. Its id is given later.
fn admitted(schedule: &Schedule, firing: &Firing, gate: &Gate, now: Timestamp) -> ScheduleRun {
    let id = warren_model::ScheduleRunId::from_bytes([0; 16]);
    let run = ScheduleRun { cause: firing.cause, ..new_run(id, schedule, Some(firing.slot), now) };
    match schedule_rules::admit(gate) {
        Admission::Fire => ScheduleRun {
            state: RunState::Claimed,
            attempts: 1,
            lease_until: Some(now.plus_ms(FIRE_LEASE_MS)),
            ..run
        },
        Admission::Wait => run,
        Admission::Skip(reason) => ended(run, reason, now),
        Admission::Stop => ended(run, SkipReason::WorkspacePaused, now),
    }
}

fn skipped(schedule: &Schedule, skipping: &Skipping, now: Timestamp) -> ScheduleRun {
    let id = warren_model::ScheduleRunId::from_bytes([0; 16]);
    let run = ScheduleRun {
        cause: warren_model::RunCause::Missed,
        last_slot: (skipping.last > skipping.first).then_some(skipping.last),
        slots: skipping.count,
        ..new_run(id, schedule, Some(skipping.first), now)
    };
    ended(run, skipping.reason, now)
}

fn ended(run: ScheduleRun, reason: SkipReason, now: Timestamp) -> ScheduleRun {
    ScheduleRun {
        state: RunState::Skipped,
        reason: Some(reason.as_str().to_owned()),
        ended_at: Some(now),
        ..run
    }
}

fn tell_skip(
    tx: &mut dyn WriteTx,
    schedule: &Schedule,
    run: &ScheduleRun,
    now: Timestamp,
) -> Result<(), Error> {
    if run.state != RunState::Skipped {
        return Ok(());
    }
    let data = ScheduleSkipped {
        schedule_id: schedule.id,
        run_id: run.id,
        name: schedule.name.clone(),
        slot: run.slot,
        slots: run.slots,
        reason: run.reason.as_deref().and_then(SkipReason::parse),
    };
    Ok(tx.append_event(&event_of(schedule, &schedule.principal(), now, data))?)
}
