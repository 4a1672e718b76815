//! Templates, trees and bundles.

use serde_json::json;
use warren_fleet::{Import, ImportReport, PutTemplate};
use warren_model::{
    Blueprint, ErrorCode, EventKind, Limits, Position, ProviderConfig, Runtime, Scope, ScopeSet, Status,
    Workspace, WorkspaceName,
};
use warren_store::WorkspaceQuery;
use warren_testkit::Bed;

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

// F50, A81: the key of a model's provider is set, and commands do not see it
#[tokio::test]
async fn a_secret_that_is_kept_from_boxes_does_not_count_as_a_variable() {
    for bed in Bed::on_each_store().await {
        let mut root = memory("root");
        root["required_env"] = json!(["ANTHROPIC_API_KEY", "GITHUB_TOKEN"]);
        for name in ["ANTHROPIC_API_KEY", "GITHUB_TOKEN"] {
            let value = warren_model::SecretValue::new("sk-0123456789".to_owned().into()).unwrap();
            let scope = warren_fleet::SecretScope::Org;
            bed.fleet.secrets.set(&bed.operator, scope, name.parse().unwrap(), value).await.unwrap();
        }
        let refused = bed.fleet.imports.tree(&bed.operator, import(root.clone(), &[])).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::RequiredEnvMissing);
        let missing: Vec<_> = refused.missing.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(missing, ["ANTHROPIC_API_KEY"]);
        let told = refused.detail.unwrap();
        assert!(told.contains("kept from boxes") && told.contains("`required_env`"), "{told}");
        // Whoever says that the runtimes get it elsewhere is believed.
        let made = bed.fleet.imports.tree(&bed.operator, import(root, &["ANTHROPIC_API_KEY"])).await.unwrap();
        assert!(made.is_complete());
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
        let bundle = bed.fleet.bundles.export(&bed.operator, first.id, true).await.unwrap().bundle;
        bed.remove(first.id).await;
        let copy = bed.fleet.bundles.import(&bed.operator, bundle, None, &[]).await.unwrap();
        assert!(copy.is_complete());
        let names = |nodes: &[warren_fleet::ImportedNode]| -> Vec<WorkspaceName> {
            nodes.iter().map(|node| node.name.clone()).collect()
        };
        assert_eq!(names(&copy.nodes), names(&made.nodes));
        assert_ne!(copy.nodes[0].outcome.clone().unwrap().id, first.id);
    }
}

async fn store(bed: &Bed, templates: &[(&str, serde_json::Value)]) {
    for (name, document) in templates {
        bed.fleet.templates.put(&bed.operator, put(name, document.clone())).await.unwrap();
    }
}

/// A tree to be made, with these variables at hand.
fn import(tree: serde_json::Value, provided_env: &[&str]) -> Import {
    let provided_env = provided_env.iter().map(|name| (*name).to_owned()).collect();
    Import { roots: vec![blueprint(tree)], parent_id: None, provided_env }
}

/// What became of each workspace of a tree: its path, and the code where it was not made.
fn told(report: &ImportReport) -> Vec<(&str, Option<ErrorCode>)> {
    let one = |node| -> (&str, Option<ErrorCode>) {
        let node: &warren_fleet::ImportedNode = node;
        (node.path.as_str(), node.outcome.as_ref().err().map(|error| error.code))
    };
    report.nodes.iter().map(one).collect()
}

fn reviewer() -> serde_json::Value {
    json!({
        "name": "reviewer", "runtime": "external", "prompts": { "system": "You review code." },
        "provider": { "kind": "memory", "max_file_mb": 3 }, "required_env": ["GITHUB_TOKEN"],
        "schedules": [{ "name": "morning", "cron": "0 9 * * 1-5", "prompt": "What is new?" }],
        "provision_timeout_seconds": 900, "max_concurrent_tasks": 2, "hibernate_after_seconds": 3_600,
        "role": "reviewer",
    })
}

