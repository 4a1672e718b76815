//! Rows that nobody needs any more: old entries of streams, long results of old sessions, and keys that count no more (A60,
//! A20).

use std::time::Duration;

use warren_service::{Context, Error};
use warren_store::WriteTx;

use crate::config::Config;
use crate::sessions::KEY_MS;

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
}

impl Pruning {
    pub(super) fn new(context: Context, config: Config) -> Self {
        Self { context, config }
    }

    pub(super) async fn run(&self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.config.prune_every) => {}
                () = self.context.stopping().cancelled() => return,
            }
            match self.prune_once().await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "old rows of sessions were removed"),
                Err(error) => tracing::warn!(%error, "old rows of sessions could not be removed"),
            }
        }
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
