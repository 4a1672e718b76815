//! Work that one workspace hands to another: handed on, and waited for.

use warren_api as api;
use warren_exchange as exchange;
use warren_exchange::{FileView, NewMessage};
use warren_model as model;
use warren_model::{DelegationId, TaskId, WorkspaceId};
use warren_service::Identity;

use crate::App;
use crate::convert;
use crate::problem::Failure;

/// What became of a request to hand on work.
#[derive(Debug)]
pub(crate) struct Delegated {
    pub(crate) delegation: api::Delegation,
    /// It was handed on before, under the same key.
    pub(crate) is_repeat: bool,
}

/// Hands work on, and waits for it as long as the request says.
pub(crate) async fn create(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    body: api::Delegate,
    idempotency_key: Option<String>,
) -> Result<Delegated, Failure> {
    let to = app.exchange.peers.find(who, id, &body.to).await?;
    let new_id = app.entropy.id::<model::DeliveryKind>(app.clock.now()).to_string();
    let message = NewMessage {
        priority: body.priority,
        idempotency_key,
        deadline_at: convert::moment_from(app.clock.now(), "timeout_ms", body.timeout_ms)?,
        expires_at: convert::moment_from(app.clock.now(), "expires_in_ms", body.expires_in_ms)?,
        ..NewMessage::new(to, convert::exchange::message_from(body.message, new_id, "message")?)
    };
    let delegate = exchange::Delegate {
        from: id,
        message,
        parent_task: convert::optional_id_from("parent_task", body.parent_task.as_deref())?,
        is_told: body.tell,
    };
    let made = Box::pin(app.exchange.delegations.create(who, delegate)).await?;
    let (mut row, mut task, position) = (made.delegation, made.task, made.position);
    if body.wait_ms > 0 {
        wait(app, task.id, body.wait_ms).await?;
        (row, task) = app.exchange.delegations.get(who, id, row.id).await?;
    }
    let position = position.filter(|_| !row.state.is_final());
    let delegation = convert::exchange::delegation(&row, Some(&task), position);
    Ok(Delegated { delegation, is_repeat: made.is_repeat })
}

/// How it stands, or how it stands once it has ended, asked for something, or so long has passed.
pub(crate) async fn show(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    delegation: DelegationId,
    wait_ms: u64,
) -> Result<api::Delegation, Failure> {
    let (mut row, mut task) = app.exchange.delegations.get(who, id, delegation).await?;
    if wait_ms > 0 && !row.state.is_final() {
        wait(app, task.id, wait_ms).await?;
        (row, task) = app.exchange.delegations.get(who, id, delegation).await?;
    }
    Ok(convert::exchange::delegation(&row, Some(&task), None))
}

/// A server that stops lets go of those who wait; they ask again.
async fn wait(app: &App, task: TaskId, wait_ms: u64) -> Result<(), Failure> {
    let until = app.clock.now().plus_ms(i64::try_from(wait_ms).unwrap_or(i64::MAX));
    tokio::select! {
        settled = app.exchange.messages.settled(task, FileView::Own, Some(until)) => drop(settled?),
        () = app.stopping.cancelled() => {}
    }
    Ok(())
}
