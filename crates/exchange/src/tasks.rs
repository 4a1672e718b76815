//! Tasks as those see them who asked for them, or who run the workspace.

use warren_fleet::access::Action;
use warren_fleet::{Error, Identity};
use warren_model::{
    Delivery, DeliveryState, ErrorCode, Principal, Status, Task, TaskId, TaskState, TaskUpdate, WorkspaceId,
};
use warren_rules::messages::dispatch::{Happening, Outcome};
use warren_store::{Page, TaskMark, TaskQuery};

use crate::Exchange;
use crate::agent_words::Voice;
use crate::answer_files::Sight;
use crate::chat::Speaker;
use crate::dispatcher::CANCEL_PATIENCE;
use crate::endings::Report;
use crate::send::speaks_for;
use crate::transport::Endpoint;

impl Exchange {
    /// A task that the caller may see: one who may use the workspace sees all of it, a peer what it asked for itself.
    pub async fn task(&self, who: &Identity, workspace_id: WorkspaceId, id: TaskId) -> Result<Task, Error> {
        let sees_all = self.sees_all(who, workspace_id).await?;
        let task = self.store().read(move |tx| tx.task(id).map_err(Error::from)).await?;
        let task = task.filter(|task| task.workspace_id == workspace_id);
        let task = task.filter(|task| sees_all || task.author == who.principal);
        let task = task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
        Ok(Sight::of(who, workspace_id).task(task))
    }

    /// The youngest first. A peer sees what it asked for itself.
    pub async fn tasks(
        &self,
        who: &Identity,
        mut query: TaskQuery,
    ) -> Result<(Page<Task, TaskId>, u64), Error> {
        let sees_all = self.sees_all(who, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.fleet().limits().max_page_size);
        if !sees_all {
            query.author = Some(who.principal.clone());
        }
        let sight = Sight::of(who, query.workspace_id);
        let (page, count) =
            self.store().read(move |tx| Ok::<_, Error>((tx.tasks(&query)?, tx.count_tasks(&query)?))).await?;
        Ok((self.fleet().context().listed(page).map(|task| sight.task(task)), count))
    }

    /// The last changed first, as A2A lists them. What changes meanwhile moves to the front; the rest keeps its place.
    pub async fn changed_tasks(
        &self,
        who: &Identity,
        mut query: TaskQuery,
        behind: Option<TaskMark>,
    ) -> Result<(Page<Task, TaskMark>, u64), Error> {
        let sees_all = self.sees_all(who, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.fleet().limits().max_page_size);
        if !sees_all {
            query.author = Some(who.principal.clone());
        }
        let sight = Sight::of(who, query.workspace_id);
        let (page, count) = self
            .store()
            .read(move |tx| Ok::<_, Error>((tx.changed_tasks(&query, behind)?, tx.count_tasks(&query)?)))
            .await?;
        Ok((self.fleet().context().listed(page).map(|task| sight.task(task)), count))
    }

    /// Ends work that is not wanted any more. What waits ends at once; what runs, when its agent agrees or says nothing.
    pub async fn cancel_task(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: TaskId,
    ) -> Result<Task, Error> {
        let task = self.task(who, workspace_id, id).await?;
        let task = self.cancel(task, who.principal.clone()).await?;
        Ok(Sight::of(who, workspace_id).task(task))
    }

