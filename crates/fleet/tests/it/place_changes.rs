//! Changing what a workspace that is there is given: its provider's config, its capabilities, its tier.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use warren_fleet::PatchWorkspace;
use warren_model::{
    AuditAction, BehindOf, Capability, CapabilitySet, ErrorCode, EventKind, PeerCircle, PeerPolicy, ScopeSet,
    Status, Tier, Workspace, WorkspaceId,
};
use warren_service::Identity;
use warren_testkit::Bed;
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{ByteRange, WriteMode};

fn provider(changes: Value) -> PatchWorkspace {
    PatchWorkspace { provider: Some(changes), ..PatchWorkspace::default() }
}

async fn patch(bed: &Bed, who: &Identity, id: WorkspaceId, patch: PatchWorkspace) -> Workspace {
    bed.fleet.workspaces.patch(who, id, patch, None).await.unwrap()
}

async fn refused(bed: &Bed, who: &Identity, id: WorkspaceId, patch: PatchWorkspace) -> (ErrorCode, String) {
    let error = bed.fleet.workspaces.patch(who, id, patch, None).await.unwrap_err();
    (error.code, error.detail.unwrap_or_default())
}

fn limits_of(bed: &Bed, id: WorkspaceId) -> Value {
    bed.fleet.registry.describe(id).unwrap().limits
}

// F3
#[tokio::test]
async fn a_new_limit_opens_the_box_anew_keeps_its_files_and_leaves_the_rest_as_it_was() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        let file = WorkspacePath::parse("kept.txt").unwrap();
        let lease = bed.fleet.registry.acquire(id).await.unwrap();
        let contents = stream::iter([Ok("kept".into())]).boxed();
        lease.workspace().fs().unwrap().write(&file, contents, WriteMode::CreateNew).await.unwrap();
        drop(lease);
        let before = bed.row(id).await;

        let asked = patch(&bed, &bed.operator, id, provider(json!({ "max_file_mb": 3 }))).await;
        assert_eq!((asked.status, asked.behind_of()), (Status::Provisioning, Some(BehindOf::Change)));
        assert_eq!(asked.generation, before.generation + 1);
        let now = bed.wait_for(id, Status::Online).await;
        assert_eq!((now.observed_generation, now.behind_of()), (now.generation, None));
        let limits = limits_of(&bed, id);
        assert_eq!((&limits["max_file_mb"], &limits["max_total_mb"]), (&json!(3), &json!(256)), "{limits}");
        let lease = bed.fleet.registry.acquire(id).await.unwrap();
        let mut read = lease.workspace().fs().unwrap().read(&file, ByteRange::default()).await.unwrap();
        assert_eq!(&read.stream.next().await.unwrap().unwrap()[..], b"kept");

        let events = bed.events(EventKind::WorkspaceSpecChanged).await;
        let told = events[0].data.to_string();
        assert!(told.contains("\"provider\"") && told.contains(&now.generation.to_string()), "{told}");
        let audit = bed.audit().await;
        assert!(audit.iter().any(|entry| entry.action == AuditAction::WorkspaceChanged.as_str()));
        // The same again, and nothing at all, change nothing.
        for nothing in [provider(json!({ "max_file_mb": 3 })), provider(json!({}))] {
            let same = patch(&bed, &bed.operator, id, nothing).await;
            assert_eq!((same.version, same.status), (now.version, Status::Online));
        }
        let stale = provider(json!({ "max_file_mb": 4 }));
        let stale = bed.fleet.workspaces.patch(&bed.operator, id, stale, Some(before.version)).await;
        assert_eq!(stale.unwrap_err().code, ErrorCode::PreconditionFailed);
    }
}

// F3: what models may run is looked up at each call
#[tokio::test]
async fn what_models_may_run_the_tier_and_the_rule_about_peers_need_no_new_box() {
    for bed in Bed::on_each_store().await {
        let (id, peer) = (bed.local_workspace().await.id, bed.workspace().await.id);
        let generation = bed.row(id).await.generation;
        let run = provider(json!({ "run": { "allow": ["ls", "cat"] } }));
        let changed = patch(&bed, &bed.operator, id, run).await;
        assert_eq!((changed.status, changed.generation), (Status::Online, generation));
        let allowed = changed.spec.provider.run_policy().unwrap().allow.clone();
        assert_eq!(allowed, Some(vec!["ls".to_owned(), "cat".to_owned()]));
        let pretended = provider(json!({ "run": { "allow": ["bash"] } }));
        assert_eq!(refused(&bed, &bed.operator, id, pretended).await.0, ErrorCode::InvalidConfig);

        let policy = PeerPolicy { circle: PeerCircle::Nobody, allow: vec![peer], deny: vec![] };
        let with = |peers| PatchWorkspace { peers: Some(peers), ..PatchWorkspace::default() };
        let changed = patch(&bed, &bed.operator, id, with(Some(policy.clone()))).await;
        assert_eq!(changed.spec.peers, Some(policy));
        assert_eq!(patch(&bed, &bed.operator, id, with(None)).await.spec.peers, None);
        let tier = |tier| PatchWorkspace { tier: Some(tier), ..PatchWorkspace::default() };
        let changed = patch(&bed, &bed.operator, peer, tier(Tier::Extended)).await;
        assert_eq!((changed.spec.tier, changed.status), (Tier::Extended, Status::Online));
        let (code, detail) = refused(&bed, &bed.operator, id, tier(Tier::Basic)).await;
        assert_eq!(code, ErrorCode::InvalidRequest, "{detail}");
    }
}

