//! The tree of workspaces, as far as talking needs it.

use std::collections::HashMap;

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
    Asker::of(tx, one, [])?.may_talk(tx, other)
}

/// A workspace that asks of many whether it may talk to them: what is read of the tree is read once.
pub(crate) struct Asker<'a> {
    row: &'a Workspace,
    above: Vec<WorkspaceId>,
    parents: HashMap<WorkspaceId, Option<WorkspaceId>>,
}

impl<'a> Asker<'a> {
    pub(crate) fn of<'b>(
        tx: &mut dyn ReadTx,
        row: &'a Workspace,
        known: impl IntoIterator<Item = &'b Workspace>,
    ) -> Result<Self, Error> {
        let parents = known.into_iter().map(|one| (one.id, one.parent_id)).collect();
        Ok(Self { above: above(tx, row)?, row, parents })
    }

    pub(crate) fn may_talk(&mut self, tx: &mut dyn ReadTx, other: &Workspace) -> Result<bool, Error> {
        if self.row.org_id != other.org_id {
            return Ok(false);
        }
        let above_other = self.above(tx, other)?;
        let kinship = peers::kinship(self.row.id, &self.above, other.id, &above_other);
        Ok(peers::may_talk(side(self.row), side(other), kinship))
    }

    fn above(&mut self, tx: &mut dyn ReadTx, other: &Workspace) -> Result<Vec<WorkspaceId>, Error> {
        let mut above = Vec::new();
        let mut next = other.parent_id;
        while let Some(id) = next.filter(|_| above.len() < MAX_DEPTH) {
            above.push(id);
            next = match self.parents.get(&id) {
                Some(parent) => *parent,
                None => {
                    let parent = tx.workspace(id)?.and_then(|row| row.parent_id);
                    self.parents.insert(id, parent);
                    parent
                }
            };
        }
        Ok(above)
    }
}

pub(crate) fn side(row: &Workspace) -> Side<'_> {
    Side { id: row.id, policy: row.spec.peers.as_ref() }
}
