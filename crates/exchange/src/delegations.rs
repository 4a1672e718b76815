//! Work that one workspace hands to another (X20 to X22).

use warren_fleet::access::Action;
use warren_fleet::{Error, Identity, upload_rules as uploads};
use warren_model::{
    Delegation, DelegationId, DelegationState, DeliveryState, ErrorCode, Principal, Task, TaskId, TaskOrigin,
    Workspace, WorkspaceId,
};
use warren_rules::messages::delegation::{self, Refusal};
use warren_store::{DelegationQuery, DeliveryQuery, Page, ReadTx};

use crate::endings::append_delegation_event;
use crate::send::{Send, Sender, Taken, take};
use crate::{Exchange, tree};

/// Tasks in hand that are looked at to find out where a delegation comes from.
const MAX_IN_HAND: u32 = 1_000;

/// A piece of work to hand on.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegate {
    pub from: WorkspaceId,
    pub send: Send,
    /// The task out of which it is handed on; absent: the deepest that the workspace has in hand.
    pub parent_task: Option<TaskId>,
    /// The result comes as a message of its own; otherwise it is asked for.
    pub is_told: bool,
}

/// A delegation with the work that it led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    pub delegation: Delegation,
    pub task: Task,
    /// How many are before it, if it waits.
    pub position: Option<u64>,
    pub is_repeat: bool,
}

impl Exchange {
    /// Hands work to a peer of `from`. The row is written with the message: both are there, or neither.
    pub async fn delegate(&self, who: &Identity, wish: Delegate) -> Result<Delegated, Error> {
        let from = self.fleet().workspace(who, Action::UseWorkspace, wish.from).await?;
        if uploads::named_files(&wish.send.message).is_empty() {
            return self.hand_on(from, wish).await;
        }
        let to = self.peer(from.clone(), wish.send.workspace_id).await?;
        let exchange = self.clone();
        let work = async move { exchange.hand_on_with_files(from, to, wish).await };
        self.fleet().context().run_detached(work).await?
    }

    async fn hand_on_with_files(
        &self,
        from: Workspace,
        to: Workspace,
        mut wish: Delegate,
    ) -> Result<Delegated, Error> {
        let sender = Sender { principal: Principal::workspace(from.id), org_id: from.org_id };
        let landing = self.bring_files(&from, to, &sender, &mut wish.send).await?;
        match self.hand_on(from, wish).await {
            Ok(delegated) => {
                landing.keep(&sender.principal);
                Ok(delegated)
            }
            Err(error) => {
                landing.take_back().await;
                Err(error)
            }
        }
    }

    async fn hand_on(&self, from: Workspace, wish: Delegate) -> Result<Delegated, Error> {
        let to = wish.send.workspace_id;
        let sender = Sender { principal: Principal::workspace(from.id), org_id: from.org_id };
        let mut request = self.request(sender, wish.send.clone(), None)?;
        let id: DelegationId = self.entropy().id(request.now);
        let (transport, from_id) = (self.transport(), from.id);
        let taken = self
            .store()
            .write(move |tx| {
                let hidden = || Error::new(ErrorCode::WorkspaceNotFound);
                let peer = tx.workspace(to)?.ok_or_else(hidden)?;
                if !tree::may_talk(tx, &from, &peer)? {
                    return Err(hidden());
                }
                let (origin, parent) = origin_of(tx, from_id, wish.parent_task)?;
                let chain = delegation::hand_on(&origin, from_id, to).map_err(refused)?;
                request.origin = Some(TaskOrigin { chain, parent });
                let can_call = |card: &serde_json::Value| transport.can_call(card);
                let taken = take(tx, &request, &can_call)?;
                let (accepted, delivery_state, is_repeat) = match &taken {
                    Taken::Repeated(accepted) => (accepted, DeliveryState::Queued, true),
                    Taken::Started(accepted, _) => (accepted, DeliveryState::Claimed, false),
                    Taken::Queued { accepted, .. } => (accepted, DeliveryState::Queued, false),
                };
                if is_repeat {
                    let known = tx.delegation_of_task(accepted.task.id)?;
                    let known = known.ok_or_else(|| Error::new(ErrorCode::KeyReused))?;
                    return Ok((known, taken));
                }
                let row = Delegation {
                    id,
                    org_id: from.org_id,
                    from: from_id,
                    to,
                    task_id: accepted.task.id,
                    parent_task: parent,
                    state: delegation::state_of(
                        DelegationState::Pending,
                        accepted.task.state,
                        delivery_state,
                        false,
                    ),
                    is_told: wish.is_told,
                    created_at: request.now,
                    updated_at: request.now,
                    ended_at: None,
                };
                tx.insert_delegation(&row)?;
                append_delegation_event(tx, &row, request.now)?;
                Ok((row, taken))
            })
            .await;
        let (delegation, taken) = taken?;
        let accepted = self.take_up(taken, to, &Principal::workspace(from_id));
        Ok(Delegated {
            delegation,
            position: accepted.position,
            is_repeat: accepted.is_repeat,
            task: accepted.task,
        })
    }

