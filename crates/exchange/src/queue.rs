//! The queue of a workspace, for those who run it.

use std::collections::HashMap;

use serde_json::json;
use warren_fleet::access::Action;
use warren_fleet::{Actor, Error, Identity};
use warren_model::{AuditAction, Delivery, DeliveryId, DeliveryState, ErrorCode, Principal, WorkspaceId};
use warren_rules::messages::dispatch::Happening;
use warren_store::{DeliveryQuery, Page};

use crate::Exchange;
use crate::agent_words::Voice;
use crate::endings::Report;

/// Beyond this many nobody is told a place.
const MAX_PLACES: u32 = 100_000;

/// A message on its way, and how many are claimed before it while it waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub delivery: Delivery,
    pub position: Option<u64>,
}

impl Exchange {
    /// Messages of a workspace, by age.
    pub async fn deliveries(
        &self,
        who: &Identity,
        mut query: DeliveryQuery,
    ) -> Result<Page<Placed, DeliveryId>, Error> {
        self.fleet().workspace(who, Action::UseWorkspace, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.fleet().limits().max_page_size);
        let page = self
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
        Ok(self.fleet().context().listed(page))
    }

    /// One message, and its place if it waits.
    pub async fn placed_delivery(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Placed, Error> {
        let delivery = self.delivery(who, workspace_id, id).await?;
        if delivery.state != DeliveryState::Queued {
            return Ok(Placed { delivery, position: None });
        }
        self.store()
            .read(move |tx| {
                let position = Some(tx.position(&delivery)?);
                Ok(Placed { delivery: delivery.clone(), position })
            })
            .await
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

    /// Takes all that wait out of the queue. Answers how many.
    pub async fn clear_queue(&self, who: &Identity, workspace_id: WorkspaceId) -> Result<u64, Error> {
        let row = self.fleet().workspace(who, Action::UseWorkspace, workspace_id).await?;
        let mut dropped = 0;
        let mut after = None;
        loop {
            let query = DeliveryQuery { workspace_id, state: DeliveryState::Queued, after, limit: 200 };
            let page = self.store().read(move |tx| tx.deliveries(&query).map_err(Error::from)).await?;
            let next = page.next;
            for waiting in self.fleet().context().listed(page).rows {
                dropped += u64::from(self.drop_waiting(waiting, &who.principal).await?.is_some());
            }
            match next {
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
            voice: Voice::of(&row),
            attempt: row.attempts,
            happening: Happening::Cancelled,
            updates: Vec::new(),
            remote_id: None,
            by: by.clone(),
        };
        Ok(self.settle(report).await?.map(|settled| settled.delivery))
    }
}
