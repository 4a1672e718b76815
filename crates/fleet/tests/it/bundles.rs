//! Bundles: a tree of workspaces out of one Warren and into another.

use serde_json::json;
use warren_fleet::{Import, ImportReport, PutTemplate, SecretScope};
use warren_model::{
    Blueprint, Bundle, BundleMemory, BundlePeer, ErrorCode, EventKind, Limits, Memory, MemoryPlace,
    MemoryScope, MissedPolicy, OrgId, OverlapPolicy, PeerCircle, PeerPolicy, Schedule, ScopeSet, SecretValue,
    Status, Timestamp, Timing, WorkspaceId,
};
use warren_rules::messages::memory::words_of;
use warren_rules::messages::schedules::{self, Making, NewSchedule};
use warren_store::ScheduleQuery;
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
    let (root, z, m) = (id_at(&made, 0), id_at(&made, 1), id_at(&made, 4));
    let ends = bed.now().plus_ms(3_600_000);
    remember(bed, MemoryPlace::Local(root), "build", "make all", None).await;
    remember(bed, MemoryPlace::Team(root), "build", "make team", Some(ends)).await;
    remember(bed, MemoryPlace::Local(z), "colour", "blue", None).await;
    remember(bed, MemoryPlace::Org(OrgId::DEFAULT), "org", "not theirs to take along", None).await;
    let cron = Timing::Cron { expression: "0 6 * * 1".into(), time_zone: "Europe/Zurich".into() };
    schedule(bed, root, "weekly", cron, false).await;
    schedule(bed, z, "often", Timing::Every { seconds: 60 }, true).await;
    let to = |circle, allow, deny| PeerPolicy { circle, allow, deny };
    let workspaces = &bed.fleet.workspaces;
    workspaces.set_peer_policy(&bed.operator, root, to(PeerCircle::Nobody, vec![z], vec![])).await.unwrap();
    workspaces.set_peer_policy(&bed.operator, z, to(PeerCircle::Org, vec![], vec![m])).await.unwrap();
    root
}

/// As the exchange writes it.
async fn remember(bed: &Bed, place: MemoryPlace, key: &str, value: &str, expires_at: Option<Timestamp>) {
    let now = bed.now();
    let memory = Memory {
        id: bed.fleet.context.new_id(),
        org_id: OrgId::DEFAULT,
        place,
        key: key.to_owned(),
        value: value.to_owned(),
        words: words_of(key, value),
        masked: 0,
        author: bed.operator.principal.clone(),
        workspace_id: place.workspace_id().unwrap_or_else(|| bed.fleet.context.new_id()),
        task_id: None,
        created_at: now,
        updated_at: now,
        expires_at,
        version: 1,
    };
    let written = bed.store.write::<_, warren_store::Error, _>(move |tx| tx.insert_memory(&memory));
    written.await.unwrap();
}

/// The same for a schedule that somebody made by the API.
async fn schedule(bed: &Bed, workspace_id: WorkspaceId, name: &str, timing: Timing, is_paused: bool) {
    let new = NewSchedule {
        name: name.to_owned(),
        timing,
        prompt: "How is it?".to_owned(),
        jitter_seconds: 7,
        missed: MissedPolicy::All,
        overlap: OverlapPolicy::Queue,
    };
    let making = Making {
        id: bed.fleet.context.new_id(),
        org_id: OrgId::DEFAULT,
        workspace_id,
        by: bed.operator.principal.clone(),
        now: bed.now(),
        min_seconds: 10,
    };
    let mut row = schedules::draft(new, making).unwrap();
    if is_paused {
        (row.is_paused, row.next_slot, row.next_at) = (true, None, None);
    }
    bed.store.write::<_, warren_store::Error, _>(move |tx| tx.insert_schedule(&row)).await.unwrap();
}

