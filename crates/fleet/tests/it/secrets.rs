//! Secrets: what goes in, who sees what, and a new key for all.

use warren_fleet::SecretScope;
use warren_model::{ErrorCode, EventKind, Scope, ScopeSet, SecretValue};

use crate::bed::Bed;

fn value(text: &str) -> SecretValue {
    SecretValue::new(text.to_owned().into()).unwrap()
}

// F32
#[tokio::test]
async fn a_workspace_gets_its_own_secret_before_its_orgs() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let (secrets, name) = (&bed.fleet.secrets, || "API_KEY".parse().unwrap());
        let (_, is_new) =
            secrets.set(&bed.operator, SecretScope::Org, name(), value("of-the-org")).await.unwrap();
        assert!(is_new);
        let masked = |text: &'static str| {
            let (fleet, row) = (bed.fleet.clone(), row.clone());
            async move {
                let mut text = text.to_owned();
                fleet.redactors.of_workspace(&row).await.unwrap().mask_text(&mut text);
                !text.contains("of-the")
            }
        };
        assert!(masked("of-the-org").await);
        let own = SecretScope::Workspace(row.id);
        secrets.set(&bed.operator, own, name(), value("of-the-workspace")).await.unwrap();
        assert!(masked("of-the-workspace").await, "its own is in effect");
        assert!(!masked("of-the-org").await, "and the org's is not");
        secrets.remove(&bed.operator, own, name()).await.unwrap();
        assert!(masked("of-the-org").await);
        let gone = secrets.remove(&bed.operator, own, name()).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::SecretNotFound);
    }
}

// F32
#[tokio::test]
async fn a_list_tells_names_and_who_may_not_write_changes_nothing() {
    for bed in Bed::on_each_store().await {
        let (secrets, org) = (&bed.fleet.secrets, SecretScope::Org);
        secrets.set(&bed.operator, org, "TOKEN".parse().unwrap(), value("hunter2")).await.unwrap();
        let reader = bed.user([Scope::SecretsRead].into_iter().collect::<ScopeSet>()).await;
        let refused = secrets.set(&reader, org, "TOKEN".parse().unwrap(), value("mine")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let page = secrets.list(&reader, org, None, 10).await.unwrap();
        assert_eq!(page.rows.iter().map(|one| one.row.name.as_str()).collect::<Vec<_>>(), ["TOKEN"]);
        assert!(page.rows[0].is_readable);
        assert!(!format!("{page:?}").contains("hunter2"));
        assert_eq!(bed.events(EventKind::SecretSet).await.len(), 1);
    }
}

// F32
#[tokio::test]
async fn a_new_key_seals_everything_anew_and_changes_no_value() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        for name in ["ONE", "TWO", "THREE"] {
            let value = value(&format!("value-of-{name}"));
            bed.fleet
                .secrets
                .set(&bed.operator, SecretScope::Org, name.parse().unwrap(), value)
                .await
                .unwrap();
        }
        let before = bed.fleet.sealer.current_key_id();
        let rotation = bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap();
        assert!(rotation.is_new_key && rotation.key_id != before);
        assert_eq!((rotation.resealed, rotation.unreadable), (3, 0));
        let page = bed.fleet.secrets.list(&bed.operator, SecretScope::Org, None, 10).await.unwrap();
        assert!(page.rows.iter().all(|one| one.row.key_id == rotation.key_id && one.is_readable));
        let mut said = "value-of-ONE value-of-TWO value-of-THREE".to_owned();
        bed.fleet.redactors.of_workspace(&row).await.unwrap().mask_text(&mut said);
        assert!(!said.contains("value-of"), "{said}");
    }
}
