//! Messages on their way, and the queue of each workspace, in SQL.

use warren_model::{Delivery, DeliveryId, DeliveryState, Principal, TaskId, Timestamp, WorkspaceId};
use warren_store::{
    Batch, DeliveryQuery, DeliveryReads, DeliveryWrites, Error, Page, QueueState, QueueTotals,
};

use crate::row::{Columns, read_count, read_id, read_optional_count};
use crate::select::Select;
use crate::stored::Json;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    /// What a message is never changes; how far it got does.
    DELIVERIES: Delivery in "deliveries" {
        id, org_id, workspace_id, task_id, author, message: Json, priority, turn, expires_at, idle_timeout_ms,
        deadline_at, created_at;
        state, end [ended_how], reason, attempts, not_before, owner, lease_until, has_begun, progress_at, due_at, ended_at,
    }
}
table! {
    QUEUE_STATES: QueueState in "lanes" { ; turn, not_before }
}

static GET: Statement = Statement::new(|| DELIVERIES.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| DELIVERIES.select(""));
static LAST_OF_TASK: Statement =
    Statement::new(|| DELIVERIES.select("WHERE task_id = $1 ORDER BY id DESC LIMIT 1"));
static OPEN_OF_TASK: Statement =
    Statement::new(|| DELIVERIES.select("WHERE task_id = $1 AND state <> 'ended' ORDER BY id"));
const CLAIMED: &str = "SELECT count(*) FROM deliveries WHERE workspace_id = $1 AND state = 'claimed'";
/// No further than matters: a long queue is not counted to its end with each message.
const WAITING: &str = "SELECT count(*) FROM \
     (SELECT 1 FROM deliveries WHERE workspace_id = $1 AND state = 'queued' LIMIT $2) AS waiting";
const QUEUED_TOTALS: &str = "SELECT count(*), min(created_at) FROM deliveries WHERE state = 'queued'";
const CLAIMED_TOTAL: &str = "SELECT count(*) FROM deliveries WHERE state = 'claimed'";
const ORDER: &str = "SELECT id FROM deliveries WHERE workspace_id = $1 AND state = 'queued' \
     ORDER BY priority DESC, turn, id LIMIT $2";
const LAST_TURN: &str =
    "SELECT max(turn) FROM deliveries WHERE workspace_id = $1 AND author = $2 AND state = 'queued'";
const BEFORE: &str = "SELECT count(*) FROM deliveries WHERE workspace_id = $1 AND state = 'queued' \
     AND (priority > $2 OR (priority = $2 AND (turn, id) < ($3, $4)))";
/// From one queue to the next by the index, however long they are.
const WAITING_LANES: &str = "WITH RECURSIVE found (workspace_id) AS (\
     SELECT (SELECT workspace_id FROM deliveries WHERE state = 'queued' AND workspace_id > $1 \
             ORDER BY workspace_id LIMIT 1) \
     UNION ALL \
     SELECT (SELECT d.workspace_id FROM deliveries d WHERE d.state = 'queued' AND d.workspace_id > found.workspace_id \
             ORDER BY d.workspace_id LIMIT 1) FROM found WHERE found.workspace_id IS NOT NULL) \
     SELECT workspace_id FROM found WHERE workspace_id IS NOT NULL LIMIT $2";
static DUE: Statement = Statement::new(|| DELIVERIES.select("WHERE due_at <= $1 ORDER BY due_at LIMIT $2"));
static INSERT: Statement = Statement::new(|| DELIVERIES.insert(""));
static NEXT_WAITING: Statement = Statement::new(|| {
    DELIVERIES.select(
        "WHERE workspace_id = $1 AND state = 'queued' AND not_before <= $2 AND expires_at > $3 \
     ORDER BY priority DESC, turn, id LIMIT $4",
    )
});
static UPDATE: Statement = Statement::new(|| DELIVERIES.update(&["id", "state", "attempts"]));
/// The row is locked by it on both engines, whether it was there or not.
static HOLD_LANE: Statement = Statement::new(|| {
    format!(
        "INSERT INTO lanes (workspace_id, turn, not_before) VALUES ($1, 0, 0) \
     ON CONFLICT (workspace_id) DO UPDATE SET turn = lanes.turn RETURNING {}",
        QUEUE_STATES.columns()
    )
});
static GET_QUEUE_STATE: Statement = Statement::new(|| QUEUE_STATES.select("WHERE workspace_id = $1"));
static PUT_LANE: Statement = Statement::new(|| QUEUE_STATES.update(&["workspace_id"]));

