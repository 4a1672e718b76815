//! The queue in SQL: messages on their way, lanes, and what was accepted before.

use warren_model::{
    Delivery, DeliveryEnd, DeliveryId, DeliveryReason, DeliveryState, Principal, TaskId, Timestamp,
    WorkspaceId,
};
use warren_store::{
    Batch, DeliveryQuery, DeliveryReads, DeliveryWrites, Error, Lane, Page, Repeat, RepeatReads, RepeatWrites,
};

use crate::row::{Columns, read_count, read_id, read_optional_count};
use crate::select::Select;
use crate::tasks::json_of;
use crate::transaction::Transaction;
use crate::value::Value;

/// The order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, org_id, workspace_id, task_id, author, message, priority, turn, state, ended_how, reason, attempts, \
         not_before, expires_at, idle_timeout_ms, deadline_at, owner, lease_until, has_begun, progress_at, due_at, created_at, \
         ended_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM deliveries WHERE id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM deliveries");
const LAST_OF_TASK: &str =
    concat!("SELECT ", columns!(), " FROM deliveries WHERE task_id = $1 ORDER BY id DESC LIMIT 1");
const OPEN_OF_TASK: &str =
    concat!("SELECT ", columns!(), " FROM deliveries WHERE task_id = $1 AND state <> 'ended' ORDER BY id");
const CLAIMED: &str = "SELECT count(*) FROM deliveries WHERE workspace_id = $1 AND state = 'claimed'";
/// No further than matters: a long queue is not counted to its end with each message.
const WAITING: &str = "SELECT count(*) FROM \
     (SELECT 1 FROM deliveries WHERE workspace_id = $1 AND state = 'queued' LIMIT $2) AS waiting";
const ORDER: &str = "SELECT id FROM deliveries WHERE workspace_id = $1 AND state = 'queued' \
     ORDER BY priority DESC, turn, id LIMIT $2";
const LAST_TURN: &str =
    "SELECT max(turn) FROM deliveries WHERE workspace_id = $1 AND author = $2 AND state = 'queued'";
const BEFORE: &str = "SELECT count(*) FROM deliveries WHERE workspace_id = $1 AND state = 'queued' \
     AND (priority > $2 OR (priority = $2 AND (turn, id) < ($3, $4)))";
/// From one lane to the next by the index, however long the lanes are.
const LANES: &str = "WITH RECURSIVE found (workspace_id) AS (\
     SELECT (SELECT workspace_id FROM deliveries WHERE state = 'queued' AND workspace_id > $1 \
             ORDER BY workspace_id LIMIT 1) \
     UNION ALL \
     SELECT (SELECT d.workspace_id FROM deliveries d WHERE d.state = 'queued' AND d.workspace_id > found.workspace_id \
             ORDER BY d.workspace_id LIMIT 1) FROM found WHERE found.workspace_id IS NOT NULL) \
     SELECT workspace_id FROM found WHERE workspace_id IS NOT NULL LIMIT $2";
const DUE: &str =
    concat!("SELECT ", columns!(), " FROM deliveries WHERE due_at <= $1 ORDER BY due_at LIMIT $2");
const INSERT: &str = concat!(
    "INSERT INTO deliveries (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)"
);
const NEXT_WAITING: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM deliveries WHERE workspace_id = $1 AND state = 'queued' AND not_before <= $2 AND expires_at > $3 \
     ORDER BY priority DESC, turn, id LIMIT $4"
);
/// What a message is never changes; where it is does.
const UPDATE: &str = "UPDATE deliveries SET state = $1, ended_how = $2, reason = $3, attempts = $4, not_before = $5, \
     owner = $6, lease_until = $7, has_begun = $8, progress_at = $9, due_at = $10, ended_at = $11 \
     WHERE id = $12 AND state = $13 AND attempts = $14";
/// The row is locked by it on both engines, whether it was there or not.
const HOLD_LANE: &str = "INSERT INTO lanes (workspace_id, turn, not_before) VALUES ($1, 0, 0) \
     ON CONFLICT (workspace_id) DO UPDATE SET turn = lanes.turn RETURNING turn, not_before";
const GET_LANE: &str = "SELECT turn, not_before FROM lanes WHERE workspace_id = $1";
const PUT_LANE: &str = "UPDATE lanes SET turn = $1, not_before = $2 WHERE workspace_id = $3";
const GET_REPEAT: &str =
    "SELECT sender, key, fingerprint, task_id, delivery_id, at FROM repeats WHERE sender = $1 AND key = $2";
