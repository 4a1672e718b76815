//! Schedules: made, changed, paused and asked for here; `scheduler` finds what is due, `fire` sends it (X40 to X42).

mod fire;
mod scheduler;

pub use scheduler::{Rest, Scheduler};

use warren_fleet::Fleet;
use warren_model::event::ScheduleChanged;
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, MadeWithToken, MissedPolicy, NewEvent,
    OverlapPolicy, Principal, RunCause, RunState, Schedule, ScheduleChange, ScheduleId, ScheduleRun,
    ScheduleRunId, Status, Timestamp, Timing, WorkspaceId,
};
use warren_rules::messages::schedules::{self as schedule_rules, Clockwork, FIRE_LEASE_MS, Making};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{Page, ReadTx, ScheduleQuery, ScheduleRunQuery, WriteTx};

use crate::agents::{AgentAddress, Agents};

pub use warren_rules::messages::schedules::NewSchedule;

/// Slots of one preview.
pub const MAX_PREVIEW: u32 = 100;

/// Absent means unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchSchedule {
    pub timing: Option<Timing>,
    pub prompt: Option<String>,
    pub jitter_seconds: Option<u32>,
    pub missed: Option<MissedPolicy>,
    pub overlap: Option<OverlapPolicy>,
}

/// Messages that are sent at times.
#[derive(Debug, Clone)]
pub struct Schedules {
    context: Context,
    fleet: Fleet,
    agents: Agents,
    scheduler: Scheduler,
}

impl Schedules {
    pub(crate) fn new(context: Context, fleet: Fleet, agents: Agents, scheduler: Scheduler) -> Self {
        Self { context, fleet, agents, scheduler }
    }

