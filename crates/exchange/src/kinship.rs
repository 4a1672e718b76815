//! The tree of workspaces, as far as talking needs it.

use warren_model::{Workspace, WorkspaceId};
use warren_rules::messages::peers::{self, Side};
use warren_service::Error;
use warren_store::ReadTx;

/// How far a walk towards the root goes; the fleet keeps trees lower than this.
const MAX_DEPTH: usize = 64;

/// The way to the root, the nearest first, without the workspace itself.
pub(crate) fn above(tx: &mut dyn ReadTx, row: &Workspace) -> Result<Vec<WorkspaceId>, Error> {
    let mut above = Vec::new();
    let mut next = row.parent_id;
    while let Some(id) = next.filter(|_| above.len() < MAX_DEPTH) {
        above.push(id);
        next = tx.workspace(id)?.and_then(|parent| parent.parent_id);
    }
    Ok(above)
}

pub(crate) fn may_talk(tx: &mut dyn ReadTx, one: &Workspace, other: &Workspace) -> Result<bool, Error> {
    if one.org_id != other.org_id {
        return Ok(false);
    }
    let kinship = peers::kinship(one.id, &above(tx, one)?, other.id, &above(tx, other)?);
    Ok(peers::may_talk(side(one), side(other), kinship))
}

pub(crate) fn side(row: &Workspace) -> Side<'_> {
    Side { id: row.id, policy: row.spec.peers.as_ref() }
}
