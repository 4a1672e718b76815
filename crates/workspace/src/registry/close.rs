//! Ends workspaces: close with a deadline, the reaper behind it, destroy, and the shutdown of all (W16).
//!
//! A close that misses its deadline leaves the workspace in `closing`, handle in hand; every pass of the reaper
//! tries again. What this process cannot know about (it was killed) the providers' own reapers find.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout, timeout_at};
use warren_model::{ErrorCode, ProviderKind, WorkspaceId};
use warren_rules::boxes::registry::{Signal, State};

use super::slot::{Slot, SlotState, not_ready};
use super::{Inner, Registry};
use crate::{Error, ReapReport, Workspace};

/// How far a close came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseOutcome {
    Closed,
    /// Past its deadline: the reaper goes on.
    LeftToReaper,
}

/// What a shutdown left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CloseReport {
    pub closed: usize,
    pub left_to_reaper: usize,
}

impl Registry {
    /// Ends processes and lets go of resources; files stay. Declaring it again makes it usable again.
    pub async fn close(&self, id: WorkspaceId) -> Result<CloseOutcome, Error> {
        let slot = self.slot(id)?;
        Ok(self.close_slot(slot, self.inner.config.close_deadline).await)
    }

    /// Closes everything at once and waits for tasks under way, for a shutdown.
    pub async fn close_all(&self, deadline: Duration) -> CloseReport {
        let until = Instant::now() + deadline;
        let slots = self.inner.slots();
        let closing = slots.into_iter().map(|slot| self.close_slot(slot, deadline));
        let mut report = CloseReport::default();
        for outcome in join_all(closing).await {
            match outcome {
                CloseOutcome::Closed => report.closed += 1,
                CloseOutcome::LeftToReaper => report.left_to_reaper += 1,
            }
        }
        self.inner.tasks.close();
        // Late tasks end with the process; the next start's reaper finishes what they leave.
        let _ = timeout_at(until, self.inner.tasks.wait()).await;
        self.inner.tasks.reopen();
        report
    }

    /// The end: closes everything, then lets the providers go.
    pub async fn shut_down(&self, deadline: Duration) -> CloseReport {
        let until = Instant::now() + deadline;
        let report = self.close_all(deadline).await;
        let providers = self.inner.providers.values().map(|provider| provider.shut_down());
        if timeout_at(until, join_all(providers)).await.is_err() {
            tracing::warn!("a provider takes long to shut down; the next start finishes what it leaves");
        }
        report
    }

    /// Closes, deletes for good what the ref points at, and forgets the workspace. Gone already is success.
    pub async fn destroy(&self, id: WorkspaceId) -> Result<(), Error> {
        let slot = self.slot(id)?;
        self.close_slot(Arc::clone(&slot), self.inner.config.close_deadline).await;
        let (config, reference) = {
            let cell = slot.lock();
            if matches!(&cell.life, SlotState::Closing { opening: Some(_), .. }) {
                return Err(not_ready("the workspace is still being opened; delete it again in a moment"));
            }
            (cell.config.clone(), cell.reference.clone())
        };
        if let Some(reference) = reference {
            let provider = self.inner.provider(config.kind())?;
            let task = self.inner.tasks.spawn(async move { provider.destroy(id, &reference).await });
            task.await.unwrap_or_else(|_| Err(task_failed()))?;
        }
        self.inner.forget_destroyed(&slot)
    }

    /// One pass of the reaper: closes that missed their deadline, then what providers find. Never touches what is
    /// declared here or named in `also_live`, such as the workspaces of other replicas.
    pub async fn reap_once(&self, also_live: &BTreeSet<WorkspaceId>) -> ReapReport {
        let mut report = ReapReport::default();
        let slots = self.inner.slots();
        let closing = slots.iter().filter(|slot| slot.lock().life.state() == State::Closing);
        let again = closing.map(|slot| async {
            let deadline = self.inner.config.close_deadline;
            (slot.id, self.close_slot(Arc::clone(slot), deadline).await)
        });
        let left = self.inner.take_left().into_iter();
        let left = left.map(|workspace| async { (workspace.id(), self.inner.close_left(workspace).await) });
        let outcomes = tokio::join!(join_all(again), join_all(left));
        for (id, outcome) in outcomes.0.into_iter().chain(outcomes.1) {
            outcome.tell(id, &mut report);
        }
        let mut live = also_live.clone();
        live.extend(slots.iter().map(|slot| slot.id));
        let live = Arc::new(live);
        let mut panic = None;
        for provider in self.inner.providers.values() {
            let (kind, deadline) = (provider.kind(), self.inner.config.open_timeout);
            let (provider, live) = (Arc::clone(provider), Arc::clone(&live));
            let pass = tokio::spawn(async move { timeout(deadline, provider.reap(&live)).await });
            match pass.await {
                Ok(Ok(Ok(one))) => {
                    report.removed += one.removed;
                    report.problems.extend(one.problems);
                }
                Ok(Ok(Err(error))) => report.problems.push(format!("{kind}: {error}")),
                Ok(Err(_)) => report.problems.push(format!("{kind}: the reaper did not end in time")),
                Err(ended) => panic = ended.try_into_panic().ok().or(panic),
            }
        }
        // A bug in one provider costs no other its pass, and is still the caller's to see.
        if let Some(panic) = panic {
            std::panic::resume_unwind(panic);
        }
        report
    }

    /// The work is done by a tracked task: a caller that hangs up does not stop it.
    async fn close_slot(&self, slot: Arc<Slot>, deadline: Duration) -> CloseOutcome {
        let inner = Arc::clone(&self.inner);
        let task = inner.tasks.spawn(close(Arc::clone(&inner), slot, deadline));
        task.await.unwrap_or(CloseOutcome::LeftToReaper)
    }
}

