//! One reader of the log for all streams: it follows the database and hands each event to whoever listens.
//!
//! A stream first reads history from the database up to its end, then listens here. It may see an event twice at
//! the seam and skips by sequence; it never misses one. A listener that falls behind the buffer goes back to the
//! database.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use warren_fleet::Error;
use warren_model::Event;
use warren_store::{EventQuery, Store};

/// Events a listener may be behind before it must read the database again.
const BUFFER: usize = 4_096;
/// How often the log is looked at when no wake-up comes: another replica's, or a lost one.
const POLL: Duration = Duration::from_secs(1);
const PAGE: u32 = 1_000;

#[derive(Debug, Clone)]
pub(crate) struct EventHub {
    sender: broadcast::Sender<Arc<Event>>,
}

impl EventHub {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::channel(BUFFER).0 }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.sender.subscribe()
    }

    /// Follows the log until stopped.
    pub(crate) async fn follow(self, store: Arc<dyn Store>, stopping: CancellationToken) {
        let mut newest = store.newest_event();
        let mut cursor = None;
        loop {
            match self.forward(&store, cursor).await {
                Ok(seen) => cursor = Some(seen),
                Err(error) => tracing::debug!(%error, "the event log could not be read; trying again"),
            }
            tokio::select! {
                () = stopping.cancelled() => return,
                changed = newest.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Sends all events after the cursor; the first time, finds where the log ends.
    async fn forward(&self, store: &Arc<dyn Store>, cursor: Option<u64>) -> Result<u64, Error> {
        let Some(mut cursor) = cursor else {
            return store.read(|tx| tx.newest_event_seq().map_err(Error::from)).await;
        };
        loop {
            let query = EventQuery { after: cursor, org_id: None, workspace_id: None, limit: PAGE };
            let page = store.read(move |tx| tx.events(&query).map_err(Error::from)).await?;
            for event in page.rows {
                cursor = event.seq;
                // Nobody listening is no error.
                let _ = self.sender.send(Arc::new(event));
            }
            if page.next.is_none() {
                return Ok(cursor);
            }
        }
    }
}
