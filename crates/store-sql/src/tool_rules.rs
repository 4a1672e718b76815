//! Rules about tool calls that people made, in SQL.

use std::cmp::Reverse;

use warren_model::session::Session;
use warren_model::{Principal, RuleScope, Timestamp, ToolRule, ToolRuleId};
use warren_store::{Error, Page, ToolRuleQuery, ToolRuleReads, ToolRuleWrites};

use crate::row::{Columns, read_id};
use crate::select::Select;
use crate::stored::{Codec, Json};
use crate::table::{Statement, table};
use crate::transaction::Transaction;
use crate::value::Value;

table! {
    RULES: ToolRule in "tool_rules" {
        id, org_id, scope: ScopeColumns [session_id, workspace_id, agent_name], rule: Json, created_by, created_at;
        revoked_by, revoked_at,
    }
}

static GET: Statement = Statement::new(|| RULES.select("WHERE id = $1"));
static LIST: Statement = Statement::new(|| RULES.select(""));
/// What counts in a whole org has none of the names.
const OF_ORG: &str = "session_id IS NULL AND workspace_id IS NULL AND agent_name IS NULL";
/// One stretch of an index for each scope.
static IN_FORCE: Statement = Statement::new(|| {
    let counts = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
    let of = |scope: &str| RULES.select(&format!("WHERE {scope} AND {counts}"));
    [
        of("session_id = $1"),
        of("workspace_id = $3"),
        of("org_id = $4 AND agent_name = $5"),
        of(&format!("org_id = $4 AND {OF_ORG}")),
    ]
    .join(" UNION ALL ")
});
/// The expiry stands in a column too, by which those that count are found.
static INSERT: Statement = Statement::new(|| RULES.insert_with(&["expires_at"], ""));
const REVOKE: &str =
    "UPDATE tool_rules SET revoked_by = $1, revoked_at = $2 WHERE id = $3 AND revoked_at IS NULL";

impl ToolRuleReads for Transaction<'_> {
    fn tool_rule(&mut self, id: ToolRuleId) -> Result<Option<ToolRule>, Error> {
        RULES.first(self, &GET, &[id.into()])
    }

    fn tool_rules(&mut self, query: &ToolRuleQuery) -> Result<Page<ToolRule, ToolRuleId>, Error> {
        let mut select = Select::new(&LIST);
        select.and_value("org_id =", query.org_id);
        match &query.scope {
            Some(RuleScope::Session(id)) => select.and_value("session_id =", *id),
            Some(RuleScope::Workspace(id)) => select.and_value("workspace_id =", *id),
            Some(RuleScope::Agent(name)) => select.and_value("agent_name =", name.as_str()),
            Some(RuleScope::Org) => select.and(OF_ORG),
            None => {}
        }
        if let Some(before) = query.before {
            select.and_value("id <", before);
        }
        RULES.page(self, &select.page("id DESC", query.limit), query.limit, read_id)
    }

    fn tool_rules_for(&mut self, session: &Session, now: Timestamp) -> Result<Vec<ToolRule>, Error> {
        let values = [
            session.id.into(),
            now.into(),
            session.workspace_id.into(),
            session.org_id.into(),
            session.agent.name.as_str().into(),
        ];
        let mut rules = RULES.rows(self, &IN_FORCE, &values)?;
        let rank = |rule: &ToolRule| match rule.scope {
            RuleScope::Session(_) => 0,
            RuleScope::Workspace(_) => 1,
            RuleScope::Agent(_) => 2,
            RuleScope::Org => 3,
        };
        rules.sort_by_key(|rule| (rank(rule), Reverse(rule.id)));
        Ok(rules)
    }
}

impl ToolRuleWrites for Transaction<'_> {
    fn insert_tool_rule(&mut self, rule: &ToolRule) -> Result<(), Error> {
        let mut values = RULES.values(rule)?;
        values.push(rule.rule.expires_at.into());
        self.execute(&INSERT, &values).map(drop)
    }

    fn revoke_tool_rule(&mut self, id: ToolRuleId, by: &Principal, at: Timestamp) -> Result<bool, Error> {
        Ok(self.execute(REVOKE, &[by.to_string().into(), at.into(), id.into()])? > 0)
    }
}

struct ScopeColumns;

impl Codec<RuleScope> for ScopeColumns {
    fn write<'a>(scope: &'a RuleScope, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        let (session, workspace, agent) = match scope {
            RuleScope::Session(id) => (Some(*id), None, None),
            RuleScope::Workspace(id) => (None, Some(*id), None),
            RuleScope::Agent(name) => (None, None, Some(name.as_str())),
            RuleScope::Org => (None, None, None),
        };
        values.extend([session.into(), workspace.into(), agent.into()]);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<RuleScope, Error> {
        match (row.optional_id()?, row.optional_id()?) {
            (Some(id), _) => {
                row.optional_text()?;
                Ok(RuleScope::Session(id))
            }
            (None, Some(id)) => {
                row.optional_text()?;
                Ok(RuleScope::Workspace(id))
            }
            (None, None) => match row.optional_text()? {
                Some(name) => {
                    let unreadable = |error| Error::Corrupt(format!("tool_rules.agent_name: {error}"));
                    Ok(RuleScope::Agent(name.parse().map_err(unreadable)?))
                }
                None => Ok(RuleScope::Org),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan_of;

    // A23
    #[test]
    fn the_rules_of_a_session_are_found_by_its_scopes() {
        let plan = plan_of(&IN_FORCE);
        for index in
            ["tool_rules_of_session", "tool_rules_of_workspace", "tool_rules_of_agent", "tool_rules_of_org"]
        {
            assert!(plan.contains(index), "{index}: {plan}");
        }
        assert!(!plan.contains("SCAN"), "{plan}");
    }
}
