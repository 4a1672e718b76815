//! Refused tool calls as events: the first of a kind in full, then roll-ups with exact counts (W62).

use std::sync::{Arc, Mutex, PoisonError};

use warren_model::event::WorkspaceToolRefused;
use warren_model::{ErrorCode, NewEvent, OrgId, Principal, RefusalKind, WorkspaceId};
use warren_service::{Context, Error};
use warren_store::Error as StoreError;
use warren_workspace::{RefusalLog, RefusalRecord, RefusalSink};

/// Where refused tool calls are noted. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolRefusals {
    /// Taken at the stop, so that what is owed is written before the database closes.
    log: Arc<Mutex<Option<RefusalLog>>>,
}

impl ToolRefusals {
    pub(crate) fn new(context: Context) -> Self {
        let log = RefusalLog::new(Arc::new(RefusalEvents { context }));
        Self { log: Arc::new(Mutex::new(Some(log))) }
    }

    /// Gone once the fleet stops.
    pub fn log(&self) -> Result<RefusalLog, Error> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        log.ok_or_else(|| Error::new(ErrorCode::ShuttingDown))
    }

    pub(crate) fn close(&self) {
        drop(self.log.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[derive(Debug)]
struct RefusalEvents {
    context: Context,
}

impl RefusalEvents {
    fn append(&self, workspace_id: Option<WorkspaceId>, data: WorkspaceToolRefused) {
        let (store, at) = (Arc::clone(self.context.store()), self.context.now());
        self.context.spawn(tracing::info_span!("fleet.tool_refusals.append"), async move {
            let written: Result<(), StoreError> = store
                .write(move |tx| {
                    let row = workspace_id.map(|id| tx.workspace(id)).transpose()?.flatten();
                    tx.append_event(&NewEvent {
                        at,
                        org_id: row.map_or(OrgId::DEFAULT, |row| row.org_id),
                        workspace_id,
                        principal: Principal::system("policy"),
                        data: data.clone().into(),
                    })
                })
                .await;
            if let Err(error) = written {
                tracing::warn!(%error, "a refusal could not be recorded");
            }
        });
    }
}

impl RefusalSink for RefusalEvents {
    fn write(&self, record: &RefusalRecord<'_>) {
        match record {
            RefusalRecord::Full { workspace_id, tool, refusal } => {
                let data = WorkspaceToolRefused {
                    kind: refusal.kind,
                    count: 1,
                    tool: Some((*tool).to_owned()),
                    sentence: Some(refusal.sentence.clone()),
                };
                self.append(Some(*workspace_id), data);
            }
            RefusalRecord::RollUp { subject, count } => {
                let kind = subject.map_or(RefusalKind::Other, |(_, kind)| kind);
                let data = WorkspaceToolRefused { kind, count: *count, tool: None, sentence: None };
                self.append(subject.map(|(id, _)| id), data);
            }
        }
    }
}
