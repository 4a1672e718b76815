//! Rules about tool calls: allow, deny, ask (A23).

use serde_json::Value;
use warren_model::{PolicyDecision, PolicyRule, Timestamp};

use super::Facts;

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub decision: PolicyDecision,
    /// For the model where it is denied, for the person who is asked.
    pub reason: String,
}

/// The first rule in force that fits decides: those that people made, then the agent's own. But a rule of the agent that
/// denies is not undone by what a person allowed beforehand.
pub fn judge(facts: &Facts<'_>, tool: &str, arguments: &Value) -> Judgement {
    let own = first_fitting(&facts.agent.policies, tool, arguments, facts.now);
    let made = first_fitting(facts.rules, tool, arguments, facts.now);
    let rule = match (made, own) {
        (_, Some(own)) if own.decision == PolicyDecision::Deny => Some(own),
        (Some(made), _) => Some(made),
        (None, own) => own,
    };
    let Some(rule) = rule else {
        return Judgement { decision: PolicyDecision::Allow, reason: String::new() };
    };
    let reason = rule.reason.clone().unwrap_or_else(|| match rule.decision {
        PolicyDecision::Allow => String::new(),
        PolicyDecision::Deny => format!("a policy of this agent denies {tool}"),
        PolicyDecision::Ask => format!("a policy of this agent asks a person before {tool}"),
    });
    Judgement { decision: rule.decision, reason }
}

fn first_fitting<'r>(
    rules: &'r [PolicyRule],
    tool: &str,
    arguments: &Value,
    now: Timestamp,
) -> Option<&'r PolicyRule> {
    rules.iter().find(|rule| {
        let is_in_force = rule.expires_at.is_none_or(|at| at > now);
        is_in_force && fits(&rule.tool, tool) && fits_arguments(rule, arguments)
    })
}

/// Every pattern must fit its argument. One that is absent does not fit, except by `*`... which stands for anything that
/// is there.
fn fits_arguments(rule: &PolicyRule, arguments: &Value) -> bool {
    rule.arguments.iter().all(|(path, pattern)| {
        let found = path.split('.').try_fold(arguments, |value, name| match value {
            Value::Array(items) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
            other => other.get(name),
        });
        found.is_some_and(|value| fits(pattern, &text_of(value)))
    })
}

/// A list is its items with spaces between them, so that a command given as a list fits as it would be typed.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// `*` stands for any characters, none included; everything else for itself.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warren_model::AgentDefinition;

    use super::*;

    fn rule(tool: &str, arguments: Value, decision: PolicyDecision) -> PolicyRule {
        let arguments = serde_json::from_value(arguments).unwrap();
        PolicyRule { tool: tool.into(), arguments, decision, reason: None, expires_at: None }
    }

    fn judged(own: Vec<PolicyRule>, made: &[PolicyRule], tool: &str, arguments: &Value) -> PolicyDecision {
        let mut agent = AgentDefinition::new("a".parse().unwrap(), "x/y".parse().unwrap());
        agent.policies = own;
        let facts = Facts {
            now: Timestamp::from_micros(1_000_000),
            agent: &agent,
            rules: made,
            prices: &[],
            workspace_left_micros: None,
            workspace: crate::lifecycle::Usability::Usable,
            is_owner: true,
        };
        judge(&facts, tool, arguments).decision
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "x", true),
            ("a*", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ab", false),
            ("*b*", "abc", true),
            ("a", "ab", false),
            ("ab*ba", "aba", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    // A23
    #[test]
    fn the_first_rule_that_fits_decides_and_none_allows() {
        use PolicyDecision::{Allow, Ask, Deny};
        let git = json!({ "argv": "git *" });
        let own = vec![rule("workspace_run", git, Allow), rule("workspace_run", json!({}), Ask)];
        let run = |argv: Value| judged(own.clone(), &[], "workspace_run", &json!({ "argv": argv }));
        assert_eq!(run(json!(["git", "status"])), Allow);
        assert_eq!(run(json!(["rm", "-r", "x"])), Ask);
        assert_eq!(judged(own.clone(), &[], "workspace_ls", &json!({})), Allow);
        let made = [rule("workspace_*", json!({}), Allow)];
        assert_eq!(judged(own, &made, "workspace_run", &json!({ "argv": ["rm"] })), Allow);
        let never = vec![rule("workspace_rm", json!({}), Deny)];
        assert_eq!(judged(never, &made, "workspace_rm", &json!({})), Deny, "no rule undoes what is denied");
    }

    // A23
    #[test]
    fn a_rule_counts_until_it_expires_and_only_for_what_is_there() {
        let mut late = rule("*", json!({}), PolicyDecision::Deny);
        late.expires_at = Some(Timestamp::from_micros(1_000_000));
        assert_eq!(judged(vec![late], &[], "x", &json!({})), PolicyDecision::Allow);
        let deep = rule("x", json!({ "a.b": "1*" }), PolicyDecision::Deny);
        assert_eq!(judged(vec![deep.clone()], &[], "x", &json!({ "a": { "b": 12 } })), PolicyDecision::Deny);
        assert_eq!(judged(vec![deep], &[], "x", &json!({ "a": {} })), PolicyDecision::Allow);
    }
}
