//! Invitations in SQL: hashes only.

use warren_model::{Invitation, InvitationId, OrgId, Principal, Timestamp, TokenHash, UserId};
use warren_store::{Error, InvitationReads, InvitationWrites, Page};

use crate::row::{read_count, read_id};
use crate::select::Select;
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    INVITATIONS: Invitation in "invitations" {
        id, org_id, role, hash, email, invited_by, created_at, expires_at, used_at, used_by, revoked_at,
    }
}

static GET: Statement = Statement::new(|| INVITATIONS.select("WHERE id = $1"));
static BY_HASH: Statement = Statement::new(|| INVITATIONS.select("WHERE hash = $1"));
static LIST: Statement = Statement::new(|| INVITATIONS.select(""));
static INSERT: Statement = Statement::new(|| INVITATIONS.insert("ON CONFLICT DO NOTHING"));
const COUNT_OPEN: &str = "SELECT count(*) FROM invitations WHERE org_id = $1 AND used_at IS NULL \
     AND revoked_at IS NULL AND expires_at > $2";
const USE: &str = "UPDATE invitations SET used_at = $1, used_by = $2 WHERE id = $3 AND used_at IS NULL \
     AND revoked_at IS NULL";
const REVOKE: &str =
    "UPDATE invitations SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL AND used_at IS NULL";
const REVOKE_BY: &str = "UPDATE invitations SET revoked_at = $1 WHERE org_id = $2 AND invited_by = $3 \
     AND revoked_at IS NULL AND used_at IS NULL";
const PRUNE: &str =
    "DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at < $1 LIMIT $2)";

impl InvitationReads for Transaction<'_> {
    fn invitation(&mut self, id: InvitationId) -> Result<Option<Invitation>, Error> {
        INVITATIONS.first(self, &GET, &[id.into()])
    }

    fn invitation_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Invitation>, Error> {
        INVITATIONS.first(self, &BY_HASH, &[Value::Bytes(&hash.0)])
    }

    fn invitations(
        &mut self,
        org_id: OrgId,
        after: Option<InvitationId>,
        limit: u32,
    ) -> Result<Page<Invitation, InvitationId>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("org_id =", org_id);
        if let Some(after) = after {
            select.and_value("id >", after);
        }
        INVITATIONS.page(self, &select.page("id", limit), limit, read_id)
    }

    fn count_open_invitations(&mut self, org_id: OrgId, now: Timestamp) -> Result<u64, Error> {
        let values: [Value<'_>; 2] = [org_id.into(), now.into()];
        Ok(self.first("invitations", COUNT_OPEN, &values, read_count)?.unwrap_or(0))
    }
}

impl InvitationWrites for Transaction<'_> {
    fn insert_invitation(&mut self, invitation: &Invitation) -> Result<(), Error> {
        match self.execute(&INSERT, &INVITATIONS.values(invitation)?)? {
            0 => Err(Error::AlreadyExists),
            _ => Ok(()),
        }
    }

    fn use_invitation(&mut self, id: InvitationId, by: UserId, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(USE, &[at.into(), by.into(), id.into()])? == 1)
    }

    fn revoke_invitation(&mut self, id: InvitationId, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(REVOKE, &[at.into(), id.into()])? == 1)
    }

    fn revoke_invitations_by(&mut self, org_id: OrgId, by: &Principal, at: Timestamp) -> Result<u64, Error> {
        self.execute(REVOKE_BY, &[at.into(), org_id.into(), by.to_string().into()])
    }

    fn prune_invitations(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[before.into(), Value::Int(Some(i64::from(limit)))])
    }
}
