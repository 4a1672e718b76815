//! What holds for rules about tool calls that people made.

use std::sync::Arc;

use warren_model::{
    OrgId, PolicyDecision, PolicyRule, Principal, RuleScope, Timestamp, ToolRule, ToolRuleId,
};

use super::samples::{NOW, id};
use super::session_samples::new_session;
use crate::{Error, Store, ToolRuleQuery};

fn rule(scope: RuleScope, expires_at: Option<Timestamp>) -> ToolRule {
    ToolRule {
        id: id(),
        org_id: OrgId::DEFAULT,
        scope,
        rule: PolicyRule {
            tool: "workspace_*".into(),
            arguments: [("path".to_owned(), "src/*".to_owned())].into(),
            decision: PolicyDecision::Allow,
            reason: Some("always — 日本".into()),
            expires_at,
        },
        created_by: Principal::system("person"),
        created_at: NOW,
        revoked_by: None,
        revoked_at: None,
    }
}

async fn put(store: &dyn Store, rule: &ToolRule) -> Result<(), Error> {
    let row = rule.clone();
    store.write(move |tx| tx.insert_tool_rule(&row)).await
}

fn ids(rules: &[ToolRule]) -> Vec<ToolRuleId> {
    rules.iter().map(|rule| rule.id).collect()
}

// A23
pub async fn the_rules_in_force_come_from_the_narrowest_scope_to_the_widest(store: Arc<dyn Store>) {
    let (row, other) = (new_session(&*store).await, new_session(&*store).await);
    let rules = [
        rule(RuleScope::Agent(row.agent.name.clone()), None),
        rule(RuleScope::Session(row.id), Some(NOW.plus_ms(10))),
        rule(RuleScope::Session(row.id), None),
        rule(RuleScope::Workspace(row.workspace_id), None),
        rule(RuleScope::Agent("poet".parse().expect("a good name")), None),
        ToolRule { org_id: id(), ..rule(RuleScope::Agent(row.agent.name.clone()), None) },
        rule(RuleScope::Org, None),
        ToolRule { org_id: id(), ..rule(RuleScope::Org, None) },
    ];
    for rule in &rules {
        assert_eq!(put(&*store, rule).await, Ok(()));
    }
    let [agent, short, own, workspace, _, _, org, _] = &rules;
    let in_force = |session: &warren_model::session::Session, ms: i64| {
        let session = session.clone();
        let read = store.read::<_, Error, _>(move |tx| tx.tool_rules_for(&session, NOW.plus_ms(ms)));
        async move { read.await.map(|rules| ids(&rules)) }
    };
    assert_eq!(in_force(&row, 9).await, Ok(vec![own.id, short.id, workspace.id, agent.id, org.id]));
    assert_eq!(in_force(&row, 10).await, Ok(vec![own.id, workspace.id, agent.id, org.id]), "one has expired");
    assert_eq!(in_force(&other, 9).await, Ok(vec![agent.id, org.id]));

    let (of, by) = (own.id, Principal::system("another"));
    let author = by.clone();
    let revoke =
        |by: Principal| store.write::<_, Error, _>(move |tx| tx.revoke_tool_rule(of, &by, NOW.plus_ms(5)));
    assert_eq!(revoke(by.clone()).await, Ok(true));
    assert_eq!(revoke(by).await, Ok(false));
    assert_eq!(in_force(&row, 10).await, Ok(vec![workspace.id, agent.id, org.id]));
    let revoked = ToolRule { revoked_by: Some(author), revoked_at: Some(NOW.plus_ms(5)), ..own.clone() };
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.tool_rule(of)).await, Ok(Some(revoked)));
}

// A23
pub async fn rules_are_listed_newest_first_and_go_with_what_they_are_for(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    let rules = [
        rule(RuleScope::Session(row.id), None),
        rule(RuleScope::Workspace(row.workspace_id), None),
        rule(RuleScope::Agent(row.agent.name.clone()), None),
    ];
    for rule in &rules {
        assert_eq!(put(&*store, rule).await, Ok(()));
    }
    assert!(put(&*store, &rule(RuleScope::Session(id()), None)).await.is_err(), "there is no such session");
    let all = ToolRuleQuery { org_id: OrgId::DEFAULT, scope: None, before: None, limit: 2 };
    let list = |query: ToolRuleQuery| store.read::<_, Error, _>(move |tx| tx.tool_rules(&query));
    let page = list(all.clone()).await.expect("a page is read");
    assert_eq!(page.rows, [rules[2].clone(), rules[1].clone()]);
    let rest = list(ToolRuleQuery { before: page.next, ..all.clone() }).await.expect("a page is read");
    assert_eq!((ids(&rest.rows), rest.next), (vec![rules[0].id], None));
    for rule in &rules {
        let found = list(ToolRuleQuery { scope: Some(rule.scope.clone()), ..all.clone() }).await;
        assert_eq!(found.map(|page| ids(&page.rows)), Ok(vec![rule.id]));
    }
    let of = row.id;
    assert_eq!(store.write::<_, Error, _>(move |tx| tx.delete_session(of)).await, Ok(true));
    let left = list(ToolRuleQuery { limit: 9, ..all }).await.map(|page| ids(&page.rows));
    assert_eq!(left, Ok(vec![rules[2].id, rules[1].id]));
}
