//! The streams of sessions in SQL.

use warren_model::session::StreamEntry;
use warren_model::{SessionId, Timestamp};
use warren_store::{Error, SessionStreamReads, SessionStreamWrites};

use crate::many::InsertMany;
use crate::row::{Columns, read_count};
use crate::transaction::Transaction;
use crate::value::Value;

const AFTER: &str = "SELECT sequence, at, item FROM session_stream WHERE session_id = $1 AND sequence > $2 \
     ORDER BY sequence LIMIT $3";
const BACK_FROM: &str = "SELECT sequence, at, item FROM session_stream WHERE session_id = $1 AND sequence <= $2 \
     AND NOT is_delta ORDER BY sequence DESC LIMIT $3";
const APPEND: InsertMany = InsertMany {
    table: "session_stream",
    columns: &["session_id", "sequence", "at", "step", "is_delta", "item"],
    tail: "ON CONFLICT DO NOTHING",
};
/// Pieces of a step stand behind whatever an earlier step told. They have no index of their own, which would cost a page on
/// disk for each of them.
const DELETE_DELTAS: &str = "DELETE FROM session_stream WHERE session_id = $1 AND sequence > coalesce((\
     SELECT sequence FROM session_stream WHERE session_id = $1 AND step < $2 ORDER BY sequence DESC LIMIT 1), 0) \
     AND step = $2 AND is_delta";
const LATEST: &str =
    "SELECT sequence FROM session_stream WHERE session_id = $1 ORDER BY sequence DESC LIMIT 1";
const PRUNE: &str = "DELETE FROM session_stream WHERE (session_id, sequence) IN (\
     SELECT session_id, sequence FROM session_stream WHERE NOT is_delta AND at < $1 ORDER BY at LIMIT $2)";

/// The number of the latest entry that is still there; 0 if there is none.
pub(crate) fn latest_entry(tx: &mut Transaction<'_>, session_id: SessionId) -> Result<u64, Error> {
    Ok(tx.first("session_stream", LATEST, &[session_id.into()], read_count)?.unwrap_or(0))
}

impl SessionStreamReads for Transaction<'_> {
    fn stream_after(
        &mut self,
        session_id: SessionId,
        sequence: u64,
        limit: u32,
    ) -> Result<Vec<StreamEntry>, Error> {
        let values = [session_id.into(), Value::count(sequence)?, Value::count(limit.into())?];
        self.rows("session_stream", AFTER, &values, read_entry)
    }

    fn stream_back_from(
        &mut self,
        session_id: SessionId,
        sequence: u64,
        limit: u32,
    ) -> Result<Vec<StreamEntry>, Error> {
        let values = [session_id.into(), Value::count(sequence)?, Value::count(limit.into())?];
        self.rows("session_stream", BACK_FROM, &values, read_entry)
    }
}

impl SessionStreamWrites for Transaction<'_> {
    fn append_stream(&mut self, session_id: SessionId, entries: &[StreamEntry]) -> Result<(), Error> {
        let mut values = Vec::with_capacity(entries.len() * APPEND.columns.len());
        for StreamEntry { sequence, at, item } in entries {
            values.extend([
                session_id.into(),
                Value::count(*sequence)?,
                (*at).into(),
                Value::Int(item.step().map(i64::from)),
                Value::Bool(item.is_delta()),
                Value::bounded_json(item)?,
            ]);
        }
        if APPEND.run(self, &values)? < entries.len() as u64 { Err(Error::AlreadyExists) } else { Ok(()) }
    }

    fn delete_stream_deltas(&mut self, session_id: SessionId, step: u32) -> Result<u64, Error> {
        self.execute(DELETE_DELTAS, &[session_id.into(), Value::Int(Some(step.into()))])
    }

    fn prune_stream(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::count(limit.into())?])
    }
}

fn read_entry(row: &mut Columns<'_>) -> Result<StreamEntry, Error> {
    Ok(StreamEntry { sequence: row.count()?, at: row.time()?, item: row.json()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // A60
    #[test]
    fn a_stream_is_read_on_and_cleared_by_its_indexes() {
        let plan = plan_of(AFTER);
        assert!(plan.contains("(session_id=? AND sequence>?)") && !plan.contains("TEMP B-TREE"), "{plan}");
        let plan = plan_of(BACK_FROM);
        assert!(plan.contains("(session_id=? AND sequence<?)") && !plan.contains("TEMP B-TREE"), "{plan}");
        let plan = plan_of(LATEST);
        assert!(plan.contains("(session_id=?)") && !plan.contains("TEMP B-TREE"), "{plan}");
        let plan = plan_of(DELETE_DELTAS);
        assert!(plan.contains("(session_id=? AND sequence>?)"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN session_stream\n"), "{plan}");
        let plan = plan_of(PRUNE);
        assert!(
            plan.contains("session_stream_by_age (at<?)") && !plan.contains("SCAN session_stream\n"),
            "{plan}"
        );
    }
}
