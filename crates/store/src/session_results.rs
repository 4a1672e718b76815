//! Whole results of tool calls that are too long to show (A20), kept in pieces.

use warren_model::{SessionId, Timestamp};

use crate::Error;

/// What one result may have at most.
pub const MAX_RESULT_BYTES: usize = 16 << 20;

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPart {
    pub bytes: Vec<u8>,
    /// Of the whole.
    pub total_bytes: u64,
}

pub trait SessionResultReads {
    /// From `offset`, at most `limit` bytes; none behind the end. Only the pieces that are asked for are read.
    fn read_result(
        &mut self,
        session_id: SessionId,
        call_id: &str,
        offset: u64,
        limit: u32,
    ) -> Result<Option<ResultPart>, Error>;
}

pub trait SessionResultWrites {
    /// Keeps a result, in place of one that the call had before. More than `MAX_RESULT_BYTES` is `TooLarge`, and the
    /// transaction can go on.
    fn put_result(&mut self, session_id: SessionId, call_id: &str, bytes: &[u8]) -> Result<(), Error>;
    /// Removes results of sessions that rest and were last changed before this moment, and of sessions whose workspace is
    /// removed; at most so many. Returns how many rows they had.
    fn prune_results(&mut self, before: Option<Timestamp>, limit: u32) -> Result<u64, Error>;
}
