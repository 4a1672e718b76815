//! A place that is gone for good shows in the workspace's status, whoever found out.

use async_trait::async_trait;
use warren_model::{ErrorCode, Principal, WorkspaceId};
use warren_rules::lifecycle::Signal;
use warren_service::Context;
use warren_workspace::registry::LossSink;

use crate::Config;
use crate::lifecycle::Signals;

/// Records losses in the workspace's row, as the table in `rules` decides.
#[derive(Debug, Clone)]
pub struct StoredLosses {
    context: Context,
}

impl StoredLosses {
    pub fn new(context: Context) -> Self {
        Self { context }
    }
}

#[async_trait]
impl LossSink for StoredLosses {
    async fn lost(
        &self,
        id: WorkspaceId,
        error: &warren_workspace::Error,
    ) -> Result<(), warren_workspace::Error> {
        // A loss begins nothing, so that no setting of the fleet matters to it.
        let signals = Signals::new(self.context.clone(), Config::default());
        let by = Principal::system("registry");
        match signals.send(id, Signal::PlaceFailed, &by, Some(error.to_string())).await {
            Ok(_) => Ok(()),
            // It was removed meanwhile, and there is no row to write to.
            Err(error) if error.code == ErrorCode::WorkspaceNotFound => Ok(()),
            Err(error) => {
                let detail = error.to_string();
                Err(warren_workspace::Error::transient(ErrorCode::PlatformUnavailable, detail))
            }
        }
    }
}
