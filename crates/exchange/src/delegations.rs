//! Work that one workspace hands to another (X20 to X22).

use warren_fleet::Fleet;
use warren_model::{
    Delegation, DelegationId, DelegationState, DeliveryState, ErrorCode, Principal, Task, TaskId, TaskOrigin,
    Workspace, WorkspaceId,
};
use warren_rules::messages::delegation::{self, DelegationRefusal};
use warren_rules::messages::uploads;
use warren_service::{Action, Context, Error, Identity};
use warren_store::{DelegationQuery, DeliveryQuery, Page, ReadTx};

use crate::kinship;
use crate::messages::{Admission, Deliveries, Messages, NewMessage, Sender, accept, append_delegation_event};
use crate::peers::Peers;

/// Tasks in hand that are looked at to find out where a delegation comes from.
const MAX_IN_HAND: u32 = 1_000;

/// A piece of work to hand on.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegate {
    pub from: WorkspaceId,
    pub message: NewMessage,
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

/// Work that workspaces hand to each other.
#[derive(Debug, Clone)]
pub struct Delegations {
    context: Context,
    fleet: Fleet,
    peers: Peers,
    messages: Messages,
    deliveries: Deliveries,
}

impl Delegations {
    pub(crate) fn new(
        context: Context,
        fleet: Fleet,
        peers: Peers,
        messages: Messages,
        deliveries: Deliveries,
    ) -> Self {
        Self { context, fleet, peers, messages, deliveries }
    }

    /// Hands work to a peer of `from`. The row is written with the message: both are there, or neither.
    #[tracing::instrument(name = "exchange.delegations.create", skip_all, fields(workspace.id = %request.from))]
    pub async fn create(&self, who: &Identity, request: Delegate) -> Result<Delegated, Error> {
        let from = self.fleet.workspaces.get(who, Action::UseWorkspace, request.from).await?;
        if uploads::named_files(&request.message.message).is_empty() {
            return self.hand_on(from, request).await;
        }
        let to = self.peers.peer(from.clone(), request.message.workspace_id).await?;
        let service = self.clone();
        let work = async move { service.hand_on_with_files(from, to, request).await };
        self.context.run_detached(work).await?
    }

    async fn hand_on_with_files(
        &self,
        from: Workspace,
        to: Workspace,
        mut request: Delegate,
    ) -> Result<Delegated, Error> {
        let sender = Sender { principal: Principal::workspace(from.id), org_id: from.org_id };
        let landing = self.messages.bring_files(&from, to, &sender, &mut request.message).await?;
        match self.hand_on(from, request).await {
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

    async fn hand_on(&self, from: Workspace, request: Delegate) -> Result<Delegated, Error> {
        let to = request.message.workspace_id;
        let sender = Sender { principal: Principal::workspace(from.id), org_id: from.org_id };
        let mut submission = self.messages.submission(sender.clone(), request.message.clone(), None)?;
        let id: DelegationId = self.context.entropy().id(submission.now);
        let from_id = from.id;
        let admitted = self
            .context
            .store()
            .write(move |tx| {
                let hidden = || Error::new(ErrorCode::WorkspaceNotFound);
                let peer = tx.workspace(to)?.ok_or_else(hidden)?;
                if !kinship::may_talk(tx, &from, &peer)? {
                    return Err(hidden());
                }
                let (origin, parent) = origin_of(tx, from_id, request.parent_task)?;
                let chain = delegation::hand_on(&origin, from_id, to).map_err(refused)?;
                submission.origin = Some(TaskOrigin { chain, parent });
                let admission = accept(tx, &submission)?;
                let (accepted, delivery_state, is_repeat) = match &admission {
                    Admission::Repeated(accepted) => (accepted, DeliveryState::Queued, true),
                    Admission::Started(accepted, ..) => (accepted, DeliveryState::Claimed, false),
                    Admission::Queued { accepted, .. } => (accepted, DeliveryState::Queued, false),
                };
                if is_repeat {
                    let known = tx.delegation_of_task(accepted.task.id)?;
                    let known = known.ok_or_else(|| Error::new(ErrorCode::KeyReused))?;
                    return Ok((known, admission));
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
                    is_told: request.is_told,
                    created_at: submission.now,
                    updated_at: submission.now,
                    ended_at: None,
                };
                tx.insert_delegation(&row)?;
                append_delegation_event(tx, &row, submission.now)?;
                Ok((row, admission))
            })
            .await;
        let (delegation, admission) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return Err(self.messages.note_refusal(error, to, &sender).await),
        };
        let accepted = self.messages.begin(admission, to, &sender).await?;
        Ok(Delegated {
            delegation,
            position: accepted.position,
            is_repeat: accepted.is_repeat,
            task: accepted.task,
        })
    }

    /// A delegation of this workspace, with its work.
    #[tracing::instrument(name = "exchange.delegations.get", skip_all, fields(workspace.id = %from, delegation.id = %id))]
    pub async fn get(
        &self,
        who: &Identity,
        from: WorkspaceId,
        id: DelegationId,
    ) -> Result<(Delegation, Task), Error> {
        self.fleet.workspaces.get(who, Action::ReadWork, from).await?;
        self.find(from, id).await
    }

    async fn find(&self, from: WorkspaceId, id: DelegationId) -> Result<(Delegation, Task), Error> {
        self.context
            .store()
            .read(move |tx| {
                let unknown = || Error::new(ErrorCode::DelegationNotFound);
                let row = tx.delegation(id)?.filter(|row| row.from == from).ok_or_else(unknown)?;
                let task = tx.task(row.task_id)?.ok_or_else(unknown)?;
                Ok((row, task))
            })
            .await
    }

    /// The youngest first.
    #[tracing::instrument(name = "exchange.delegations.list", skip_all, fields(workspace.id = %from))]
    pub async fn list(
        &self,
        who: &Identity,
        from: WorkspaceId,
        state: Option<DelegationState>,
        before: Option<DelegationId>,
        limit: u32,
    ) -> Result<Page<Delegation, DelegationId>, Error> {
        let row = self.fleet.workspaces.get(who, Action::ReadWork, from).await?;
        let limit = limit.clamp(1, self.context.limits().max_page_size);
        let query = DelegationQuery { from, org_id: row.org_id, state, before, limit };
        let page = self.context.store().read(move |tx| tx.delegations(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// Takes work back; the other side is told to stop.
    #[tracing::instrument(name = "exchange.delegations.cancel", skip_all, fields(workspace.id = %from, delegation.id = %id))]
    pub async fn cancel(
        &self,
        who: &Identity,
        from: WorkspaceId,
        id: DelegationId,
    ) -> Result<(Delegation, Task), Error> {
        self.fleet.workspaces.get(who, Action::UseWorkspace, from).await?;
        let (_, task) = self.find(from, id).await?;
        self.deliveries.cancel(task, who.principal.clone()).await?;
        self.find(from, id).await
    }
}

fn refused(refusal: DelegationRefusal) -> Error {
    match refusal {
        DelegationRefusal::Cycle => Error::new(ErrorCode::DelegationCycle),
        DelegationRefusal::TooDeep => Error::new(ErrorCode::DelegationTooDeep),
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
