//! Ending work that is not wanted any more (X22).

use tracing::info_span;
use warren_model::{
    Delivery, DeliveryState, ErrorCode, Principal, Task, TaskId, TaskState, TaskUpdate, WorkspaceId,
};
use warren_rules::messages::dispatch::{DeliveryEvent, Outcome};
use warren_service::Error;

use super::deliver::CANCEL_PATIENCE;
use super::record::append_change;
use super::settle::update_delegation;
use super::{Deliveries, DeliveryReport, Speaker};
use crate::agents::AgentAddress;

impl Deliveries {
    /// Ends work. What waits ends at once; what is being worked on, when its agent agrees or says nothing.
    pub(crate) async fn cancel(&self, task: Task, by: Principal) -> Result<Task, Error> {
        if task.state.is_final() {
            let detail = format!("the task is {}", task.state);
            return Err(Error::with_detail(ErrorCode::TaskNotCancelable, detail));
        }
        let id = task.id;
        let open =
            self.0.context.store().read(move |tx| tx.open_deliveries_of(id).map_err(Error::from)).await?;
        let Some(delivery) = open.into_iter().next() else { return self.cancel_waiting(task, by).await };
        if let Some(Outcome::Failed { .. }) = self.ask_agent_to_stop(&task, &delivery).await? {
            return Err(Error::new(ErrorCode::TaskNotCancelable));
        }
        let report = DeliveryReport { by, ..DeliveryReport::of_warren(&delivery, DeliveryEvent::Cancelled) };
        match self.settle(report).await? {
            Some(settled) => Ok(settled.task),
            // It ended, or went on, in the meantime.
            None => {
                let task = self.0.context.store().read(move |tx| tx.task(id).map_err(Error::from)).await?;
                let task = task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
                if task.state == TaskState::Cancelled {
                    return Ok(task);
                }
                Err(Error::with_detail(ErrorCode::TaskNotCancelable, format!("the task is {}", task.state)))
            }
        }
    }

    /// Work that waits for another message has no delivery: the task alone ends.
    async fn cancel_waiting(&self, task: Task, by: Principal) -> Result<Task, Error> {
        if let Some(remote_id) = task.remote_id.as_deref()
            && let Some(Outcome::Failed { .. }) = self.cancel_at_agent(task.workspace_id, remote_id).await?
        {
            return Err(Error::new(ErrorCode::TaskNotCancelable));
        }
        let inputs = self.inputs();
        let ended = self
            .0
            .context
            .store()
            .write(move |tx| {
                let mut row = tx.task(task.id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
                let last = tx.last_delivery_of(row.id)?;
                if row.state.is_final() {
                    return Err(Error::new(ErrorCode::TaskNotCancelable));
                }
                let was = row.state;
                row.state = TaskState::Cancelled;
                row.updated_at = inputs.now;
                row.version = tx.update_task(&row, row.version)?;
                if let Some(last) = last {
                    append_change(tx, &row, &last, was, &by, inputs.now)?;
                    // What stands in the task is what the agent asked.
                    update_delegation(tx, &row, &last, Speaker::Agent, &inputs)?;
                }
                let orphans: Vec<TaskId> =
                    tx.open_delegations_from(row.id)?.iter().map(|one| one.task_id).collect();
                Ok((row, orphans))
            })
            .await;
        let (task, orphans) = ended?;
        let update = TaskUpdate::Status {
            state: task.state,
            message: task.status_message.clone(),
            at: task.updated_at,
        };
        self.0.followers.tell(&task, update);
        for id in orphans {
            self.cancel_in_background(id);
        }
        Ok(task)
    }

    /// Where the agent has the work, it is asked first, so that Warren claims no more than is so.
    async fn ask_agent_to_stop(&self, task: &Task, delivery: &Delivery) -> Result<Option<Outcome>, Error> {
        let Some(remote_id) = task.remote_id.as_deref().filter(|_| delivery.state == DeliveryState::Claimed)
        else {
            return Ok(None);
        };
        let asked = self.cancel_at_agent(task.workspace_id, remote_id).await;
        self.0.running.note_asked(delivery.id);
        asked
    }

    /// Asks an agent to stop. `None`: there is none, or it says nothing, which does not keep the work from ending.
    async fn cancel_at_agent(&self, id: WorkspaceId, remote_id: &str) -> Result<Option<Outcome>, Error> {
        let store = self.0.context.store();
        let known = store.read(move |tx| {
            let row = tx.workspace(id)?;
            row.map(|row| AgentAddress::of(tx, &row)).transpose()
        });
        let Some(agent) = known.await? else { return Ok(None) };
        let Some(runtime) = self.0.agents.runtime_of(&agent) else { return Ok(None) };
        Ok(tokio::time::timeout(CANCEL_PATIENCE, runtime.cancel(&agent, remote_id)).await.ok())
    }

    /// Work that was handed on out of work that has ended.
    pub(super) fn cancel_in_background(&self, id: TaskId) {
        let deliveries = self.clone();
        let span = info_span!("exchange.messages.cancel_orphan", task.id = %id);
        self.0.context.spawn(span, async move {
            let store = deliveries.0.context.store();
            let task = store.read(move |tx| tx.task(id).map_err(Error::from)).await;
            let cancelled = match task {
                Ok(Some(task)) if !task.state.is_final() => {
                    deliveries.cancel(task, Principal::system("exchange")).await.map(drop)
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = cancelled {
                tracing::warn!(%error, "work that nobody wants any more could not be cancelled");
            }
        });
    }
}
