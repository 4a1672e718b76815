//! The streams of sessions in SQL.

use warren_model::session::StreamEntry;
use warren_model::{SessionId, Timestamp};
use warren_store::{Error, PieceSpan, SessionStreamReads, SessionStreamWrites};

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
macro_rules! of_an_open_step {
    ($piece:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM sessions WHERE sessions.id = ",
            $piece,
            ".session_id AND sessions.open_step = ",
            $piece,
            ".step)"
        )
    };
}
const NEXT_PIECES: &str = concat!(
    "SELECT max(at), CAST(max(CASE WHEN ",
    of_an_open_step!("page"),
    " THEN 0 ELSE 1 END) AS bigint) FROM (SELECT at, session_id, step FROM session_stream \
     WHERE is_delta AND at > $1 ORDER BY at LIMIT $2) AS page"
);
const DELETE_FINISHED: &str = concat!(
    "DELETE FROM session_stream WHERE is_delta AND at > $1 AND at <= $2 AND NOT ",
    of_an_open_step!("session_stream")
);
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

    fn next_pieces(&mut self, after: Timestamp, limit: u32) -> Result<Option<PieceSpan>, Error> {
        let read = |row: &mut Columns<'_>| Ok((row.optional_time()?, row.optional_count()?));
        let values = [after.into(), Value::count(limit.into())?];
        let (until, finished) = self.first("session_stream", NEXT_PIECES, &values, read)?.unwrap_or_default();
        Ok(until.map(|until| PieceSpan { until, has_finished: finished.is_some_and(|some| some > 0) }))
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

    fn delete_finished_pieces(&mut self, after: Timestamp, until: Timestamp) -> Result<u64, Error> {
        self.execute(DELETE_FINISHED, &[after.into(), until.into()])
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
        let plan = plan_of(NEXT_PIECES);
        assert!(plan.contains("session_stream_pieces (at>?)") && !plan.contains("TEMP B-TREE"), "{plan}");
        let plan = plan_of(DELETE_FINISHED);
        assert!(plan.contains("session_stream_pieces (at>? AND at<?)"), "{plan}");
        let plan = plan_of(PRUNE);
        assert!(
            plan.contains("session_stream_by_age (at<?)") && !plan.contains("SCAN session_stream\n"),
            "{plan}"
        );
    }
}
