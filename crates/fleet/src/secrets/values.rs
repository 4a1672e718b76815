//! Opening secrets in the moment a command needs them.

use std::collections::BTreeSet;
use std::sync::Arc;

use warren_model::{ErrorCode, OrgId, SecretName, SecretOwner, SecretValue, Workspace, WorkspaceId};
use warren_rules::access::secrets;
use warren_rules::boxes::doors;
use warren_service::{Context, Error, Sealer};
use warren_workspace::{OnStart, SecretVariables};

use super::FreshProcesses;

/// The values of secrets, for commands. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SecretValues {
    context: Context,
    sealer: Sealer,
    fresh_processes: Arc<FreshProcesses>,
    kept_from_boxes: Arc<BTreeSet<SecretName>>,
}

impl SecretValues {
    pub(crate) fn new(
        context: Context,
        sealer: Sealer,
        fresh_processes: Arc<FreshProcesses>,
        kept_from_boxes: Arc<BTreeSet<SecretName>>,
    ) -> Self {
        Self { context, sealer, fresh_processes, kept_from_boxes }
    }

    /// Whether Warren itself uses the secret, so that no command gets it.
    pub(crate) fn is_kept_from_boxes(&self, name: &SecretName) -> bool {
        self.kept_from_boxes.contains(name)
    }

    /// The value of a secret that Warren itself uses: the workspace's before the org's. Any other stays shut.
    pub(crate) async fn for_warren(
        &self,
        org_id: OrgId,
        workspace_id: Option<WorkspaceId>,
        name: &SecretName,
    ) -> Result<Option<SecretValue>, Error> {
        if !self.is_kept_from_boxes(name) {
            return Ok(None);
        }
        let of_workspace = workspace_id.map(|id| SecretOwner::Workspace { id, org_id });
        let owners = of_workspace.into_iter().chain([SecretOwner::Org(org_id)]);
        let asked = name.clone();
        let row = self
            .context
            .store()
            .read(move |tx| {
                for owner in owners.clone() {
                    if let Some(row) = tx.secret(owner, &asked)? {
                        return Ok::<_, Error>(Some(row));
                    }
                }
                Ok(None)
            })
            .await?;
        let Some(row) = row else { return Ok(None) };
        let keys = self.sealer.keys_for([&row]);
        let opened = self.sealer.open_row(&row, &keys).map_err(|error| {
            tracing::error!(secret = name.as_str(), %error, "a secret does not open");
            let detail = format!("{name}, sealed under {}", row.key_id);
            Error::with_detail(ErrorCode::SecretUnreadable, detail)
        })?;
        Ok(Some(opened))
    }

    /// The secrets that commands of this workspace get now: its own before its org's, without those that Warren itself uses. One that does not open is an
    /// error: a command that runs without what it counts on does harm of its own.
    pub(crate) async fn variables(&self, row: &Workspace) -> Result<SecretVariables, Error> {
        // Where the doors of the box are is no secret, and known before any.
        let given = doors::variables(&row.spec);
        if !secrets::concerns(row) {
            return Ok(SecretVariables::default().with_given(given));
        }
        // The values are read after the row: they are of its generation, or newer.
        let (org_id, id) = (row.org_id, row.id);
        let mut rows =
            self.context.store().read(move |tx| tx.secrets_for(org_id, id).map_err(Error::from)).await?;
        rows.retain(|row| !self.is_kept_from_boxes(&row.name));
        let values = self.sealer.open_all(id, rows)?;
        Ok(SecretVariables::new(values, self.note_starts(row)).with_given(given))
    }

    /// Notes which processes are started with new values, while the workspace is behind a change of secrets.
    fn note_starts(&self, row: &Workspace) -> Option<OnStart> {
        row.behind_of()?;
        let (fresh, id, generation) = (Arc::clone(&self.fresh_processes), row.id, row.generation);
        Some(Box::new(move |process| fresh.note(id, process, generation)))
    }
}
