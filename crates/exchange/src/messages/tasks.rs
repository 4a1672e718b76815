//! Tasks as those see them who asked for them, or who run the workspace.

use warren_model::{ErrorCode, Status, Task, TaskId, WorkspaceId};
use warren_service::{Action, Error, Identity};
use warren_store::{Page, TaskMark, TaskQuery};

use super::{FileView, Messages};
use crate::peers::speaks_for;

impl Messages {
    /// A task that the caller may see: one who may see the workspace sees all of it, a peer what it asked for itself.
    #[tracing::instrument(name = "exchange.messages.task", skip_all, fields(workspace.id = %workspace_id, task.id = %id))]
    pub async fn task(&self, who: &Identity, workspace_id: WorkspaceId, id: TaskId) -> Result<Task, Error> {
        self.find_task(who, Action::ReadWork, workspace_id, id).await
    }

    async fn find_task(
        &self,
        who: &Identity,
        action: Action,
        workspace_id: WorkspaceId,
        id: TaskId,
    ) -> Result<Task, Error> {
        let sees_all = self.sees_all(who, action, workspace_id).await?;
        let task = self.context.store().read(move |tx| tx.task(id).map_err(Error::from)).await?;
        let task = task.filter(|task| task.workspace_id == workspace_id);
        let task = task.filter(|task| sees_all || task.author == who.principal);
        let task = task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
        Ok(FileView::of(who, workspace_id).task(task))
    }

    /// The youngest first. A peer sees what it asked for itself.
    #[tracing::instrument(name = "exchange.messages.tasks", skip_all, fields(workspace.id = %query.workspace_id))]
    pub async fn tasks(
        &self,
        who: &Identity,
        mut query: TaskQuery,
    ) -> Result<(Page<Task, TaskId>, u64), Error> {
        let sees_all = self.sees_all(who, Action::ReadWork, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        if !sees_all {
            query.author = Some(who.principal.clone());
        }
        let view = FileView::of(who, query.workspace_id);
        let (page, count) = self
            .context
            .store()
            .read(move |tx| Ok::<_, Error>((tx.tasks(&query)?, tx.count_tasks(&query)?)))
            .await?;
        Ok((self.context.listed(page).map(|task| view.task(task)), count))
    }

    /// The last changed first, as A2A lists them. What changes meanwhile moves to the front; the rest keeps its place.
    #[tracing::instrument(name = "exchange.messages.changed_tasks", skip_all, fields(workspace.id = %query.workspace_id))]
    pub async fn changed_tasks(
        &self,
        who: &Identity,
        mut query: TaskQuery,
        behind: Option<TaskMark>,
    ) -> Result<(Page<Task, TaskMark>, u64), Error> {
        let sees_all = self.sees_all(who, Action::ReadWork, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        if !sees_all {
            query.author = Some(who.principal.clone());
        }
        let view = FileView::of(who, query.workspace_id);
        let (page, count) = self
            .context
            .store()
            .read(move |tx| Ok::<_, Error>((tx.changed_tasks(&query, behind)?, tx.count_tasks(&query)?)))
            .await?;
        Ok((self.context.listed(page).map(|task| view.task(task)), count))
    }

    /// Ends work that is not wanted any more. What waits ends at once; what runs, when its agent agrees or says nothing.
    #[tracing::instrument(name = "exchange.messages.cancel_task", skip_all, fields(workspace.id = %workspace_id, task.id = %id))]
    pub async fn cancel_task(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: TaskId,
    ) -> Result<Task, Error> {
        let task = self.find_task(who, Action::UseWorkspace, workspace_id, id).await?;
        let task = self.deliveries.cancel(task, who.principal.clone()).await?;
        Ok(FileView::of(who, workspace_id).task(task))
    }

    /// Whether the caller sees everything of the workspace, or only what it asked for itself.
    async fn sees_all(&self, who: &Identity, action: Action, id: WorkspaceId) -> Result<bool, Error> {
        match speaks_for(who).filter(|own| *own != id) {
            None => {
                let row = self.fleet.workspaces.get(who, action, id).await?;
                if row.status == Status::Removed {
                    Err(Error::new(ErrorCode::WorkspaceNotFound))
                } else {
                    Ok(true)
                }
            }
            Some(_) => self.peers.reach(who, id).await.map(|_| false),
        }
    }
}
