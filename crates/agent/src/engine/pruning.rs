//! Rows that nobody needs any more: old entries of streams, and keys that count no more (A60).

use warren_service::{Context, Error};
use warren_store::WriteTx;

use crate::config::Config;
use crate::sessions::KEY_MS;

/// Rows of one transaction, so that nobody waits long for it.
const BATCH: u32 = 500;
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
        let kept = i64::try_from(self.config.keep_stream.as_millis()).unwrap_or(i64::MAX);
        let (old, forgotten) = (now.plus_ms(kept.saturating_neg()), now.plus_ms(-KEY_MS));
        let stream = self.prune(move |tx| Ok(tx.prune_stream(old, BATCH)?)).await?;
        let keys = self.prune(move |tx| Ok(tx.prune_session_keys(forgotten, BATCH)?)).await?;
        Ok(stream + keys)
    }

    async fn prune<F>(&self, batch: F) -> Result<u64, Error>
    where
        F: Fn(&mut dyn WriteTx) -> Result<u64, Error> + Copy + Send + 'static,
    {
        let mut rows = 0;
        for _ in 0..MOST_BATCHES {
            let removed = self.context.store().write(batch).await?;
            rows += removed;
            if removed < u64::from(BATCH) || self.context.is_stopping() {
                break;
            }
        }
        Ok(rows)
    }
}
