//! Whom a workspace can talk to (X3).

use warren_fleet::Fleet;
use warren_model::{ErrorCode, Status, TokenKind, Workspace, WorkspaceId};
use warren_rules::messages::peers;
use warren_service::{Action, Context, Error, Identity, Target};
use warren_store::{ReadTx, WorkspaceQuery};

use crate::kinship;

/// Peers that one answer names.
const MAX_PEERS: usize = 1_000;
const PAGE: u32 = 500;

/// Whom a workspace may talk to.
#[derive(Debug, Clone)]
pub struct Peers {
    context: Context,
    fleet: Fleet,
}

impl Peers {
    pub(crate) fn new(context: Context, fleet: Fleet) -> Self {
        Self { context, fleet }
    }

    /// A workspace that the caller may talk to; to others it does not exist (X3).
    pub async fn reach(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        let Some(own) = speaks_for(who).filter(|own| *own != id) else {
            return self.fleet.workspaces.get(who, Action::UseWorkspace, id).await;
        };
        // What the token may do at all is asked of its own workspace.
        who.may(Action::UseWorkspace, Target::Workspace { id: own, org_id: who.token.org_id })?;
        let asker = self.fleet.workspaces.get(who, Action::UseWorkspace, own).await?;
        self.peer(asker, id).await
    }

    /// Somebody that a workspace may talk to.
    pub(crate) async fn peer(&self, asker: Workspace, id: WorkspaceId) -> Result<Workspace, Error> {
        self.context
            .store()
            .read(move |tx| {
                let hidden = || Error::new(ErrorCode::WorkspaceNotFound);
                let row = tx.workspace(id)?.filter(|row| row.org_id == asker.org_id).ok_or_else(hidden)?;
                if row.status != Status::Removed && kinship::may_talk(tx, &asker, &row)? {
                    Ok(row)
                } else {
                    Err(hidden())
                }
            })
            .await
    }

    /// Exactly those that this workspace may talk to, itself left out; `query` looks for names and roles.
    pub async fn list(&self, who: &Identity, id: WorkspaceId, query: &str) -> Result<Vec<Workspace>, Error> {
        let row = self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?;
        let query = query.to_owned();
        self.context
            .store()
            .read(move |tx| {
                let candidates = candidates(tx, &row)?;
                let mut found = Vec::new();
                for peer in candidates {
                    let is_found = peers::is_found(&query, peer.name.as_str(), peer.spec.role.as_deref());
                    if is_found && found.len() < MAX_PEERS && kinship::may_talk(tx, &row, &peer)? {
                        found.push(peer);
                    }
                }
                Ok(found)
            })
            .await
    }
}

/// The workspace in whose name the caller talks to its peers.
pub(crate) fn speaks_for(who: &Identity) -> Option<WorkspaceId> {
    let talks = matches!(who.token.kind, TokenKind::Workspace | TokenKind::Runner);
    who.token.workspace_id.filter(|_| talks)
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
    for id in kinship::above(tx, row)? {
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