const INSERT_REPEAT: &str = "INSERT INTO repeats (sender, key, fingerprint, task_id, delivery_id, at) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (sender, key) DO UPDATE SET fingerprint = excluded.fingerprint, \
     task_id = excluded.task_id, delivery_id = excluded.delivery_id, at = excluded.at WHERE repeats.at <= $7";
const PRUNE_REPEATS: &str = "DELETE FROM repeats WHERE (sender, key) IN \
     (SELECT sender, key FROM repeats WHERE at < $1 ORDER BY at LIMIT $2)";

impl DeliveryReads for Transaction<'_> {
    fn delivery(&mut self, id: DeliveryId) -> Result<Option<Delivery>, Error> {
        self.first("deliveries", GET, &[id.into()], read)
    }

    fn deliveries(&mut self, query: &DeliveryQuery) -> Result<Page<Delivery, DeliveryId>, Error> {
        self.page("deliveries", &listing(query), query.limit, read, read_id)
    }

    fn last_delivery_of(&mut self, task_id: TaskId) -> Result<Option<Delivery>, Error> {
        self.first("deliveries", LAST_OF_TASK, &[task_id.into()], read)
    }

    fn open_deliveries_of(&mut self, task_id: TaskId) -> Result<Vec<Delivery>, Error> {
        self.rows("deliveries", OPEN_OF_TASK, &[task_id.into()], read)
    }

    fn crowd(&mut self, workspace_id: WorkspaceId, cap: u64) -> Result<(u32, u64), Error> {
        let claimed = self.first("deliveries", CLAIMED, &[workspace_id.into()], read_small_count)?;
        let values = [workspace_id.into(), Value::count(cap)?];
        let waiting = self.first("deliveries", WAITING, &values, read_count)?;
        Ok((claimed.unwrap_or(0), waiting.unwrap_or(0)))
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

    fn waiting_lanes(&mut self, after: Option<WorkspaceId>, limit: u32) -> Result<Vec<WorkspaceId>, Error> {
        let after = after.unwrap_or(WorkspaceId::from_bytes([0; 16]));
        self.rows("deliveries", LANES, &[after.into(), Value::count(u64::from(limit))?], read_id)
    }

    fn due_deliveries(&mut self, now: Timestamp, limit: u32) -> Result<Batch<Delivery>, Error> {
        self.readable("deliveries", DUE, &[now.into()], limit, read)
    }
}

impl DeliveryWrites for Transaction<'_> {
    fn hold_lane(&mut self, workspace_id: WorkspaceId) -> Result<Lane, Error> {
        let read = |row: &mut Columns<'_>| Ok(Lane { turn: row.count()?, not_before: row.time()? });
        if self.keeps_row().is_empty() {
            // Whoever writes is alone: a row that is there need not be written to be held.
            if let Some(lane) = self.first("lanes", GET_LANE, &[workspace_id.into()], read)? {
                return Ok(lane);
            }
        }
        let held = self.first("lanes", HOLD_LANE, &[workspace_id.into()], read)?;
        held.ok_or_else(|| Error::Corrupt("lanes: a row that was written is not there".into()))
    }

    fn put_lane(&mut self, workspace_id: WorkspaceId, lane: Lane) -> Result<(), Error> {
        let values = [Value::count(lane.turn)?, lane.not_before.into(), workspace_id.into()];
        self.execute(PUT_LANE, &values).map(drop)
    }

    fn insert_delivery(&mut self, delivery: &Delivery) -> Result<(), Error> {
        let (author, message) = (delivery.author.to_string(), json_of(&delivery.message)?);
        let values = [
            delivery.id.into(),
            delivery.org_id.into(),
            delivery.workspace_id.into(),
            delivery.task_id.into(),
            author.as_str().into(),
            Value::Json(Some(&message)),
            Value::Int(Some(i64::from(delivery.priority))),
            Value::count(delivery.turn)?,
            delivery.state.as_str().into(),
            delivery.end.map(DeliveryEnd::as_str).into(),
            delivery.reason.map(DeliveryReason::as_str).into(),
            Value::count(u64::from(delivery.attempts))?,
            delivery.not_before.into(),
            delivery.expires_at.into(),
            Value::count(delivery.idle_timeout_ms)?,
            delivery.deadline_at.into(),
            delivery.owner.as_deref().into(),
            delivery.lease_until.into(),
            Value::Bool(delivery.has_begun),
            delivery.progress_at.into(),
            delivery.due_at.into(),
            delivery.created_at.into(),
            delivery.ended_at.into(),
        ];
        self.execute(INSERT, &values).map(drop)
    }

    fn next_waiting(
        &mut self,
        workspace_id: WorkspaceId,
        ready_by: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Delivery>, Error> {
        let values = [workspace_id.into(), ready_by.into(), now.into()];
        // One that cannot be read is told of when it is due; until then it must not stop those behind it.
        Ok(self.readable("deliveries", NEXT_WAITING, &values, 1, read)?.rows.pop())
    }

    fn update_delivery(
        &mut self,
        delivery: &Delivery,
        state: DeliveryState,
        attempts: u32,
    ) -> Result<(), Error> {
        let values = [
            delivery.state.as_str().into(),
            delivery.end.map(DeliveryEnd::as_str).into(),
            delivery.reason.map(DeliveryReason::as_str).into(),
            Value::count(u64::from(delivery.attempts))?,
            delivery.not_before.into(),
            delivery.owner.as_deref().into(),
            delivery.lease_until.into(),
            Value::Bool(delivery.has_begun),
            delivery.progress_at.into(),
            delivery.due_at.into(),
            delivery.ended_at.into(),
            delivery.id.into(),
            state.as_str().into(),
            Value::count(u64::from(attempts))?,
        ];
        match self.execute(UPDATE, &values)? {
            0 => Err(Error::Conflict),
            _ => Ok(()),
        }
    }
}

