//! Templates, trees and bundles.

use serde_json::json;
use warren_fleet::{Import, PutTemplate};
use warren_model::{Blueprint, ErrorCode, WorkspaceName};
use warren_store::WorkspaceQuery;

use crate::bed::Bed;

fn blueprint(document: serde_json::Value) -> Blueprint {
    Blueprint::read(document).unwrap()
}

fn put(name: &str, document: serde_json::Value) -> PutTemplate {
    let source = document.to_string();
    PutTemplate { name: name.parse().unwrap(), blueprint: blueprint(document), source, expected_hash: None }
}

fn memory(name: &str) -> serde_json::Value {
    json!({ "name": name, "provider": { "kind": "memory" } })
}

// F50
#[tokio::test]
async fn the_same_template_again_changes_nothing_and_one_that_leads_back_to_itself_is_refused() {
    for bed in Bed::on_each_store().await {
        let templates = &bed.fleet.templates;
        let first = templates.put(&bed.operator, put("worker", memory("worker"))).await.unwrap();
        let again = templates.put(&bed.operator, put("worker", memory("worker"))).await.unwrap();
        assert!(first.is_new && !again.is_new);
        assert_eq!(first.template.version, again.template.version);
        templates.put(&bed.operator, put("lead", json!({ "template": "worker" }))).await.unwrap();
        let back = put("worker", json!({ "template": "lead" }));
        let refused = templates.put(&bed.operator, back).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TemplateCycle);
    }
}

// F50
#[tokio::test]
async fn all_that_is_missing_over_a_tree_is_told_at_once_and_nothing_is_made() {
    for bed in Bed::on_each_store().await {
        let mut root = memory("root");
        root["required_env"] = json!(["ROOT_KEY"]);
        let mut leaf = memory("leaf");
        leaf["required_env"] = json!(["LEAF_KEY", "GIVEN"]);
        root["children"] = json!([leaf]);
        let import =
            Import { roots: vec![blueprint(root)], parent_id: None, provided_env: vec!["GIVEN".to_owned()] };
        let refused = bed.fleet.imports.tree(&bed.operator, import).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::RequiredEnvMissing);
        let missing: Vec<_> =
            refused.missing.iter().map(|one| (one.path.as_str(), one.name.as_str())).collect();
        assert_eq!(missing, [("root", "ROOT_KEY"), ("root/leaf", "LEAF_KEY")]);
        let page = bed.fleet.workspaces.list(&bed.operator, WorkspaceQuery::all(10)).await.unwrap();
        assert!(page.rows.is_empty());
    }
}

// F51
#[tokio::test]
async fn a_bundle_makes_the_same_tree_again_under_new_ids() {
    for bed in Bed::on_each_store().await {
        let mut root = memory("root");
        root["children"] = json!([memory("left"), memory("right")]);
        let import = Import { roots: vec![blueprint(root)], ..Import::default() };
        let made = bed.fleet.imports.tree(&bed.operator, import).await.unwrap();
        assert!(made.is_complete());
        let first = made.nodes[0].outcome.clone().unwrap();
        let bundle = bed.fleet.bundles.export(&bed.operator, first.id, true).await.unwrap();
        let copy = bed.fleet.bundles.import(&bed.operator, bundle, None, &[]).await.unwrap();
        assert!(copy.is_complete());
        let names = |nodes: &[warren_fleet::ImportedNode]| -> Vec<WorkspaceName> {
            nodes.iter().map(|node| node.name.clone()).collect()
        };
        assert_eq!(names(&copy.nodes), names(&made.nodes));
        assert_ne!(copy.nodes[0].outcome.clone().unwrap().id, first.id);
    }
}
