//! One workspace in the registry: its state, with the data that exists only in that state.
//!
//! The lock of a slot is held for a few lines and never over an await. Whoever changes the state goes through
//! [`SlotContents::advance`], which asks the table in `rules`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use warren_model::{CapabilitySet, ErrorCode, ProviderConfig, ProviderKind, Ref, Timestamp, WorkspaceId};
use warren_rules::boxes::registry::{Breaker, FailureCause, Signal, State};

use super::{Declaration, LostPolicy};
use crate::{Error, Workspace};

/// An open workspace, and which of its lives this is.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(super) workspace: Arc<dyn Workspace>,
    /// Counts opens: an eviction that is reported late does not hit the next life.
    pub(super) incarnation: u64,
}

impl Lease {
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.workspace
    }
}

/// What became of an open: `None` while it is under way.
pub(super) type OpenOutcome = Option<Result<Lease, Error>>;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: WorkspaceId,
    cell: Mutex<SlotContents>,
}

#[derive(Debug)]
pub(super) struct SlotContents {
    pub(super) config: ProviderConfig,
    pub(super) capabilities: CapabilitySet,
    pub(super) on_lost: LostPolicy,
    pub(super) reference: Option<Ref>,
    pub(super) life: SlotState,
    /// What was open before an eviction; let go before the next open.
    pub(super) stale: Option<Arc<dyn Workspace>>,
    pub(super) breaker: Breaker,
    pub(super) history: History,
}

#[derive(Debug)]
pub(super) enum SlotState {
    Unopened,
    Opening {
        outcome: watch::Receiver<OpenOutcome>,
        cancel: CancellationToken,
    },
    Open(Lease),
    Evicted,
    Failed {
        cause: FailureCause,
        error: Error,
        since: Instant,
        /// Whether the owner's record knows.
        is_told: bool,
    },
    Closing {
        workspace: Option<Arc<dyn Workspace>>,
        /// An open that was under way when the close came, and still is.
        opening: Option<watch::Receiver<OpenOutcome>>,
    },
    Closed,
}

#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) opened_at: Option<Timestamp>,
    pub(super) last_error: Option<Error>,
    pub(super) last_attempt_at: Option<Timestamp>,
    pub(super) last_success_at: Option<Timestamp>,
    pub(super) opens: u64,
    pub(super) evictions: u64,
}

/// An immutable view of a workspace in the registry (W11).
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    pub workspace_id: WorkspaceId,
    pub state: State,
    pub provider: ProviderKind,
    /// Since when it has been open; absent unless it is.
    pub opened_at: Option<Timestamp>,
    /// Why the last attempt to open it failed, or how it was lost; kept after it recovered.
    pub last_error: Option<Error>,
    pub last_attempt_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub opens: u64,
    pub evictions: u64,
    /// As the open workspace tells them; `null` unless it is open.
    pub limits: Value,
}

impl SlotState {
    pub(super) const fn state(&self) -> State {
        match self {
            Self::Unopened => State::Unopened,
            Self::Opening { .. } => State::Opening,
            Self::Open(_) => State::Open,
            Self::Evicted => State::Evicted,
            Self::Failed { .. } => State::Failed,
            Self::Closing { .. } => State::Closing,
            Self::Closed => State::Closed,
        }
    }
}

impl Slot {
    /// Whether a use of it would begin an open, which not every process may.
    pub(super) fn needs_claim(&self) -> bool {
        match self.lock().life {
            SlotState::Unopened | SlotState::Evicted | SlotState::Failed { .. } => true,
            SlotState::Opening { .. }
            | SlotState::Open(_)
            | SlotState::Closing { .. }
            | SlotState::Closed => false,
        }
    }

    pub(super) fn new(id: WorkspaceId, declaration: Declaration) -> Self {
        let cell = SlotContents {
            config: declaration.config,
            capabilities: declaration.capabilities,
            on_lost: declaration.on_lost,
            reference: declaration.reference,
            life: SlotState::Unopened,
            stale: None,
            breaker: Breaker::default(),
            history: History::default(),
        };
        Self { id, cell: Mutex::new(cell) }
    }

    /// For a few synchronous lines.
    pub(super) fn lock(&self) -> MutexGuard<'_, SlotContents> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn describe(&self) -> Description {
        let (mut description, workspace) = self.lock().describe(self.id);
        if let Some(workspace) = workspace {
            description.limits = workspace.limits();
        }
        description
    }
}

impl SlotContents {
    /// The one way to another state.
    pub(super) fn advance(&mut self, signal: Signal, life: SlotState) -> Result<SlotState, Error> {
        let from = self.life.state();
        let to = from.next(signal).map_err(|refused| not_ready(&refused.to_string()))?;
        debug_assert_eq!(to, life.state(), "{from} on {signal}");
        Ok(std::mem::replace(&mut self.life, life))
    }

    /// Why it is lost for good, if it is and nobody was told.
    pub(super) fn untold_loss(&self) -> Option<Error> {
        match &self.life {
            SlotState::Failed { error, is_told: false, .. } if !error.is_transient() => Some(error.clone()),
            SlotState::Failed { .. }
            | SlotState::Unopened
            | SlotState::Opening { .. }
            | SlotState::Open(_)
            | SlotState::Evicted
            | SlotState::Closing { .. }
            | SlotState::Closed => None,
        }
    }

    /// Absent means unchanged: a declaration without a ref keeps the one that is known.
    pub(super) fn redeclare(&mut self, declaration: Declaration) {
        self.config = declaration.config;
        self.capabilities = declaration.capabilities;
        self.on_lost = declaration.on_lost;
        if declaration.reference.is_some() {
            self.reference = declaration.reference;
        }
    }

    fn describe(&self, workspace_id: WorkspaceId) -> (Description, Option<Arc<dyn Workspace>>) {
        let workspace = match &self.life {
            SlotState::Open(lease) => Some(Arc::clone(&lease.workspace)),
            SlotState::Unopened
            | SlotState::Opening { .. }
            | SlotState::Evicted
            | SlotState::Failed { .. }
            | SlotState::Closing { .. }
            | SlotState::Closed => None,
        };
        let history = &self.history;
        let description = Description {
            workspace_id,
            state: self.life.state(),
            provider: self.config.kind(),
            opened_at: workspace.as_ref().and(history.opened_at),
            last_error: history.last_error.clone(),
            last_attempt_at: history.last_attempt_at,
            last_success_at: history.last_success_at,
            opens: history.opens,
            evictions: history.evictions,
            limits: Value::Null,
        };
        (description, workspace)
    }
}

pub(super) fn not_ready(detail: &str) -> Error {
    Error::operation(ErrorCode::WorkspaceNotReady, detail)
}