    /// A delegation of this workspace, with its work.
    pub async fn delegation(
        &self,
        who: &Identity,
        from: WorkspaceId,
        id: DelegationId,
    ) -> Result<(Delegation, Task), Error> {
        self.fleet().workspace(who, Action::UseWorkspace, from).await?;
        self.store()
            .read(move |tx| {
                let unknown = || Error::new(ErrorCode::DelegationNotFound);
                let row = tx.delegation(id)?.filter(|row| row.from == from).ok_or_else(unknown)?;
                let task = tx.task(row.task_id)?.ok_or_else(unknown)?;
                Ok((row, task))
            })
            .await
    }

    /// The youngest first.
    pub async fn delegations(
        &self,
        who: &Identity,
        from: WorkspaceId,
        state: Option<DelegationState>,
        before: Option<DelegationId>,
        limit: u32,
    ) -> Result<Page<Delegation, DelegationId>, Error> {
        let row = self.fleet().workspace(who, Action::UseWorkspace, from).await?;
        let limit = limit.clamp(1, self.fleet().limits().max_page_size);
        let query = DelegationQuery { from, org_id: row.org_id, state, before, limit };
        let page = self.store().read(move |tx| tx.delegations(&query).map_err(Error::from)).await?;
        Ok(self.fleet().context().listed(page))
    }

    /// Takes work back; the other side is told to stop.
    pub async fn cancel_delegation(
        &self,
        who: &Identity,
        from: WorkspaceId,
        id: DelegationId,
    ) -> Result<(Delegation, Task), Error> {
        let (_, task) = self.delegation(who, from, id).await?;
        self.cancel(task, who.principal.clone()).await?;
        self.delegation(who, from, id).await
    }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Cycle => Error::new(ErrorCode::DelegationCycle),
        Refusal::TooDeep => Error::new(ErrorCode::DelegationTooDeep),
    }
}

/// Where work that a workspace hands on comes from.
fn origin_of(
    tx: &mut dyn ReadTx,
    from: WorkspaceId,
    named: Option<TaskId>,
) -> Result<(TaskOrigin, Option<TaskId>), Error> {
    if let Some(id) = named {
        let task = tx.task(id)?.filter(|task| task.workspace_id == from);
        let task = task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))?;
        return Ok((task.origin, Some(id)));
    }
    let query =
        DeliveryQuery { workspace_id: from, state: DeliveryState::Claimed, after: None, limit: MAX_IN_HAND };
    let mut in_hand = Vec::new();
    for delivery in tx.deliveries(&query)?.rows {
        in_hand.extend(tx.task(delivery.task_id)?);
    }
    let origin = delegation::likely_origin(in_hand.iter().map(|task| task.origin.clone()));
    let parent = in_hand.iter().find(|task| task.origin == origin).map(|task| task.id);
    Ok((origin, parent))
}
