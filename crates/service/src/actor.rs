//! Who acts, as the audit log names them. An entry is made here and written in the transaction of what it records (F35).

use warren_model::{
    AuditAction, AuditDetails, AuditOutcome, AuditTargetKind, MadeWithToken, NewAuditEntry, OrgId, Principal,
    Timestamp, TokenId, WorkspaceId,
};

use warren_store::WriteTx;

use crate::{Error, Identity};

/// Who does something, as the log will name them.
#[derive(Debug, Clone)]
pub struct Actor {
    org_id: OrgId,
    principal: Principal,
    token: Option<(TokenId, String)>,
    request_id: Option<String>,
}

impl Actor {
    pub fn of(who: &Identity) -> Self {
        Self {
            org_id: who.token.org_id,
            principal: who.principal.clone(),
            token: Some((who.token.id, who.token.prefix.clone())),
            request_id: who.request_id.clone(),
        }
    }

    /// A part of Warren itself.
    pub fn system(part: &str, org_id: OrgId) -> Self {
        Self { org_id, principal: Principal::system(part), token: None, request_id: None }
    }

    /// Notes what is made with the token that is used, so that it is found when the token is revoked.
    pub fn note_made(&self, tx: &mut dyn WriteTx, made: MadeWithToken) -> Result<(), Error> {
        match &self.token {
            Some((token_id, _)) => Ok(tx.note_made_with(*token_id, made)?),
            None => Ok(()),
        }
    }

    /// Something that is done in the transaction at hand.
    pub fn did(
        &self,
        at: Timestamp,
        action: AuditAction,
        target_kind: AuditTargetKind,
        target_id: &str,
        details: &AuditDetails,
    ) -> NewAuditEntry {
        NewAuditEntry {
            at,
            org_id: self.org_id,
            principal: self.principal.clone(),
            token: self.token.clone(),
            action,
            target_kind,
            target_id: target_id.to_owned(),
            outcome: AuditOutcome::Done,
            request_id: self.request_id.clone(),
            details: details.to_json(),
        }
    }

    /// Something done to a workspace.
    pub fn did_to_workspace(
        &self,
        at: Timestamp,
        action: AuditAction,
        id: WorkspaceId,
        details: &AuditDetails,
    ) -> NewAuditEntry {
        self.did(at, action, AuditTargetKind::Workspace, &id.to_string(), details)
    }
}
