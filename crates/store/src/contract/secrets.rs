//! What holds for sealed secrets (F32), and for how a change of them is told to workspaces (F33).

use std::sync::Arc;

use warren_model::{
    BehindOf, Capability, KeyId, OrgId, Principal, SealedSecret, SecretName, SecretOwner, Status, Workspace,
    WorkspaceId,
};

use super::samples::{NOW, get, id, insert, update, workspace};
use crate::{Error, Reach, SecretKey, SecretQuery, Store};

fn name(text: &str) -> SecretName {
    text.parse().expect("a good name")
}

fn key(seed: u8) -> KeyId {
    KeyId::from_fingerprint([seed; 8])
}

fn secret(owner: SecretOwner, text: &str) -> SealedSecret {
    SealedSecret {
        owner,
        name: name(text),
        version: 1,
        key_id: key(1),
        nonce: [7; 12],
        sealed: vec![0, 1, 255, b'\''],
        created_at: NOW,
        updated_at: NOW,
        updated_by: Principal::system("contract"),
    }
}

async fn put(store: &dyn Store, secret: &SealedSecret) -> Result<(), Error> {
    let row = secret.clone();
    store.write(move |tx| tx.insert_secret(&row)).await
}

async fn find(store: &dyn Store, owner: SecretOwner, text: &str) -> Option<SealedSecret> {
    let name = name(text);
    store.read(move |tx| tx.secret(owner, &name)).await.expect("a secret is read")
}

/// A workspace in the database, and its secrets' owner.
async fn place(store: &dyn Store) -> (Workspace, SecretOwner) {
    let row = workspace();
    insert(store, &row).await;
    let owner = SecretOwner::Workspace { id: row.id, org_id: row.org_id };
    (row, owner)
}

const ORG: SecretOwner = SecretOwner::Org(OrgId::DEFAULT);

// F32
pub async fn every_field_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let (_, own) = place(&*store).await;
    for owner in [ORG, own] {
        let written = SealedSecret {
            version: 9,
            sealed: (0..=255).cycle().take(70_000).collect(),
            updated_at: NOW.plus_ms(5),
            ..secret(owner, "API_KEY")
        };
        assert_eq!(put(&*store, &written).await, Ok(()));
        assert_eq!(find(&*store, owner, "API_KEY").await, Some(written));
        assert_eq!(find(&*store, owner, "OTHER").await, None);
    }
}

// F32
pub async fn an_owner_has_a_name_once(store: Arc<dyn Store>) {
    let (_, own) = place(&*store).await;
    assert_eq!(put(&*store, &secret(ORG, "A")).await, Ok(()));
    assert_eq!(put(&*store, &secret(ORG, "A")).await, Err(Error::AlreadyExists));
    assert_eq!(put(&*store, &secret(own, "A")).await, Ok(()), "another owner");
    let other_org = SecretOwner::Org(id());
    assert_eq!(put(&*store, &secret(other_org, "A")).await, Ok(()), "another org");
}

// F32
pub async fn a_secret_of_an_unknown_workspace_is_refused(store: Arc<dyn Store>) {
    let stray = SecretOwner::Workspace { id: id(), org_id: OrgId::DEFAULT };
    let result = put(&*store, &secret(stray, "A")).await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
}

// F32
pub async fn a_stale_version_or_key_conflicts_and_writes_nothing(store: Arc<dyn Store>) {
    let first = secret(ORG, "A");
    assert_eq!(put(&*store, &first).await, Ok(()));
    let update = |row: SealedSecret, version: u64, key_id: KeyId| {
        let store = Arc::clone(&store);
        async move {
            let done: Result<(), Error> =
                store.write(move |tx| tx.update_secret(&row, version, &key_id)).await;
            done
        }
    };
    let second = SealedSecret { version: 2, sealed: vec![2], ..first.clone() };
    assert_eq!(update(second.clone(), 2, key(1)).await, Err(Error::Conflict), "the version is 1");
    assert_eq!(update(second.clone(), 1, key(2)).await, Err(Error::Conflict), "the key is another");
    assert_eq!(find(&*store, ORG, "A").await, Some(first));
    assert_eq!(update(second.clone(), 1, key(1)).await, Ok(()));
    let resealed = SealedSecret { key_id: key(2), nonce: [9; 12], sealed: vec![3], ..second };
    assert_eq!(update(resealed.clone(), 2, key(1)).await, Ok(()));
    assert_eq!(find(&*store, ORG, "A").await, Some(resealed));
}

