//! Rules about tool calls that people make, such as "always allow" (A23).
//!
//! A rule counts in one session, in one workspace, for one agent, or in the whole org, until it expires or somebody revokes
//! it. What the rules say of a call is decided in `rules::sessions::policies`; here they are made, listed and revoked.

use warren_exchange::RememberDecision;
use warren_fleet::Fleet;
use warren_model::event::{ToolRuleCreated, ToolRuleRevoked};
use warren_model::session::Session;
use warren_model::{
    AgentName, Approval, AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, NewEvent, OrgId,
    PolicyDecision, PolicyRule, RuleScope, RuleScopeKind, SessionId, Timestamp, ToolRule, ToolRuleId,
    WorkspaceId,
};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{Page, ToolRuleQuery, WriteTx};

const MAX_PATTERN_BYTES: usize = 1_000;
const MAX_PATTERNS: usize = 20;
const MAX_REASON_BYTES: usize = 1_000;

/// A rule that somebody asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToolRule {
    pub scope: RuleScope,
    pub rule: PolicyRule,
}

/// Which rules to list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRuleFilter {
    pub scope: Option<RuleScope>,
    pub before: Option<ToolRuleId>,
    pub limit: u32,
}

/// Rules about tool calls that people made. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolRules {
    context: Context,
    fleet: Fleet,
}

impl ToolRules {
    pub(crate) fn new(context: Context, fleet: Fleet) -> Self {
        Self { context, fleet }
    }

    /// Makes a rule, as a person who may decide about calls where it counts.
    #[tracing::instrument(name = "agent.tool_rules.create", skip_all)]
    pub async fn create(&self, who: &Identity, new: NewToolRule) -> Result<ToolRule, Error> {
        let org_id = self.may_decide(who, &new.scope).await?;
        let now = self.context.now();
        check(&new.rule, now)?;
        let rule = ToolRule {
            id: self.context.new_id(),
            org_id,
            scope: new.scope,
            rule: new.rule,
            created_by: who.principal.clone(),
            created_at: now,
            revoked_by: None,
            revoked_at: None,
        };
        let (row, actor) = (rule.clone(), Actor::of(who));
        self.context.store().write(move |tx| insert(tx, &row, &actor)).await?;
        Ok(rule)
    }

    /// The newest first, also those that count no more.
    pub async fn list(
        &self,
        who: &Identity,
        filter: ToolRuleFilter,
    ) -> Result<Page<ToolRule, ToolRuleId>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let limit = filter.limit.clamp(1, self.context.limits().max_page_size);
        let query =
            ToolRuleQuery { org_id: who.token.org_id, scope: filter.scope, before: filter.before, limit };
        let page = self.context.store().read(move |tx| tx.tool_rules(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    pub async fn get(&self, who: &Identity, id: ToolRuleId) -> Result<ToolRule, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        self.find(who, id).await
    }

    /// Takes a rule back. It stays in the list, with who did it; the same again changes nothing.
    #[tracing::instrument(name = "agent.tool_rules.revoke", skip_all, fields(rule.id = %id))]
    pub async fn revoke(&self, who: &Identity, id: ToolRuleId) -> Result<ToolRule, Error> {
        let rule = self.find(who, id).await?;
        self.may_decide(who, &rule.scope).await?;
        let (now, by, actor) = (self.context.now(), who.principal.clone(), Actor::of(who));
        self.context
            .store()
            .write(move |tx| {
                if tx.revoke_tool_rule(id, &by, now)? {
                    let data = ToolRuleRevoked { rule_id: id, tool: rule.rule.tool.clone() };
                    tell(tx, &rule, &actor, now, AuditAction::ToolRuleRevoked, data.into())?;
                }
                tx.tool_rule(id)?.ok_or_else(|| Error::new(ErrorCode::ToolRuleNotFound))
            })
            .await
    }

    /// A rule of another org does not exist.
    async fn find(&self, who: &Identity, id: ToolRuleId) -> Result<ToolRule, Error> {
        let found = self.context.store().read(move |tx| tx.tool_rule(id).map_err(Error::from)).await?;
        let is_visible = |rule: &ToolRule| who.visible_org().is_none_or(|org_id| org_id == rule.org_id);
        found.filter(is_visible).ok_or_else(|| Error::new(ErrorCode::ToolRuleNotFound))
    }

    /// Lets go on only a person who may decide about calls where the rule counts. Returns the org that it belongs to.
    async fn may_decide(&self, who: &Identity, scope: &RuleScope) -> Result<OrgId, Error> {
        let workspace_id = match scope {
            RuleScope::Session(id) => Some(self.workspace_of(*id).await?),
            RuleScope::Workspace(id) => Some(*id),
            RuleScope::Agent(_) | RuleScope::Org => None,
        };
        let org_id = match workspace_id {
            Some(id) => self.fleet.workspaces.get(who, Action::DecideApprovals, id).await?.org_id,
            None => {
                who.may_in_own_org(Action::DecideApprovals)?;
                who.token.org_id
            }
        };
        if who.is_person() { Ok(org_id) } else { Err(Error::new(ErrorCode::NotAPerson)) }
    }

    async fn workspace_of(&self, id: SessionId) -> Result<WorkspaceId, Error> {
        let session = self.context.store().read_few(move |tx| tx.session(id).map_err(Error::from)).await?;
        Ok(session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?.workspace_id)
    }
}

/// What a rule is made of that comes with a decision.
#[derive(Clone, Copy)]
pub(crate) struct NewRemembered<'a> {
    pub(crate) id: ToolRuleId,
    pub(crate) approval: &'a Approval,
    pub(crate) session: &'a Session,
    pub(crate) remembered: &'a RememberDecision,
    pub(crate) actor: &'a Actor,
    pub(crate) now: Timestamp,
}