// F3, F9: judged as a new one is
#[tokio::test]
async fn who_is_no_operator_changes_no_more_than_they_could_make() {
    for bed in Bed::on_each_store().await {
        let (memory, local) = (bed.workspace().await.id, bed.local_workspace().await.id);
        let user = bed.user(ScopeSet::all()).await;
        let (code, detail) = refused(&bed, &user, memory, provider(json!({ "max_file_mb": 1_000 }))).await;
        assert_eq!(code, ErrorCode::Forbidden);
        assert!(detail.starts_with("provider.max_file_mb: 1000 is more than"), "{detail}");
        let tier = PatchWorkspace { tier: Some(Tier::Extended), ..PatchWorkspace::default() };
        assert_eq!(refused(&bed, &user, memory, tier).await.0, ErrorCode::Forbidden);
        let run = provider(json!({ "run": { "allow": ["ls"] } }));
        assert_eq!(refused(&bed, &user, local, run).await.0, ErrorCode::Forbidden, "without a box");
        // Within its limits anybody who may change it may, also where an operator made it.
        patch(&bed, &user, local, provider(json!({ "max_file_mb": 5 }))).await;
        // What an operator gave beyond them is not held against who changes something else.
        patch(&bed, &bed.operator, memory, provider(json!({ "max_file_mb": 1_000 }))).await;
        patch(&bed, &user, memory, provider(json!({ "max_grep_file_mb": 5 }))).await;
        let more = provider(json!({ "max_file_mb": 1_001 }));
        assert_eq!(refused(&bed, &user, memory, more).await.0, ErrorCode::Forbidden);
        bed.wait_for(memory, Status::Online).await;
        assert_eq!(limits_of(&bed, memory)["max_file_mb"], 1_000);
    }
}

// F3: bad input
#[tokio::test]
async fn a_config_that_no_new_workspace_could_have_is_refused_with_its_field() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        for (changes, code, start) in [
            (json!({ "kind": "local" }), ErrorCode::InvalidConfig, "provider.kind: a workspace keeps"),
            (json!({ "colour": 1 }), ErrorCode::InvalidConfig, "provider.colour: unknown field `colour`"),
            (json!({ "max_file_mb": "x" }), ErrorCode::InvalidConfig, "provider.max_file_mb: "),
            (json!({ "max_total_mb": 1_000_000 }), ErrorCode::InvalidConfig, ""),
            (json!([]), ErrorCode::InvalidConfig, "provider: expected an object"),
        ] {
            let (found, detail) = refused(&bed, &bed.operator, id, provider(changes.clone())).await;
            assert_eq!(found, code, "{changes}: {detail}");
            assert!(detail.starts_with(start), "{changes}: {detail}");
        }
        let shell: CapabilitySet = [Capability::Fs, Capability::Shell].into_iter().collect();
        let shell = PatchWorkspace { capabilities: Some(Some(shell)), ..PatchWorkspace::default() };
        assert_eq!(refused(&bed, &bed.operator, id, shell).await.0, ErrorCode::CapabilityMissing);
        assert!(bed.events(EventKind::WorkspaceSpecChanged).await.is_empty(), "nothing was changed");
        assert_eq!(bed.row(id).await.status, Status::Online);
    }
}

// F3
#[tokio::test]
async fn capabilities_are_taken_away_and_given_back_with_a_new_box() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        let fs: CapabilitySet = [Capability::Fs].into_iter().collect();
        for (asked, has_shell) in [(Some(fs), false), (None, true)] {
            let change = PatchWorkspace { capabilities: Some(asked), ..PatchWorkspace::default() };
            let changed = patch(&bed, &bed.operator, id, change).await;
            assert_eq!(changed.status, Status::Provisioning);
            bed.wait_for(id, Status::Online).await;
            let lease = bed.fleet.registry.acquire(id).await.unwrap();
            assert_eq!(lease.workspace().shell().is_some(), has_shell);
        }
    }
}

// F3
#[tokio::test]
async fn one_that_rests_is_changed_in_its_sleep_and_one_that_failed_is_tried_again() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        bed.fleet.lifecycle.pause(&bed.operator, id).await.unwrap();
        let changed = patch(&bed, &bed.operator, id, provider(json!({ "max_file_mb": 3 }))).await;
        assert_eq!(changed.status, Status::Paused);
        bed.wait_until_caught_up(id).await;
        bed.fleet.lifecycle.resume(&bed.operator, id).await.unwrap();
        bed.wait_for(id, Status::Online).await;
        assert_eq!(limits_of(&bed, id)["max_file_mb"], 3);

        bed.faults.fail_opens(10);
        let failing = bed.fleet.workspaces.create(&bed.operator, Bed::request("failing")).await.unwrap().id;
        bed.wait_for(failing, Status::Failed).await;
        bed.faults.fail_opens(0);
        patch(&bed, &bed.operator, failing, provider(json!({ "max_file_mb": 4 }))).await;
        bed.wait_for(failing, Status::Online).await;
        assert_eq!(limits_of(&bed, failing)["max_file_mb"], 4);
    }
}
