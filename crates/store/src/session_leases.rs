//! Who works on a session: its lease and its epoch (A2, A3).
//!
//! ```text
//!   free ── claim ──▶ held by (owner, epoch + 1) until expires_at ── release ──▶ free
//!                        │   ▲ renew                     │
//!                        └───┘                           └── expired: anybody may claim
//! ```
//!
//! These columns are written by the statements below and by no other, and raise no version. Time is the caller's:
//! a lease is live as long as it expires after `now`.

use warren_model::session::Session;
use warren_model::{SessionId, Timestamp};

use crate::Error;

pub trait SessionLeaseReads {
    /// Active sessions without a live lease; those that nobody worked on for the longest time come first.
    fn claimable_sessions(&mut self, now: Timestamp, limit: u32) -> Result<Vec<SessionId>, Error>;
    /// Sessions of which `wake_at` has come, the longest overdue first.
    fn due_sessions(&mut self, now: Timestamp, limit: u32) -> Result<Vec<SessionId>, Error>;
    /// Sessions with a run in a workspace that is removed: nobody told them. In the order of their ids, behind this one.
    fn sessions_left_behind(&mut self, after: Option<SessionId>, limit: u32)
    -> Result<Vec<SessionId>, Error>;
    /// When the next of them is due or may be claimed; a moment in the past where one is now.
    fn next_session_due(&mut self) -> Result<Option<Timestamp>, Error>;
}

pub trait SessionLeaseWrites {
    /// Takes an active session that is free, or of which the lease has expired at `now`, and raises its epoch. Of two at
    /// once, one gets it; `None` for the other, also if that is the same owner.
    fn claim_session(
        &mut self,
        id: SessionId,
        owner: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Session>, Error>;
    /// Moves the end of a lease. Returns false if it was taken over or released. One that has expired is renewed as long
    /// as nobody took it over: its epoch is still the newest, and so nothing was done in between.
    fn renew_session_lease(
        &mut self,
        id: SessionId,
        epoch: u64,
        expires_at: Timestamp,
    ) -> Result<bool, Error>;
    /// Gives it back; without effect if it was taken over.
    fn release_session(&mut self, id: SessionId, epoch: u64, now: Timestamp) -> Result<(), Error>;
    /// Ends every live lease of somebody else, so that its session can be claimed now. For a process that knows that it is
    /// the only one on this database: whoever held one is gone. Returns how many there were.
    fn end_leases_of_others(&mut self, owner: &str, now: Timestamp) -> Result<u64, Error>;
    /// The latest number of a session's stream, for its owner who shows pieces of the open step: nobody else numbers
    /// entries before this transaction ends. Nothing if the step is not the open one of an active session any more, or the
    /// lease is not this one or has expired.
    fn hold_open_step(
        &mut self,
        id: SessionId,
        epoch: u64,
        step: u32,
        now: Timestamp,
    ) -> Result<Option<u64>, Error>;
    /// Fails with `LeaseLost` unless the session is held under this epoch and the lease is live at `now`. Called in the
    /// same transaction as the writes that it guards: nobody can take the session over before they are committed.
    fn check_session_epoch(&mut self, id: SessionId, epoch: u64, now: Timestamp) -> Result<(), Error>;
}
