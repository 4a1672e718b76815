//! What holds for templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use warren_model::{Blueprint, MemoryConfig, OrgId, ProviderConfig, Runtime, Template, TemplateName};

use super::samples::{NOW, id};
use crate::{Error, Store};

fn template(name: &str) -> Template {
    let blueprint = Blueprint {
        name: Some(name.to_owned()),
        provider: Some(ProviderConfig::Memory(MemoryConfig::default())),
        prompts: BTreeMap::from([("system".to_owned(), "Be \"careful\" — 日本\n".to_owned())]),
        children: vec![Blueprint { name: Some("below".into()), ..Blueprint::default() }],
        ..Blueprint::default()
    };
    Template {
        org_id: OrgId::DEFAULT,
        name: name.parse().expect("a good name"),
        hash: blueprint.hash(),
        blueprint,
        source: "# a comment\nname: x\n".into(),
        version: 1,
        created_at: NOW,
        updated_at: NOW.plus_ms(1),
    }
}

async fn put(store: &dyn Store, template: &Template) -> Result<(), Error> {
    let row = template.clone();
    store.write(move |tx| tx.insert_template(&row)).await
}

async fn get(store: &dyn Store, org_id: OrgId, name: &str) -> Option<Template> {
    let name: TemplateName = name.parse().expect("a good name");
    store.read(move |tx| tx.template(org_id, &name)).await.expect("a template is read")
}

// F50
pub async fn a_template_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let written = template("reviewer");
    assert_eq!(put(&*store, &written).await, Ok(()));
    assert_eq!(get(&*store, OrgId::DEFAULT, "reviewer").await, Some(written.clone()));
    assert_eq!(get(&*store, OrgId::DEFAULT, "other").await, None);
    assert_eq!(get(&*store, id(), "reviewer").await, None, "another org does not see it");
    assert_eq!(put(&*store, &written).await, Err(Error::AlreadyExists));
    let delete = |name: TemplateName| store.write(move |tx| tx.delete_template(OrgId::DEFAULT, &name));
    assert_eq!(delete(written.name.clone()).await, Ok(true));
    assert_eq!(delete(written.name.clone()).await, Ok(false));
    assert_eq!(get(&*store, OrgId::DEFAULT, "reviewer").await, None);
}

// F50
pub async fn a_template_is_written_only_at_the_version_it_was_read(store: Arc<dyn Store>) {
    let mut row = template("reviewer");
    assert_eq!(put(&*store, &row).await, Ok(()));
    row.blueprint.role = Some("changed".into());
    row.hash = row.blueprint.hash();
    let write = |row: Template, version: u64| store.write(move |tx| tx.update_template(&row, version));
    assert_eq!(write(row.clone(), 1).await, Ok(2));
    assert_eq!(write(row.clone(), 1).await, Err(Error::Conflict));
    row.version = 2;
    assert_eq!(get(&*store, OrgId::DEFAULT, "reviewer").await, Some(row));
}

// F50
pub async fn templates_are_listed_by_name_in_pages_and_per_org(store: Arc<dyn Store>) {
    // Not in order; and `-` and `_` must stand on both engines where the bytes say.
    for name in ["b", "a_c", "a-b", "c", "a.a"] {
        assert_eq!(put(&*store, &template(name)).await, Ok(()));
    }
    let stranger = Template { org_id: id(), ..template("z") };
    assert_eq!(put(&*store, &stranger).await, Ok(()));
    let mut names = Vec::new();
    let mut after = None;
    loop {
        let from: Option<TemplateName> = after.take();
        let page = store
            .read::<_, Error, _>(move |tx| tx.templates(OrgId::DEFAULT, from.as_ref(), 2))
            .await
            .expect("a page is read");
        assert!(page.rows.len() <= 2);
        names.extend(page.rows.into_iter().map(|row| row.name.to_string()));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(names, ["a-b", "a.a", "a_c", "b", "c"]);
    let count = store.read::<_, Error, _>(|tx| tx.count_templates(OrgId::DEFAULT)).await;
    assert_eq!(count, Ok(5));
}

// F5
pub async fn the_longest_provision_timeout_of_a_runtime_holds(store: Arc<dyn Store>) {
    for (name, runtime, seconds, base) in [
        ("a", Some(Runtime::Resident), Some(900), None),
        ("b", Some(Runtime::Resident), Some(1_800), None),
        ("c", Some(Runtime::Resident), None, None),
        ("d", None, Some(60), None),
        ("e", None, Some(9_999), Some("a")),
    ] {
        let mut row = template(name);
        row.blueprint.runtime = runtime;
        row.blueprint.provision_timeout_seconds = seconds;
        row.blueprint.template = base.map(|base| base.parse().expect("a good name"));
        assert_eq!(put(&*store, &row).await, Ok(()));
    }
    let longest = |org_id: OrgId, runtime: Runtime| {
        store.read::<_, Error, _>(move |tx| tx.longest_provision_timeout(org_id, runtime))
    };
    assert_eq!(longest(OrgId::DEFAULT, Runtime::Resident).await, Ok(Some(1_800)));
    assert_eq!(
        longest(OrgId::DEFAULT, Runtime::Hosted).await,
        Ok(Some(60)),
        "what names no runtime is hosted"
    );
    assert_eq!(longest(OrgId::DEFAULT, Runtime::External).await, Ok(None));
    assert_eq!(longest(id(), Runtime::Resident).await, Ok(None));
}
