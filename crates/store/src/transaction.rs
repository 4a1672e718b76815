//! One trait per noun, all over one transaction.

use warren_model::{
    Event, NewEvent, OrgId, Principal, Timestamp, Token, TokenHash, TokenId, Workspace, WorkspaceId,
};

use crate::{AuditReads, AuditWrites, SecretReads, SecretWrites};
use crate::{Error, EventQuery, Page, TokenQuery, WorkspaceQuery};

/// Everything that can be read.
pub trait ReadTx: WorkspaceReads + EventReads + TokenReads + LeaseReads + SecretReads + AuditReads {}
impl<T: WorkspaceReads + EventReads + TokenReads + LeaseReads + SecretReads + AuditReads + ?Sized> ReadTx
    for T
{
}

/// Everything that can be read and written.
pub trait WriteTx:
    ReadTx + WorkspaceWrites + EventWrites + TokenWrites + LeaseWrites + SecretWrites + AuditWrites
{
}
impl<T> WriteTx for T where
    T: ReadTx
        + WorkspaceWrites
        + EventWrites
        + TokenWrites
        + LeaseWrites
        + SecretWrites
        + AuditWrites
        + ?Sized
{
}

pub trait WorkspaceReads {
    fn workspace(&mut self, id: WorkspaceId) -> Result<Option<Workspace>, Error>;
    fn workspaces(&mut self, query: &WorkspaceQuery) -> Result<Page<Workspace, WorkspaceId>, Error>;
    /// How many workspaces of the org are not removed.
    fn count_workspaces(&mut self, org_id: OrgId) -> Result<u64, Error>;
}

pub trait WorkspaceWrites {
    fn insert_workspace(&mut self, workspace: &Workspace) -> Result<(), Error>;
    /// Compare-and-set: writes all columns and `version = expected_version + 1`, only if the row still has
    /// `expected_version`; otherwise `Error::Conflict`. `workspace.version` is not looked at. Answers with the
    /// new version.
    fn update_workspace(&mut self, workspace: &Workspace, expected_version: u64) -> Result<u64, Error>;
}

pub trait EventReads {
    /// At most `limit` rows after `query.after`, ascending. `next` is the last sequence looked at, also where the
    /// filter hid rows, so that a reader moves on; `None` when the end of the log was reached.
    fn events(&mut self, query: &EventQuery) -> Result<Page<Event, u64>, Error>;
    /// The highest sequence, 0 for an empty log.
    fn newest_event_seq(&mut self) -> Result<u64, Error>;
}

pub trait EventWrites {
    /// Appends to the outbox. The sequence is given at commit, without gaps, in commit order.
    fn append_event(&mut self, event: &NewEvent) -> Result<(), Error>;
}

pub trait TokenReads {
    fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error>;
    /// The way a credential is checked: by hash, so that no comparison leaks timing.
    fn token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Token>, Error>;
    fn tokens(&mut self, query: &TokenQuery) -> Result<Page<Token, TokenId>, Error>;
    /// How many tokens this owner holds that are neither expired at `now`, revoked nor used up; sign-in links and
    /// browser sessions do not count.
    fn count_tokens(&mut self, owner: &Principal, now: Timestamp) -> Result<u64, Error>;
}

pub trait TokenWrites {
    fn insert_token(&mut self, token: &Token) -> Result<(), Error>;
    /// Sets `revoked_at` once. Answers whether this call did it.
    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error>;
    /// Sets `used_at` once. Answers whether this call did it: of two callers, one gets `true`.
    fn use_up_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error>;
    fn touch_token(&mut self, id: TokenId, at: Timestamp) -> Result<(), Error>;
}

/// A claim on a named piece of work, with a fence that only grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    pub owner: String,
    /// Grows with each new owner; a stalled one cannot write with an old fence.
    pub fence: u64,
    pub expires_at: Timestamp,
}

pub trait LeaseReads {
    fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error>;
}

pub trait LeaseWrites {
    /// Takes the lease if it is free, expired at `now`, or already this owner's (then the fence stays). `None`
    /// when somebody else holds it.
    fn take_lease(
        &mut self,
        name: &str,
        owner: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, Error>;
    /// Fails with `LeaseLost` unless the lease stands under this fence and has not expired at `now`. Called in
    /// the same transaction as the write it guards.
    fn check_lease(&mut self, lease: &Lease, now: Timestamp) -> Result<(), Error>;
    /// Gives the lease back; without effect if it is no longer held.
    fn release_lease(&mut self, lease: &Lease) -> Result<(), Error>;
}
