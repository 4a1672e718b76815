//! Connections as events: the first to a host at once, those of the next seconds together, with exact counts. A program that
//! opens a thousand of them is told of in a few lines.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use warren_model::event::WorkspaceNetworkUsed;
use warren_model::{NetworkScheme, NewEvent, Principal, WorkspaceId};
use warren_outbound::web_door::{DoorOutcome, DoorRecord};
use warren_service::{Context, Error};

/// How long connections to one host are counted together.
const WINDOW: Duration = Duration::from_secs(5);
/// Hosts that are counted apart at once. Further ones are counted as one.
const MAX_WINDOWS: usize = 1_000;
const OTHERS: &str = "(others)";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    workspace: WorkspaceId,
    host: String,
    port: u16,
    scheme: NetworkScheme,
    problem: Option<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    connections: u64,
    sent: u64,
    received: u64,
    duration_ms: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
    }
}

/// What was reached lately. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    context: Context,
    windows: Arc<Mutex<BTreeMap<Target, Count>>>,
}

impl Usage {
    pub(super) fn new(context: Context) -> Self {
        Self { context, windows: Arc::default() }
    }

    /// Must be called within a tokio runtime, for the timer.
    pub(super) fn note(&self, workspace: WorkspaceId, record: DoorRecord) {
        let problem = match record.outcome {
            DoorOutcome::Closed => None,
            DoorOutcome::Cut(why) => Some(why.to_owned()),
            DoorOutcome::Refused(refusal) => Some(refusal.cause.as_str().to_owned()),
        };
        let Some(to) = record.to else { return };
        let count = Count {
            connections: 1,
            sent: record.sent,
            received: record.received,
            duration_ms: u64::try_from(record.duration.as_millis()).unwrap_or(u64::MAX),
        };
        let mut target =
            Target { workspace, host: to.host.to_string(), port: to.port, scheme: record.scheme, problem };
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_WINDOWS && !windows.contains_key(&target) {
            target = Target { host: OTHERS.to_owned(), port: 0, problem: None, ..target };
        }
        if let Some(counted) = windows.get_mut(&target) {
            return counted.add(count);
        }
        windows.insert(target.clone(), Count::default());
        drop(windows);
        let usage = self.clone();
        self.context.spawn(tracing::info_span!("exchange.web_doors.usage"), async move {
            usage.write(&target, count).await;
            usage.follow(&target).await;
        });
    }

    /// Writes what is counted, every few seconds, until nothing is.
    async fn follow(&self, target: &Target) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(WINDOW) => {}
                () = self.context.stopping().cancelled() => {}
            }
            let counted = {
                let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
                let counted = windows.get_mut(target).map(std::mem::take).unwrap_or_default();
                if counted.connections == 0 || self.context.is_stopping() {
                    windows.remove(target);
                }
                counted
            };
            if counted.connections > 0 {
                self.write(target, counted).await;
            }
            if counted.connections == 0 || self.context.is_stopping() {
                return;
            }
        }
    }

    async fn write(&self, target: &Target, count: Count) {
        let data = WorkspaceNetworkUsed {
            host: target.host.clone(),
            port: target.port.into(),
            scheme: target.scheme,
            connections: count.connections,
            sent_bytes: count.sent,
            received_bytes: count.received,
            duration_ms: count.duration_ms,
            problem: target.problem.clone(),
        };
        let (at, id) = (self.context.now(), target.workspace);
        let written: Result<(), Error> = self
            .context
            .store()
            .write(move |tx| {
                let Some(row) = tx.workspace(id)? else { return Ok(()) };
                let (org_id, principal) = (row.org_id, Principal::workspace(id));
                let event =
                    NewEvent { at, org_id, workspace_id: Some(id), principal, data: data.clone().into() };
                Ok(tx.append_event(&event)?)
            })
            .await;
        if let Err(error) = written {
            tracing::warn!(workspace.id = %id, %error, "connections of a box could not be recorded");
        }
    }
}
