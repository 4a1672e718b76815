//! Work that waited for somebody and goes on by itself: its agent has the message, and is followed again.

use warren_model::{
    Delivery, DeliveryId, DeliveryReason, DeliveryState, Principal, Task, TaskState, Timestamp,
};
use warren_rules::messages::{dispatch, tasks};
use warren_service::Error;
use warren_store::WriteTx;

use super::record::append_change;

/// Makes another delivery of the last message to a task that waits for input. It sends nothing: the agent is asked how the
/// work goes, under the name that it has for it. Returns false if the task does not wait, or somebody answers it already.
pub fn go_on_with_task(
    tx: &mut dyn WriteTx,
    mut task: Task,
    delivery_id: DeliveryId,
    now: Timestamp,
) -> Result<bool, Error> {
    tx.lock_queue(task.workspace_id)?;
    let is_waiting = task.state.is_interrupted() && task.remote_id.is_some();
    if !is_waiting || !tx.open_deliveries_of(task.id)?.is_empty() {
        return Ok(false);
    }
    let Some(last) = tx.last_delivery_of(task.id)? else { return Ok(false) };
    let mut delivery = continued(last, delivery_id, now);
    delivery.due_at = dispatch::due_at(&delivery);
    tx.insert_delivery(&delivery)?;
    let (was, asked) = (task.state, task.status_message.take());
    tasks::remember(&mut task, asked);
    task.state = TaskState::Submitted;
    task.updated_at = now;
    task.version = tx.update_task(&task, task.version)?;
    append_change(tx, &task, &delivery, was, &Principal::workspace(task.workspace_id), now)?;
    Ok(true)
}

/// With as much time as the last one had.
fn continued(last: Delivery, id: DeliveryId, now: Timestamp) -> Delivery {
    let moved = |at: Timestamp| now.plus_ms(at.ms_since(last.created_at));
    Delivery {
        id,
        state: DeliveryState::Queued,
        end: None,
        reason: Some(DeliveryReason::Resumed),
        attempts: 0,
        not_before: now,
        expires_at: moved(last.expires_at),
        deadline_at: last.deadline_at.map(moved),
        owner: None,
        lease_until: None,
        has_begun: true,
        progress_at: None,
        due_at: None,
        created_at: now,
        ended_at: None,
        ..last
    }
}
