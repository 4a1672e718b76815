//! Where people have put workspaces on their map (F9).

use std::collections::BTreeMap;

use warren_model::{ErrorCode, Position, Workspace, WorkspaceId};
use warren_service::{Action, Context, Error, Identity};

use crate::access::WorkspaceAccess;
use crate::workspaces::live_row;

/// Each principal has a map of their own. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Positions {
    context: Context,
    access: WorkspaceAccess,
}

impl Positions {
    pub(crate) fn new(context: Context, access: WorkspaceAccess) -> Self {
        Self { context, access }
    }

    /// Where the caller has put these workspaces on their map (F9).
    pub async fn of(
        &self,
        who: &Identity,
        workspaces: &[Workspace],
    ) -> Result<BTreeMap<WorkspaceId, Position>, Error> {
        let ids: Vec<_> = workspaces.iter().map(|row| row.id).collect();
        let principal = who.principal.clone();
        self.context.store().read(move |tx| tx.positions_of(&principal, &ids).map_err(Error::from)).await
    }

    /// Puts a workspace somewhere on the caller's own map; `None` takes it off. A token that only reads may not: its owner
    /// may have other tokens, and one map.
    #[tracing::instrument(name = "fleet.positions.put", skip_all, fields(workspace.id = %id))]
    pub async fn put(
        &self,
        who: &Identity,
        id: WorkspaceId,
        position: Option<Position>,
    ) -> Result<Workspace, Error> {
        if position.is_some_and(|position| !position.is_valid()) {
            let detail = format!("x, y: expected numbers from -{max} to {max}", max = Position::MAX);
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        self.access.get(who, Action::UseWorkspace, id).await?;
        let principal = who.principal.clone();
        self.context
            .store()
            .write(move |tx| {
                let row = live_row(tx, id)?;
                tx.put_position(&principal, id, position)?;
                Ok(row)
            })
            .await
    }
}