// F50, F5
#[tokio::test]
async fn a_workspace_is_made_from_a_template_and_what_the_request_says_wins() {
    for bed in Bed::on_each_store().await {
        store(&bed, &[("reviewer", reviewer())]).await;
        let make = async |more: serde_json::Value| {
            let mut root = json!({ "name": "mine", "template": "reviewer", "role": "boss" });
            root.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let import = import(root, &["GITHUB_TOKEN"]);
            bed.fleet.imports.create_from_template(&bed.operator, import).await.unwrap()
        };
        let made = make(json!({})).await;
        let template = bed.fleet.templates.get(&bed.operator, &"reviewer".parse().unwrap()).await.unwrap();
        let stamp = made.spec.template.clone().unwrap();
        assert_eq!((stamp.name.as_str(), &stamp.hash), ("reviewer", &template.hash));
        assert_eq!((made.spec.role.as_deref(), made.spec.runtime), (Some("boss"), Runtime::External));
        let ProviderConfig::Memory(memory) = &made.spec.provider else { panic!("{:?}", made.spec.provider) };
        assert_eq!(memory.max_file_mb, 3);
        assert_eq!(made.spec.agent.required_env, ["GITHUB_TOKEN"]);
        assert_eq!(made.spec.agent.schedules.len(), 1);
        assert_eq!(
            (made.spec.max_concurrent_tasks, made.spec.hibernate_after_seconds),
            (Some(2), Some(3_600))
        );
        let timeout = |row: &Workspace| bed.fleet.workspaces.provision_timeout_ms(row);
        assert_eq!(timeout(&made), 900_000);
        // Where another template gives the same runtime longer, that holds; the request itself stands above both.
        let patient = json!({
            "runtime": "external", "provider": { "kind": "memory" }, "provision_timeout_seconds": 1_800,
        });
        store(&bed, &[("patient", patient)]).await;
        assert_eq!(timeout(&make(json!({ "name": "second" })).await), 1_800_000);
        assert_eq!(timeout(&make(json!({ "name": "third", "provision_timeout_seconds": 60 })).await), 60_000);
        // It outlives its template, over a restart too.
        bed.fleet.templates.remove(&bed.operator, &"reviewer".parse().unwrap()).await.unwrap();
        let bed = bed.restart().await;
        assert_eq!(bed.row(made.id).await.spec.agent, made.spec.agent);
    }
}

// F50
#[tokio::test]
async fn a_tree_is_made_parents_first_and_comes_online() {
    for bed in Bed::on_each_store().await {
        let mut team = memory("team");
        team["children"] = json!([{ "template": "reviewer", "name": "critic" }, memory("scribe")]);
        store(&bed, &[("reviewer", reviewer()), ("team", team)]).await;
        let env = ["GITHUB_TOKEN"];
        let tree = import(json!({ "template": "team", "name": "lead" }), &env);
        let report = bed.fleet.imports.tree(&bed.operator, tree).await.unwrap();
        assert_eq!(told(&report), [("lead", None), ("lead/critic", None), ("lead/scribe", None)]);
        let ids: Vec<_> = report.nodes.iter().map(|node| node.outcome.as_ref().unwrap().id).collect();
        let critic = bed.row(ids[1]).await;
        assert_eq!(critic.parent_id, Some(ids[0]));
        assert_eq!(critic.spec.template.unwrap().name.as_str(), "reviewer");
        bed.wait_for(ids[0], Status::Online).await;
        bed.wait_for(ids[1], Status::AwaitingAgent).await;
        // A tree as it stands in the request, below one that is there.
        let mut solo = memory("solo");
        solo["children"] = json!([{ "template": "reviewer" }]);
        let below = Import { parent_id: Some(ids[2]), ..import(solo, &env) };
        let below = bed.fleet.imports.tree(&bed.operator, below).await.unwrap();
        assert!(below.is_complete());
        assert_eq!(below.nodes[0].outcome.as_ref().unwrap().parent_id, Some(ids[2]));
    }
}

