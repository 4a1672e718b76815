//! Whom a workspace can talk to (X3).

use warren_fleet::Fleet;
use warren_model::{ErrorCode, Status, TokenKind, Workspace, WorkspaceId};
use warren_rules::messages::peers;
use warren_service::{Action, Context, Error, Identity, Target};
use warren_store::{ReadTx, WorkspaceQuery};

use crate::kinship::{self, Asker};

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
                let is_found =
                    |peer: &Workspace| peers::is_found(&query, peer.name.as_str(), peer.spec.role.as_deref());
                peers_of(tx, &row, is_found)
            })
            .await
    }

    /// A peer of this workspace by its id or its name, as somebody says it who has seen the list.
    pub async fn find(&self, who: &Identity, id: WorkspaceId, said: &str) -> Result<WorkspaceId, Error> {
        let name = said.trim().to_owned();
        if let Ok(id) = name.parse() {
            return Ok(id);
        }
        let row = self.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?;
        let asked = name.clone();
        let found = self
            .context
            .store()
            .read(move |tx| peers_of(tx, &row, |peer| peer.name.as_str().eq_ignore_ascii_case(&asked)))
            .await?;
        match found.as_slice() {
            [one] => Ok(one.id),
            [] => {
                let detail = format!("no peer has the name `{name}`; `peers` lists those that there are");
                Err(Error::with_detail(ErrorCode::WorkspaceNotFound, detail))
            }
            several => {
                let ids: Vec<_> = several.iter().map(|peer| peer.id.to_string()).collect();
                let detail = format!(
                    "to: several peers have the name `{name}`; name one by its id: {}",
                    ids.join(", ")
                );
                Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
            }
        }
    }
}

/// The workspace in whose name the caller talks to its peers.
pub(crate) fn speaks_for(who: &Identity) -> Option<WorkspaceId> {
    let talks = matches!(who.token.kind, TokenKind::Workspace | TokenKind::Runner);
    who.token.workspace_id.filter(|_| talks)
}

/// All that a workspace may talk to and that are looked for.
fn peers_of(
    tx: &mut dyn ReadTx,
    row: &Workspace,
    is_found: impl Fn(&Workspace) -> bool,
) -> Result<Vec<Workspace>, Error> {
    let candidates = candidates(tx, row)?;
    let mut asker = Asker::of(tx, row, &candidates)?;
    let mut found = Vec::new();
    for peer in candidates {
        if is_found(&peer) && asker.may_talk(tx, &peer)? {
            found.push(peer);
        }
    }
    Ok(found)
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
    let beside = match row.parent_id {
        Some(parent) => WorkspaceQuery { parent_id: Some(parent), ..WorkspaceQuery::all(PAGE) },
        None => WorkspaceQuery { org_id: Some(row.org_id), is_root: true, ..WorkspaceQuery::all(PAGE) },
    };
    family.extend(list(tx, beside, row.id)?);
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