    pub(crate) async fn cancel(&self, task: Task, by: Principal) -> Result<Task, Error> {
        if task.state.is_final() {
            let detail = format!("the task is {}", task.state);
            return Err(Error::with_detail(ErrorCode::TaskNotCancelable, detail));
        }
        let id = task.id;
        let open = self.store().read(move |tx| tx.open_deliveries_of(id).map_err(Error::from)).await?;
        let Some(delivery) = open.into_iter().next() else { return self.cancel_waiting(task, by).await };
        let (happening, updates) = match self.ask_far_side(&task, &delivery).await? {
            Some(Outcome::Failed { .. }) => return Err(Error::new(ErrorCode::TaskNotCancelable)),
            _ => (Happening::Cancelled, Vec::new()),
        };
        let report = Report {
            delivery_id: delivery.id,
            voice: Voice::of(&delivery),
            attempt: delivery.attempts,
            happening,
            updates,
            remote_id: None,
            by,
        };
        match self.settle(report).await? {
            Some(settled) => Ok(settled.task),
            // It ended, or went on, in the meantime.
            None => {
                let task = self.store().read(move |tx| tx.task(id).map_err(Error::from)).await?;
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
            && let Some(endpoint) = self.endpoint(task.workspace_id).await?
            && let Ok(Outcome::Failed { .. }) =
                tokio::time::timeout(CANCEL_PATIENCE, self.transport().cancel(&endpoint, remote_id)).await
        {
            return Err(Error::new(ErrorCode::TaskNotCancelable));
        }
        let moment = self.moment();
        let ended = self
            .store()
            .write(move |tx| {
                let mut row = tx.task(task.id)?.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
                let last = tx.last_delivery_of(row.id)?;
                if row.state.is_final() {
                    return Err(Error::new(ErrorCode::TaskNotCancelable));
                }
                let was = row.state;
                row.state = TaskState::Cancelled;
                row.updated_at = moment.now;
                row.version = tx.update_task(&row, row.version)?;
                if let Some(last) = last {
                    crate::dispatcher::append_change(tx, &row, &last, was, &by, moment.now)?;
                    // What stands in the task is what the agent asked.
                    crate::endings::stitch(tx, &row, &last, Speaker::Agent, &moment)?;
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
        self.watchers().tell(&task, update);
        for id in orphans {
            self.cancel_in_background(id);
        }
        Ok(task)
    }

    /// Where the runtime has the work, it is asked first, so that Warren claims no more than is so.
    async fn ask_far_side(&self, task: &Task, delivery: &Delivery) -> Result<Option<Outcome>, Error> {
        let Some(remote_id) = task.remote_id.as_deref().filter(|_| delivery.state == DeliveryState::Claimed)
        else {
            return Ok(None);
        };
        let Some(endpoint) = self.endpoint(task.workspace_id).await? else { return Ok(None) };
        let asked =
            tokio::time::timeout(CANCEL_PATIENCE, self.transport().cancel(&endpoint, remote_id)).await;
        self.runs().note_asked(delivery.id);
        // One that says nothing does not keep the work from ending.
        Ok(asked.ok())
    }

    pub(crate) async fn endpoint(&self, id: WorkspaceId) -> Result<Option<Endpoint>, Error> {
        let registration = self.store().read(move |tx| tx.registration(id).map_err(Error::from)).await?;
        let card = registration.and_then(|registration| registration.agent_card);
        let card = card.filter(|card| self.transport().can_call(card));
        Ok(card.map(|card| Endpoint { workspace_id: id, card }))
    }

    /// Work that was handed on out of work that has ended.
    pub(crate) fn cancel_in_background(&self, id: TaskId) {
        let exchange = self.clone();
        self.tasks_in_hand().spawn(async move {
            let task = exchange.store().read(move |tx| tx.task(id).map_err(Error::from)).await;
            let cancelled = match task {
                Ok(Some(task)) if !task.state.is_final() => {
                    exchange.cancel(task, Principal::system("exchange")).await.map(drop)
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = cancelled {
                tracing::warn!(task.id = %id, %error, "work that nobody wants any more could not be cancelled");
            }
        });
    }

    /// Whether the caller sees everything of the workspace, or only what it asked for itself.
    async fn sees_all(&self, who: &Identity, id: WorkspaceId) -> Result<bool, Error> {
        match speaks_for(who).filter(|own| *own != id) {
            None => {
                let row = self.fleet().workspace(who, Action::UseWorkspace, id).await?;
                if row.status == Status::Removed {
                    Err(Error::new(ErrorCode::WorkspaceNotFound))
                } else {
                    Ok(true)
                }
            }
            Some(_) => self.reach(who, id).await.map(|_| false),
        }
    }
}
