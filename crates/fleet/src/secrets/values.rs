//! Opening secrets in the moment a command needs them.

use std::sync::Arc;

use warren_model::Workspace;
use warren_rules::access::secrets;
use warren_service::{Context, Error, Sealer};
use warren_workspace::{OnStart, SecretVariables};

use super::FreshProcesses;

/// The values of secrets, for commands. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SecretValues {
    context: Context,
    sealer: Sealer,
    fresh_processes: Arc<FreshProcesses>,
}

impl SecretValues {
    pub(crate) fn new(context: Context, sealer: Sealer, fresh_processes: Arc<FreshProcesses>) -> Self {
        Self { context, sealer, fresh_processes }
    }

    /// The secrets that commands of this workspace get now: its own before its org's. One that does not open is an
    /// error: a command that runs without what it counts on does harm of its own.
    pub(crate) async fn variables(&self, row: &Workspace) -> Result<SecretVariables, Error> {
        if !secrets::concerns(row) {
            return Ok(SecretVariables::default());
        }
        // The values are read after the row: they are of its generation, or newer.
        let (org_id, id) = (row.org_id, row.id);
        let rows =
            self.context.store().read(move |tx| tx.secrets_for(org_id, id).map_err(Error::from)).await?;
        let values = self.sealer.open_all(id, rows)?;
        Ok(SecretVariables::new(values, self.note_starts(row)))
    }

    /// Notes which processes are started with new values, while the workspace is behind a change of secrets.
    fn note_starts(&self, row: &Workspace) -> Option<OnStart> {
        row.behind_of()?;
        let (fresh, id, generation) = (Arc::clone(&self.fresh_processes), row.id, row.generation);
        Some(Box::new(move |process| fresh.note(id, process, generation)))
    }
}
