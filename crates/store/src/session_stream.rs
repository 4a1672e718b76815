//! The streams of sessions: numbered entries (A60). The caller numbers them, from `Session::latest_sequence`.

use warren_model::session::StreamEntry;
use warren_model::{SessionId, Timestamp};

use crate::Error;

pub trait SessionStreamReads {
    /// In order, those behind this sequence. Numbers may be missing: pieces of an answer go when their step holds them.
    fn stream_after(
        &mut self,
        session_id: SessionId,
        sequence: u64,
        limit: u32,
    ) -> Result<Vec<StreamEntry>, Error>;
    /// The latest first, those up to this sequence, without pieces of answers and of tools' output.
    fn stream_back_from(
        &mut self,
        session_id: SessionId,
        sequence: u64,
        limit: u32,
    ) -> Result<Vec<StreamEntry>, Error>;
}

pub trait SessionStreamWrites {
    /// Fails with `AlreadyExists` if a number was used: somebody else wrote on.
    fn append_stream(&mut self, session_id: SessionId, entries: &[StreamEntry]) -> Result<(), Error>;
    /// Deletes the pieces of a step's answer and of its tools' output, once the step holds them. Returns how many.
    fn delete_stream_deltas(&mut self, session_id: SessionId, step: u32) -> Result<u64, Error>;
    /// Deletes entries from before this moment, at most `limit`, of any session. Pieces of a step that is open are not
    /// among them: they go with their step. Returns how many.
    fn prune_stream(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
