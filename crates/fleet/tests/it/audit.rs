//! The audit log: an entry with each change and with nothing else, in one chain.

use warren_fleet::{PatchWorkspace, SecretScope};
use warren_model::{AuditAction, AuditHead, AuditOutcome, ErrorCode, Scope, ScopeSet, SecretValue};
use warren_rules::access::audit::Verification;
use warren_service::Action;
use warren_store::AuditQuery;
use warren_testkit::{Bed, eventually};

// F35: the entry is part of the change
#[tokio::test]
async fn a_change_that_did_not_happen_leaves_no_entry() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        let before = bed.fleet.audit.head(&bed.operator).await.unwrap();
        let (workspaces, who) = (&bed.fleet.workspaces, &bed.operator);
        let stale = workspaces.remove(who, id, Some(77), false).await.unwrap_err();
        assert_eq!(stale.code, ErrorCode::PreconditionFailed);
        let below_itself = PatchWorkspace { parent_id: Some(Some(id)), ..Default::default() };
        workspaces.patch(who, id, below_itself, None).await.unwrap_err();
        bed.fleet.lifecycle.reset(who, id).await.unwrap_err();
        workspaces.patch(who, id, PatchWorkspace::default(), None).await.expect("nothing changed");
        bed.fleet.secrets.remove(who, SecretScope::Org, "NONE".parse().unwrap()).await.unwrap_err();
        assert_eq!(bed.fleet.audit.head(&bed.operator).await.unwrap(), before);
    }
}

// F35
#[tokio::test]
async fn the_log_is_for_operators_and_outlives_what_it_speaks_of() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        bed.workspace().await;
        bed.remove(id).await;
        let all = |scope: &Scope| *scope != Scope::OrgOperate;
        let user = bed.user(Scope::ALL.into_iter().filter(all).collect::<ScopeSet>()).await;
        let refused = bed.fleet.audit.list(&user, AuditQuery::all(0, 10)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let of_org = bed.user([Scope::OrgOperate].into_iter().collect()).await;
        bed.fleet.audit.list(&of_org, AuditQuery::all(0, 10)).await.unwrap();
        let refused = bed.fleet.audit.head(&of_org).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let of_one: Vec<_> =
            bed.audit().await.into_iter().filter(|entry| entry.target_id == id.to_string()).collect();
        let actions: Vec<_> = of_one.iter().map(|entry| entry.action.as_str()).collect();
        let expected = [AuditAction::WorkspaceCreated, AuditAction::WorkspaceRemoved];
        assert_eq!(actions, expected.map(AuditAction::as_str));
    }
}

// F35
#[tokio::test]
async fn reaching_for_what_belongs_to_others_is_noted_up_to_a_number() {
    for bed in Bed::on_each_store().await {
        let (id, stranger) = (bed.workspace().await.id, bed.stranger().await);
        let unknown = bed.fleet.context.new_id();
        for reached in std::iter::repeat_n(id, 30).chain([unknown]) {
            let get = bed.fleet.workspaces.get(&stranger, Action::ReadWorkspaces, reached);
            assert_eq!(get.await.unwrap_err().code, ErrorCode::WorkspaceNotFound);
        }
        let refused = async || {
            let mut entries = bed.audit().await;
            entries.retain(|entry| entry.action == AuditAction::AccessRefused.as_str());
            entries
        };
        eventually("the attempts are noted", async || refused().await.len() >= 10).await;
        // The clock stands still: no second minute begins.
        let refused = refused().await;
        assert_eq!(refused.len(), 10);
        let is_refused = AuditOutcome::Refused.as_str();
        assert!(refused.iter().all(|entry| entry.target_id == id.to_string() && entry.outcome == is_refused));
        assert_eq!(refused[0].org_id, stranger.token.org_id);
    }
}

// F35: entries of many requests at once are one chain
#[tokio::test]
async fn changes_at_the_same_time_keep_the_chain_whole() {
    for bed in Bed::on_each_store().await {
        let sets = (0..40).map(|number| {
            let value = SecretValue::new("x".to_owned().into()).unwrap();
            let name = format!("S{}", number % 5).parse().unwrap();
            bed.fleet.secrets.set(&bed.operator, SecretScope::Org, name, value)
        });
        for set in futures_util::future::join_all(sets).await {
            set.unwrap();
        }
        let read: Result<_, warren_store::Error> =
            bed.store.read(|tx| Ok((tx.audit(&AuditQuery::all(0, 500))?.rows, tx.audit_head()?))).await;
        let (entries, head): (Vec<_>, AuditHead) = read.unwrap();
        let set = AuditAction::SecretSet.as_str();
        assert_eq!(entries.iter().filter(|entry| entry.action == set).count(), 40);
        let mut verification = Verification::new([head]);
        entries.iter().for_each(|entry| verification.push(entry).unwrap());
        assert_eq!(verification.finish(), Ok(head));
    }
}
