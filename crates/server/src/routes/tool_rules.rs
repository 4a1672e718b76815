//! Rules about tool calls that people make (A23).

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_agent::{NewToolRule, ToolRuleFilter, scope_of};
use warren_api::{
    CreateToolRule, Problem, RememberDecision, ToolRule, ToolRuleDecision, ToolRulePage, ToolRuleScope,
};
use warren_model as model;
use warren_model::{AgentName, ErrorCode, PolicyDecision, PolicyRule, RuleScope, RuleScopeKind};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;

/// Make a rule about tool calls. People only.
///
/// A rule that denies wins over every other, whoever made it; what the agent's own policies deny no rule allows. Among
/// the others the narrowest scope decides, and in it the newest rule.
#[utoipa::path(
    post, path = "/api/v1/tool-rules", operation_id = "create_tool_rule", tag = "tool_rules",
    request_body = CreateToolRule,
    responses((status = 201, body = ToolRule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<CreateToolRule>,
) -> Result<(StatusCode, axum::Json<ToolRule>), Failure> {
    let scope = scope_from(body.session_id.as_deref(), body.workspace_id.as_deref(), body.agent.as_deref())?;
    let expires_at =
        body.expires_in_seconds.map(|seconds| app.clock.now().plus_ms(i64::from(seconds) * 1_000));
    let decision = match body.decision {
        ToolRuleDecision::Allow => PolicyDecision::Allow,
        ToolRuleDecision::Deny => PolicyDecision::Deny,
        ToolRuleDecision::Ask => PolicyDecision::Ask,
    };
    let rule =
        PolicyRule { tool: body.tool, arguments: body.arguments, decision, reason: body.reason, expires_at };
    let made = app.agents.tool_rules.create(&who, NewToolRule { scope, rule }).await?;
    Ok((StatusCode::CREATED, axum::Json(to_wire(&made))))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only those of this session.
    session_id: Option<String>,
    /// Only those of this workspace.
    workspace_id: Option<String>,
    /// Only those of this agent.
    agent: Option<String>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List rules about tool calls, the newest first, also those that count no more.
#[utoipa::path(
    get, path = "/api/v1/tool-rules", operation_id = "list_tool_rules", tag = "tool_rules", params(ListParams),
    responses((status = 200, body = ToolRulePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<ToolRulePage>, Failure> {
    let scope =
        scope_from(params.session_id.as_deref(), params.workspace_id.as_deref(), params.agent.as_deref())?;
    let filter = ToolRuleFilter {
        // Naming none lists all of them.
        scope: Some(scope).filter(|scope| *scope != RuleScope::Org),
        before: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let page = app.agents.tool_rules.list(&who, filter).await?;
    Ok(axum::Json(ToolRulePage {
        items: page.rows.iter().map(to_wire).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show a rule about tool calls.
#[utoipa::path(
    get, path = "/api/v1/tool-rules/{id}", operation_id = "show_tool_rule", tag = "tool_rules",
    params(("id" = String, Path)),
    responses((status = 200, body = ToolRule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ToolRuleKind>,
) -> Result<axum::Json<ToolRule>, Failure> {
    Ok(axum::Json(to_wire(&app.agents.tool_rules.get(&who, id).await?)))
}

/// Revoke a rule about tool calls. People only. It stays in the list.
#[utoipa::path(
    delete, path = "/api/v1/tool-rules/{id}", operation_id = "revoke_tool_rule", tag = "tool_rules",
    params(("id" = String, Path)),
    responses((status = 200, body = ToolRule), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::ToolRuleKind>,
) -> Result<axum::Json<ToolRule>, Failure> {
    Ok(axum::Json(to_wire(&app.agents.tool_rules.revoke(&who, id).await?)))
}

/// What a person wants to be remembered with an approval.
pub(super) fn remember_from(body: RememberDecision) -> warren_exchange::RememberDecision {
    warren_exchange::RememberDecision {
        scope: match body.scope {
            ToolRuleScope::Session => RuleScopeKind::Session,
            ToolRuleScope::Workspace => RuleScopeKind::Workspace,
            ToolRuleScope::Agent => RuleScopeKind::Agent,
            ToolRuleScope::Org => RuleScopeKind::Org,
        },
        arguments: body.arguments,
        expires_in_seconds: body.expires_in_seconds,
    }
}

fn scope_from(
    session_id: Option<&str>,
    workspace_id: Option<&str>,
    agent: Option<&str>,
) -> Result<RuleScope, Failure> {
    let session_id = session_id.map(|id| convert::id_from("session_id", id)).transpose()?;
    let workspace_id = workspace_id.map(|id| convert::id_from("workspace_id", id)).transpose()?;
    let invalid = |error| Failure::new(ErrorCode::InvalidRequest, format!("agent: {error}"));
    let agent = agent.map(|name| name.parse::<AgentName>().map_err(invalid)).transpose()?;
    Ok(scope_of(session_id, workspace_id, agent)?)
}

fn to_wire(row: &model::ToolRule) -> ToolRule {
    let (session_id, workspace_id, agent) = match &row.scope {
        RuleScope::Session(id) => (Some(id.to_string()), None, None),
        RuleScope::Workspace(id) => (None, Some(id.to_string()), None),
        RuleScope::Agent(name) => (None, None, Some(name.to_string())),
        RuleScope::Org => (None, None, None),
    };
    ToolRule {
        id: row.id.to_string(),
        scope: match row.scope.kind() {
            RuleScopeKind::Session => ToolRuleScope::Session,
            RuleScopeKind::Workspace => ToolRuleScope::Workspace,
            RuleScopeKind::Agent => ToolRuleScope::Agent,
            RuleScopeKind::Org => ToolRuleScope::Org,
        },
        session_id,
        workspace_id,
        agent,
        tool: row.rule.tool.clone(),
        arguments: row.rule.arguments.clone(),
        decision: match row.rule.decision {
            PolicyDecision::Allow => ToolRuleDecision::Allow,
            PolicyDecision::Deny => ToolRuleDecision::Deny,
            PolicyDecision::Ask => ToolRuleDecision::Ask,
        },
        reason: row.rule.reason.clone(),
        expires_at: row.rule.expires_at.map(|at| at.to_string()),
        created_by: convert::principal(&row.created_by),
        created_at: row.created_at.to_string(),
        revoked_by: row.revoked_by.as_ref().map(convert::principal),
        revoked_at: row.revoked_at.map(|at| at.to_string()),
    }
}
