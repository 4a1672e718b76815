//! Who is above and below a workspace, inside a transaction.

use std::collections::VecDeque;

use warren_model::{ErrorCode, OrgId, Status, Workspace, WorkspaceId};
use warren_service::Error;
use warren_store::{ReadTx, WorkspaceQuery, WriteTx};

/// How deep the tree may be, and so how far a walk towards the root goes.
const MAX_DEPTH: usize = 64;
const PAGE: u32 = 500;

pub(crate) fn has_paused_ancestor(tx: &mut dyn WriteTx, row: &Workspace) -> Result<bool, Error> {
    let mut next = row.parent_id;
    for _ in 0..MAX_DEPTH {
        let Some(ancestor) = next.map(|id| tx.workspace(id)).transpose()?.flatten() else {
            return Ok(false);
        };
        if ancestor.status == Status::Paused {
            return Ok(true);
        }
        next = ancestor.parent_id;
    }
    Ok(false)
}

/// A parent must be a living workspace of the same org, and not the workspace itself or one below it. Nor may what is
/// below the workspace come too deep with it.
pub(crate) fn check_move(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    org_id: OrgId,
    parent_id: WorkspaceId,
) -> Result<(), Error> {
    let ancestors = check_parent(tx, id, org_id, parent_id)?;
    if ancestors + height(tx, id)? > MAX_DEPTH { Err(too_deep()) } else { Ok(()) }
}

/// The same for one that has nothing below it yet. Returns how many are above it then.
pub(crate) fn check_parent(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    org_id: OrgId,
    parent_id: WorkspaceId,
) -> Result<usize, Error> {
    let mut next = Some(parent_id);
    for depth in 0..=MAX_DEPTH {
        let Some(ancestor_id) = next else { return Ok(depth) };
        if ancestor_id == id {
            return Err(Error::new(ErrorCode::ParentCycle));
        }
        if depth == MAX_DEPTH {
            break;
        }
        let ancestor = tx.workspace(ancestor_id)?;
        let ancestor = match ancestor {
            Some(row) if row.org_id == org_id && (depth > 0 || row.status != Status::Removed) => row,
            _ => return Err(Error::new(ErrorCode::ParentNotFound)),
        };
        next = ancestor.parent_id;
    }
    Err(too_deep())
}

fn too_deep() -> Error {
    let detail = format!("parent_id: the tree would be deeper than {MAX_DEPTH}");
    Error::with_detail(ErrorCode::InvalidRequest, detail)
}

/// How many levels are below a workspace; no further than matters.
fn height(tx: &mut dyn WriteTx, id: WorkspaceId) -> Result<usize, Error> {
    let mut level = vec![id];
    for height in 0..=MAX_DEPTH {
        let mut below = Vec::new();
        for parent_id in level {
            below.extend(children(tx, parent_id, false)?.iter().map(|row| row.id));
        }
        if below.is_empty() {
            return Ok(height);
        }
        level = below;
    }
    Ok(MAX_DEPTH)
}

fn children(
    tx: &mut dyn ReadTx,
    parent_id: WorkspaceId,
    includes_removed: bool,
) -> Result<Vec<Workspace>, Error> {
    let mut query =
        WorkspaceQuery { parent_id: Some(parent_id), includes_removed, ..WorkspaceQuery::all(PAGE) };
    let mut rows = Vec::new();
    loop {
        // Who acts on a whole tree must not pass anybody over.
        let page = tx.workspaces(&query)?.whole()?;
        rows.extend(page.rows);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// The row and all below it, parents first. Those that are removed are in it only on request.
pub(crate) fn subtree(
    tx: &mut dyn ReadTx,
    root: Workspace,
    includes_removed: bool,
) -> Result<Vec<Workspace>, Error> {
    let mut rows = Vec::new();
    let mut queue = VecDeque::from([root]);
    while let Some(row) = queue.pop_front() {
        queue.extend(children(tx, row.id, includes_removed)?);
        rows.push(row);
    }
    Ok(rows)
}
