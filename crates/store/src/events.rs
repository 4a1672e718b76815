//! The log of events, which is the outbox too.

use warren_model::{Event, NewEvent, OrgId, Timestamp, WorkspaceId};

use crate::{Error, Page};

/// Events in sequence order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventQuery {
    /// Only sequences after this one; 0 from the start.
    pub after: u64,
    /// What the reader may see.
    pub org_id: Option<OrgId>,
    pub workspace_id: Option<WorkspaceId>,
    pub limit: u32,
}

pub trait EventReads {
    /// At most `limit` rows after `query.after`, ascending. `next` is the last sequence looked at, also where the
    /// filter hid rows, so that a reader moves on; `None` when the end of the log was reached.
    fn events(&mut self, query: &EventQuery) -> Result<Page<Event, u64>, Error>;
    /// The highest sequence, 0 for an empty log.
    fn newest_event_seq(&mut self) -> Result<u64, Error>;
    /// The lowest sequence that is still kept; none for an empty log.
    fn oldest_event_seq(&mut self) -> Result<Option<u64>, Error>;
}

pub trait EventWrites {
    /// Appends to the outbox. The sequence is given at commit, without gaps, in commit order.
    fn append_event(&mut self, event: &NewEvent) -> Result<(), Error>;
    /// Deletes the oldest events that happened before this moment, at most `limit`. Returns how many.
    fn prune_events(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
