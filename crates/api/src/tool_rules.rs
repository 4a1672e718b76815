//! Rules about tool calls that people make.

use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::Principal;

/// What becomes of calls that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolRuleDecision {
    Allow,
    Deny,
    /// A person is asked.
    Ask,
}

/// Where a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolRuleScope {
    Session,
    Workspace,
    Agent,
    Org,
}

/// A rule about tool calls. It counts in one session, one workspace, for one agent, or, where none is named, in the org.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToolRule {
    /// A tool's name; `*` stands for any characters.
    #[schema(min_length = 1, max_length = 1000)]
    pub tool: String,
    /// Patterns for arguments by their name, `a.b` for one further in. `*` stands for any characters. All must fit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    pub decision: ToolRuleDecision,
    /// Told to the model where the call is denied, and to the person who is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Absent: until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub expires_in_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub workspace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Makes a rule of an approval, so that nobody is asked about such calls again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberDecision {
    /// Where calls of this tool are allowed from now on.
    pub scope: ToolRuleScope,
    /// Only calls whose arguments fit; absent: every call of the tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// Absent: until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub expires_in_seconds: Option<u32>,
}

/// A rule about tool calls that a person made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolRule {
    #[schema(format = "uuid")]
    pub id: String,
    pub scope: ToolRuleScope,
    /// Where the scope is a session.
    #[schema(format = "uuid")]
    pub session_id: Option<String>,
    /// Where the scope is a workspace.
    #[schema(format = "uuid")]
    pub workspace_id: Option<String>,
    /// Where the scope is an agent.
    pub agent: Option<String>,
    pub tool: String,
    pub arguments: BTreeMap<String, String>,
    pub decision: ToolRuleDecision,
    pub reason: Option<String>,
    pub expires_at: Option<String>,
    pub created_by: Principal,
    pub created_at: String,
    pub revoked_by: Option<Principal>,
    pub revoked_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolRulePage {
    pub items: Vec<ToolRule>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
