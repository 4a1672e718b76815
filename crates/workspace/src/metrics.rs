//! What the registry counts (W17). A trait, so that the library carries no metrics system of its own.

use std::time::Duration;

use warren_model::{ErrorCode, ProviderKind};

/// Told of every open, retry, eviction and failure, per provider. Called between locks; must not block.
pub trait RegistryMetrics: Send + Sync + std::fmt::Debug {
    /// An open or a resolve succeeded, `latency` after it was first asked for: waiting and retries included.
    fn opened(&self, provider: ProviderKind, latency: Duration);
    /// An attempt failed and will be repeated.
    fn open_retried(&self, provider: ProviderKind);
    /// The workspace is now `failed`.
    fn open_failed(&self, provider: ProviderKind, code: ErrorCode);
    /// A workspace that was open is gone; once per loss, however many operations noticed.
    fn evicted(&self, provider: ProviderKind);
    /// An operation is repeated because of an eviction.
    fn operation_retried(&self, provider: ProviderKind);
    /// An operation was given up because of evictions.
    fn eviction_retries_exhausted(&self, provider: ProviderKind);
    /// A close ended, or was left to the reaper at its deadline.
    fn closed(&self, provider: ProviderKind, is_finished: bool);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl RegistryMetrics for NoMetrics {
    fn opened(&self, _: ProviderKind, _: Duration) {}
    fn open_retried(&self, _: ProviderKind) {}
    fn open_failed(&self, _: ProviderKind, _: ErrorCode) {}
    fn evicted(&self, _: ProviderKind) {}
    fn operation_retried(&self, _: ProviderKind) {}
    fn eviction_retries_exhausted(&self, _: ProviderKind) {}
    fn closed(&self, _: ProviderKind, _: bool) {}
}