impl CloseOutcome {
    fn tell(self, id: WorkspaceId, report: &mut ReapReport) {
        match self {
            Self::Closed => report.removed += 1,
            Self::LeftToReaper => report.problems.push(format!("workspace {id} does not close")),
        }
    }
}

/// What a close has to do next.
enum NextClosing {
    Done,
    AwaitOpen(tokio::sync::watch::Receiver<super::slot::OpenOutcome>),
    Close(ProviderKind, Option<Arc<dyn Workspace>>),
}

async fn close(inner: Arc<Inner>, slot: Arc<Slot>, deadline: Duration) -> CloseOutcome {
    let until = Instant::now() + deadline;
    loop {
        match begin(&inner, &slot) {
            NextClosing::Done => return CloseOutcome::Closed,
            NextClosing::AwaitOpen(mut outcome) => {
                let settled = timeout_at(until, outcome.wait_for(Option::is_some)).await;
                if !matches!(settled, Ok(Ok(_))) {
                    return overdue(&inner, &slot);
                }
            }
            NextClosing::Close(kind, workspace) => {
                let closed = match &workspace {
                    Some(workspace) => timeout_at(until, workspace.close()).await,
                    None => Ok(Ok(())),
                };
                if let Ok(Err(error)) = &closed {
                    tracing::warn!(event = "workspace.close.failed", workspace.id = %slot.id, error = %error,
                        "closing the workspace failed; the reaper tries again");
                }
                if !matches!(closed, Ok(Ok(()))) {
                    return overdue(&inner, &slot);
                }
                // Another close may have finished first; either way it is closed.
                let _ = slot.lock().advance(Signal::CloseFinished, SlotState::Closed);
                inner.metrics.closed(kind, true);
                return CloseOutcome::Closed;
            }
        }
    }
}

/// Puts the slot into `closing` (or straight into `closed`, where nothing is open) and says what is left to do.
fn begin(inner: &Inner, slot: &Slot) -> NextClosing {
    let mut cell = slot.lock();
    let kind = cell.config.kind();
    let mut stale = cell.stale.take();
    let (life, step) = match &cell.life {
        SlotState::Unopened | SlotState::Failed { .. } | SlotState::Closed => {
            (SlotState::Closed, NextClosing::Done)
        }
        SlotState::Opening { outcome, cancel } => {
            cancel.cancel();
            let opening = Some(outcome.clone());
            let life = SlotState::Closing { workspace: None, opening };
            (life, NextClosing::AwaitOpen(outcome.clone()))
        }
        SlotState::Open(lease) => closing(kind, Some(Arc::clone(&lease.workspace))),
        SlotState::Evicted => closing(kind, stale.take()),
        SlotState::Closing { opening: Some(outcome), .. } => {
            let life = SlotState::Closing { workspace: None, opening: Some(outcome.clone()) };
            (life, NextClosing::AwaitOpen(outcome.clone()))
        }
        SlotState::Closing { workspace, .. } => closing(kind, workspace.clone()),
    };
    // A storm fails a workspace with what was last open still in hand, and an open that has not begun to work has not
    // let go of it yet.
    stale.into_iter().for_each(|stale| inner.leave_to_reaper(stale));
    let advanced = cell.advance(Signal::Close, life);
    debug_assert!(advanced.is_ok(), "every state takes a close");
    step
}

fn closing(kind: ProviderKind, workspace: Option<Arc<dyn Workspace>>) -> (SlotState, NextClosing) {
    let life = SlotState::Closing { workspace: workspace.clone(), opening: None };
    (life, NextClosing::Close(kind, workspace))
}

fn overdue(inner: &Inner, slot: &Slot) -> CloseOutcome {
    let kind = slot.lock().config.kind();
    inner.metrics.closed(kind, false);
    tracing::warn!(event = "workspace.close.overdue", workspace.id = %slot.id, provider = %kind,
        "the workspace did not close by its deadline; the reaper goes on");
    CloseOutcome::LeftToReaper
}

impl Inner {
    /// Removes the slot of a place that is deleted. What would not close goes to the reaper: it may have processes.
    fn forget_destroyed(&self, slot: &Slot) -> Result<(), Error> {
        let mut slots = self.lock_slots();
        let mut cell = slot.lock();
        let left = match &cell.life {
            SlotState::Unopened | SlotState::Evicted | SlotState::Failed { .. } | SlotState::Closed => None,
            SlotState::Closing { workspace, opening: None } => workspace.clone(),
            SlotState::Opening { .. } | SlotState::Open(_) | SlotState::Closing { opening: Some(_), .. } => {
                return Err(not_ready(
                    "the workspace was opened again while it was deleted; delete it again",
                ));
            }
        };
        let left = left.into_iter().chain(cell.stale.take());
        slots.remove(&slot.id);
        left.for_each(|workspace| self.leave_to_reaper(workspace));
        Ok(())
    }

    async fn close_left(&self, workspace: Arc<dyn Workspace>) -> CloseOutcome {
        match timeout(self.config.close_deadline, workspace.close()).await {
            Ok(Ok(())) => CloseOutcome::Closed,
            Ok(Err(_)) | Err(_) => {
                self.leave_to_reaper(workspace);
                CloseOutcome::LeftToReaper
            }
        }
    }
}

fn task_failed() -> Error {
    Error::operation(ErrorCode::Internal, "the provider failed in an unexpected way")
}
