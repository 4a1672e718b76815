//! Rows that nobody needs any more: old entries of streams, long results of old sessions, and keys that count no more (A60,
//! A20); and pieces of answers whose step holds the whole (A62). Those are removed in the order in which they were written,
//! where they lie side by side on the disk: at the end of each answer they would be all over it.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use warren_model::Timestamp;
use warren_service::{Context, Error};
use warren_store::WriteTx;

use crate::config::Config;
use crate::session_keys::KEY_MS;
use crate::streams::Streams;

/// Rows of one transaction, so that nobody waits long for it.
const BATCH: u32 = 500;
/// Results of one transaction, each of which has up to 16 MiB.
const RESULTS: u32 = 32;
/// Batches of one round; the rest waits for the next.
const MOST_BATCHES: u32 = 200;

/// Removes old rows, in the background.
#[derive(Debug)]
pub(super) struct Pruning {
    context: Context,
    config: Config,
    streams: Streams,
}

impl Pruning {
    pub(super) fn new(context: Context, config: Config, streams: Streams) -> Self {
        Self { context, config, streams }
    }

    pub(super) async fn run(&self) {
        let mut prune_at = Instant::now() + self.config.prune_every;
        loop {
            let is_time_to_prune = tokio::select! {
                () = sleep_until(prune_at) => true,
                () = sleep(self.config.clear_every) => false,
                () = self.context.stopping().cancelled() => return,
            };
            let removed = if is_time_to_prune {
                prune_at = Instant::now() + self.config.prune_every;
                self.prune_once().await
            } else {
                self.clear_pieces().await
            };
            match removed {
                Ok(0) => {}
                Ok(rows) if is_time_to_prune => tracing::info!(rows, "old rows of sessions were removed"),
                Ok(rows) => tracing::debug!(rows, "pieces of answers were removed"),
                Err(error) => tracing::warn!(%error, "old rows of sessions could not be removed"),
            }
        }
    }

    /// Removes pieces whose step holds them. Where nobody has shown any, nobody looks.
    async fn clear_pieces(&self) -> Result<u64, Error> {
        if !self.streams.take_note_of_pieces() {
            return Ok(0);
        }
        let store = self.context.store();
        let (mut rows, mut left, mut after) = (0, false, Timestamp::from_micros(0));
        while let Some(span) = store.read(move |tx| tx.next_pieces(after, BATCH).map_err(Error::from)).await?
        {
            if self.context.is_stopping() {
                break;
            }
            let until = span.until;
            let removed = if span.has_finished {
                store.write(move |tx| tx.delete_finished_pieces(after, until).map_err(Error::from)).await?
            } else {
                0
            };
            rows += removed;
            left |= removed < u64::from(BATCH);
            after = until;
        }
        // Those of steps that are open yet go with a later look.
        if left {
            self.streams.note_pieces();
        }
        Ok(rows)
    }

    /// Removes what is old. Returns how many rows that were.
    async fn prune_once(&self) -> Result<u64, Error> {
        let now = self.context.now();
        let before = |kept: Option<Duration>| {
            let ms = i64::try_from(kept?.as_millis()).unwrap_or(i64::MAX);
            Some(now.plus_ms(ms.saturating_neg()))
        };
        let forgotten = now.plus_ms(-KEY_MS);
        let mut rows = self.prune(move |tx| Ok(tx.prune_session_keys(forgotten, BATCH)?)).await?;
        if let Some(old) = before(self.config.keep_stream) {
            rows += self.prune(move |tx| Ok(tx.prune_stream(old, BATCH)?)).await?;
        }
        // What a removed workspace leaves is needed by nobody, however new it is.
        let old = before(self.config.keep_results);
        rows += self.prune(move |tx| Ok(tx.prune_results(old, RESULTS)?)).await?;
        Ok(rows)
    }

    async fn prune<F>(&self, batch: F) -> Result<u64, Error>
    where
        F: Fn(&mut dyn WriteTx) -> Result<u64, Error> + Copy + Send + 'static,
    {
        let mut rows = 0;
        for _ in 0..MOST_BATCHES {
            let removed = self.context.store().write(batch).await?;
            rows += removed;
            if removed == 0 || self.context.is_stopping() {
                break;
            }
        }
        Ok(rows)
    }
}