// F50
#[tokio::test]
async fn what_cannot_be_made_is_reported_one_by_one_and_the_rest_is_made() {
    for bed in Bed::on_each_store().await {
        let mut bad = memory("bad");
        bad["capabilities"] = json!(["shell"]);
        bad["children"] = json!([memory("orphan")]);
        let mut lead = memory("lead");
        let boxed = json!({ "name": "boxed", "provider": { "kind": "docker" } });
        lead["children"] = json!([bad, boxed, memory("good")]);
        let report = bed.fleet.imports.tree(&bed.operator, import(lead, &[])).await.unwrap();
        assert!(!report.is_complete());
        let expected = [
            ("lead", None),
            ("lead/bad", Some(ErrorCode::CapabilityMissing)),
            ("lead/bad/orphan", Some(ErrorCode::ParentNotCreated)),
            ("lead/boxed", Some(ErrorCode::ProviderUnavailable)),
            ("lead/good", None),
        ];
        assert_eq!(told(&report), expected);
        let page = bed.fleet.workspaces.list(&bed.operator, WorkspaceQuery::all(10)).await.unwrap();
        let mut made: Vec<_> = page.rows.iter().map(|row| row.name.as_str()).collect();
        made.sort_unstable();
        assert_eq!(made, ["good", "lead"]);
    }
}

// F50: the limit of the org holds for the tree as a whole
#[tokio::test]
async fn a_tree_stops_at_the_limit_of_its_org() {
    let limits = Limits { max_workspaces_per_org: 2, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        let mut lead = memory("lead");
        lead["children"] = json!([memory("a"), memory("b")]);
        let report = bed.fleet.imports.tree(&bed.operator, import(lead, &[])).await.unwrap();
        let codes: Vec<_> = told(&report).into_iter().map(|(_, code)| code).collect();
        assert_eq!(codes, [None, None, Some(ErrorCode::WorkspaceLimit)]);
    }
}

// F50, F9: only operators give more than a box, also through a tree
#[tokio::test]
async fn a_tree_gives_nobody_more_than_they_could_give_themselves() {
    for bed in Bed::on_each_store().await {
        let scopes = [Scope::WorkspacesRead, Scope::WorkspacesWrite];
        let user = bed.user(scopes.into_iter().collect()).await;
        let mut lead = memory("lead");
        lead["children"] = json!([{ "name": "host", "provider": { "kind": "local" } }]);
        let report = bed.fleet.imports.tree(&user, import(lead.clone(), &[])).await.unwrap();
        assert_eq!(told(&report)[1], ("lead/host", Some(ErrorCode::Forbidden)));
        let reader = bed.user([Scope::WorkspacesRead].into_iter().collect()).await;
        let refused = bed.fleet.imports.tree(&reader, import(lead, &[])).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let refused = bed.fleet.templates.put(&reader, put("x", memory("x"))).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
    }
}

