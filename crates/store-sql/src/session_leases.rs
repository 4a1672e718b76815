//! Who works on a session, in SQL. No statement here raises a version.

use warren_model::session::Session;
use warren_model::{SessionId, Timestamp};
use warren_store::{Error, SessionLeaseReads, SessionLeaseWrites};

use crate::row::{Columns, read_count, read_id};
use crate::session_stream::latest_entry;
use crate::sessions::{columns, read_session, with_pieces};
use crate::table::Statement;
use crate::transaction::Transaction;
use crate::value::Value;

const CLAIMABLE: &str =
    "SELECT id FROM sessions WHERE phase = 'active' AND lease_until <= $1 ORDER BY lease_until, id LIMIT $2";
const DUE: &str = "SELECT id FROM sessions WHERE wake_at <= $1 ORDER BY wake_at, id LIMIT $2";
/// Few workspaces are removed and still there, so that one goes by them. SQLite keeps the order of a `CROSS JOIN`; left to
/// itself it reads every session, in the order that is asked for.
const LEFT_BEHIND: &str = "SELECT sessions.id FROM workspaces CROSS JOIN sessions \
     WHERE workspaces.status = 'removed' AND sessions.workspace_id = workspaces.id \
     AND sessions.phase IN ('active', 'suspended') AND sessions.id > $1 ORDER BY sessions.id LIMIT $2";
const NEXT_DUE: &str = "SELECT min(at) FROM (\
     SELECT min(wake_at) AS at FROM sessions WHERE wake_at IS NOT NULL \
     UNION ALL SELECT min(lease_until) AS at FROM sessions WHERE phase = 'active') AS next";
/// One statement, so that of many who try at once exactly one gets a row back.
static CLAIM: Statement = Statement::new(|| {
    format!(
        "UPDATE sessions SET lease_owner = $1, lease_until = $2, epoch = epoch + 1 \
         WHERE id = $3 AND phase = 'active' AND (lease_owner IS NULL OR lease_until <= $4) RETURNING {}",
        columns()
    )
});
const RENEW: &str =
    "UPDATE sessions SET lease_until = $1 WHERE id = $2 AND epoch = $3 AND lease_owner IS NOT NULL";
const RELEASE: &str = "UPDATE sessions SET lease_owner = NULL, lease_until = $1 \
     WHERE id = $2 AND epoch = $3 AND lease_owner IS NOT NULL";
const END_OTHERS: &str = "UPDATE sessions SET lease_owner = NULL, lease_until = $1 \
     WHERE phase = 'active' AND lease_until > $1 AND lease_owner <> $2";
const OPEN_STEP: &str = "SELECT latest_sequence FROM sessions \
     WHERE id = $1 AND epoch = $2 AND open_step = $3 AND phase = 'active' AND lease_owner IS NOT NULL \
     AND lease_until > $4";
const CHECK: &str = "SELECT epoch FROM sessions \
     WHERE id = $1 AND epoch = $2 AND lease_owner IS NOT NULL AND lease_until > $3";

impl SessionLeaseReads for Transaction<'_> {
    fn claimable_sessions(&mut self, now: Timestamp, limit: u32) -> Result<Vec<SessionId>, Error> {
        self.rows("sessions", CLAIMABLE, &[now.into(), Value::count(limit.into())?], read_id)
    }

    fn due_sessions(&mut self, now: Timestamp, limit: u32) -> Result<Vec<SessionId>, Error> {
        self.rows("sessions", DUE, &[now.into(), Value::count(limit.into())?], read_id)
    }

    fn sessions_left_behind(
        &mut self,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionId>, Error> {
        let after = after.unwrap_or_else(|| SessionId::from_bytes([0; 16]));
        self.rows("sessions", LEFT_BEHIND, &[after.into(), Value::count(limit.into())?], read_id)
    }

    fn next_session_due(&mut self) -> Result<Option<Timestamp>, Error> {
        let read = |row: &mut Columns<'_>| row.optional_time();
        Ok(self.first("sessions", NEXT_DUE, &[], read)?.flatten())
    }
}

impl SessionLeaseWrites for Transaction<'_> {
    fn claim_session(
        &mut self,
        id: SessionId,
        owner: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Session>, Error> {
        let values = [owner.into(), expires_at.into(), id.into(), now.into()];
        let claimed = self.first("sessions", &CLAIM, &values, read_session)?;
        with_pieces(self, claimed)
    }

    fn renew_session_lease(
        &mut self,
        id: SessionId,
        epoch: u64,
        expires_at: Timestamp,
    ) -> Result<bool, Error> {
        Ok(self.execute(RENEW, &[expires_at.into(), id.into(), Value::count(epoch)?])? > 0)
    }

    fn release_session(&mut self, id: SessionId, epoch: u64, now: Timestamp) -> Result<(), Error> {
        self.execute(RELEASE, &[now.into(), id.into(), Value::count(epoch)?]).map(drop)
    }

    fn end_leases_of_others(&mut self, owner: &str, now: Timestamp) -> Result<u64, Error> {
        self.execute(END_OTHERS, &[now.into(), owner.into()])
    }

    /// The row itself is not written: a page on disk for each piece of each answer.
    fn hold_open_step(
        &mut self,
        id: SessionId,
        epoch: u64,
        step: u32,
        now: Timestamp,
    ) -> Result<Option<u64>, Error> {
        let sql = format!("{OPEN_STEP}{}", self.row_hold());
        let values = [id.into(), Value::count(epoch)?, Value::Int(Some(step.into())), now.into()];
        let Some(latest) = self.first("sessions", &sql, &values, read_count)? else { return Ok(None) };
        Ok(Some(latest.max(latest_entry(self, id)?)))
    }

    /// The row is held and not only kept as it is: two who share it and then both write it would wait for each other.
    fn check_session_epoch(&mut self, id: SessionId, epoch: u64, now: Timestamp) -> Result<(), Error> {
        let sql = format!("{CHECK}{}", self.row_hold());
        let held =
            self.first("sessions", &sql, &[id.into(), Value::count(epoch)?, now.into()], read_count)?;
        held.map(drop).ok_or(Error::LeaseLost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // P17
    #[test]
    fn what_is_due_is_found_however_many_sessions_rest() {
        for (sql, index) in [
            (CLAIMABLE, "sessions_claimable (lease_until<?)"),
            (END_OTHERS, "sessions_claimable (lease_until>?)"),
            (DUE, "sessions_due (wake_at<?)"),
            (NEXT_DUE, "sessions_claimable"),
            (NEXT_DUE, "sessions_due"),
        ] {
            let plan = plan_of(sql);
            assert!(plan.contains(index), "{sql}: {plan}");
            assert!(!plan.contains("ORDER BY") && !plan.contains("SCAN sessions\n"), "{sql}: {plan}");
        }
        let plan = plan_of(LEFT_BEHIND);
        assert!(plan.contains("workspaces_removed") && plan.contains("(workspace_id=? AND id>?)"), "{plan}");
        for sql in [CLAIM.as_str(), RENEW, RELEASE, OPEN_STEP, CHECK] {
            assert!(plan_of(sql).contains("(id=?)"), "{sql}: {}", plan_of(sql));
        }
    }
}