impl RepeatReads for Transaction<'_> {
    fn repeat(&mut self, sender: &Principal, key: &str) -> Result<Option<Repeat>, Error> {
        let sender = sender.to_string();
        self.first("repeats", GET_REPEAT, &[sender.as_str().into(), key.into()], read_repeat)
    }
}

impl RepeatWrites for Transaction<'_> {
    fn insert_repeat(&mut self, repeat: &Repeat, forgotten: Timestamp) -> Result<bool, Error> {
        let sender = repeat.sender.to_string();
        let values = [
            sender.as_str().into(),
            repeat.key.as_str().into(),
            repeat.fingerprint.as_str().into(),
            repeat.task_id.into(),
            repeat.delivery_id.into(),
            repeat.at.into(),
            forgotten.into(),
        ];
        Ok(self.execute(INSERT_REPEAT, &values)? > 0)
    }

    fn prune_repeats(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE_REPEATS, &[before.into(), Value::count(u64::from(limit))?])
    }
}

fn listing(query: &DeliveryQuery) -> (String, Vec<Value<'_>>) {
    let mut select = Select::new(LIST);
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

fn read_repeat(row: &mut Columns<'_>) -> Result<Repeat, Error> {
    Ok(Repeat {
        sender: row.word(Principal::parse)?,
        key: row.text()?.to_owned(),
        fingerprint: row.text()?.to_owned(),
        task_id: row.id()?,
        delivery_id: row.id()?,
        at: row.time()?,
    })
}

fn read(row: &mut Columns<'_>) -> Result<Delivery, Error> {
    Ok(Delivery {
        id: row.id()?,
        org_id: row.id()?,
        workspace_id: row.id()?,
        task_id: row.id()?,
        author: row.word(Principal::parse)?,
        message: row.json()?,
        priority: read_priority(row)?,
        turn: row.count()?,
        state: row.word(DeliveryState::parse)?,
        end: read_end(row)?,
        reason: row.optional_text()?.map(DeliveryReason::read),
        attempts: row.small_count()?,
        not_before: row.time()?,
        expires_at: row.time()?,
        idle_timeout_ms: row.count()?,
        deadline_at: row.optional_time()?,
        owner: row.optional_text()?.map(str::to_owned),
        lease_until: row.optional_time()?,
        has_begun: row.bool()?,
        progress_at: row.optional_time()?,
        due_at: row.optional_time()?,
        created_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}

fn read_small_count(row: &mut Columns<'_>) -> Result<u32, Error> {
    row.small_count()
}

fn read_priority(row: &mut Columns<'_>) -> Result<i32, Error> {
    let number = row.optional_int()?.unwrap_or(0);
    i32::try_from(number).map_err(|_| row.corrupt("a priority is too large"))
}

fn read_end(row: &mut Columns<'_>) -> Result<Option<DeliveryEnd>, Error> {
    let word = row.optional_text()?;
    word.map(|word| {
        DeliveryEnd::parse(word).ok_or_else(|| row.corrupt(format_args!("unknown word `{word}`")))
    })
    .transpose()
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
