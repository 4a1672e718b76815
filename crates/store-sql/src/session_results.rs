//! Whole results of tool calls in SQL, in pieces, so that a part is read without the rest.

use warren_model::{SessionId, Timestamp};
use warren_store::{Error, MAX_RESULT_BYTES, ResultPart, SessionResultReads, SessionResultWrites};

use crate::row::Columns;
use crate::transaction::Transaction;
use crate::value::Value;

const PIECE_BYTES: usize = 64 << 10;

/// The last piece tells how long the whole is.
const LAST: &str = "SELECT piece, CAST(octet_length(bytes) AS bigint) FROM session_results \
     WHERE session_id = $1 AND call_id = $2 ORDER BY piece DESC LIMIT 1";
const PIECES: &str = "SELECT bytes FROM session_results WHERE session_id = $1 AND call_id = $2 \
     AND piece >= $3 AND piece <= $4 ORDER BY piece";
const DELETE: &str = "DELETE FROM session_results WHERE session_id = $1 AND call_id = $2";
/// Whole results, so that none is ever there in part.
const PRUNE: &str = "DELETE FROM session_results WHERE (session_id, call_id) IN (\
     SELECT old.session_id, old.call_id FROM session_results AS old \
     JOIN sessions ON sessions.id = old.session_id JOIN workspaces ON workspaces.id = sessions.workspace_id \
     WHERE old.piece = 0 AND (workspaces.status = 'removed' \
     OR (sessions.updated_at < $1 AND sessions.phase NOT IN ('active', 'suspended'))) LIMIT $2)";
const INSERT: &str =
    "INSERT INTO session_results (session_id, call_id, piece, bytes) VALUES ($1, $2, $3, $4)";

impl SessionResultReads for Transaction<'_> {
    fn read_result(
        &mut self,
        session_id: SessionId,
        call_id: &str,
        offset: u64,
        limit: u32,
    ) -> Result<Option<ResultPart>, Error> {
        let last = self.first("session_results", LAST, &[session_id.into(), call_id.into()], read_last)?;
        let Some((piece, length)) = last else { return Ok(None) };
        let total_bytes = piece * PIECE_BYTES as u64 + length;
        let start = offset.min(total_bytes);
        let end = start.saturating_add(limit.into()).min(total_bytes);
        if start == end {
            return Ok(Some(ResultPart { bytes: Vec::new(), total_bytes }));
        }
        let first = start / PIECE_BYTES as u64;
        let last = (end - 1) / PIECE_BYTES as u64;
        let values = [session_id.into(), call_id.into(), Value::count(first)?, Value::count(last)?];
        let mut bytes =
            self.rows("session_results", PIECES, &values, |row| Ok(row.bytes()?.to_vec()))?.concat();
        let skipped = usize::try_from(start % PIECE_BYTES as u64).unwrap_or(0);
        let wanted = usize::try_from(end - start).unwrap_or(0);
        if bytes.len() < skipped + wanted {
            return Err(Error::Corrupt("session_results: a piece is missing".into()));
        }
        bytes.drain(..skipped);
        bytes.truncate(wanted);
        Ok(Some(ResultPart { bytes, total_bytes }))
    }
}

impl SessionResultWrites for Transaction<'_> {
    fn put_result(&mut self, session_id: SessionId, call_id: &str, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() > MAX_RESULT_BYTES {
            return Err(Error::TooLarge { bytes: bytes.len(), limit: MAX_RESULT_BYTES });
        }
        self.execute(DELETE, &[session_id.into(), call_id.into()])?;
        // An empty result is one empty piece: it is there.
        let pieces = if bytes.is_empty() { vec![bytes] } else { bytes.chunks(PIECE_BYTES).collect() };
        for (number, piece) in pieces.into_iter().enumerate() {
            let number = Value::count(number as u64)?;
            self.execute(INSERT, &[session_id.into(), call_id.into(), number, Value::Bytes(piece)])?;
        }
        Ok(())
    }

    fn prune_results(&mut self, before: Option<Timestamp>, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::count(limit.into())?])
    }
}

fn read_last(row: &mut Columns<'_>) -> Result<(u64, u64), Error> {
    Ok((row.count()?, row.count()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // A20
    #[test]
    fn a_part_of_a_result_is_found_by_its_place() {
        for sql in [LAST, PIECES, DELETE] {
            let plan = plan_of(sql);
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
        }
    }
}
