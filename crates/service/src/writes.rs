//! Transactions that are decided anew when somebody else was faster.

use std::sync::Arc;

use warren_model::ErrorCode;
use warren_store::{Store, WriteTx};

use crate::Error;

/// How often a change that names no version is tried again when somebody else was faster. Each time one writer wins, so
/// that as many writers of one row as a pool has connections all come through; with 8, of twenty some were refused.
const MAX_CONFLICT_RETRIES: usize = 64;

/// Runs a transaction. With `may_retry`, one that lost a race against another writer is decided anew; without it, as
/// where the caller named the version that they saw, the conflict is the answer.
pub async fn write_with_retries<T: Send + 'static>(
    store: &Arc<dyn Store>,
    may_retry: bool,
    work: impl Fn(&mut dyn WriteTx) -> Result<T, Error> + Send + Sync + Clone + 'static,
) -> Result<T, Error> {
    let mut attempts = 0;
    loop {
        let work = work.clone();
        match store.write(move |tx| work(tx)).await {
            Err(error)
                if error.code == ErrorCode::VersionConflict
                    && may_retry
                    && attempts < MAX_CONFLICT_RETRIES =>
            {
                attempts += 1;
            }
            outcome => return outcome,
        }
    }
}