impl DeliveryReads for Transaction<'_> {
    fn delivery(&mut self, id: DeliveryId) -> Result<Option<Delivery>, Error> {
        DELIVERIES.first(self, &GET, &[id.into()])
    }

    fn deliveries(&mut self, query: &DeliveryQuery) -> Result<Page<Delivery, DeliveryId>, Error> {
        DELIVERIES.page(self, &listing(query), query.limit, read_id)
    }

    fn last_delivery_of(&mut self, task_id: TaskId) -> Result<Option<Delivery>, Error> {
        DELIVERIES.first(self, &LAST_OF_TASK, &[task_id.into()])
    }

    fn open_deliveries_of(&mut self, task_id: TaskId) -> Result<Vec<Delivery>, Error> {
        DELIVERIES.rows(self, &OPEN_OF_TASK, &[task_id.into()])
    }

    fn crowd(&mut self, workspace_id: WorkspaceId, cap: u64) -> Result<(u32, u64), Error> {
        let claimed = self.first("deliveries", CLAIMED, &[workspace_id.into()], read_small_count)?;
        let values = [workspace_id.into(), Value::count(cap)?];
        let waiting = self.first("deliveries", WAITING, &values, read_count)?;
        Ok((claimed.unwrap_or(0), waiting.unwrap_or(0)))
    }

    fn queue_totals(&mut self) -> Result<QueueTotals, Error> {
        let read = |row: &mut Columns<'_>| Ok((row.count()?, row.optional_time()?));
        let (queued, oldest_queued_at) =
            self.first("deliveries", QUEUED_TOTALS, &[], read)?.unwrap_or_default();
        let claimed = self.first("deliveries", CLAIMED_TOTAL, &[], read_count)?.unwrap_or(0);
        Ok(QueueTotals { queued, claimed, oldest_queued_at })
    }

    fn last_turn_of(&mut self, workspace_id: WorkspaceId, sender: &Principal) -> Result<Option<u64>, Error> {
        let sender = sender.to_string();
        let values = [workspace_id.into(), sender.as_str().into()];
        Ok(self.first("deliveries", LAST_TURN, &values, read_optional_count)?.flatten())
    }

    fn waiting_order(&mut self, workspace_id: WorkspaceId, limit: u32) -> Result<Vec<DeliveryId>, Error> {
        let values = [workspace_id.into(), Value::count(u64::from(limit))?];
        self.rows("deliveries", ORDER, &values, read_id)
    }

    fn position(&mut self, delivery: &Delivery) -> Result<u64, Error> {
        let values = [
            delivery.workspace_id.into(),
            Value::Int(Some(i64::from(delivery.priority))),
            Value::count(delivery.turn)?,
            delivery.id.into(),
        ];
        Ok(self.first("deliveries", BEFORE, &values, read_count)?.unwrap_or(0))
    }

    fn waiting_queues(&mut self, after: Option<WorkspaceId>, limit: u32) -> Result<Vec<WorkspaceId>, Error> {
        let after = after.unwrap_or(WorkspaceId::from_bytes([0; 16]));
        self.rows("deliveries", WAITING_LANES, &[after.into(), Value::count(u64::from(limit))?], read_id)
    }

    fn due_deliveries(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Delivery>, Error> {
        DELIVERIES.readable(self, &DUE, &[now.into()], limit)
    }
}

impl DeliveryWrites for Transaction<'_> {
    fn lock_queue(&mut self, workspace_id: WorkspaceId) -> Result<QueueState, Error> {
        if self.row_lock().is_empty() {
            // Whoever writes is alone: a row that is there need not be written to be held.
            if let Some(queue_state) = QUEUE_STATES.first(self, &GET_QUEUE_STATE, &[workspace_id.into()])? {
                return Ok(queue_state);
            }
        }
        let held = QUEUE_STATES.first(self, &HOLD_LANE, &[workspace_id.into()])?;
        held.ok_or_else(|| Error::Corrupt("lanes: a row that was written is not there".into()))
    }

    fn put_queue_state(&mut self, workspace_id: WorkspaceId, queue_state: QueueState) -> Result<(), Error> {
        let mut values = QUEUE_STATES.changes(&queue_state)?;
        values.push(workspace_id.into());
        self.execute(&PUT_LANE, &values).map(drop)
    }

    fn insert_delivery(&mut self, delivery: &Delivery) -> Result<(), Error> {
        self.execute(&INSERT, &DELIVERIES.values(delivery)?).map(drop)
    }

    fn next_waiting(
        &mut self,
        workspace_id: WorkspaceId,
        ready_by: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Delivery>, Error> {
        let values = [workspace_id.into(), ready_by.into(), now.into()];
        // One that cannot be read is told of when it is due; until then it must not stop those behind it.
        Ok(DELIVERIES.readable(self, &NEXT_WAITING, &values, 1)?.rows.pop())
    }

    fn update_delivery(
        &mut self,
        delivery: &Delivery,
        state: DeliveryState,
        attempts: u32,
    ) -> Result<(), Error> {
        let mut values = DELIVERIES.changes(delivery)?;
        values.extend([delivery.id.into(), state.as_str().into(), Value::count(attempts.into())?]);
        match self.execute(&UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }
}

fn listing(query: &DeliveryQuery) -> (String, Vec<Value<'_>>) {
    let mut select = Select::new(&LIST);
    select.and_value("workspace_id =", query.workspace_id);
    // As text: an index over one state is not found for a value.
    select.and(match query.state {
        DeliveryState::Queued => "state = 'queued'",
        DeliveryState::Claimed => "state = 'claimed'",
        DeliveryState::Ended => "state = 'ended'",
    });
    if let Some(after) = query.after {
        select.and_value("id >", after);
    }
    select.page("id", query.limit)
}

fn read_small_count(row: &mut Columns<'_>) -> Result<u32, Error> {
    row.small_count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // X15
    #[test]
    fn the_few_open_messages_are_found_without_looking_at_those_that_ended() {
        let by_state = [
            (DeliveryState::Queued, "deliveries_queued"),
            (DeliveryState::Claimed, "deliveries_claimed"),
            (DeliveryState::Ended, "deliveries_by_workspace"),
        ];
        for (state, index) in by_state {
            let after = Some(DeliveryId::from_bytes([1; 16]));
            let query =
                DeliveryQuery { workspace_id: WorkspaceId::from_bytes([1; 16]), state, after, limit: 10 };
            let plan = plan_of(&listing(&query).0);
            assert!(plan.contains(&format!("{index} (workspace_id=? AND id>?)")), "{state:?}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{state:?} is sorted: {plan}");
        }
        assert!(plan_of(CLAIMED).contains("deliveries_claimed"), "{}", plan_of(CLAIMED));
    }
}
