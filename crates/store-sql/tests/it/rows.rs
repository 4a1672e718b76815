//! Rows to write in tests that go beyond the contract.

use std::sync::Arc;

use warren_doors::{Entropy, OsEntropy};
use warren_model::event::ServerStarted;
use warren_model::{
    AuditAction, AuditOutcome, AuditTargetKind, Blueprint, CapabilitySet, Event, EventData, Id, IdKind,
    KeyId, MemoryConfig, Mending, Network, NewAuditEntry, NewEvent, OrgId, Principal, ProviderConfig,
    ScopeSet, SealedSecret, SecretOwner, Status, Template, Timestamp, Token, TokenKind, TokenSecret, Webhook,
    Workspace, WorkspaceSpec,
};
use warren_store::{Error, Store};

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_763_200_000_123_456);

pub(crate) fn id<K: IdKind>() -> Id<K> {
    let entropy: &dyn Entropy = &OsEntropy;
    entropy.id(NOW)
}

pub(crate) fn workspace() -> Workspace {
    let id = id();
    Workspace {
        id,
        org_id: OrgId::DEFAULT,
        parent_id: None,
        name: format!("box {id}").parse().unwrap(),
        spec: WorkspaceSpec::new(ProviderConfig::Memory(MemoryConfig::default()), CapabilitySet::EMPTY),
        generation: 1,
        observed_generation: 0,
        secrets_since: None,
        version: 1,
        status: Status::Online,
        reason: None,
        reference: None,
        created_at: NOW,
        updated_at: NOW,
        provisioning_started_at: None,
        provision_deadline: None,
        mending: Mending::default(),
        removed_at: None,
        is_purged: false,
    }
}

pub(crate) fn token(secret: &TokenSecret) -> Token {
    Token {
        id: id(),
        kind: TokenKind::Admin,
        hash: secret.hash(),
        prefix: secret.display_prefix(),
        name: "admin".into(),
        owner: Principal::system("test"),
        org_id: OrgId::DEFAULT,
        workspace_id: None,
        scopes: ScopeSet::EMPTY,
        created_at: NOW,
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        used_at: None,
    }
}

pub(crate) fn secret(name: &str) -> SealedSecret {
    SealedSecret {
        owner: SecretOwner::Org(OrgId::DEFAULT),
        name: name.parse().unwrap(),
        version: 1,
        key_id: KeyId::from_fingerprint([1; 8]),
        nonce: [7; 12],
        sealed: vec![1],
        created_at: NOW,
        updated_at: NOW,
        updated_by: Principal::system("test"),
    }
}

pub(crate) fn webhook() -> Webhook {
    Webhook {
        id: id(),
        org_id: OrgId::DEFAULT,
        name: "hook".into(),
        network: Network::Webhook,
        url: "https://example.com/".into(),
        kinds: Vec::new(),
        workspace_id: None,
        since: 0,
        is_active: true,
        created_at: NOW,
        created_by: Principal::system("test"),
    }
}

pub(crate) fn template(name: &str) -> Template {
    let blueprint = Blueprint { name: Some(name.to_owned()), ..Blueprint::default() };
    Template {
        org_id: OrgId::DEFAULT,
        name: name.parse().unwrap(),
        hash: blueprint.hash(),
        blueprint,
        source: format!("name: {name}\n"),
        version: 1,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub(crate) fn audit_entry(target: &str) -> NewAuditEntry {
    NewAuditEntry {
        at: NOW,
        org_id: OrgId::DEFAULT,
        principal: Principal::system("test"),
        token: None,
        action: AuditAction::WorkspaceCreated,
        target_kind: AuditTargetKind::Workspace,
        target_id: target.to_owned(),
        outcome: AuditOutcome::Done,
        request_id: None,
        details: serde_json::json!({}),
    }
}

/// An event that is known again by its text.
pub(crate) fn event(text: impl Into<String>) -> NewEvent {
    NewEvent {
        at: NOW,
        org_id: OrgId::DEFAULT,
        workspace_id: None,
        principal: Principal::system("test"),
        data: ServerStarted { version: text.into() }.into(),
    }
}

pub(crate) async fn insert(store: &Arc<dyn Store>, workspace: &Workspace) {
    let row = workspace.clone();
    let inserted: Result<(), Error> = store.write(move |tx| tx.insert_workspace(&row)).await;
    assert_eq!(inserted, Ok(()));
}

/// What `event` was given.
pub(crate) fn text_of(event: &Event) -> String {
    match event.read() {
        Ok(EventData::ServerStarted(data)) => data.version,
        other => panic!("not an event of these tests: {other:?}"),
    }
}

pub(crate) async fn append(store: &Arc<dyn Store>, text: impl Into<String>) {
    let new = event(text);
    let appended: Result<(), Error> = store.write(move |tx| tx.append_event(&new)).await;
    assert_eq!(appended, Ok(()));
}