// F50, F51
#[tokio::test]
async fn a_parent_in_another_org_or_a_removed_one_is_no_parent() {
    for bed in Bed::on_each_store().await {
        let (gone, own, foreign) =
            (bed.workspace().await.id, bed.workspace().await.id, bed.workspace().await.id);
        let org_id = warren_model::OrgId::from_parts(bed.now(), [7; 10]);
        let moved = bed.store.write::<_, warren_store::Error, _>(move |tx| {
            let row = tx.workspace(foreign)?.expect("it is there");
            tx.update_workspace(&warren_model::Workspace { org_id, ..row.clone() }, row.version)
        });
        moved.await.unwrap();
        bed.remove(gone).await;
        let mut deep = memory("x");
        deep["children"] = json!([memory("y")]);
        for (parent, tree) in [(foreign, memory("x")), (gone, deep)] {
            let import = Import { parent_id: Some(parent), ..import(tree, &[]) };
            let refused = bed.fleet.imports.tree(&bed.operator, import).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::ParentNotFound);
        }
        let bundle = bed.fleet.bundles.export(&bed.operator, own, true).await.unwrap().bundle;
        let refused = bed.fleet.bundles.import(&bed.operator, bundle, Some(foreign), &[]).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::ParentNotFound);
        let user = bed.user(ScopeSet::all()).await;
        let below = import(memory("x"), &[]);
        let at = Some(Position { x: 1.0, y: 1.0 });
        for answer in [
            bed.fleet.imports.expand(&user, foreign, below).await.map(drop),
            bed.fleet.workspaces.collapse(&user, foreign, false).await.map(drop),
            bed.fleet.positions.put(&user, foreign, at).await.map(drop),
            bed.fleet.bundles.export(&user, foreign, true).await.map(drop),
        ] {
            assert_eq!(answer.unwrap_err().code, ErrorCode::WorkspaceNotFound);
        }
        assert_eq!(bed.events(EventKind::WorkspaceCreated).await.len(), 3, "nothing was made");
    }
}

// F9
#[tokio::test]
async fn a_workspace_is_expanded_into_a_team_and_collapsed_again() {
    for bed in Bed::on_each_store().await {
        let root = bed.workspace().await.id;
        let mut team = memory("a");
        team["children"] = json!([memory("deep")]);
        let roots = vec![blueprint(team), blueprint(memory("b"))];
        let import_all = Import { roots, ..Import::default() };
        let expanded = bed.fleet.imports.expand(&bed.operator, root, import_all).await.unwrap();
        assert!(expanded.is_complete());
        store(&bed, &[("helper", memory("helper"))]).await;
        let helper = || import(json!({ "template": "helper", "name": "helper" }), &[]);
        bed.fleet.imports.expand(&bed.operator, root, helper()).await.unwrap();
        let query = WorkspaceQuery { parent_id: Some(root), ..WorkspaceQuery::all(10) };
        let page = bed.fleet.workspaces.list(&bed.operator, query).await.unwrap();
        let mut below: Vec<_> = page.rows.iter().map(|row| row.name.as_str()).collect();
        below.sort_unstable();
        assert_eq!(below, ["a", "b", "helper"]);
        let collapsed = bed.fleet.workspaces.collapse(&bed.operator, root, false).await.unwrap();
        assert_eq!((collapsed.counts.marked, collapsed.counts.finished), (4, 4));
        assert_eq!((collapsed.workspace.id, collapsed.workspace.status), (root, Status::Online));
        let page = bed.fleet.workspaces.list(&bed.operator, WorkspaceQuery::all(10)).await.unwrap();
        assert_eq!(page.rows.len(), 1);
        let again = bed.fleet.workspaces.collapse(&bed.operator, root, true).await.unwrap();
        assert_eq!(again.counts.marked, 4, "those that are removed are purged");
        bed.remove(root).await;
        let gone = bed.fleet.imports.expand(&bed.operator, root, helper()).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::WorkspaceNotFound);
        let gone = bed.fleet.workspaces.collapse(&bed.operator, root, false).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::WorkspaceNotFound);
    }
}

// F9
#[tokio::test]
async fn a_position_is_each_principals_own() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let agent = bed.agent_of(row.id).await;
        let positions = &bed.fleet.positions;
        let of = async |who| positions.of(who, std::slice::from_ref(&row)).await.unwrap().remove(&row.id);
        assert_eq!(of(&bed.operator).await, None);
        let (here, there) = (Position { x: 10.5, y: -3.0 }, Position { x: 0.0, y: 1.0 });
        positions.put(&bed.operator, row.id, Some(here)).await.unwrap();
        assert_eq!((of(&bed.operator).await, of(&agent).await), (Some(here), None));
        positions.put(&agent, row.id, Some(there)).await.unwrap();
        assert_eq!((of(&bed.operator).await, of(&agent).await), (Some(here), Some(there)));
        let outside = Some(Position { x: 1e9, y: 0.0 });
        let refused = positions.put(&bed.operator, row.id, outside).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        positions.put(&bed.operator, row.id, None).await.unwrap();
        assert_eq!(of(&bed.operator).await, None);
    }
}

