//! Who acts, as the audit log names them. An entry is made here and written in the transaction of what it records (F35).

use warren_model::{
    AuditAction, AuditDetails, AuditOutcome, AuditTargetKind, MadeWithToken, NewAuditEntry, OrgId, Principal,
    Timestamp, TokenId, User, WorkspaceId,
};

use warren_store::WriteTx;

use crate::{Error, Identity};

/// Who does something, as the log will name them.
#[derive(Debug, Clone)]
pub struct Actor {
    org_id: OrgId,
    principal: Principal,
    token: Option<(TokenId, String)>,
    /// What a person was called at that time.
    name: Option<String>,
    request_id: Option<String>,
}

impl Actor {
    pub fn of(who: &Identity) -> Self {
        Self {
            org_id: who.token.org_id,
            principal: who.principal.clone(),
            token: Some((who.token.id, who.token.prefix.clone())),
            name: who.name().map(str::to_owned),
            request_id: who.request_id.clone(),
        }
    }

    /// What they do concerns another org than the one they work in, and stands in that org's log: its operators are to see
    /// who changed what is theirs.
    #[must_use]
    pub fn in_org(self, org_id: OrgId) -> Self {
        Self { org_id, ..self }
    }

    /// A person who comes in, before they have a token.
    pub fn person(user: &User, org_id: OrgId, request_id: Option<String>) -> Self {
        Self {
            org_id,
            principal: user.principal(),
            token: None,
            name: Some(user.name.to_string()),
            request_id,
        }
    }

    /// A part of Warren itself.
    pub fn system(part: &str, org_id: OrgId) -> Self {
        Self { org_id, principal: Principal::system(part), token: None, name: None, request_id: None }
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
        let mut details = details.to_json();
        if let (Some(name), Some(fields)) = (&self.name, details.as_object_mut()) {
            fields.insert("by".to_owned(), name.as_str().into());
        }
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
            details,
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
