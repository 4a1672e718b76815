//! The outbox in SQL. Events wait in the transaction and are numbered at its end by the engine.

use warren_model::{Event, EventKind, NewEvent, OrgId, Principal, Timestamp, WorkspaceId};
use warren_store::{Error, EventQuery, EventReads, EventWrites, Page};

use crate::row::{Columns, read_count, read_optional_count};
use crate::select::Select;
use crate::transaction::{Listing, Transaction, count_id};
use crate::value::Value;

/// The order in which `read` takes them and the engines write them.
macro_rules! event_columns {
    () => {
        "seq, at, kind, org_id, workspace_id, principal, data"
    };
}
pub(crate) use event_columns;

const LIST: &str = concat!("SELECT ", event_columns!(), " FROM events");
const OLDEST: &str = "SELECT min(seq) FROM events";
const OLDEST_PAGE: &str = "SELECT seq, at FROM events ORDER BY seq LIMIT $1";
const PRUNE: &str = "DELETE FROM events WHERE seq <= $1";
const NEWEST: &str = "SELECT newest FROM event_sequence WHERE id = 1";

/// An event that waits for its number, in the form in which it is stored.
#[derive(Debug)]
pub(crate) struct PendingEvent {
    pub(crate) at: i64,
    pub(crate) kind: &'static str,
    pub(crate) org_id: OrgId,
    pub(crate) workspace_id: Option<WorkspaceId>,
    pub(crate) principal: String,
    pub(crate) data: String,
}

impl PendingEvent {
    fn new(event: &NewEvent) -> Result<Self, Error> {
        let principal = event.principal.to_string();
        Value::from(principal.as_str()).check()?;
        Ok(Self {
            at: event.at.as_micros(),
            kind: event.kind().as_str(),
            org_id: event.org_id,
            workspace_id: event.workspace_id,
            principal,
            data: event.data.to_json().to_string(),
        })
    }
}

impl EventReads for Transaction<'_> {
    /// The filters have an index each, so that rows of others are not looked at.
    fn events(&mut self, query: &EventQuery) -> Result<Page<Event, u64>, Error> {
        let mut select = Select::new(LIST);
        select.and_value("seq >", Value::Int(Some(i64::try_from(query.after).unwrap_or(i64::MAX))));
        if let Some(org_id) = query.org_id {
            select.and_value("org_id =", org_id);
        }
        if let Some(workspace_id) = query.workspace_id {
            select.and_value("workspace_id =", workspace_id);
        }
        let list = Listing { table: "events", read, key: read_count, id: count_id };
        self.page_of(&list, &select.page("seq", query.limit), query.limit)
    }

    fn oldest_event_seq(&mut self) -> Result<Option<u64>, Error> {
        Ok(self.first("events", OLDEST, &[], read_optional_count)?.flatten())
    }

    fn newest_event_seq(&mut self) -> Result<u64, Error> {
        Ok(self.first("event_sequence", NEWEST, &[], read_count)?.unwrap_or(0))
    }
}

impl EventWrites for Transaction<'_> {
    /// From the lowest number on, up to the first that is young enough: the log stays one piece, and no index by time
    /// has to be kept for it.
    fn prune_events(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        let values = [Value::Int(Some(i64::from(limit)))];
        let oldest = self.rows("events", OLDEST_PAGE, &values, |row| Ok((row.count()?, row.time()?)))?;
        let last = oldest.iter().take_while(|(_, at)| *at < before).last();
        match last {
            Some((seq, _)) => self.execute(PRUNE, &[Value::count(*seq)?]),
            None => Ok(0),
        }
    }

    fn append_event(&mut self, event: &NewEvent) -> Result<(), Error> {
        let pending = PendingEvent::new(event);
        let pending = self.remember(pending)?;
        self.pending.push(pending);
        Ok(())
    }
}

fn read(row: &mut Columns<'_>) -> Result<Event, Error> {
    Ok(Event {
        seq: row.count()?,
        at: row.time()?,
        kind: row.word(EventKind::parse)?,
        org_id: row.id()?,
        workspace_id: row.optional_id()?,
        principal: row.word(Principal::parse)?,
        data: row.json()?,
    })
}
