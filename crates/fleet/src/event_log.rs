//! Reading the event log: pages of it, where it begins and ends, and the sign that it has grown.

use tokio::sync::watch;
use warren_model::Event;
use warren_service::{Context, Error};
use warren_store::{EventQuery, Page};

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventLog {
    context: Context,
}

/// Where the log begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLogBounds {
    /// The sequence of the oldest event that is kept; absent: there is none.
    pub oldest: Option<u64>,
    pub newest: u64,
}

impl EventLog {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    /// One page, and the newest sequence of the whole log at that moment. Rows that cannot be read are named and logged.
    pub async fn page(&self, query: EventQuery) -> Result<(Page<Event, u64>, u64), Error> {
        let store = self.context.store();
        let read = store.read(move |tx| Ok::<_, Error>((tx.events(&query)?, tx.newest_event_seq()?)));
        let (page, newest) = read.await?;
        Ok((self.context.listed(page), newest))
    }

    /// What follows a cursor, for the one reader that passes the log on to all streams.
    pub async fn tail(&self, query: EventQuery) -> Result<Page<Event, u64>, Error> {
        self.context.store().read(move |tx| tx.events(&query).map_err(Error::from)).await
    }

    pub async fn bounds(&self) -> Result<EventLogBounds, Error> {
        let store = self.context.store();
        let read = store.read(|tx| Ok::<_, Error>((tx.oldest_event_seq()?, tx.newest_event_seq()?)));
        let (oldest, newest) = read.await?;
        Ok(EventLogBounds { oldest, newest })
    }

    /// The newest sequence that this process knows of. What another replica wrote may show later.
    pub fn growth(&self) -> watch::Receiver<u64> {
        self.context.store().newest_event()
    }
}
