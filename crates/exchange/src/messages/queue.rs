//! The queue of a workspace, for those who run it.

use std::collections::HashMap;

use warren_fleet::Fleet;
use warren_model::{
    AuditAction, AuditDetails, Delivery, DeliveryId, DeliveryState, ErrorCode, Principal, WorkspaceId,
};
use warren_rules::messages::dispatch::DeliveryEvent;
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{DeliveryQuery, Page};

use super::{Deliveries, DeliveryReport};
use crate::Config;

/// Beyond this many nobody is told a place.
const MAX_PLACES: u32 = 100_000;

/// A message on its way, and how many are claimed before it while it waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub delivery: Delivery,
    pub position: Option<u64>,
}

/// The queues of workspaces: for those who run one, and for agents that come and ask (`claims.rs`). Cheap to clone.
#[derive(Debug, Clone)]
pub struct Queue {
    pub(super) context: Context,
    pub(super) fleet: Fleet,
    pub(super) config: Config,
    pub(super) deliveries: Deliveries,
}

impl Queue {
    pub(crate) fn new(context: Context, fleet: Fleet, config: Config, deliveries: Deliveries) -> Self {
        Self { context, fleet, config, deliveries }
    }

    /// Messages of a workspace, by age.
    #[tracing::instrument(name = "exchange.queue.list", skip_all, fields(workspace.id = %query.workspace_id))]
    pub async fn list(
        &self,
        who: &Identity,
        mut query: DeliveryQuery,
    ) -> Result<Page<Placed, DeliveryId>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWork, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        let page = self
            .context
            .store()
            .read(move |tx| {
                let page = tx.deliveries(&query)?;
                // One walk along the order for all of them: to count for each would cost as much for every row.
                let order: HashMap<DeliveryId, u64> = match query.state {
                    DeliveryState::Queued if !page.rows.is_empty() => {
                        tx.waiting_order(query.workspace_id, MAX_PLACES)?.into_iter().zip(0..).collect()
                    }
                    DeliveryState::Queued | DeliveryState::Claimed | DeliveryState::Ended => HashMap::new(),
                };
                let placed = |delivery: Delivery| {
                    let position = order.get(&delivery.id).copied();
                    Placed { delivery, position }
                };
                Ok::<_, Error>(page.map(placed))
            })
            .await?;
        Ok(self.context.listed(page))
    }

    /// One message, and its place if it waits.
    #[tracing::instrument(name = "exchange.queue.get", skip_all, fields(workspace.id = %workspace_id, delivery.id = %id))]
    pub async fn get(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Placed, Error> {
        let delivery = self.delivery(who, Action::ReadWork, workspace_id, id).await?;
        if delivery.state != DeliveryState::Queued {
            return Ok(Placed { delivery, position: None });
        }
        self.context
            .store()
            .read(move |tx| {
                let position = Some(tx.position(&delivery)?);
                Ok(Placed { delivery: delivery.clone(), position })
            })
            .await
    }

    async fn delivery(
        &self,
        who: &Identity,
        action: Action,
        workspace_id: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Delivery, Error> {
        self.fleet.workspaces.get(who, action, workspace_id).await?;
        let row = self.context.store().read(move |tx| tx.delivery(id).map_err(Error::from)).await?;
        let row = row.filter(|row| row.workspace_id == workspace_id);
        row.ok_or_else(|| Error::new(ErrorCode::DeliveryNotFound))
    }

    /// Takes a message out of the queue: it ends as cancelled, and so does its task.
    #[tracing::instrument(name = "exchange.queue.drop_message", skip_all, fields(workspace.id = %workspace_id, delivery.id = %id))]
    pub async fn drop_message(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Delivery, Error> {
        let row = self.delivery(who, Action::UseWorkspace, workspace_id, id).await?;
        if row.state != DeliveryState::Queued {
            let detail = match row.state {
                DeliveryState::Ended => "the message has ended",
                DeliveryState::Queued | DeliveryState::Claimed => {
                    "its agent has the message; cancel its task instead"
                }
            };
            return Err(Error::with_detail(ErrorCode::TaskNotCancelable, detail));
        }
        self.drop_waiting(row, &who.principal).await?.ok_or_else(|| Error::new(ErrorCode::ClaimLost))
    }

    /// Takes all that wait out of the queue. Returns how many.
    #[tracing::instrument(name = "exchange.queue.clear", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn clear(&self, who: &Identity, workspace_id: WorkspaceId) -> Result<u64, Error> {
        let row = self.fleet.workspaces.get(who, Action::UseWorkspace, workspace_id).await?;
        let mut dropped = 0;
        let mut after = None;
        loop {
            let query = DeliveryQuery { workspace_id, state: DeliveryState::Queued, after, limit: 200 };
            let page =
                self.context.store().read(move |tx| tx.deliveries(&query).map_err(Error::from)).await?;
            let next = page.next;
            for waiting in self.context.listed(page).rows {
                dropped += u64::from(self.drop_waiting(waiting, &who.principal).await?.is_some());
            }
            match next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let (at, actor, id) = (self.context.now(), Actor::of(who), row.id);
        let details = AuditDetails::QueueCleared { messages: dropped };
        let entry = actor.did_to_workspace(at, AuditAction::QueueCleared, id, &details);
        self.context.store().write(move |tx| tx.append_audit(&entry).map_err(Error::from)).await?;
        Ok(dropped)
    }

    async fn drop_waiting(&self, row: Delivery, by: &Principal) -> Result<Option<Delivery>, Error> {
        let report =
            DeliveryReport { by: by.clone(), ..DeliveryReport::of_warren(&row, DeliveryEvent::Cancelled) };
        Ok(self.deliveries.settle(report).await?.map(|settled| settled.delivery))
    }
}
