//! Sends what a run is to say. The run's id is the message's: however often it is sent, it is one task (X41).

use serde_json::json;
use tracing::info_span;
use warren_model::event::{ScheduleFailed, ScheduleFired};
use warren_model::{ErrorCode, Message, Part, Role, RunState, Schedule, ScheduleRun, TaskId, Timestamp};
use warren_service::Error;
use warren_store::WriteTx;

use super::{Scheduler, event_of};
use crate::messages::{NewMessage, Sender};

impl Scheduler {
    /// Whoever asked does not wait. What fails is found again from its row.
    pub(crate) fn fire_in_background(&self, run: ScheduleRun) {
        let service = self.clone();
        let span =
            info_span!("exchange.schedules.fire", schedule.id = %run.schedule_id, schedule.run.id = %run.id);
        self.context.spawn(span, async move {
            if let Err(error) = service.fire(&run).await {
                tracing::warn!(
                    attempts = run.attempts, %error,
                    "a schedule could not be fired; it is tried again"
                );
            }
        });
    }

    /// Accepted is enough: what becomes of the task is the exchange's business, and nobody waits for it here.
    async fn send_run(&self, schedule: &Schedule, run: &ScheduleRun) -> Result<TaskId, Error> {
        let sender = Sender { principal: schedule.principal(), org_id: schedule.org_id };
        let new = NewMessage {
            idempotency_key: Some(run.id.to_string()),
            ..NewMessage::new(schedule.workspace_id, message_of(schedule, run))
        };
        Ok(self.messages.send_as(&sender, new).await?.task.id)
    }

    async fn fire(&self, run: &ScheduleRun) -> Result<(), Error> {
        let id = run.schedule_id;
        // Removed in the meantime, and its runs with it.
        let Some(schedule) =
            self.context.store().read(move |tx| tx.schedule(id).map_err(Error::from)).await?
        else {
            return Ok(());
        };
        let schedule = super::readable(schedule)?;
        let sent = self.send_run(&schedule, run).await;
        let now = self.context.now();
        let run = run.clone();
        match sent {
            Ok(task_id) => {
                self.context
                    .store()
                    .write(move |tx| settle(tx, &schedule, run.clone(), Some(task_id), now))
                    .await?;
            }
            Err(error) if is_passing(error.code) => return Err(error),
            // It was sent before, and the schedule says something else since: what was sent counts.
            Err(error) if error.code == ErrorCode::KeyReused => {
                self.context.store().write(move |tx| settle(tx, &schedule, run.clone(), None, now)).await?;
            }
            Err(error) => {
                self.context.store().write(move |tx| fail(tx, run.clone(), error.code.as_str(), now)).await?;
            }
        }
        // The next one may have waited for it.
        self.wake();
        Ok(())
    }
}

/// What may be otherwise in a while: it is tried again.
const fn is_passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::PlatformUnavailable
            | ErrorCode::VersionConflict
            | ErrorCode::StorageFull
            | ErrorCode::ShuttingDown
            | ErrorCode::Internal
            | ErrorCode::QueueFull
            | ErrorCode::RuntimeBusy
    )
}

fn message_of(schedule: &Schedule, run: &ScheduleRun) -> Message {
    let mut message =
        Message::new(run.id.to_string(), Role::User, vec![Part::text(schedule.prompt.as_str())]);
    let about = json!({
        "id": schedule.id.to_string(),
        "name": schedule.name,
        "slot": run.slot.map(|slot| slot.to_string()),
        "cause": run.cause.as_str(),
    });
    message.metadata.insert("schedule".into(), about);
    message
}

fn settle(
    tx: &mut dyn WriteTx,
    schedule: &Schedule,
    mut run: ScheduleRun,
    task_id: Option<TaskId>,
    now: Timestamp,
) -> Result<(), Error> {
    let attempts = run.attempts;
    run.state = RunState::Fired;
    run.task_id = task_id;
    run.lease_until = None;
    run.ended_at = Some(now);
    // Somebody else was faster, with the same message.
    if !tx.update_schedule_run(&run, RunState::Claimed, attempts)? {
        return Ok(());
    }
    let data = ScheduleFired {
        schedule_id: schedule.id,
        run_id: run.id,
        name: schedule.name.clone(),
        slot: run.slot,
        cause: run.cause,
        task_id,
    };
    Ok(tx.append_event(&event_of(schedule, &schedule.principal(), now, data))?)
}

/// Nobody will try again.
pub(super) fn fail(
    tx: &mut dyn WriteTx,
    mut run: ScheduleRun,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let attempts = run.attempts;
    run.state = RunState::Failed;
    run.reason = Some(reason.to_owned());
    run.lease_until = None;
    run.ended_at = Some(now);
    if !tx.update_schedule_run(&run, RunState::Claimed, attempts)? {
        return Ok(());
    }
    let Some(schedule) = tx.schedule(run.schedule_id)? else { return Ok(()) };
    let data = ScheduleFailed {
        schedule_id: schedule.id,
        run_id: run.id,
        name: schedule.name.clone(),
        slot: run.slot,
        reason: reason.to_owned(),
    };
    Ok(tx.append_event(&event_of(&schedule, &schedule.principal(), now, data))?)
}
