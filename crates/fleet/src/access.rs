//! Reading a workspace on somebody's behalf: whether it is there, whether they may, whether it can be used now.

use warren_model::{AuditTargetKind, ErrorCode, StatusReason, Workspace, WorkspaceId};
use warren_rules::lifecycle::{self, Usability};
use warren_service::{Action, Context, Error, Identity, Target};

use crate::audit::Audit;
use crate::replicas::Replicas;

/// The first step of every service that acts on one workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceAccess {
    context: Context,
    audit: Audit,
    replicas: Replicas,
}

impl WorkspaceAccess {
    pub(crate) fn new(context: Context, audit: Audit, replicas: Replicas) -> Self {
        Self { context, audit, replicas }
    }

    /// Reads a workspace that the caller may act on; to others it does not exist.
    #[tracing::instrument(name = "fleet.workspaces.get", level = "debug", skip_all, fields(workspace.id = %id))]
    pub(crate) async fn get(
        &self,
        who: &Identity,
        action: Action,
        id: WorkspaceId,
    ) -> Result<Workspace, Error> {
        let row = self.context.store().read_few(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        if let Err(refusal) = who.may(action, Target::Workspace { id, org_id: row.org_id }) {
            // Told that it does not exist, which it does: somebody reaches for what is not theirs.
            if refusal.code == ErrorCode::WorkspaceNotFound {
                self.audit.note_refusal(who, AuditTargetKind::Workspace, &id.to_string());
            }
            return Err(refusal);
        }
        Ok(row)
    }

    /// As `get`, for one that can be used now: the registry knows it and somebody wants it running.
    #[tracing::instrument(name = "fleet.workspaces.usable", level = "debug", skip_all, fields(workspace.id = %id))]
    pub(crate) async fn usable(
        &self,
        who: &Identity,
        action: Action,
        id: WorkspaceId,
    ) -> Result<Workspace, Error> {
        let row = self.get(who, action, id).await?;
        check_usable(&row)?;
        self.replicas.reach(&row).await?;
        Ok(row)
    }
}

/// Whether its files and commands can be reached now.
pub(crate) fn check_usable(row: &Workspace) -> Result<(), Error> {
    match lifecycle::usability(row.status) {
        // Its runtime lives on elsewhere.
        Usability::Usable if lifecycle::has_lost_place(row) => {
            let reason = row.reason.as_ref().map_or("", StatusReason::as_str);
            Err(Error::with_detail(ErrorCode::WorkspaceFailed, reason))
        }
        Usability::Usable => Ok(()),
        Usability::Gone => Err(Error::new(ErrorCode::WorkspaceNotFound)),
        Usability::Resting => {
            let detail = format!("the workspace is {}", row.status);
            Err(Error::with_detail(ErrorCode::WorkspaceNotReady, detail))
        }
        Usability::Failed => {
            let reason = row.reason.as_ref().map_or("", StatusReason::as_str);
            Err(Error::with_detail(ErrorCode::WorkspaceFailed, reason))
        }
    }
}