async fn schedules_of(bed: &Bed, workspace_id: WorkspaceId) -> Vec<Schedule> {
    let query = ScheduleQuery { org_id: None, workspace_id: Some(workspace_id), after: None, limit: 50 };
    let found = bed.store.read::<_, warren_store::Error, _>(move |tx| tx.schedules(&query)).await.unwrap();
    found.rows
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
        let export =
            async |bed: &Bed, id| bed.fleet.bundles.export(&bed.operator, id, true).await.unwrap().bundle;
        let mut first = export(&bed, root).await;
        // What other parts of Warren keep in a spec travels too.
        first.root.spec.monthly_budget_micros = Some(5_000_000);
        let order: Vec<_> = first.root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(order, ["z", "a", "m"], "siblings keep their order");
        let root_node = &first.root;
        assert_eq!(root_node.memory.len(), 2, "what the org remembers stays: {:?}", root_node.memory);
        let names: Vec<_> = root_node.schedules.iter().flatten().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["pulse", "weekly"]);
        assert_eq!(root_node.peers.as_ref().unwrap().allow, [BundlePeer::Name("z".into())]);
        assert_eq!(root_node.children[0].peers.as_ref().unwrap().deny, [BundlePeer::Name("m".into())]);
        let missing = bed.fleet.bundles.import(&bed.operator, first.clone(), None, &[]).await.unwrap_err();
        assert_eq!(missing.code, ErrorCode::RequiredEnvMissing);

        // Into another Warren, that knows none of the templates.
        let other = Bed::on_sqlite(BedOptions::default()).await;
        let imported = import(&other, first.clone()).await;
        assert_ne!(id_at(&imported, 0), root, "the id is new");
        let second = export(&other, id_at(&imported, 0)).await;
        assert_eq!(second.root, first.root);
        let rule = other.row(id_at(&imported, 0)).await.spec.peers.unwrap();
        assert_eq!(rule.allow, [id_at(&imported, 1)], "the rule is about the new one");
        let all = schedules_of(&other, id_at(&imported, 0)).await;
        assert_eq!(all.len(), 2, "none is made twice");
        for one in all {
            assert_eq!(one.created_by, other.operator.principal, "they are the importer's");
            assert!(one.next_at.is_some_and(|at| at > other.now()), "{one:?}");
        }
        let paused = &schedules_of(&other, id_at(&imported, 1)).await[0];
        assert!(paused.is_paused && paused.next_at.is_none(), "{paused:?}");
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
        let alone = bundles.export(&bed.operator, root, false).await.unwrap().bundle;
        let whole = bundles.export(&bed.operator, root, true).await.unwrap().bundle;
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
        let bundle = bed.fleet.bundles.export(&bed.operator, id, true).await.unwrap().bundle;
        let user = bed.user(ScopeSet::all()).await;
        let report = bed.fleet.bundles.import(&user, bundle, None, &[]).await.unwrap();
        assert_eq!(report.nodes[0].outcome.as_ref().unwrap_err().code, ErrorCode::Forbidden);
    }
}

// F51: all or nothing
#[tokio::test]
async fn a_bundle_of_which_one_workspace_cannot_be_made_leaves_nothing() {
    for bed in Bed::on_each_store().await {
        let root = planted(&bed).await;
        let bundle = bed.fleet.bundles.export(&bed.operator, root, true).await.unwrap().bundle;
        let other = Bed::on_sqlite(BedOptions::default()).await;
        other.fleet.workspaces.create(&other.operator, Bed::request("m")).await.unwrap();
        let provided = ["KEY".to_owned()];
        let report =
            other.fleet.bundles.import(&other.operator, bundle.clone(), None, &provided).await.unwrap();
        let codes: Vec<_> = report.nodes.iter().map(|node| node.outcome.as_ref().unwrap_err().code).collect();
        let undone = ErrorCode::BundleNotMade;
        assert_eq!(codes, [undone, undone, undone, undone, ErrorCode::WorkspaceExists]);
        assert_eq!(other.events(EventKind::WorkspaceCreated).await.len(), 1, "only the one that was there");
        let left = other.store.read::<_, warren_store::Error, _>(|tx| {
            Ok((tx.count_workspaces(OrgId::DEFAULT)?, tx.count_schedules(OrgId::DEFAULT)?))
        });
        assert_eq!(left.await.unwrap(), (1, 0));

        // What is remembered is held to the limits too, by the place in the bundle.
        let limits = Limits { max_memory_bytes: 4, ..Limits::default() };
        let small = Bed::on_sqlite(BedOptions { limits, ..BedOptions::default() }).await;
        let report = small.fleet.bundles.import(&small.operator, bundle, None, &provided).await.unwrap();
        let refused = report.nodes[0].outcome.as_ref().unwrap_err();
        assert_eq!(refused.code, ErrorCode::MemoryTooLarge);
        assert!(refused.detail.as_ref().unwrap().starts_with("memory[0].value: "), "{refused}");
        assert!(small.events(EventKind::WorkspaceCreated).await.is_empty());
    }
}

