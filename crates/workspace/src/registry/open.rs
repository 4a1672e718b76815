//! Opens a workspace: one task for all who wait, with retries, caps and a timeout per attempt.
//!
//! The task is spawned and tracked, so a caller that hangs up abandons nothing half way. An attempt holds its
//! permits only while the provider works, never while it waits for the next attempt.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use warren_model::{ErrorCode, Ref};
use warren_rules::boxes::capabilities;
use warren_rules::boxes::registry::{FailureCause, OpenVerdict, Signal};

use super::Inner;
use super::slot::{Lease, OpenOutcome, Slot, SlotContents, SlotState, not_ready};
use super::{LostPolicy, losses, lost};
use crate::{Error, OpenRequest, Opened, Provider, Workspace};

/// What was open before an eviction gets this long to let go, so that a hung one does not hold up its successor.
const STALE_CLOSE: Duration = Duration::from_secs(5);

/// Begins an open and answers where its outcome will be told. The caller holds the slot's lock and has made sure
/// that its state takes `Use`.
pub(super) fn begin(
    inner: &Arc<Inner>,
    slot: &Arc<Slot>,
    cell: &mut SlotContents,
) -> Result<watch::Receiver<OpenOutcome>, Error> {
    let (sender, outcome) = watch::channel(None);
    let cancel = CancellationToken::new();
    let life = SlotState::Opening { outcome: outcome.clone(), cancel: cancel.clone() };
    cell.advance(Signal::Use, life)?;
    let task = Opening { inner: Arc::clone(inner), slot: Arc::clone(slot), cancel };
    inner.tasks.spawn(async move {
        let started = Instant::now();
        let result = AssertUnwindSafe(task.attempts()).catch_unwind().await;
        let result = result.unwrap_or_else(|_| Err(provider_panicked()));
        let outcome = task.settle(result, started.elapsed());
        losses::tell(Arc::clone(&task.inner), Arc::clone(&task.slot)).await;
        // Nobody may be waiting any more.
        sender.send_replace(Some(outcome));
    });
    Ok(outcome)
}

struct Opening {
    inner: Arc<Inner>,
    slot: Arc<Slot>,
    cancel: CancellationToken,
}

