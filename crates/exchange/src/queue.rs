//! The queue of a workspace, for those who run it.

use serde_json::json;
use warren_fleet::access::Action;
use warren_fleet::{Actor, Error, Identity};
use warren_model::{AuditAction, Delivery, DeliveryId, DeliveryState, ErrorCode, Principal, WorkspaceId};
use warren_rules::dispatch::Happening;
use warren_store::{DeliveryQuery, Page};

use crate::Exchange;
use crate::endings::Report;

impl Exchange {
    /// Messages of a workspace, by age.
    pub async fn deliveries(
        &self,
        who: &Identity,
        mut query: DeliveryQuery,
    ) -> Result<Page<Delivery, DeliveryId>, Error> {
        self.fleet().workspace(who, Action::UseWorkspace, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.fleet().limits().max_page_size);
        self.store().read(move |tx| tx.deliveries(&query).map_err(Error::from)).await
    }

    pub async fn delivery(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Delivery, Error> {
        self.fleet().workspace(who, Action::UseWorkspace, workspace_id).await?;
        let row = self.store().read(move |tx| tx.delivery(id).map_err(Error::from)).await?;
        let row = row.filter(|row| row.workspace_id == workspace_id);
        row.ok_or_else(|| Error::new(ErrorCode::DeliveryNotFound))
    }

    /// Takes a message out of the queue: it ends as cancelled, and so does its task.
    pub async fn drop_delivery(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Delivery, Error> {
        let row = self.delivery(who, workspace_id, id).await?;
        if row.state != DeliveryState::Queued {
            let detail = format!("the message is {}; cancel its task instead", row.state);
            return Err(Error::with_detail(ErrorCode::TaskNotCancelable, detail));
        }
        self.drop_waiting(row, &who.principal).await?.ok_or_else(|| Error::new(ErrorCode::ClaimLost))
    }

    /// Takes all that wait out of the queue. Answers how many.
    pub async fn clear_queue(&self, who: &Identity, workspace_id: WorkspaceId) -> Result<u64, Error> {
        let row = self.fleet().workspace(who, Action::UseWorkspace, workspace_id).await?;
        let mut dropped = 0;
        let mut after = None;
        loop {
            let query = DeliveryQuery { workspace_id, state: DeliveryState::Queued, after, limit: 200 };
            let page = self.store().read(move |tx| tx.deliveries(&query).map_err(Error::from)).await?;
            for waiting in page.rows {
                dropped += u64::from(self.drop_waiting(waiting, &who.principal).await?.is_some());
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let (at, actor, id) = (self.clock().now(), Actor::of(who), row.id);
        let entry = actor.did_to_workspace(at, AuditAction::QueueCleared, id, json!({ "messages": dropped }));
        self.store().write(move |tx| tx.append_audit(&entry).map_err(Error::from)).await?;
        Ok(dropped)
    }

    async fn drop_waiting(&self, row: Delivery, by: &Principal) -> Result<Option<Delivery>, Error> {
        let report = Report {
            delivery_id: row.id,
            attempt: row.attempts,
            happening: Happening::Cancelled,
            updates: Vec::new(),
            remote_id: None,
            by: by.clone(),
        };
        Ok(self.settle(report).await?.map(|settled| settled.delivery))
    }
}
