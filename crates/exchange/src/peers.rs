//! Whom a workspace can talk to (X3).

use warren_model::{Status, Workspace, WorkspaceId};
use warren_rules::messages::peers;
use warren_service::Action;
use warren_service::{Error, Identity};
use warren_store::{ReadTx, WorkspaceQuery};

use crate::{Exchange, tree};

/// Peers that one answer names.
const MAX_PEERS: usize = 1_000;
const PAGE: u32 = 500;

impl Exchange {
    /// Exactly those that this workspace may talk to, itself left out; `query` looks for names and roles.
    pub async fn peers(&self, who: &Identity, id: WorkspaceId, query: &str) -> Result<Vec<Workspace>, Error> {
        let row = self.fleet().workspaces.get(who, Action::ReadWorkspaces, id).await?;
        let query = query.to_owned();
        self.store()
            .read(move |tx| {
                let candidates = candidates(tx, &row)?;
                let mut found = Vec::new();
                for peer in candidates {
                    let is_found = peers::is_found(&query, peer.name.as_str(), peer.spec.role.as_deref());
                    if is_found && found.len() < MAX_PEERS && tree::may_talk(tx, &row, &peer)? {
                        found.push(peer);
                    }
                }
                Ok(found)
            })
            .await
    }
}

/// Whoever might be a peer: a wide circle is looked for in the whole org, the usual one in the family.
fn candidates(tx: &mut dyn ReadTx, row: &Workspace) -> Result<Vec<Workspace>, Error> {
    let is_wide = row
        .spec
        .peers
        .as_ref()
        .is_some_and(|policy| policy.circle == warren_model::PeerCircle::Org || !policy.allow.is_empty());
    if is_wide {
        return list(tx, WorkspaceQuery { org_id: Some(row.org_id), ..WorkspaceQuery::all(PAGE) }, row.id);
    }
    let mut family = Vec::new();
    for id in tree::above(tx, row)? {
        family.extend(tx.workspace(id)?.filter(|above| above.status != Status::Removed));
    }
    if let Some(parent) = row.parent_id {
        family.extend(list(
            tx,
            WorkspaceQuery { parent_id: Some(parent), ..WorkspaceQuery::all(PAGE) },
            row.id,
        )?);
    }
    let mut level = vec![row.id];
    while let Some(parent) = level.pop() {
        let below =
            list(tx, WorkspaceQuery { parent_id: Some(parent), ..WorkspaceQuery::all(PAGE) }, row.id)?;
        level.extend(below.iter().map(|one| one.id));
        family.extend(below);
    }
    Ok(family)
}

fn list(tx: &mut dyn ReadTx, mut query: WorkspaceQuery, but: WorkspaceId) -> Result<Vec<Workspace>, Error> {
    let mut rows = Vec::new();
    loop {
        let page = tx.workspaces(&query)?;
        rows.extend(page.rows.into_iter().filter(|row| row.id != but));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(rows),
        }
    }
}
