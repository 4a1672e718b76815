//! Bundles: a tree of workspaces out of one Warren and into another.

use serde_json::json;
use warren_fleet::{Import, ImportReport, PutTemplate};
use warren_model::{Blueprint, Bundle, ErrorCode, ScopeSet, Status, WorkspaceId};
use warren_testkit::{Bed, BedOptions};

fn id_at(report: &ImportReport, at: usize) -> WorkspaceId {
    report.nodes[at].outcome.as_ref().unwrap().id
}

/// A tree in which every field of a spec says something, one of it at rest.
async fn planted(bed: &Bed) -> WorkspaceId {
    let member = json!({
        "provider": { "kind": "memory" }, "prompts": { "system": "Hello." }, "required_env": ["KEY"],
    });
    let member = PutTemplate {
        name: "member".parse().unwrap(),
        source: member.to_string(),
        blueprint: Blueprint::read(member).unwrap(),
        expected_hash: None,
    };
    bed.fleet.templates.put(&bed.operator, member).await.unwrap();
    let tree = json!({
        "name": "lead", "provider": { "kind": "local", "run": { "allow": ["ls"] } }, "role": "boss",
        "runtime": "external", "capabilities": ["fs"], "tier": "privileged", "model": "m", "skills": ["s"],
        "schedules": [{ "name": "pulse", "every_seconds": 50, "prompt": "Go on." }],
        "provision_timeout_seconds": 77, "hibernate_after_seconds": 88, "max_concurrent_tasks": 9,
        "children": [
            { "template": "member", "name": "z" },
            {
                "template": "member", "name": "a",
                "children": [{ "name": "deep", "provider": { "kind": "memory" } }],
            },
            { "template": "member", "name": "m" },
        ],
    });
    let roots = vec![Blueprint::read(tree).unwrap()];
    let import = Import { roots, parent_id: None, provided_env: vec!["KEY".into()] };
    let made = bed.fleet.imports.tree(&bed.operator, import).await.unwrap();
    assert!(made.is_complete());
    bed.fleet.lifecycle.pause(&bed.operator, id_at(&made, 2)).await.unwrap();
    bed.fleet.lifecycle.hibernate(&bed.operator, id_at(&made, 4), false).await.unwrap();
    id_at(&made, 0)
}

async fn import(bed: &Bed, bundle: Bundle) -> ImportReport {
    let imported = bed.fleet.bundles.import(&bed.operator, bundle, None, &["KEY".into()]).await.unwrap();
    assert!(imported.is_complete());
    imported
}

// F51
#[tokio::test]
async fn a_tree_comes_back_exactly_under_new_ids() {
    for bed in Bed::on_each_store().await {
        let root = planted(&bed).await;
        let export = async |bed: &Bed, id| bed.fleet.bundles.export(&bed.operator, id, true).await.unwrap();
        let mut first = export(&bed, root).await;
        // What other parts of Warren keep in a spec travels too.
        first.root.spec.monthly_budget_micros = Some(5_000_000);
        let order: Vec<_> = first.root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(order, ["z", "a", "m"], "siblings keep their order");
        let missing = bed.fleet.bundles.import(&bed.operator, first.clone(), None, &[]).await.unwrap_err();
        assert_eq!(missing.code, ErrorCode::RequiredEnvMissing);

        // Into another Warren, that knows none of the templates.
        let other = Bed::on_sqlite(BedOptions::default()).await;
        let imported = import(&other, first.clone()).await;
        assert_ne!(id_at(&imported, 0), root, "the id is new");
        let second = export(&other, id_at(&imported, 0)).await;
        assert_eq!(second.root, first.root);
        assert_ne!(second.origin.workspace_id, first.origin.workspace_id);

        // Once more, from the copy; and what rested rests from its first moment.
        let last = Bed::on_sqlite(BedOptions::default()).await;
        let third = import(&last, second.clone()).await;
        assert_eq!(export(&last, id_at(&third, 0)).await.root, first.root);
        last.wait_for(id_at(&third, 2), Status::Paused).await;
        last.wait_for(id_at(&third, 3), Status::Paused).await;
        last.wait_for(id_at(&third, 4), Status::Hibernated).await;

        // F3: beside the one that it was taken from, its names are not free.
        let beside =
            other.fleet.bundles.import(&other.operator, second, None, &["KEY".into()]).await.unwrap();
        assert_eq!(beside.nodes[0].outcome.as_ref().unwrap_err().code, ErrorCode::WorkspaceExists);
    }
}

// F51
#[tokio::test]
async fn a_workspace_alone_is_exported_without_those_below_it() {
    for bed in Bed::on_each_store().await {
        let root = planted(&bed).await;
        let bundles = &bed.fleet.bundles;
        let alone = bundles.export(&bed.operator, root, false).await.unwrap();
        let whole = bundles.export(&bed.operator, root, true).await.unwrap();
        assert!(alone.root.children.is_empty());
        assert_eq!(alone.root.spec, whole.root.spec);
        bed.remove(root).await;
        let gone = bundles.export(&bed.operator, root, true).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::WorkspaceNotFound);
    }
}

// F51: a tier that the importer may not give is that workspace's problem
#[tokio::test]
async fn a_bundle_gives_nobody_more_than_they_could_give_themselves() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        let bundle = bed.fleet.bundles.export(&bed.operator, id, true).await.unwrap();
        let user = bed.user(ScopeSet::all()).await;
        let report = bed.fleet.bundles.import(&user, bundle, None, &[]).await.unwrap();
        assert_eq!(report.nodes[0].outcome.as_ref().unwrap_err().code, ErrorCode::Forbidden);
    }
}
