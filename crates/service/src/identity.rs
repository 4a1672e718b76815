//! Who asks, proven by a token, and what they may do.

use warren_model::{
    ErrorCode, Holder, OrgId, OrgRole, Principal, PrincipalKind, Scope, ScopeSet, Timestamp, Token,
    TokenHash, TokenId, TokenKind, WorkspaceId,
};
use warren_rules::access::{self, Access, Action, Caller, Target};

use crate::Error;

/// Who is asking, proven by a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    pub principal: Principal,
    pub token: Token,
    /// The person whose token it is, as they stood when they asked.
    pub holder: Option<Holder>,
    /// The request in which they ask, as the log and the audit log name it.
    pub request_id: Option<String>,
}

impl Identity {
    pub fn new(token: Token) -> Self {
        Self { principal: token.owner.clone(), token, holder: None, request_id: None }
    }

    /// Somebody's token, found with who they are.
    pub fn of_holder(token: Token, holder: Option<Holder>) -> Self {
        Self { holder, ..Self::new(token) }
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
            scopes: self.scopes(),
            role: self.role(),
            is_admin: self.runs_warren(),
            workspace_id: self.token.workspace_id,
        }
    }

    /// What they may do now, in the words that tokens have for it.
    pub fn scopes(&self) -> ScopeSet {
        access::scopes_of(&self.token, self.holder.as_ref())
    }

    /// The role of a person in the org of their token.
    pub fn role(&self) -> Option<OrgRole> {
        self.holder.as_ref().and_then(Holder::role_there)
    }

    /// Whether this is somebody who runs this Warren: an admin's token, or the browser of a person who is admin. What
    /// programs do with an admin's `user` token, they do within its scopes.
    pub fn runs_warren(&self) -> bool {
        match self.token.kind {
            TokenKind::Admin => true,
            TokenKind::SignIn => self.holder.as_ref().is_some_and(|holder| holder.is_admin),
            _ => false,
        }
    }

    /// Whether they run the org in which they work.
    pub fn runs_org(&self) -> bool {
        self.scopes().contains(Scope::OrgOperate)
    }

    /// What a person is called.
    pub fn name(&self) -> Option<&str> {
        self.holder.as_ref().map(|holder| holder.name.as_str())
    }

    /// Whether this is a person: nobody else decides about what agents do.
    pub fn is_person(&self) -> bool {
        let is_persons = matches!(self.token.kind, TokenKind::Admin | TokenKind::SignIn | TokenKind::User);
        is_persons && self.principal.kind == PrincipalKind::User
    }

    /// The org whose rows this caller may see; `None` for admins' tokens, which see all. An admin in the browser sees the org
    /// in which they work, not all mixed together.
    pub fn visible_org(&self) -> Option<OrgId> {
        (self.token.kind != TokenKind::Admin).then_some(self.token.org_id)
    }

    /// Asks the one access rule.
    pub fn may(&self, action: Action, target: Target) -> Result<(), Error> {
        match access::decide(&self.caller(), action, target) {
            Access::Allowed => Ok(()),
            Access::Forbidden(scope) => Err(Error::with_detail(ErrorCode::Forbidden, self.refusal(scope))),
            Access::Hidden => Err(Error::new(ErrorCode::WorkspaceNotFound)),
        }
    }

    fn refusal(&self, scope: Option<Scope>) -> String {
        let needed = scope.map(|scope| format!("needs the scope `{}`", scope.as_str()));
        match (needed, self.role()) {
            (Some(needed), Some(role)) if scope.is_some_and(|scope| !role.scopes().contains(scope)) => {
                format!("{needed}, which the role `{role}` does not have")
            }
            (Some(needed), _) => needed,
            (None, Some(role)) if self.token.kind == TokenKind::SignIn => {
                format!("the role `{role}` cannot do this")
            }
            (None, _) => format!("a `{}` token cannot do this", self.token.kind.as_str()),
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