    /// Refused where no agent could answer: every slot would fail.
    #[tracing::instrument(name = "exchange.schedules.create", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn create(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        new: NewSchedule,
    ) -> Result<Schedule, Error> {
        let place = self.fleet.workspaces.get(who, Action::WriteWorkspaces, workspace_id).await?;
        let (now, limits) = (self.context.now(), self.context.limits().clone());
        let making = Making {
            id: self.context.entropy().id(now),
            org_id: place.org_id,
            workspace_id,
            by: who.principal.clone(),
            now,
            min_seconds: limits.min_schedule_interval_seconds,
        };
        let schedule = schedule_rules::draft(new, making).map_err(|problem| Error::from(&problem))?;
        let (row, changed) = (schedule.clone(), Changed::by(who, ScheduleChange::Created, now));
        let agents = self.agents.clone();
        self.context
            .store()
            .write(move |tx| {
                require_agent(tx, &agents, row.workspace_id)?;
                let is_full = tx.count_schedules_of(row.workspace_id)?
                    >= limits.max_schedules_per_workspace.into()
                    || tx.count_schedules(row.org_id)? >= limits.max_schedules_per_org.into();
                if is_full {
                    return Err(Error::new(ErrorCode::ScheduleLimit));
                }
                tx.insert_schedule(&row).map_err(|error| match error {
                    warren_store::Error::AlreadyExists => Error::new(ErrorCode::ScheduleExists),
                    other => other.into(),
                })?;
                changed.actor.note_made(tx, MadeWithToken::Schedule(row.id))?;
                changed.tell(tx, &row, AuditAction::ScheduleCreated)
            })
            .await?;
        self.scheduler.wake();
        Ok(schedule)
    }

    #[tracing::instrument(name = "exchange.schedules.get", skip_all, fields(schedule.id = %id))]
    pub async fn get(&self, who: &Identity, id: ScheduleId) -> Result<Schedule, Error> {
        self.visible(who, Action::ReadWorkspaces, id).await
    }

    /// Those of one workspace, or all that the caller may see.
    #[tracing::instrument(name = "exchange.schedules.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        workspace_id: Option<WorkspaceId>,
        after: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Page<Schedule, ScheduleId>, Error> {
        match workspace_id {
            Some(id) => drop(self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?),
            None => who.may_in_own_org(Action::ReadWorkspaces)?,
        }
        let limit = limit.clamp(1, self.context.limits().max_page_size);
        let query = ScheduleQuery { org_id: who.visible_org(), workspace_id, after, limit };
        let page = self.context.store().read(move |tx| tx.schedules(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// Changes what the patch names. With `expected_version`, only if that is still the current one. A change of its times
    /// looks for the next slot from now on: those that are past are not missed.
    #[tracing::instrument(name = "exchange.schedules.patch", skip_all, fields(schedule.id = %id))]
    pub async fn patch(
        &self,
        who: &Identity,
        id: ScheduleId,
        patch: PatchSchedule,
        expected_version: Option<u64>,
    ) -> Result<Schedule, Error> {
        let is_retimed = patch.timing.is_some() || patch.jitter_seconds.is_some();
        let min_seconds = self.context.limits().min_schedule_interval_seconds;
        let now = self.context.now();
        self.change(who, id, ScheduleChange::Changed, expected_version, move |_, row| {
            let before = (row.next_slot, row.next_at);
            row.timing = patch.timing.clone().unwrap_or_else(|| row.timing.clone());
            row.prompt = patch.prompt.clone().unwrap_or_else(|| row.prompt.clone());
            row.jitter_seconds = patch.jitter_seconds.unwrap_or(row.jitter_seconds);
            row.missed = patch.missed.unwrap_or(row.missed);
            row.overlap = patch.overlap.unwrap_or(row.overlap);
            schedule_rules::settle(row, now, min_seconds).map_err(|problem| Error::from(&problem))?;
            if !is_retimed {
                (row.next_slot, row.next_at) = before;
            }
            Ok(())
        })
        .await
    }

    /// No slot fires, and none is missed, until it is resumed.
    #[tracing::instrument(name = "exchange.schedules.pause", skip_all, fields(schedule.id = %id))]
    pub async fn pause(&self, who: &Identity, id: ScheduleId) -> Result<Schedule, Error> {
        self.change(who, id, ScheduleChange::Paused, None, |_, row| {
            row.is_paused = true;
            (row.next_slot, row.next_at) = (None, None);
            Ok(())
        })
        .await
    }

    #[tracing::instrument(name = "exchange.schedules.resume", skip_all, fields(schedule.id = %id))]
    pub async fn resume(&self, who: &Identity, id: ScheduleId) -> Result<Schedule, Error> {
        let (now, agents) = (self.context.now(), self.agents.clone());
        self.change(who, id, ScheduleChange::Resumed, None, move |tx, row| {
            require_agent(tx, &agents, row.workspace_id)?;
            row.is_paused = false;
            // What was too frequent when it was made is its maker's business no more.
            schedule_rules::settle(row, now, 1).map_err(|problem| Error::from(&problem))
        })
        .await
    }

    #[tracing::instrument(name = "exchange.schedules.remove", skip_all, fields(schedule.id = %id))]
    pub async fn remove(&self, who: &Identity, id: ScheduleId) -> Result<(), Error> {
        self.visible(who, Action::WriteWorkspaces, id).await?;
        let changed = Changed::by(who, ScheduleChange::Removed, self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let row = tx.schedule(id)?.ok_or_else(|| Error::new(ErrorCode::ScheduleNotFound))?;
                tx.delete_schedule(id)?;
                changed.tell(tx, &row, AuditAction::ScheduleRemoved)
            })
            .await
    }

    /// Fires it now, whether it is paused or not; its slots stay as they are. What it sends is the schedule's own word,
    /// not that of whoever asked (X4).
    #[tracing::instrument(name = "exchange.schedules.run", skip_all, fields(schedule.id = %id))]
    pub async fn run(&self, who: &Identity, id: ScheduleId) -> Result<ScheduleRun, Error> {
        self.visible(who, Action::UseWorkspace, id).await?;
        let now = self.context.now();
        let (run_id, actor, by) = (self.context.entropy().id(now), Actor::of(who), who.principal.clone());
        let agents = self.agents.clone();
        let run = self
            .context
            .store()
            .write(move |tx| {
                let row = readable(tx.schedule(id)?.ok_or_else(|| Error::new(ErrorCode::ScheduleNotFound))?)?;
                require_agent(tx, &agents, row.workspace_id)?;
                let run = ScheduleRun {
                    asked_by: Some(by.clone()),
                    cause: RunCause::Manual,
                    state: RunState::Claimed,
                    attempts: 1,
                    lease_until: Some(now.plus_ms(FIRE_LEASE_MS)),
                    ..new_run(run_id, &row, None, now)
                };
                tx.insert_schedule_run(&run)?;
                let details = AuditDetails::ScheduleRun { run_id: run.id, name: row.name };
                let target = (AuditTargetKind::Schedule, id.to_string());
                tx.append_audit(&actor.did(now, AuditAction::ScheduleRun, target.0, &target.1, &details))?;
                Ok::<_, Error>(run)
            })
            .await?;
        self.scheduler.fire_in_background(run.clone());
        Ok(run)
    }

    /// What became of its slots, the newest first.
    #[tracing::instrument(name = "exchange.schedules.runs", skip_all, fields(schedule.id = %id))]
    pub async fn runs(
        &self,
        who: &Identity,
        id: ScheduleId,
        before: Option<ScheduleRunId>,
        limit: u32,
    ) -> Result<Page<ScheduleRun, ScheduleRunId>, Error> {
        self.visible(who, Action::ReadWorkspaces, id).await?;
        let limit = limit.clamp(1, self.context.limits().max_page_size);
        let query = ScheduleRunQuery { schedule_id: id, before, limit };
        let page = self.context.store().read(move |tx| tx.schedule_runs(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// When a schedule with this timing would fire next.
    pub fn preview(&self, who: &Identity, timing: &Timing, count: u32) -> Result<Vec<Timestamp>, Error> {
        who.may_in_own_org(Action::KnowOneself)?;
        let (now, min) = (self.context.now(), self.context.limits().min_schedule_interval_seconds);
        let found = Clockwork::read(timing, now).and_then(|clockwork| {
            let first = clockwork.check(now, min, 0)?;
            Ok(clockwork.following(first).take(count.min(MAX_PREVIEW) as usize).collect())
        });
        found.map_err(|problem| Error::from(&problem))
    }

    /// Slots from its next one on; none while it is paused.
    pub fn upcoming(&self, schedule: &Schedule, count: u32) -> Vec<Timestamp> {
        let clockwork = Clockwork::read(&schedule.timing, schedule.created_at);
        match (clockwork, schedule.next_slot.filter(|_| schedule.unreadable.is_none())) {
            (Ok(clockwork), Some(next)) => {
                clockwork.following(next).take(count.min(MAX_PREVIEW) as usize).collect()
            }
            (Ok(_), None) | (Err(_), _) => Vec::new(),
        }
    }

    /// A schedule whose workspace the caller may act on; to others it does not exist.
    async fn visible(&self, who: &Identity, action: Action, id: ScheduleId) -> Result<Schedule, Error> {
        let not_found = || Error::new(ErrorCode::ScheduleNotFound);
        let row = self.context.store().read(move |tx| tx.schedule(id).map_err(Error::from)).await?;
        let row = row.ok_or_else(not_found)?;
        match self.fleet.workspaces.get(who, action, row.workspace_id).await {
            Ok(_) => Ok(row),
            Err(error) if error.code == ErrorCode::WorkspaceNotFound => Err(not_found()),
            Err(error) => Err(error),
        }
    }

    async fn change(
        &self,
        who: &Identity,
        id: ScheduleId,
        change: ScheduleChange,
        expected_version: Option<u64>,
        apply: impl Fn(&mut dyn WriteTx, &mut Schedule) -> Result<(), Error> + Send + 'static,
    ) -> Result<Schedule, Error> {
        self.visible(who, Action::WriteWorkspaces, id).await?;
        let changed = Changed::by(who, change, self.context.now());
        let row = self
            .context
            .store()
            .write(move |tx| {
                let before =
                    readable(tx.schedule(id)?.ok_or_else(|| Error::new(ErrorCode::ScheduleNotFound))?)?;
                if let Some(version) = expected_version.filter(|version| *version != before.version) {
                    let detail = format!("the current version is {}, not {version}", before.version);
                    return Err(Error::with_detail(ErrorCode::PreconditionFailed, detail));
                }
                let mut row = before.clone();
                apply(tx, &mut row)?;
                if row == before {
                    return Ok(row);
                }
                row.updated_at = changed.now;
                row.version = tx.update_schedule(&row, before.version)?;
                changed.tell(tx, &row, AuditAction::ScheduleChanged)?;
                Ok(row)
            })
            .await?;
        self.scheduler.wake();
        Ok(row)
    }
}

/// Refuses what could only fail: the workspace is gone, or nobody in it could answer.
fn require_agent(tx: &mut dyn ReadTx, agents: &Agents, id: WorkspaceId) -> Result<(), Error> {
    let row = tx.workspace(id)?.filter(|row| row.status != Status::Removed);
    let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
    agents.require_reach(&AgentAddress::of(tx, &row)?).map(drop)
}

/// What cannot be read is not written over, and says nothing.
fn readable(schedule: Schedule) -> Result<Schedule, Error> {
    match &schedule.unreadable {
        None => Ok(schedule),
        Some(problem) => Err(Error::with_detail(ErrorCode::ScheduleUnreadable, problem.as_str())),
    }
}

/// A change by somebody, to be told in the transaction that makes it.
#[derive(Debug)]
struct Changed {
    by: Principal,
    actor: Actor,
    change: ScheduleChange,
    now: Timestamp,
}

impl Changed {
    fn by(who: &Identity, change: ScheduleChange, now: Timestamp) -> Self {
        Self { by: who.principal.clone(), actor: Actor::of(who), change, now }
    }

    fn tell(&self, tx: &mut dyn WriteTx, row: &Schedule, action: AuditAction) -> Result<(), Error> {
        tx.append_event(&event_of(row, &self.by, self.now, change_of(row, self.change)))?;
        let details = AuditDetails::ScheduleChanged {
            name: row.name.clone(),
            change: self.change,
            workspace_id: row.workspace_id,
        };
        let kind = AuditTargetKind::Schedule;
        tx.append_audit(&self.actor.did(self.now, action, kind, &row.id.to_string(), &details))?;
        Ok(())
    }
}

fn change_of(row: &Schedule, change: ScheduleChange) -> ScheduleChanged {
    ScheduleChanged { schedule_id: row.id, name: row.name.clone(), change, problem: None }
}

fn event_of(row: &Schedule, principal: &Principal, at: Timestamp, data: impl Into<EventData>) -> NewEvent {
    let (org_id, workspace_id) = (row.org_id, Some(row.workspace_id));
    NewEvent { at, org_id, workspace_id, principal: principal.clone(), data: data.into() }
}

/// A run that nobody has decided about.
fn new_run(id: ScheduleRunId, of: &Schedule, slot: Option<Timestamp>, now: Timestamp) -> ScheduleRun {
    ScheduleRun {
        id,
        schedule_id: of.id,
        org_id: of.org_id,
        workspace_id: of.workspace_id,
        slot,
        last_slot: None,
        slots: 1,
        cause: RunCause::Slot,
        state: RunState::Waiting,
        reason: None,
        task_id: None,
        asked_by: None,
        attempts: 0,
        lease_until: None,
        created_at: now,
        ended_at: None,
    }
}
