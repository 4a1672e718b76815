//! A place that is gone for good shows in the workspace's status, whoever found out.

use async_trait::async_trait;
use warren_model::{ErrorCode, Principal, WorkspaceId};
use warren_rules::lifecycle::Signal;
use warren_service::Context;
use warren_workspace::registry::LossSink;

use crate::lifecycle::{Moment, Terms, send_signal};

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
        // A loss begins nothing, so that no term of the fleet's matters to it.
        let moment =
            Moment { by: Principal::system("registry"), now: self.context.now(), terms: Terms::default() };
        let reason = Some(error.to_string());
        match send_signal(self.context.store(), moment, id, Signal::PlaceFailed, reason).await {
            Ok(_) => Ok(()),
            // Removed meanwhile: there is no row left to say it in.
            Err(error) if error.code == ErrorCode::WorkspaceNotFound => Ok(()),
            Err(error) => {
                let detail = error.to_string();
                Err(warren_workspace::Error::transient(ErrorCode::PlatformUnavailable, detail))
            }
        }
    }
}
