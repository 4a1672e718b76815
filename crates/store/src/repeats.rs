//! Keys under which messages were accepted, so that one that is sent again is not done again.

use warren_model::{DeliveryId, Principal, TaskId, Timestamp};

use crate::Error;

/// A message that was accepted before, under a key of its sender (X16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    pub sender: Principal,
    pub key: String,
    /// Of what was asked: the same key for something else is an error.
    pub fingerprint: String,
    pub task_id: TaskId,
    pub delivery_id: DeliveryId,
    pub at: Timestamp,
}

pub trait RepeatReads {
    fn repeat(&mut self, sender: &Principal, key: &str) -> Result<Option<Repeat>, Error>;
}

pub trait RepeatWrites {
    /// Takes a key that nobody has, or that counts no more since it is from this moment or before. Returns whether this
    /// call did it: of two at once, one gets `true`.
    fn insert_repeat(&mut self, repeat: &Repeat, forgotten: Timestamp) -> Result<bool, Error>;
    /// Forgets those before this moment, at most `limit`. Returns how many.
    fn prune_repeats(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
