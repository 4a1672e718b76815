//! One reader of the log for all streams: it follows the database and hands what is new to whoever listens.
//!
//! A stream first reads history from the database up to its end, then listens here. It may see an event twice at
//! the seam and skips by sequence; it never misses one. A listener that falls behind the buffer goes back to the
//! database.
//!
//! Each hand-out wakes every listener. What happens after a quiet moment is handed out at once; after that the hub
//! rests, the longer the more listen, so that a thousand readers are woken tens of times a second and not a thousand
//! times (P10).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use warren_fleet::EventLog;
use warren_service::Error;
use warren_service::EventQuery;

use crate::event_text::EventBatch;

/// Batches a listener may be behind before it must read the database again.
const BUFFER: usize = 256;
/// How often the log is looked at when no wake-up comes: another replica's, or a lost one.
const POLL: Duration = Duration::from_secs(1);
/// Events of one batch.
const PAGE: u32 = 250;
/// What waking one listener costs, in round figures.
const REST_PER_LISTENER: Duration = Duration::from_micros(20);
const LONGEST_REST: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub(crate) struct EventHub {
    sender: broadcast::Sender<Arc<EventBatch>>,
}

impl EventHub {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::channel(BUFFER).0 }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<EventBatch>> {
        self.sender.subscribe()
    }

    /// Follows the log until stopped.
    pub(crate) async fn follow(self, log: EventLog, stopping: CancellationToken) {
        let mut newest = log.growth();
        let mut cursor = None;
        loop {
            let known = *newest.borrow_and_update();
            // Whoever comes now reads the log first, and everything after what is known here is still sent.
            if self.sender.receiver_count() == 0 && cursor.is_some() {
                cursor = cursor.max(Some(known));
            } else {
                match self.forward(&log, cursor).await {
                    Ok(seen) => cursor = Some(seen),
                    Err(error) => tracing::debug!(%error, "the event log could not be read; trying again"),
                }
            }
            tokio::time::sleep(rest(self.sender.receiver_count())).await;
            tokio::select! {
                () = stopping.cancelled() => return,
                changed = newest.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Sends all events after the cursor; the first time, finds where the log ends.
    async fn forward(&self, log: &EventLog, cursor: Option<u64>) -> Result<u64, Error> {
        let Some(mut cursor) = cursor else {
            return Ok(log.bounds().await?.newest);
        };
        loop {
            let query = EventQuery { after: cursor, org_id: None, workspace_id: None, limit: PAGE };
            let page = log.tail(query).await?;
            let batch = EventBatch::of(&page.rows);
            if let Some(last) = batch.last() {
                cursor = last;
                // Nobody listening is no error.
                let _ = self.sender.send(Arc::new(batch));
            }
            match page.next {
                // Further than the last that was sent, where what follows cannot be read.
                Some(next) => cursor = next,
                None => return Ok(cursor),
            }
        }
    }
}

fn rest(listeners: usize) -> Duration {
    let listeners = u32::try_from(listeners).unwrap_or(u32::MAX);
    REST_PER_LISTENER.saturating_mul(listeners).min(LONGEST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    // P10
    #[test]
    fn a_few_readers_wait_for_nothing_and_many_never_for_long() {
        assert_eq!(rest(0), Duration::ZERO);
        assert!(rest(5) < Duration::from_millis(1));
        assert_eq!(rest(1_000), LONGEST_REST);
        assert_eq!(rest(usize::MAX), LONGEST_REST);
    }
}
