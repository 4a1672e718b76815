//! Keys under which something was done to a session, so that the same request gets the same answer again (A7).

use serde_json::Value;
use warren_model::{OrgId, Principal, SessionId, Timestamp};

use crate::Error;

/// What a key is unique within, beside its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// Where there is no session yet: its start.
    Org(OrgId),
    /// Goes with the session.
    Session(SessionId),
}

/// A request that was done, and what it was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionKey {
    pub scope: KeyScope,
    pub sender: Principal,
    pub key: String,
    /// Of what was asked: the same key for something else is an error.
    pub fingerprint: String,
    pub answer: Value,
    pub at: Timestamp,
}

pub trait SessionKeyReads {
    fn session_key(
        &mut self,
        scope: KeyScope,
        sender: &Principal,
        key: &str,
    ) -> Result<Option<SessionKey>, Error>;
}

pub trait SessionKeyWrites {
    /// Takes a key that nobody has, or that counts no more since it is from this moment or before. Returns whether this
    /// call did it: of two at once, one gets `true`.
    fn insert_session_key(&mut self, key: &SessionKey, forgotten: Timestamp) -> Result<bool, Error>;
    /// Forgets those before this moment, at most `limit`. Returns how many.
    fn prune_session_keys(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
