//! Rules about tool calls that people made (A23).

use warren_model::session::Session;
use warren_model::{OrgId, Principal, RuleScope, Timestamp, ToolRule, ToolRuleId};

use crate::{Error, Page};

/// The newest first, also those that count no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRuleQuery {
    pub org_id: OrgId,
    pub scope: Option<RuleScope>,
    /// Only those that are older than this one.
    pub before: Option<ToolRuleId>,
    pub limit: u32,
}

pub trait ToolRuleReads {
    fn tool_rule(&mut self, id: ToolRuleId) -> Result<Option<ToolRule>, Error>;
    fn tool_rules(&mut self, query: &ToolRuleQuery) -> Result<Page<ToolRule, ToolRuleId>, Error>;
    /// What counts for a session at `now`, in the order in which it is asked: its own rules, those of its workspace, those
    /// of its agent, those of its org; each of these the newest first.
    fn tool_rules_for(&mut self, session: &Session, now: Timestamp) -> Result<Vec<ToolRule>, Error>;
}

pub trait ToolRuleWrites {
    fn insert_tool_rule(&mut self, rule: &ToolRule) -> Result<(), Error>;
    /// Returns whether this call did it.
    fn revoke_tool_rule(&mut self, id: ToolRuleId, by: &Principal, at: Timestamp) -> Result<bool, Error>;
}
