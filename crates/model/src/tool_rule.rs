//! Rules about tool calls that people made, such as "always allow" (A23).

use crate::text_enum::text_enum;
use crate::{AgentName, OrgId, PolicyRule, Principal, SessionId, Timestamp, ToolRuleId, WorkspaceId};

/// Where a rule counts. A narrower one is asked first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RuleScope {
    /// In one session.
    Session(SessionId),
    /// In every session of one workspace.
    Workspace(WorkspaceId),
    /// In every session of one agent, within the rule's org.
    Agent(AgentName),
    /// In every session of the rule's org.
    Org,
}

text_enum! {
    RuleScopeKind {
        Session = "session",
        Workspace = "workspace",
        Agent = "agent",
        Org = "org",
    }
}

impl RuleScope {
    pub const fn kind(&self) -> RuleScopeKind {
        match self {
            Self::Session(_) => RuleScopeKind::Session,
            Self::Workspace(_) => RuleScopeKind::Workspace,
            Self::Agent(_) => RuleScopeKind::Agent,
            Self::Org => RuleScopeKind::Org,
        }
    }
}

/// A rule that a person made. It counts until it expires (`rule.expires_at`) or is revoked.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRule {
    pub id: ToolRuleId,
    pub org_id: OrgId,
    pub scope: RuleScope,
    pub rule: PolicyRule,
    pub created_by: Principal,
    pub created_at: Timestamp,
    pub revoked_by: Option<Principal>,
    pub revoked_at: Option<Timestamp>,
}

impl ToolRule {
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.rule.expires_at.is_none_or(|at| at > now)
    }
}
