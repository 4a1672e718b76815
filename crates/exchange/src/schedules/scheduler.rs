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

use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use warren_fleet::Error;
use warren_fleet::schedule_rules::{
    self, Admission, Clockwork, FIRE_LEASE_MS, Firing, Gate, Habits, MAX_FIRE_ATTEMPTS, Skipping,
};
use warren_model::{
    ErrorCode, EventKind, OverlapPolicy, Principal, RunState, Schedule, ScheduleRun, SkipReason, Status,
    Timestamp,
};
use warren_store::{ReadTx, WriteTx};

use super::{event_of, new_run};
use crate::Exchange;

/// Schedules and runs of one transaction. What is left is taken up at once by the next.
const BATCH: u32 = 50;
/// How long a schedule rests that cannot be read.
const SET_ASIDE_MS: i64 = 3_600_000;
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Told when schedules change in this process.
#[derive(Debug, Default)]
pub(crate) struct Wake(Notify);

impl Exchange {
    pub(crate) fn schedules_changed(&self) {
        self.0.schedules.0.notify_one();
    }

    pub(crate) fn start_scheduler(&self) {
        let exchange = self.clone();
        self.0.tasks.spawn(async move { exchange.keep_scheduling().await });
    }

    async fn keep_scheduling(&self) {
        let mut newest = self.store().newest_event();
        loop {
            let rest = match self.fire_due_schedules().await {
                Ok(rest) => rest,
                Err(error) => {
                    tracing::warn!(%error, "schedules could not be looked at; it is tried again");
                    Rest { until: None, has_waiting: false }
                }
            };
            let now = self.clock().now();
            let sleep = rest.until.map_or(LONGEST_SLEEP, |at| {
                Duration::from_millis(u64::try_from(at.ms_since(now)).unwrap_or(0)).min(LONGEST_SLEEP)
            });
            tokio::select! {
                () = self.0.stopping.cancelled() => return,
                () = self.0.schedules.0.notified() => {}
                // The end of a task is an event, and may be what a run waits for.
                _ = newest.changed(), if rest.has_waiting => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Claims all that is due and has it fired in the background. Answers with how long there is nothing to do.
    pub async fn fire_due_schedules(&self) -> Result<Rest, Error> {
        loop {
            let now = self.clock().now();
            let (next, waiting) = self
                .store()
                .read(move |tx| Ok::<_, Error>((tx.next_schedule_moment()?, tx.waiting_runs(BATCH)?)))
                .await?;
            let waiting = self.fleet().context().readable(waiting);
            let is_due = next.is_some_and(|at| at <= now);
            if is_due {
                self.claim_due(now).await?;
                self.take_over(now).await?;
            }
            let has_waiting = !waiting.is_empty();
            if has_waiting {
                self.release_waiting(waiting, now).await?;
            }
            if !is_due || self.0.stopping.is_cancelled() {
                return Ok(Rest { until: next.filter(|_| !is_due), has_waiting });
            }
        }
    }

    async fn claim_due(&self, now: Timestamp) -> Result<(), Error> {
        let due = self.store().read(move |tx| tx.due_schedules(now, BATCH).map_err(Error::from)).await?;
        match self.claim_schedules(due.clone(), now).await {
            Err(error) if error.code == ErrorCode::DatabaseDamaged => {}
            claimed => return claimed,
        }
        // Something that belongs to one of them cannot be read: each by itself, so that it holds up no other.
        for schedule in due {
            match self.claim_schedules(vec![schedule.clone()], now).await {
                Err(error) if error.code == ErrorCode::DatabaseDamaged => {
                    tracing::error!(schedule.id = %schedule.id, %error, "a schedule cannot be fired; it is set aside");
                    self.store().write(move |tx| set_aside(tx, &schedule, now)).await?;
                }
                claimed => claimed?,
            }
        }
        Ok(())
    }

    async fn claim_schedules(&self, due: Vec<Schedule>, now: Timestamp) -> Result<(), Error> {
        let (exchange, max) = (self.clone(), self.fleet().limits().max_schedule_catch_up);
        let claimed = self
            .store()
            .write(move |tx| {
                let mut claimed = Vec::new();
                for schedule in due.clone() {
                    claimed.extend(exchange.claim_slots(tx, schedule, max, now)?);
                }
                Ok::<_, Error>(claimed)
            })
            .await?;
        for run in claimed {
            self.fire_in_background(run);
        }
        Ok(())
    }

    /// Moves one schedule on and writes its runs. Answers with those to be fired.
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
            return stop(tx, schedule, "unreadable", now);
        };
        if status == Status::Removed {
            return stop(tx, schedule, "stopped", now);
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
            run.id = self.entropy().id(now.plus_ms(i64::try_from(at).unwrap_or(0)));
            if tx.insert_schedule_run(&run)? {
                tell_skip(tx, &schedule, &run, now)?;
                claimed.extend((run.state == RunState::Claimed).then_some(run));
            }
        }
        Ok(claimed)
    }

    /// Runs whose claim has ended: whoever had it is gone, or could not send.
    async fn take_over(&self, now: Timestamp) -> Result<(), Error> {
        let exchange = self.clone();
        let taken = self
            .store()
            .write(move |tx| {
                let mut taken = Vec::new();
                for mut run in exchange.fleet().context().readable(tx.unfinished_runs(now, BATCH)?) {
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

/// Looked at again in a while, perhaps by a Warren that can read it: its slots are then missed ones.
fn set_aside(tx: &mut dyn WriteTx, schedule: &Schedule, now: Timestamp) -> Result<(), Error> {
    if !tx.postpone_schedule(schedule.id, schedule.version, now.plus_ms(SET_ASIDE_MS))? {
        return Ok(());
    }
    let data = json!({
        "schedule_id": schedule.id.to_string(),
        "name": schedule.name,
        "change": "set_aside",
        "problem": schedule.unreadable,
    });
    let by = Principal::system("scheduler");
    Ok(tx.append_event(&event_of(schedule, EventKind::ScheduleChanged, &by, now, data))?)
}

/// Nobody is there to be spoken to, or nobody knows when.
fn stop(
    tx: &mut dyn WriteTx,
    mut schedule: Schedule,
    change: &str,
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
    let data = json!({ "schedule_id": schedule.id.to_string(), "name": schedule.name, "change": change });
    let by = Principal::system("scheduler");
    tx.append_event(&event_of(&schedule, EventKind::ScheduleChanged, &by, now, data))?;
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
    let data = json!({
        "schedule_id": schedule.id.to_string(),
        "run_id": run.id.to_string(),
        "name": schedule.name,
        "slot": run.slot.map(|slot| slot.to_string()),
        "slots": run.slots,
        "reason": run.reason,
    });
    let kind = EventKind::ScheduleSkipped;
    Ok(tx.append_event(&event_of(schedule, kind, &schedule.principal(), now, data))?)
}