/// Makes the rule that a person asked for with a decision, in the transaction of that decision.
pub(crate) fn remember(tx: &mut dyn WriteTx, new: NewRemembered<'_>) -> Result<(), Error> {
    let NewRemembered { id, approval, session, remembered, actor, now } = new;
    let (Some(subject), Some(by)) = (&approval.subject, &approval.decided_by) else { return Ok(()) };
    let scope = match remembered.scope {
        RuleScopeKind::Session => RuleScope::Session(session.id),
        RuleScopeKind::Workspace => RuleScope::Workspace(session.workspace_id),
        RuleScopeKind::Agent => RuleScope::Agent(session.agent.name.clone()),
        RuleScopeKind::Org => RuleScope::Org,
    };
    let rule = PolicyRule {
        tool: subject.tool.clone(),
        arguments: remembered.arguments.clone(),
        decision: PolicyDecision::Allow,
        reason: approval.note.clone(),
        expires_at: remembered.expires_in_seconds.map(|seconds| now.plus_ms(i64::from(seconds) * 1_000)),
    };
    check(&rule, now)?;
    let rule = ToolRule {
        id,
        org_id: session.org_id,
        scope,
        rule,
        created_by: by.clone(),
        created_at: now,
        revoked_by: None,
        revoked_at: None,
    };
    insert(tx, &rule, actor)
}

fn insert(tx: &mut dyn WriteTx, rule: &ToolRule, actor: &Actor) -> Result<(), Error> {
    tx.insert_tool_rule(rule)?;
    let data = ToolRuleCreated {
        rule_id: rule.id,
        tool: rule.rule.tool.clone(),
        decision: rule.rule.decision,
        scope: rule.scope.kind(),
        expires_at: rule.rule.expires_at,
    };
    tell(tx, rule, actor, rule.created_at, AuditAction::ToolRuleCreated, data.into())
}

fn tell(
    tx: &mut dyn WriteTx,
    rule: &ToolRule,
    actor: &Actor,
    at: Timestamp,
    action: AuditAction,
    data: EventData,
) -> Result<(), Error> {
    let workspace_id = match &rule.scope {
        RuleScope::Workspace(id) => Some(*id),
        RuleScope::Session(id) => tx.session(*id)?.map(|session| session.workspace_id),
        RuleScope::Agent(_) | RuleScope::Org => None,
    };
    let details = AuditDetails::Event(data.clone());
    let entry = actor.did(at, action, AuditTargetKind::ToolRule, &rule.id.to_string(), &details);
    let principal = entry.principal.clone();
    tx.append_event(&NewEvent { at, org_id: rule.org_id, workspace_id, principal, data })?;
    Ok(tx.append_audit(&entry)?)
}

fn check(rule: &PolicyRule, now: Timestamp) -> Result<(), Error> {
    let invalid = |detail: String| Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
    let is_pattern = |text: &str| !text.is_empty() && text.len() <= MAX_PATTERN_BYTES && !text.contains('\0');
    if !is_pattern(&rule.tool) {
        return invalid(format!("tool: expected 1 to {MAX_PATTERN_BYTES} bytes without NUL"));
    }
    if rule.arguments.len() > MAX_PATTERNS {
        return invalid(format!("arguments: at most {MAX_PATTERNS}"));
    }
    let mut patterns = rule.arguments.iter();
    if let Some((name, _)) = patterns.find(|(name, pattern)| {
        !is_pattern(name) || pattern.len() > MAX_PATTERN_BYTES || pattern.contains('\0')
    }) {
        let name = warren_model::truncate_utf8(name, 64);
        return invalid(format!("arguments.{name}: expected at most {MAX_PATTERN_BYTES} bytes without NUL"));
    }
    if rule.reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON_BYTES || reason.contains('\0')) {
        return invalid(format!("reason: expected at most {MAX_REASON_BYTES} bytes without NUL"));
    }
    if rule.expires_at.is_some_and(|at| at <= now) {
        return invalid("expires_at: it is over already".to_owned());
    }
    Ok(())
}

/// The scope that a request names.
pub fn scope_of(
    session_id: Option<SessionId>,
    workspace_id: Option<WorkspaceId>,
    agent: Option<AgentName>,
) -> Result<RuleScope, Error> {
    match (session_id, workspace_id, agent) {
        (Some(id), None, None) => Ok(RuleScope::Session(id)),
        (None, Some(id), None) => Ok(RuleScope::Workspace(id)),
        (None, None, Some(name)) => Ok(RuleScope::Agent(name)),
        (None, None, None) => Ok(RuleScope::Org),
        _ => {
            let detail =
                "expected one of `session_id`, `workspace_id` and `agent`, or none for the whole org";
            Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
        }
    }
}
