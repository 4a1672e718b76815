//! Who asks, proven by a token, and what they may do.

use warren_model::{
    ErrorCode, OrgId, Principal, PrincipalKind, ScopeSet, Timestamp, Token, TokenHash, TokenId, TokenKind,
    WorkspaceId,
};
use warren_rules::access::{self, Access, Action, Caller, Target};

use crate::Error;

/// Who is asking, proven by a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    pub principal: Principal,
    pub token: Token,
    /// The request in which they ask, as the log and the audit log name it.
    pub request_id: Option<String>,
}

impl Identity {
    pub fn new(token: Token) -> Self {
        Self { principal: token.owner.clone(), token, request_id: None }
    }

    /// A workspace's own agent, run by Warren: it may do what a token of the workspace may, and nobody holds that token.
    pub fn of_workspace(id: WorkspaceId, org_id: OrgId, since: Timestamp) -> Self {
        Self::new(Token {
            id: TokenId::from_bytes(*id.as_bytes()),
            kind: TokenKind::Workspace,
            hash: TokenHash([0; 32]),
            prefix: String::new(),
            name: "agent".to_owned(),
            owner: Principal::workspace(id),
            org_id,
            workspace_id: Some(id),
            scopes: ScopeSet::EMPTY,
            created_at: since,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            used_at: None,
        })
    }

    /// Who asks, as far as the access rule needs to know.
    pub fn caller(&self) -> Caller {
        Caller {
            kind: self.token.kind,
            org_id: self.token.org_id,
            scopes: self.token.scopes,
            workspace_id: self.token.workspace_id,
        }
    }

    /// Whether this is somebody who runs this Warren.
    pub fn is_operator(&self) -> bool {
        matches!(self.token.kind, TokenKind::Admin | TokenKind::SignIn)
    }

    /// Whether this is a person: nobody else decides about what agents do.
    pub fn is_person(&self) -> bool {
        let is_persons = matches!(self.token.kind, TokenKind::Admin | TokenKind::SignIn | TokenKind::User);
        is_persons && self.principal.kind == PrincipalKind::User
    }

    /// The org whose rows this caller may see; `None` for operators, who see all.
    pub fn visible_org(&self) -> Option<OrgId> {
        (!self.is_operator()).then_some(self.token.org_id)
    }

    /// Asks the one access rule.
    pub fn may(&self, action: Action, target: Target) -> Result<(), Error> {
        match access::decide(&self.caller(), action, target) {
            Access::Allowed => Ok(()),
            Access::Forbidden(Some(scope)) => {
                let detail = format!("needs the scope `{}`", scope.as_str());
                Err(Error::with_detail(ErrorCode::Forbidden, detail))
            }
            Access::Forbidden(None) => {
                let detail = format!("a `{}` token cannot do this", self.token.kind.as_str());
                Err(Error::with_detail(ErrorCode::Forbidden, detail))
            }
            Access::Hidden => Err(Error::new(ErrorCode::WorkspaceNotFound)),
        }
    }

    /// The same, for something that is not about one workspace.
    pub fn may_in_own_org(&self, action: Action) -> Result<(), Error> {
        self.may(action, Target::Org(self.token.org_id))
    }

    /// Whether its token lets its holder speak out of this workspace's box.
    pub fn speaks_for_box(&self, id: WorkspaceId) -> bool {
        access::speaks_for_box(&self.token, id)
    }
}