impl Opening {
    async fn attempts(&self) -> Result<Opened, Error> {
        let mut made = None;
        let mut failures = 0;
        loop {
            let error = match self.attempt(&mut made).await {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            failures += 1;
            self.slot.lock().history.last_error = Some(error.clone());
            let fraction = self.inner.entropy.fraction();
            let plan = &self.inner.config.open;
            match plan.after_failure(failures, is_retryable(&error), fraction) {
                OpenVerdict::RetryAfterMs(wait_ms) => {
                    tracing::warn!(event = "workspace.open.retried", workspace.id = %self.slot.id, wait_ms, failures,
                        error = %error, "opening the workspace failed; trying again");
                    self.inner.metrics.open_retried(self.kind());
                    self.unless_cancelled(tokio::time::sleep(Duration::from_millis(wait_ms))).await?;
                }
                OpenVerdict::GiveUp => {
                    self.let_go(made.map(|opened| opened.workspace)).await;
                    return Err(as_failure(error));
                }
            }
        }
    }

    /// One attempt. `made` keeps what was opened while its ref could not be saved yet: only the saving is repeated.
    async fn attempt(&self, made: &mut Option<Opened>) -> Result<Opened, Error> {
        let opened = match made.take() {
            Some(opened) => opened,
            None => self.reach().await?,
        };
        let is_known = self.slot.lock().reference.as_ref() == Some(&opened.reference);
        if !is_known && let Err(error) = self.inner.refs.save(self.slot.id, &opened.reference).await {
            *made = Some(opened);
            return Err(error);
        }
        Ok(opened)
    }

    /// Has the provider open or resolve the place, within the caps and the timeout.
    async fn reach(&self) -> Result<Opened, Error> {
        let stale = self.slot.lock().stale.take();
        self.let_go(stale).await;
        let (config, declared, reference, on_lost) = {
            let mut cell = self.slot.lock();
            cell.history.last_attempt_at = Some(self.inner.clock.now());
            (cell.config.clone(), cell.capabilities, cell.reference.clone(), cell.on_lost)
        };
        let provider = self.inner.check(&config, declared)?;
        // The provider's gate first: waiting at it must not hold a permit that another provider could use.
        let gate = self.inner.gates.of(config.kind());
        let _global = self.unless_cancelled(gate.acquire()).await?.ok();
        let _local = self.unless_cancelled(self.inner.open_permits.acquire()).await?.ok();
        let request = OpenRequest { workspace_id: self.slot.id, config, declared };
        let limit = self.inner.config.open_timeout;
        let opened = match timeout(limit, self.place(&*provider, request, reference, on_lost)).await {
            Ok(result) => result?,
            Err(_) => return Err(timed_out(limit)),
        };
        if let Err(breach) = capabilities::check_opened(provider.kind(), declared, opened.workspace.present())
        {
            self.let_go(Some(opened.workspace)).await;
            return Err(Error::permanent(ErrorCode::CapabilityMissing, breach.to_string()));
        }
        Ok(opened)
    }

    async fn place(
        &self,
        provider: &dyn Provider,
        request: OpenRequest,
        reference: Option<Ref>,
        on_lost: LostPolicy,
    ) -> Result<Opened, Error> {
        let Some(mut reference) = reference else {
            return provider.open(request).await;
        };
        if reference.provider != request.config.kind().as_str() {
            return Err(foreign_ref(&reference, &request));
        }
        // What is wanted now counts, not what was wanted when the place was made.
        reference.capabilities = request.declared;
        match provider.resolve(request.workspace_id, &request.config, &reference).await {
            Ok(workspace) => Ok(Opened { workspace, reference }),
            Err(Error::Evicted { detail }) => match on_lost {
                LostPolicy::Fail => Err(lost(&detail)),
                LostPolicy::Recreate => {
                    tracing::warn!(event = "workspace.recreated", workspace.id = %self.slot.id, cause = detail,
                        "the workspace's place is gone; making an empty one");
                    provider.open(request).await
                }
            },
            Err(error) => Err(error),
        }
    }

    /// Writes the outcome down. A close that came meanwhile finds what was opened and closes it.
    fn settle(&self, result: Result<Opened, Error>, latency: Duration) -> Result<Lease, Error> {
        let kind = self.kind();
        let outcome = self.settle_locked(&mut self.slot.lock(), result);
        match &outcome {
            Ok(_) => {
                self.inner.metrics.opened(kind, latency);
                tracing::debug!(event = "workspace.opened", workspace.id = %self.slot.id, provider = %kind,
                    duration_ms = latency.as_millis(), "the workspace is open");
            }
            Err(Error::Operation { .. }) => {}
            Err(error @ (Error::Failed { .. } | Error::Evicted { .. })) => {
                self.inner.metrics.open_failed(kind, error.code());
                tracing::warn!(event = "workspace.open.failed", workspace.id = %self.slot.id, provider = %kind,
                    code = %error.code(), error = %error, "the workspace could not be opened");
            }
        }
        outcome
    }

    fn settle_locked(&self, cell: &mut SlotContents, result: Result<Opened, Error>) -> Result<Lease, Error> {
        let is_closing = matches!(cell.life, SlotState::Closing { .. });
        match result {
            Ok(opened) => {
                cell.reference = Some(opened.reference);
                if is_closing {
                    let life = SlotState::Closing { workspace: Some(opened.workspace), opening: None };
                    cell.advance(Signal::Opened, life)?;
                    return Err(not_ready("the workspace was closed while it was being opened"));
                }
                let now = self.inner.clock.now();
                cell.history.opens += 1;
                cell.history.opened_at = Some(now);
                cell.history.last_success_at = Some(now);
                let lease = Lease { workspace: opened.workspace, incarnation: cell.history.opens };
                cell.advance(Signal::Opened, SlotState::Open(lease.clone()))?;
                Ok(lease)
            }
            Err(error) => {
                let life = if is_closing {
                    SlotState::Closed
                } else {
                    cell.history.last_error = Some(error.clone());
                    SlotState::Failed {
                        cause: FailureCause::Open { transient: error.is_transient() },
                        error: error.clone(),
                        since: Instant::now(),
                        is_told: false,
                    }
                };
                cell.advance(Signal::OpenFailed, life)?;
                Err(error)
            }
        }
    }

    /// Closes what will not be used; what cannot be closed now is left to the reaper.
    async fn let_go(&self, workspace: Option<Arc<dyn Workspace>>) {
        let Some(workspace) = workspace else { return };
        let limit = self.inner.config.close_deadline.min(STALE_CLOSE);
        if !matches!(timeout(limit, workspace.close()).await, Ok(Ok(()))) {
            self.inner.leave_to_reaper(workspace);
        }
    }

    /// Waits, unless a close comes first.
    async fn unless_cancelled<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(not_ready("the workspace was closed while it was being opened")),
            value = waiting => Ok(value),
        }
    }

    fn kind(&self) -> warren_model::ProviderKind {
        self.slot.lock().config.kind()
    }
}

/// `Evicted` from an open is a loss on the way, and as good a reason to try again as a transient failure.
const fn is_retryable(error: &Error) -> bool {
    error.is_transient() || error.is_evicted()
}

/// A failure of the workspace rather than of one request: what `failed` remembers.
fn as_failure(error: Error) -> Error {
    match error {
        Error::Operation { code, detail } => Error::permanent(code, detail),
        Error::Evicted { detail } => Error::transient(ErrorCode::WorkspaceEvicted, detail),
        failed @ Error::Failed { .. } => failed,
    }
}

fn timed_out(limit: Duration) -> Error {
    let detail = format!("the provider did not answer within {} s", limit.as_secs());
    Error::transient(ErrorCode::WorkspaceFailed, detail)
}

fn provider_panicked() -> Error {
    Error::permanent(ErrorCode::Internal, "the provider failed in an unexpected way")
}

fn foreign_ref(reference: &Ref, request: &OpenRequest) -> Error {
    let detail = format!(
        "the workspace was made by provider `{}` and is configured for `{}`: create a new one for another provider",
        reference.provider,
        request.config.kind()
    );
    Error::permanent(ErrorCode::RefUnreadable, detail)
}
