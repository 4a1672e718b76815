//! Sessions: the row of each. Its steps, messages and stream are nouns of their own; see also `session_leases`.

use warren_model::session::{PhaseKind, Session, SessionName};
use warren_model::{AgentName, OrgId, SessionId, WorkspaceId};

use crate::{Error, Page};

/// Which sessions are listed, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    pub org_id: Option<OrgId>,
    pub workspace_id: Option<WorkspaceId>,
    pub phase: Option<PhaseKind>,
    /// Of any version of it.
    pub agent: Option<AgentName>,
    /// Only those that are older than this one.
    pub before: Option<SessionId>,
    pub limit: u32,
}

pub trait SessionReads {
    fn session(&mut self, id: SessionId) -> Result<Option<Session>, Error>;
    fn session_by_name(&mut self, org_id: OrgId, name: &SessionName) -> Result<Option<Session>, Error>;
    fn sessions(&mut self, query: &SessionQuery) -> Result<Page<Session, SessionId>, Error>;
}

pub trait SessionWrites {
    /// Fails with `AlreadyExists` if the org has a session of this name. A lineage may show steps of other sessions of
    /// the same workspace only; anything else is `Refused`.
    fn insert_session(&mut self, session: &Session) -> Result<(), Error>;
    /// The row, which nobody else changes until this transaction ends: whoever decides by what it says need not fear a
    /// `Conflict`.
    fn hold_session(&mut self, id: SessionId) -> Result<Option<Session>, Error>;
    /// Compare-and-set: turns the row that was read as `from` into `to`, writing only what differs, or fails with
    /// `Conflict`. Returns the new version.
    ///
    /// Lease and epoch are not written: only `SessionLeaseWrites` does that, without raising the version, so that a
    /// lease that is renewed conflicts with nobody. Whoever works under a lease checks the epoch in the same transaction.
    fn update_session(&mut self, from: &Session, to: &Session) -> Result<u64, Error>;
    /// Deletes a session with everything that belongs to it: steps, calls, messages, stream, results, keys, rules and
    /// questions. Fails with `InUse` while the lineage of another session shows its steps: those branches have to go
    /// first. Returns whether it was there.
    fn delete_session(&mut self, id: SessionId) -> Result<bool, Error>;
}
