//! Invitations, of which only hashes are kept.

use warren_model::{Invitation, InvitationId, OrgId, Principal, Timestamp, TokenHash, UserId};

use crate::{Error, Page};

pub trait InvitationReads {
    fn invitation(&mut self, id: InvitationId) -> Result<Option<Invitation>, Error>;
    fn invitation_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Invitation>, Error>;
    /// Those of an org, oldest first.
    fn invitations(
        &mut self,
        org_id: OrgId,
        after: Option<InvitationId>,
        limit: u32,
    ) -> Result<Page<Invitation, InvitationId>, Error>;
    /// How many of an org somebody could still take.
    fn count_open_invitations(&mut self, org_id: OrgId, now: Timestamp) -> Result<u64, Error>;
}

pub trait InvitationWrites {
    fn insert_invitation(&mut self, invitation: &Invitation) -> Result<(), Error>;
    /// Of many who try, one gets `true`; nobody does of one that was taken back.
    fn use_invitation(&mut self, id: InvitationId, by: UserId, at: Timestamp) -> Result<bool, Error>;
    /// Returns whether this call did it: one that is used cannot be taken back.
    fn revoke_invitation(&mut self, id: InvitationId, at: Timestamp) -> Result<bool, Error>;
    /// Takes back all of an org that somebody made and nobody used. Returns how many.
    fn revoke_invitations_by(&mut self, org_id: OrgId, by: &Principal, at: Timestamp) -> Result<u64, Error>;
    /// Deletes those that ended before this moment, at most `limit`. Returns how many.
    fn prune_invitations(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