// F32
pub async fn lists_are_per_owner_by_name_and_in_pages(store: Arc<dyn Store>) {
    let (_, own) = place(&*store).await;
    for text in ["C", "A", "_", "B", "a"] {
        assert_eq!(put(&*store, &secret(own, text)).await, Ok(()));
    }
    assert_eq!(put(&*store, &secret(ORG, "D")).await, Ok(()));
    for limit in [1, 2, 100] {
        let mut query = SecretQuery { owner: own, after: None, limit };
        let mut names = Vec::new();
        loop {
            let asked = query.clone();
            let page = store.read(move |tx| tx.secrets(&asked)).await.expect("a page is read");
            names.extend(page.rows.iter().map(|secret| secret.name.to_string()));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        assert_eq!(names, ["A", "B", "C", "_", "a"], "by {limit}");
    }
    let counts: Result<_, Error> =
        store.read(move |tx| Ok((tx.count_secrets(own)?, tx.count_secrets(ORG)?))).await;
    assert_eq!(counts, Ok((5, 1)));
}

// F32
pub async fn a_workspace_gets_its_own_and_its_orgs_and_nobody_elses(store: Arc<dyn Store>) {
    let (row, own) = place(&*store).await;
    let (_, neighbours) = place(&*store).await;
    let other_org = SecretOwner::Org(id());
    for (owner, text) in [(own, "A"), (own, "B"), (ORG, "A"), (ORG, "C"), (neighbours, "N"), (other_org, "O")]
    {
        assert_eq!(put(&*store, &secret(owner, text)).await, Ok(()));
    }
    let found: Result<Vec<_>, Error> = store.read(move |tx| tx.secrets_for(row.org_id, row.id)).await;
    let mut found: Vec<_> = found
        .expect("secrets are read")
        .iter()
        .map(|secret| format!("{} {}", secret.owner.kind(), secret.name))
        .collect();
    found.sort();
    assert_eq!(found, ["org A", "org C", "workspace A", "workspace B"]);
}

// F32
pub async fn a_secret_is_removed_once_and_a_workspaces_all_together(store: Arc<dyn Store>) {
    let (row, own) = place(&*store).await;
    for (owner, text) in [(own, "A"), (own, "B"), (ORG, "A")] {
        assert_eq!(put(&*store, &secret(owner, text)).await, Ok(()));
    }
    let delete = |owner: SecretOwner| {
        let store = Arc::clone(&store);
        async move {
            let done: Result<bool, Error> = store.write(move |tx| tx.delete_secret(owner, &name("A"))).await;
            done
        }
    };
    assert_eq!(delete(ORG).await, Ok(true));
    assert_eq!(delete(ORG).await, Ok(false));
    let id: WorkspaceId = row.id;
    for expected in [2, 0] {
        let removed: Result<u64, Error> = store.write(move |tx| tx.delete_secrets_of(id)).await;
        assert_eq!(removed, Ok(expected));
    }
}

// F32
pub async fn what_another_key_sealed_is_found_in_pages_and_counted(store: Arc<dyn Store>) {
    let (_, own) = place(&*store).await;
    for (owner, text, seed) in [(own, "A", 1), (own, "B", 2), (ORG, "A", 1), (ORG, "B", 3), (ORG, "C", 2)] {
        let row = SealedSecret { key_id: key(seed), ..secret(owner, text) };
        assert_eq!(put(&*store, &row).await, Ok(()));
    }
    for limit in [1, 2, 100] {
        let mut after: Option<SecretKey> = None;
        let mut found = Vec::new();
        loop {
            let asked = after.clone();
            let page: Result<_, Error> =
                store.read(move |tx| tx.secrets_not_under(&key(2), asked.as_ref(), limit)).await;
            let page = page.expect("a page is read");
            found.extend(page.rows.iter().map(|one| format!("{} {}", one.owner.kind(), one.name)));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        found.sort();
        assert_eq!(found, ["org A", "org B", "workspace A"], "by {limit}");
    }
    let counts: Result<_, Error> = store.read(|tx| tx.count_secrets_by_key()).await;
    assert_eq!(counts, Ok(vec![(key(1), 2), (key(2), 2), (key(3), 1)]));
}

// F33
pub async fn a_change_raises_the_generation_of_those_it_reaches(store: Arc<dyn Store>) {
    let mut rows = Vec::new();
    for status in Status::ALL {
        let row = Workspace { status: *status, ..workspace() };
        insert(&*store, &row).await;
        rows.push(row);
    }
    let shadowing = Workspace { status: Status::Online, ..workspace() };
    let elsewhere = Workspace { status: Status::Online, org_id: id(), ..workspace() };
    insert(&*store, &shadowing).await;
    insert(&*store, &elsewhere).await;
    let mut without_shell = Workspace { status: Status::Online, ..workspace() };
    without_shell.spec.capabilities = [Capability::Fs].into_iter().collect();
    insert(&*store, &without_shell).await;
    let own = SecretOwner::Workspace { id: shadowing.id, org_id: shadowing.org_id };
    assert_eq!(put(&*store, &secret(own, "A")).await, Ok(()));

    let later = NOW.plus_ms(9);
    let raise = |owner: SecretOwner| {
        let store = Arc::clone(&store);
        async move {
            let reach = Reach { owner, name: name("A") };
            let raised: Result<u64, Error> = store.write(move |tx| tx.raise_generations(&reach, later)).await;
            raised
        }
    };
    assert_eq!(raise(ORG).await, Ok(5));
    for before in &rows {
        let after = get(&*store, before.id).await.expect("the row is there");
        let is_reached = matches!(
            before.status,
            Status::Provisioning
                | Status::AwaitingAgent
                | Status::Online
                | Status::Degraded
                | Status::Offline
        );
        let step = u64::from(is_reached);
        assert_eq!(after.generation, before.generation + step, "{}", before.status);
        assert_eq!(after.version, before.version + step, "{}: a reader of before conflicts", before.status);
        assert_eq!(after.updated_at == later, is_reached, "{}", before.status);
        assert_eq!(after.observed_generation, before.observed_generation);
        assert_eq!(after.secrets_since, is_reached.then_some(before.generation), "{}", before.status);
    }
    assert_eq!(get(&*store, shadowing.id).await.map(|row| row.generation), Some(1), "it has its own");
    assert_eq!(get(&*store, elsewhere.id).await.map(|row| row.generation), Some(1));
    let untouched = get(&*store, without_shell.id).await.map(|row| row.generation);
    assert_eq!(untouched, Some(1), "nothing there has an environment");
    assert_eq!(raise(own).await, Ok(1));
    assert_eq!(get(&*store, shadowing.id).await.map(|row| row.generation), Some(2));
}

// F33
pub async fn whether_a_workspace_is_behind_of_secrets_alone_stands_in_its_row(store: Arc<dyn Store>) {
    let row = Workspace { status: Status::Online, observed_generation: 1, ..workspace() };
    insert(&*store, &row).await;
    let reach = Reach { owner: SecretOwner::Workspace { id: row.id, org_id: row.org_id }, name: name("A") };
    let secrets_change = async || {
        let reach = reach.clone();
        let raised: Result<u64, Error> = store.write(move |tx| tx.raise_generations(&reach, NOW)).await;
        assert_eq!(raised, Ok(1));
    };
    let change = async |change: fn(&mut Workspace)| {
        let mut row = get(&*store, row.id).await.expect("the row is there");
        change(&mut row);
        assert!(update(&*store, &row).await.is_ok());
    };
    let behind_of = async || get(&*store, row.id).await.expect("the row is there").behind_of();
    assert_eq!(behind_of().await, None);
    secrets_change().await;
    secrets_change().await;
    assert_eq!(behind_of().await, Some(BehindOf::Secrets), "twice is no more than that");
    change(|row| row.observed_generation = 2).await;
    assert_eq!(behind_of().await, Some(BehindOf::Secrets), "the second change came while it was brought up");
    change(Workspace::raise_generation).await;
    assert_eq!(behind_of().await, Some(BehindOf::Change));
    secrets_change().await;
    assert_eq!(behind_of().await, Some(BehindOf::Change), "what else changed is owed still");
    change(|row| row.observed_generation = 4).await;
    assert_eq!(behind_of().await, Some(BehindOf::Secrets), "only the secrets came after that");
    change(|row| row.observed_generation = row.generation).await;
    assert_eq!(behind_of().await, None);
}