// F51: bundles of version 1
#[tokio::test]
async fn a_bundle_of_the_first_version_is_taken_in_with_the_schedules_of_its_specs() {
    for bed in Bed::on_each_store().await {
        let here = bed.workspace().await.id;
        let nobody: WorkspaceId = bed.fleet.context.new_id();
        let old = json!({
            "format": "warren-bundle", "version": 1,
            "origin": { "workspace_id": nobody.to_string(), "exported_at": "2026-11-15T09:30:00Z" },
            "root": { "name": "old", "spec": {
                "desired": "running", "runtime": "hosted", "provider": { "kind": "memory" }, "capabilities": ["fs"],
                "agent": { "schedules": [{ "name": "pulse", "every_seconds": 50, "prompt": "Go on." }] },
                "peers": { "circle": "family", "allow": [here.to_string(), nobody.to_string()] },
            } },
        });
        let report = bed.fleet.bundles.import(&bed.operator, Bundle::read(old).unwrap(), None, &[]).await;
        let report = report.unwrap();
        let row = report.nodes[0].outcome.as_ref().unwrap();
        assert_eq!(schedules_of(&bed, row.id).await.len(), 1);
        assert_eq!(row.spec.peers.as_ref().unwrap().allow, [here], "who is here is kept, and nobody else");
        assert_eq!(report.nodes[0].warnings.len(), 1, "{:?}", report.nodes[0].warnings);
        assert!(report.nodes[0].warnings[0].contains(&nobody.to_string()));
    }
}

// F51: without secrets, and no longer than may be
#[tokio::test]
async fn what_is_remembered_is_masked_when_it_goes_out_and_what_has_expired_stays_away() {
    for bed in Bed::with_limits(Limits { max_bundle_bytes: 20_000, ..Limits::default() }).await {
        let id = bed.workspace().await.id;
        remember(&bed, MemoryPlace::Local(id), "song", "it is moonlight-sonata", None).await;
        let value = SecretValue::new("moonlight-sonata".to_owned().into()).unwrap();
        let name = "SONG".parse().unwrap();
        bed.fleet.secrets.set(&bed.operator, SecretScope::Org, name, value).await.unwrap();
        let mut bundle = bed.fleet.bundles.export(&bed.operator, id, true).await.unwrap().bundle;
        let kept = &bundle.root.memory[0].value;
        assert!(kept.starts_with("it is ") && !kept.contains("moonlight"), "{kept}");

        bundle.root.name = "copy".to_owned();
        bundle.root.memory.push(BundleMemory {
            scope: MemoryScope::Team,
            key: "late".to_owned(),
            value: "x".to_owned(),
            expires_at: Some(bed.now()),
        });
        let report = bed.fleet.bundles.import(&bed.operator, bundle, None, &[]).await.unwrap();
        assert_eq!(report.nodes[0].warnings, ["memory: 1 of it had expired and was left out"]);
        let copy = bed.fleet.bundles.export(&bed.operator, id_at(&report, 0), true).await.unwrap().bundle;
        assert_eq!(copy.root.memory.len(), 1);

        remember(&bed, MemoryPlace::Local(id), "long", &"x".repeat(19_990), None).await;
        let refused = bed.fleet.bundles.export(&bed.operator, id, true).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BundleTooLarge);
        let name = bed.row(id).await.name;
        assert!(refused.detail.as_ref().unwrap().starts_with(&format!("`{name}`: ")), "{refused}");
    }
}
