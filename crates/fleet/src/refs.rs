//! Refs are made durable before an open counts as done: a place that Warren could not find again would leak.

use async_trait::async_trait;
use warren_model::{ErrorCode, Ref, WorkspaceId};
use warren_service::Context;
use warren_store::Error as StoreError;
use warren_workspace::registry::RefSink;

use crate::Replica;

/// Keeps refs in the workspace's row.
#[derive(Debug, Clone)]
pub struct StoredRefs {
    context: Context,
    replica: Replica,
}

impl StoredRefs {
    pub fn new(context: Context, replica: Replica) -> Self {
        Self { context, replica }
    }
}

#[async_trait]
impl RefSink for StoredRefs {
    async fn save(&self, id: WorkspaceId, reference: &Ref) -> Result<(), warren_workspace::Error> {
        let reference = reference.clone();
        let (now, replica) = (self.context.now(), self.replica.clone());
        let saved: Result<(), StoreError> = self
            .context
            .store()
            .write(move |tx| {
                let Some(mut row) = tx.workspace(id)? else {
                    return Err(StoreError::Refused("the workspace is not in the database".into()));
                };
                if !replica.check_in(tx, id)? {
                    return Err(StoreError::Refused("another replica has taken over the box".into()));
                }
                if row.reference.as_ref() == Some(&reference) {
                    return Ok(());
                }
                row.reference = Some(reference.clone());
                row.updated_at = now;
                tx.update_workspace(&row, row.version).map(|_| ())
            })
            .await;
        saved.map_err(|error| {
            tracing::warn!(workspace.id = %id, %error, "a ref could not be stored");
            let detail = "the database could not keep the workspace's record";
            warren_workspace::Error::transient(ErrorCode::PlatformUnavailable, detail)
        })
    }

    async fn claim(&self, id: WorkspaceId) -> Result<(), warren_workspace::Error> {
        self.replica.claim(id).await.map_err(|error| {
            let detail = error.detail.clone().unwrap_or_else(|| error.code.as_str().to_owned());
            warren_workspace::Error::operation(error.code, detail)
        })
    }
}
