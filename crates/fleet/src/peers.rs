//! Whom a workspace may talk to, as its owner says (X3). Who may talk to whom in the end is decided by `rules`.

use serde_json::json;
use warren_model::{AuditAction, ErrorCode, EventKind, PeerPolicy, Workspace, WorkspaceId};
use warren_rules::access::Action;

use crate::Actor;
use crate::lifecycle::event_of;
use crate::workspaces::live_row;
use crate::{Error, Fleet, Identity};

impl Fleet {
    pub async fn set_peer_policy(
        &self,
        who: &Identity,
        id: WorkspaceId,
        policy: PeerPolicy,
    ) -> Result<Workspace, Error> {
        if policy.allow.len().max(policy.deny.len()) > PeerPolicy::MAX_NAMED {
            let detail = format!("allow, deny: at most {} workspaces each", PeerPolicy::MAX_NAMED);
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let policy = (policy != PeerPolicy::default()).then_some(policy);
        self.write_with_retries(true, move |tx| {
            let mut row = live_row(tx, id)?;
            if row.spec.peers == policy {
                return Ok(row);
            }
            row.spec.peers.clone_from(&policy);
            row.updated_at = moment.now;
            let data = json!({ "fields": ["peers"], "generation": row.generation });
            let kind = EventKind::WorkspaceSpecChanged;
            tx.append_event(&event_of(&row, kind, &moment.by, moment.now, data.clone()))?;
            tx.append_audit(&actor.did_to_workspace(moment.now, AuditAction::WorkspaceChanged, id, data))?;
            row.version = tx.update_workspace(&row, row.version)?;
            Ok(row)
        })
        .await
    }
}