// F9, F50, F35: the tier is judged by who makes a workspace, so that others must not choose what an operator makes
#[tokio::test]
async fn an_operators_privileged_template_is_changed_by_operators_only_and_all_writes_are_audited() {
    for bed in Bed::on_each_store().await {
        let templates = &bed.fleet.templates;
        let user = bed.user(ScopeSet::all()).await;
        let local = || json!({ "provider": { "kind": "local" } });
        templates.put(&bed.operator, put("coder", local())).await.unwrap();
        templates.put(&bed.operator, put("plain", memory("plain"))).await.unwrap();
        templates
            .put(&bed.operator, put("team", json!({ "template": "plain", "tier": "extended" })))
            .await
            .unwrap();
        let coder = "coder".parse().unwrap();
        for refused in [
            templates.put(&user, put("coder", memory("coder"))).await.map(drop),
            templates.put(&user, put("coder", local())).await.map(drop),
            templates.put(&user, put("mine", local())).await.map(drop),
            templates.put(&user, put("mine", json!({ "template": "coder" }))).await.map(drop),
            templates.put(&user, put("plain", memory("plain"))).await.map(drop),
            templates.remove(&user, &coder).await,
        ] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Forbidden);
            assert!(refused.detail.unwrap().contains("written by operators only"));
        }
        assert_eq!(templates.get(&user, &coder).await.unwrap().version, 1, "it is as it was");
        // The control: one that gives nothing is anybody's to write.
        templates.put(&user, put("mine", memory("mine"))).await.unwrap();
        templates.remove(&user, &"mine".parse().unwrap()).await.unwrap();
        templates.remove(&bed.operator, &coder).await.unwrap();
        let entries = bed.audit().await;
        let of_templates: Vec<_> = entries
            .iter()
            .filter(|entry| entry.action.starts_with("template."))
            .map(|entry| {
                (entry.action.as_str(), entry.target_id.as_str(), entry.token_id == Some(user.token.id))
            })
            .collect();
        let expected = [
            ("template.stored", "coder", false),
            ("template.stored", "plain", false),
            ("template.stored", "team", false),
            ("template.stored", "mine", true),
            ("template.removed", "mine", true),
            ("template.removed", "coder", false),
        ];
        assert_eq!(of_templates, expected);
    }
}

// F3, F50: in a tree too a name is given once; the one that has it is told, and the rest is made.
#[tokio::test]
async fn a_tree_does_not_take_names_that_others_have() {
    for bed in Bed::on_each_store().await {
        bed.online(Bed::request("tester")).await;
        let mut root = memory("lead");
        root["children"] = json!([memory("tester"), memory("writer"), memory("writer")]);
        let import = Import { roots: vec![blueprint(root)], parent_id: None, provided_env: Vec::new() };
        let report = bed.fleet.imports.tree(&bed.operator, import.clone()).await.unwrap();
        let codes = |report: &ImportReport| {
            let told =
                |node: &warren_fleet::ImportedNode| node.outcome.as_ref().err().map(|error| error.code);
            report.nodes.iter().map(told).collect::<Vec<_>>()
        };
        let taken = Some(ErrorCode::WorkspaceExists);
        assert_eq!(codes(&report), [None, taken, None, taken]);
        let again = bed.fleet.imports.tree(&bed.operator, import).await.unwrap();
        let orphaned = Some(ErrorCode::ParentNotCreated);
        assert_eq!(codes(&again), [taken, orphaned, orphaned, orphaned]);
    }
}
