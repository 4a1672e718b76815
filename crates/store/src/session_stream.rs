//! The streams of sessions: numbered entries (A60). The caller numbers them, from `Session::latest_sequence`.

use warren_model::session::StreamEntry;
use warren_model::{SessionId, Timestamp};

use crate::Error;

/// Pieces of answers and of tools' output that were written one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceSpan {
    /// When the last of them was written.
    pub until: Timestamp,
    /// Whether some are of steps that are not open any more.
    pub has_finished: bool,
}

pub trait SessionStreamReads {
    /// In order, those behind this sequence. Numbers may be missing: pieces of an answer go when their step holds them.
    fn stream_after(
        &mut self,
        session_id: SessionId,
        sequence: u64,
        limit: u32,
    ) -> Result<Vec<StreamEntry>, Error>;
    /// The next pieces behind a moment, at most `limit`, of any session.
    fn next_pieces(&mut self, after: Timestamp, limit: u32) -> Result<Option<PieceSpan>, Error>;
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
    /// Deletes pieces behind a moment, up to another, of steps that are not open any more: those hold them. Returns how many.
    fn delete_finished_pieces(&mut self, after: Timestamp, until: Timestamp) -> Result<u64, Error>;
    /// Deletes entries from before this moment, at most `limit`, of any session. Pieces are not among them: they
    /// go when their step is closed. Returns how many.
    fn prune_stream(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
