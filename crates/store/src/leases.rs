//! Leases: which process does a piece of work of which there must be one.

use warren_model::Timestamp;

use crate::Error;

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
