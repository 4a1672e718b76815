//! Cases for every provider.

use std::collections::BTreeSet;

use warren_model::{
    Capability, CapabilitySet, DockerConfig, ErrorCode, LocalConfig, MemoryConfig, ProviderConfig, Ref,
    SandboxConfig,
};

use super::{Harness, assert_code, files, get, new_id, open, open_with, put};
use crate::Error;

// W2, W3
pub async fn modules_are_exactly_the_declared_capabilities(harness: &dyn Harness) {
    let provider = harness.provider();
    for capability in provider.capabilities().iter() {
        let declared: CapabilitySet = [capability].into_iter().collect();
        let opened = open_with(harness, provider.as_ref(), new_id(), declared).await.unwrap();
        assert_eq!(opened.workspace.present(), declared);
        assert_eq!(opened.reference.capabilities, declared);
        assert_eq!(opened.reference.provider, provider.kind().as_str());
    }
}

// W3
pub async fn an_undeclared_offer_is_a_permanent_failure_that_names_both(harness: &dyn Harness) {
    let provider = harness.provider();
    let all: CapabilitySet = Capability::ALL.into_iter().collect();
    let missing = all.without(provider.capabilities());
    assert!(!missing.is_empty(), "no provider offers everything yet");
    let error = open_with(harness, provider.as_ref(), new_id(), all).await.unwrap_err();
    assert!(matches!(error, Error::Failed { transient: false, .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::CapabilityMissing);
    let sentence = error.to_string();
    assert!(sentence.contains(provider.kind().as_str()), "{sentence}");
    assert!(missing.iter().all(|one| sentence.contains(one.as_str())), "{sentence}");
}

// W4
pub async fn a_ref_resolves_to_the_same_files_while_the_process_lives(harness: &dyn Harness) {
    let (provider, id) = (harness.provider(), new_id());
    let declared = provider.capabilities();
    let opened = open_with(harness, provider.as_ref(), id, declared).await.unwrap();
    put(files(&opened.workspace), "kept", "kept").await;
    opened.workspace.close().await.unwrap();
    // As a database keeps it.
    let stored = serde_json::to_string(&opened.reference).unwrap();
    let reference: Ref = serde_json::from_str(&stored).unwrap();
    let again = provider.resolve(id, &harness.config(), &reference).await.unwrap();
    assert_eq!(again.id(), id);
    assert_eq!(again.present(), declared);
    assert_eq!(get(files(&again), "kept").await.unwrap(), b"kept");
}

// W4, W70
pub async fn a_ref_of_another_process_resolves_only_if_files_are_durable(harness: &dyn Harness) {
    let id = new_id();
    let first = harness.provider();
    let opened = open_with(harness, first.as_ref(), id, first.capabilities()).await.unwrap();
    put(files(&opened.workspace), "kept", "kept").await;
    opened.workspace.close().await.unwrap();
    drop(first);
    let resolved = harness.provider().resolve(id, &harness.config(), &opened.reference).await;
    if harness.is_durable() {
        assert_eq!(get(files(&resolved.unwrap()), "kept").await.unwrap(), b"kept");
    } else {
        let error = resolved.unwrap_err();
        assert!(matches!(error, Error::Failed { transient: false, .. }), "{error:?}");
        assert!(error.to_string().contains("died with the process"), "{error}");
    }
}

// W4
pub async fn refs_of_other_versions_and_providers_are_refused_for_good(harness: &dyn Harness) {
    let (provider, id) = (harness.provider(), new_id());
    let opened = open_with(harness, provider.as_ref(), id, provider.capabilities()).await.unwrap();
    let version = opened.reference.schema_version;
    let next = Ref { schema_version: version + 1, ..opened.reference.clone() };
    provider.resolve(id, &harness.config(), &next).await.unwrap();
    let far = Ref { schema_version: version + 2, ..opened.reference.clone() };
    let error = provider.resolve(id, &harness.config(), &far).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::RefUnreadable);
    assert!(!error.is_transient());
    let sentence = error.to_string();
    for part in ["schema_version", &(version + 2).to_string(), "create it again"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    let foreign = Ref { provider: "another".into(), ..opened.reference };
    assert_code(provider.resolve(id, &harness.config(), &foreign).await, ErrorCode::RefUnreadable);
}

// W4
pub async fn payloads_are_strict(harness: &dyn Harness) {
    let (provider, id) = (harness.provider(), new_id());
    let mut reference =
        open_with(harness, provider.as_ref(), id, provider.capabilities()).await.unwrap().reference;
    reference.payload["surprise"] = true.into();
    assert_code(provider.resolve(id, &harness.config(), &reference).await, ErrorCode::RefUnreadable);
    reference.payload = serde_json::Value::Null;
    assert_code(provider.resolve(id, &harness.config(), &reference).await, ErrorCode::RefUnreadable);
    assert_code(provider.destroy(id, &reference).await, ErrorCode::RefUnreadable);
}

// W1
pub async fn a_config_of_another_kind_is_refused(harness: &dyn Harness) {
    let provider = harness.provider();
    let others = [
        ProviderConfig::Memory(MemoryConfig::default()),
        ProviderConfig::Local(LocalConfig::default()),
        ProviderConfig::Sandbox(SandboxConfig::default()),
        ProviderConfig::Docker(DockerConfig::default()),
    ];
    for config in others.into_iter().filter(|one| one.kind() != provider.kind()) {
        let request = crate::OpenRequest { workspace_id: new_id(), config, declared: CapabilitySet::EMPTY };
        let error = provider.open(request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfig);
        assert!(!error.is_transient());
    }
}

// W5
pub async fn workspaces_do_not_see_each_other(harness: &dyn Harness) {
    let provider = harness.provider();
    let declared = provider.capabilities();
    let one = open_with(harness, provider.as_ref(), new_id(), declared).await.unwrap();
    let other = open_with(harness, provider.as_ref(), new_id(), declared).await.unwrap();
    put(files(&one.workspace), "mine", "mine").await;
    assert_code(get(files(&other.workspace), "mine").await, ErrorCode::FileNotFound);
}

pub async fn destroy_is_final_and_idempotent(harness: &dyn Harness) {
    let (provider, id) = (harness.provider(), new_id());
    let opened = open_with(harness, provider.as_ref(), id, provider.capabilities()).await.unwrap();
    put(files(&opened.workspace), "a/b", "x").await;
    opened.workspace.close().await.unwrap();
    provider.destroy(id, &opened.reference).await.unwrap();
    provider.destroy(id, &opened.reference).await.unwrap();
    let error = provider.resolve(id, &harness.config(), &opened.reference).await.unwrap_err();
    assert!(matches!(error, Error::Failed { transient: false, .. }), "{error:?}");
}

// W16
pub async fn reaping_never_touches_an_open_or_live_workspace(harness: &dyn Harness) {
    let provider = harness.provider();
    let declared = provider.capabilities();
    let (live, open) = (new_id(), new_id());
    let closed = open_with(harness, provider.as_ref(), live, declared).await.unwrap();
    put(files(&closed.workspace), "kept", "x").await;
    closed.workspace.close().await.unwrap();
    let opened = open_with(harness, provider.as_ref(), open, declared).await.unwrap();
    put(files(&opened.workspace), "kept", "x").await;

    let report = provider.reap(&BTreeSet::from([live])).await.unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
    get(files(&opened.workspace), "kept").await.unwrap();
    let resolved = provider.resolve(live, &harness.config(), &closed.reference).await.unwrap();
    get(files(&resolved), "kept").await.unwrap();
}

// W2
pub async fn a_closed_workspace_answers_evicted_and_closes_again(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    put(files(&workspace), "a", "x").await;
    workspace.close().await.unwrap();
    workspace.close().await.unwrap();
    let error = get(files(&workspace), "a").await.unwrap_err();
    assert!(error.is_evicted(), "{error:?}");
}

// W11
pub async fn limits_are_told_as_an_object(harness: &dyn Harness) {
    let limits = open(harness).await.workspace.limits();
    assert!(limits["isolation"].is_string(), "{limits}");
    assert!(limits["max_file_mb"].as_u64().is_some(), "{limits}");
}
