//! Refused tool calls as events: the first of a kind in full, then roll-ups with exact counts (W62).

use std::sync::Arc;

use serde_json::json;
use warren_model::{EventKind, NewEvent, OrgId, Principal, WorkspaceId};
use warren_service::Context;
use warren_store::Error as StoreError;
use warren_workspace::{RefusalRecord, RefusalSink};

#[derive(Debug)]
pub(crate) struct RefusalEvents {
    context: Context,
}

impl RefusalEvents {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    fn append(&self, workspace_id: Option<WorkspaceId>, data: serde_json::Value) {
        let (store, at) = (Arc::clone(self.context.store()), self.context.now());
        self.context.spawn(tracing::Span::none(), async move {
            let written: Result<(), StoreError> = store
                .write(move |tx| {
                    let row = workspace_id.map(|id| tx.workspace(id)).transpose()?.flatten();
                    tx.append_event(&NewEvent {
                        at,
                        kind: EventKind::WorkspaceToolRefused,
                        org_id: row.map_or(OrgId::DEFAULT, |row| row.org_id),
                        workspace_id,
                        principal: Principal::system("policy"),
                        data: data.clone(),
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
                let data = json!({
                    "tool": tool, "kind": refusal.kind.as_str(), "count": 1, "sentence": refusal.sentence,
                });
                self.append(Some(*workspace_id), data);
            }
            RefusalRecord::RollUp { subject, count } => {
                let kind = subject.map_or("other", |(_, kind)| kind.as_str());
                self.append(subject.map(|(id, _)| id), json!({ "kind": kind, "count": count }));
            }
        }
    }
}
