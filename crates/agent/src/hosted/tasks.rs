//! Tasks whose session waited for somebody, and goes on.

use warren_model::session::{Phase, Session, Suspension};
use warren_model::{DeliveryId, TaskState, Timestamp};
use warren_service::{Context, Error};
use warren_store::{TaskQuery, WriteTx};

use super::RemoteTask;
use super::place::context_of;

/// Tasks of one context that may wait at once.
const MAX_TASKS: u32 = 200;

/// The session's tasks wait for input, since it does.
fn holds_tasks_up(phase: &Phase) -> bool {
    match phase {
        // These pass by themselves, and whoever follows the session waits for it.
        Phase::Suspended { by: Suspension::Timer | Suspension::Workspace, .. } => false,
        Phase::Suspended { .. } => true,
        Phase::Interrupted => true,
        Phase::Idle | Phase::Active | Phase::Completed { .. } | Phase::Failed { .. } => false,
    }
}

/// Whether tasks of the exchange may belong to it.
pub(crate) fn has_tasks(session: &Session) -> bool {
    context_of(session).is_some()
}

/// In the transaction in which a session goes on, its tasks do: what it says from now on is theirs again. Returns true if
/// there were any.
pub(crate) fn go_on_with_tasks(
    tx: &mut dyn WriteTx,
    context: &Context,
    before: &Session,
    after: &Session,
    now: Timestamp,
) -> Result<bool, Error> {
    if !holds_tasks_up(&before.phase) || holds_tasks_up(&after.phase) {
        return Ok(false);
    }
    let Some(context_id) = context_of(after) else { return Ok(false) };
    let query = TaskQuery {
        context_id: context_id.map(str::to_owned),
        state: Some(TaskState::InputRequired),
        ..TaskQuery::of(after.workspace_id, MAX_TASKS)
    };
    let is_its = |remote_id: &str| RemoteTask::read(remote_id).is_some_and(|one| one.session_id == after.id);
    let mut has_any = false;
    for task in tx.tasks(&query)?.rows {
        if task.remote_id.as_deref().is_some_and(is_its) {
            let id: DeliveryId = context.new_id();
            has_any |= warren_exchange::go_on_with_task(tx, task, id, now)?;
        }
    }
    Ok(has_any)
}
