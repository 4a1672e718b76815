//! Messages to sessions (A34).

use warren_model::session::{QueuedState, SessionMessage};
use warren_model::{SessionId, SessionMessageId};

use crate::{Error, Page};

/// In order of their ids, which is by age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMessageQuery {
    pub session_id: SessionId,
    pub after: Option<SessionMessageId>,
    pub limit: u32,
}

pub trait SessionMessageReads {
    fn session_message(
        &mut self,
        session_id: SessionId,
        id: SessionMessageId,
    ) -> Result<Option<SessionMessage>, Error>;
    /// Those of one session that nobody delivered or dropped yet, oldest first.
    fn queued_messages(&mut self, session_id: SessionId) -> Result<Vec<SessionMessage>, Error>;
    /// These messages of one session, in this order; those that are not there are left out. It reads the stretch from the
    /// oldest to the youngest, so that many cost little more than one.
    fn session_messages_of(
        &mut self,
        session_id: SessionId,
        ids: &[SessionMessageId],
    ) -> Result<Vec<SessionMessage>, Error>;
    fn session_messages(
        &mut self,
        query: &SessionMessageQuery,
    ) -> Result<Page<SessionMessage, SessionMessageId>, Error>;
}

pub trait SessionMessageWrites {
    fn insert_session_message(&mut self, message: &SessionMessage) -> Result<(), Error>;
    /// Writes what became of a message that is still queued. Returns whether it was: of two, one gets `true`.
    fn settle_session_message(
        &mut self,
        session_id: SessionId,
        id: SessionMessageId,
        state: QueuedState,
    ) -> Result<bool, Error>;
}
