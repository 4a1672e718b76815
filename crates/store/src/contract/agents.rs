//! What holds for agents and their versions.

use std::sync::Arc;

use warren_model::{AgentDefinition, OrgId, Principal, StoredAgent, Timestamp};

use super::samples::{NOW, id};
use crate::{AgentVersionQuery, Error, Store};

fn agent(name: &str, system: &str, created_at: Timestamp) -> StoredAgent {
    let definition = AgentDefinition {
        system: system.into(),
        ..AgentDefinition::new(
            name.parse().expect("a good name"),
            "scripted/hello".parse().expect("a good name"),
        )
    };
    let created_by = Principal::system("author");
    StoredAgent { org_id: OrgId::DEFAULT, version: definition.version(), definition, created_at, created_by }
}

async fn put(store: &dyn Store, agent: &StoredAgent) -> bool {
    let row = agent.clone();
    store.write::<_, Error, _>(move |tx| tx.put_agent(&row)).await.expect("an agent is stored")
}

// A6
pub async fn a_name_stands_for_what_was_stored_last_and_every_version_stays(store: Arc<dyn Store>) {
    let first = agent("helper", "one — 日本", NOW);
    let second = agent("helper", "two", NOW.plus_ms(1));
    let current = || {
        let name = first.version.name.clone();
        store.read::<_, Error, _>(move |tx| tx.agent(OrgId::DEFAULT, &name))
    };
    assert_eq!(current().await, Ok(None));
    assert!(put(&*store, &first).await);
    assert!(put(&*store, &second).await);
    assert_eq!(current().await, Ok(Some(second.clone())));
    let again =
        StoredAgent { created_at: NOW.plus_ms(9), created_by: Principal::system("other"), ..first.clone() };
    assert!(!put(&*store, &again).await, "the content is known");
    assert_eq!(current().await, Ok(Some(first.clone())), "current again, as it was stored first");
    let version = second.version.clone();
    let old = store.read::<_, Error, _>(move |tx| tx.agent_version(OrgId::DEFAULT, &version)).await;
    assert_eq!(old, Ok(Some(second.clone())));
    let (version, elsewhere) = (second.version.clone(), id());
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.agent_version(elsewhere, &version)).await, Ok(None));
    let query = AgentVersionQuery {
        org_id: OrgId::DEFAULT,
        name: first.version.name.clone(),
        behind: None,
        limit: 1,
    };
    let list = |query: AgentVersionQuery| store.read::<_, Error, _>(move |tx| tx.agent_versions(&query));
    let page = list(query.clone()).await.expect("a page is read");
    assert_eq!(page.rows, [second]);
    let rest = list(AgentVersionQuery { behind: page.next, ..query }).await.expect("a page is read");
    assert_eq!((rest.rows, rest.next), (vec![first], None));
}

// A6
pub async fn agents_are_listed_by_name_each_once(store: Arc<dyn Store>) {
    for (name, system) in [("b", "1"), ("a", "1"), ("b", "2"), ("c", "1")] {
        put(&*store, &agent(name, system, NOW)).await;
    }
    let list = |after: Option<&str>| {
        let after = after.map(|name| name.parse().expect("a good name"));
        store.read::<_, Error, _>(move |tx| tx.agents(OrgId::DEFAULT, after.as_ref(), 2))
    };
    let page = list(None).await.expect("a page is read");
    let told: Vec<(String, String)> =
        page.rows.iter().map(|row| (row.version.name.to_string(), row.definition.system.clone())).collect();
    assert_eq!(told, [("a".into(), "1".into()), ("b".into(), "2".into())]);
    let rest = list(Some("b")).await.expect("a page is read");
    assert_eq!((rest.rows.len(), rest.next), (1, None));
}
