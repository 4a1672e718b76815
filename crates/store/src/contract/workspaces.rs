//! What holds for workspaces.

use std::sync::Arc;

use serde_json::json;
use warren_model::{
    AgentSpec, CapabilitySet, MemoryConfig, Mending, OrgId, Principal, ProviderConfig, Ref, Status,
    StatusReason, TemplateStamp, Tier, Timestamp, Token, Vitals, Workspace,
};

use super::samples::{NOW, append, event, get, id, insert, log, token, update, workspace};
use crate::{Error, Page, Store, WorkspaceQuery};

// F1
pub async fn every_status_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    for status in Status::ALL {
        let inserted = Workspace { status: *status, ..workspace() };
        insert(&*store, &inserted).await;
        assert_eq!(get(&*store, inserted.id).await, Some(inserted), "inserted as {status}");

        let changed = workspace();
        insert(&*store, &changed).await;
        let changed = Workspace { status: *status, ..changed };
        assert_eq!(update(&*store, &changed).await, Ok(2), "changed to {status}");
        let found = get(&*store, changed.id).await.map(|row| row.status);
        assert_eq!(found, Some(*status), "changed to {status}");
    }
}

pub async fn every_field_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let parent = workspace();
    insert(&*store, &parent).await;
    let mut full = full_workspace(&parent);
    insert(&*store, &full).await;
    assert_eq!(get(&*store, full.id).await, Some(full.clone()), "as inserted");

    // Back to nothing: an update writes every column, absence included.
    full = Workspace { id: full.id, version: full.version, created_at: full.created_at, ..workspace() };
    let version = update(&*store, &full).await.expect("the update succeeds");
    full.version = version;
    assert_eq!(get(&*store, full.id).await, Some(full), "as updated");
}

fn full_workspace(parent: &Workspace) -> Workspace {
    let plain = workspace();
    Workspace {
        org_id: id(),
        parent_id: Some(parent.id),
        name: "日本 🦀 'quoted' \"box\"; DROP TABLE".parse().expect("a good name"),
        spec: warren_model::WorkspaceSpec {
            provider: ProviderConfig::Memory(MemoryConfig::default()),
            capabilities: CapabilitySet::EMPTY,
            tier: Tier::Privileged,
            role: Some("reviewer".into()),
            provision_timeout_seconds: Some(7),
            hibernate_after_seconds: Some(u32::MAX),
            max_concurrent_tasks: Some(3),
            agent: AgentSpec { required_env: vec!["KEY".into()], ..AgentSpec::default() },
            template: Some(TemplateStamp {
                name: "reviewer".parse().expect("a good name"),
                hash: "ab".into(),
            }),
            monthly_budget_micros: Some(u64::MAX),
            ..plain.spec
        },
        generation: 7,
        observed_generation: 7,
        secrets_since: Some(6),
        version: 41,
        status: Status::Degraded,
        reason: Some(StatusReason::new("déjà vu — 100 % 'sure'")),
        reference: Some(Ref {
            provider: "local".into(),
            schema_version: 3,
            capabilities: CapabilitySet::EMPTY,
            payload: json!({"dir": "a/b", "nested": [1, -2.5, null, true, {"k": "\u{0} \u{1f980}"}]}),
        }),
        updated_at: NOW.plus_ms(2),
        provisioning_started_at: Some(Timestamp::from_micros(-1)),
        provision_deadline: Some(Timestamp::from_micros(i64::MAX)),
        mending: Mending { attempts: u32::MAX, next_at: Some(NOW.plus_ms(4)) },
        removed_at: Some(NOW.plus_ms(3)),
        is_purged: true,
        ..plain
    }
}

async fn change(store: &dyn Store, from: &Workspace, to: &Workspace) -> Result<u64, Error> {
    let (from, to) = (from.clone(), to.clone());
    store.write(move |tx| tx.change_workspace(&from, &to)).await
}

/// Rule 3, and rule 6: what a change does not mention stays as it is.
pub async fn a_change_writes_what_differs_and_nothing_else(store: Arc<dyn Store>) {
    let (parent, row) = (workspace(), workspace());
    insert(&*store, &parent).await;
    insert(&*store, &row).await;
    let full = Workspace { id: row.id, ..full_workspace(&parent) };
    let sparse = Workspace { reference: None, reason: None, parent_id: None, ..full.clone() };
    let mut known = row.clone();
    // All columns, some to nothing, and none of them.
    for to in [&full, &sparse, &sparse, &row] {
        let version = change(&*store, &known, to).await;
        assert_eq!(version, Ok(known.version + 1));
        known = Workspace { version: known.version + 1, ..to.clone() };
        assert_eq!(get(&*store, row.id).await.as_ref(), Some(&known));
    }
    let misread = Workspace { name: "misread".parse().expect("a good name"), ..known.clone() };
    let moved = Workspace { status: Status::Offline, ..misread.clone() };
    assert_eq!(change(&*store, &misread, &moved).await, Ok(known.version + 1));
    let expected = Workspace { status: Status::Offline, version: known.version + 1, ..known.clone() };
    assert_eq!(get(&*store, row.id).await.as_ref(), Some(&expected), "its name was not written");
    assert_eq!(change(&*store, &known, &full).await, Err(Error::Conflict), "it has moved on since");
    assert_eq!(get(&*store, row.id).await, Some(expected));
    let stranger = workspace();
    assert_eq!(change(&*store, &stranger, &full_workspace(&parent)).await, Err(Error::Conflict));
}

pub async fn absence_is_none(store: Arc<dyn Store>) {
    assert_eq!(get(&*store, id()).await, None);
}

pub async fn an_id_is_taken_once(store: Arc<dyn Store>) {
    let first = workspace();
    insert(&*store, &first).await;
    let second = Workspace { name: "impostor".parse().expect("a good name"), ..first.clone() };
    let result = store.write(move |tx| tx.insert_workspace(&second)).await;
    assert_eq!(result, Err(Error::AlreadyExists));
    assert_eq!(get(&*store, first.id).await, Some(first));
}

pub async fn an_unknown_parent_is_refused(store: Arc<dyn Store>) {
    let orphan = Workspace { parent_id: Some(id()), ..workspace() };
    let orphan_id = orphan.id;
    let result: Result<(), Error> = store.write(move |tx| tx.insert_workspace(&orphan)).await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
    assert_eq!(get(&*store, orphan_id).await, None);
}

async fn list(store: &dyn Store, query: WorkspaceQuery) -> Page<Workspace, warren_model::WorkspaceId> {
    store.read(move |tx| tx.workspaces(&query)).await.expect("a page of workspaces is read")
}

fn ids(rows: &[Workspace]) -> Vec<warren_model::WorkspaceId> {
    rows.iter().map(|row| row.id).collect()
}

pub async fn lists_come_in_order_and_in_pages(store: Arc<dyn Store>) {
    let mut rows: Vec<_> = (0..7).map(|_| workspace()).collect();
    // Written in another order than they sort in.
    rows.reverse();
    for row in &rows {
        insert(&*store, row).await;
    }
    rows.reverse();

    let everything = list(&*store, WorkspaceQuery::all(7)).await;
    assert_eq!(everything.next, None, "a page that holds all has no next");
    assert_eq!(everything.rows, rows);

    let mut seen = Vec::new();
    let mut after = None;
    for size in [3, 3, 1] {
        let page = list(&*store, WorkspaceQuery { after, ..WorkspaceQuery::all(3) }).await;
        assert_eq!(page.rows.len(), size);
        seen.extend(ids(&page.rows));
        after = page.next;
    }
    assert_eq!(after, None, "the last page says so");
    assert_eq!(seen, ids(&rows));
}

pub async fn filters_narrow_and_removed_rows_are_hidden(store: Arc<dyn Store>) {
    let root = workspace();
    let child = Workspace {
        parent_id: Some(root.id),
        name: "child".parse().expect("a good name"),
        status: Status::Online,
        generation: 7,
        observed_generation: 7,
        ..workspace()
    };
    let removed = Workspace { status: Status::Removed, ..workspace() };
    let foreign = Workspace { org_id: id(), ..workspace() };
    for row in [&root, &child, &removed, &foreign] {
        insert(&*store, row).await;
    }
    let all = || WorkspaceQuery::all(100);
    let ours = WorkspaceQuery { org_id: Some(OrgId::DEFAULT), ..all() };
    let cases = [
        ("all", all(), vec![root.id, child.id, foreign.id]),
        ("one org", ours.clone(), vec![root.id, child.id]),
        (
            "with removed",
            WorkspaceQuery { includes_removed: true, ..ours.clone() },
            vec![root.id, child.id, removed.id],
        ),
        ("roots", WorkspaceQuery { is_root: true, ..ours.clone() }, vec![root.id]),
        ("by parent", WorkspaceQuery { parent_id: Some(root.id), ..all() }, vec![child.id]),
        ("by name", WorkspaceQuery { name: Some("child".into()), ..ours.clone() }, vec![child.id]),
        (
            "by two statuses",
            WorkspaceQuery {
                statuses: vec![Status::Online, Status::Removed],
                includes_removed: true,
                ..all()
            },
            vec![child.id, removed.id],
        ),
        (
            "removed is hidden even if named",
            WorkspaceQuery { statuses: vec![Status::Removed], ..all() },
            vec![],
        ),
        ("behind", WorkspaceQuery { is_behind: true, ..ours.clone() }, vec![root.id]),
        (
            "everything at once",
            WorkspaceQuery {
                org_id: Some(OrgId::DEFAULT),
                is_root: false,
                parent_id: Some(root.id),
                statuses: vec![Status::Online],
                name: Some("child".into()),
                includes_removed: true,
                is_behind: false,
                after: Some(root.id),
                limit: 1,
            },
            vec![child.id],
        ),
    ];
    for (label, query, expected) in cases {
        assert_eq!(ids(&list(&*store, query).await.rows), expected, "{label}");
    }
}

// F3: commands are given names, so that a name must lead to one workspace.
pub async fn a_name_is_borne_by_one_living_workspace_of_an_org(store: Arc<dyn Store>) {
    let first = workspace();
    insert(&*store, &first).await;
    let named = |row: Workspace| Workspace { name: first.name.clone(), ..row };
    let (second, other) = (named(workspace()), workspace());
    let (twin, other_row) = (second.clone(), other.clone());
    let result: Result<(), Error> = store
        .write(move |tx| {
            assert_eq!(tx.insert_workspace(&twin), Err(Error::AlreadyExists));
            tx.insert_workspace(&other_row)
        })
        .await;
    assert_eq!(result, Ok(()), "the refusal can be got over");
    assert_eq!(update(&*store, &named(other)).await, Err(Error::AlreadyExists), "nor is one renamed to it");

    let elsewhere = Workspace { org_id: id(), ..named(workspace()) };
    insert(&*store, &elsewhere).await;
    insert(&*store, &Workspace { status: Status::Removed, ..named(workspace()) }).await;
    let removed = Workspace { status: Status::Removed, ..first.clone() };
    assert_eq!(update(&*store, &removed).await, Ok(2));
    insert(&*store, &second).await;
}

// F3
pub async fn of_many_who_ask_for_a_name_at_once_one_gets_it(store: Arc<dyn Store>) {
    let name = workspace().name;
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, row) = (Arc::clone(&store), Workspace { name: name.clone(), ..workspace() });
        asked.spawn(async move { store.write(move |tx| tx.insert_workspace(&row)).await });
    }
    let outcomes: Vec<Result<(), Error>> = asked.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let others = outcomes.iter().filter(|outcome| **outcome == Err(Error::AlreadyExists));
    assert_eq!(others.count(), 7, "{outcomes:?}");
}

pub async fn removed_rows_do_not_count(store: Arc<dyn Store>) {
    let org_id = id();
    for status in Status::ALL {
        let row = Workspace { org_id, status: *status, ..workspace() };
        insert(&*store, &row).await;
    }
    insert(&*store, &workspace()).await;
    let count: Result<u64, Error> = store.read(move |tx| tx.count_workspaces(org_id)).await;
    assert_eq!(count, Ok(Status::ALL.len() as u64 - 1));
    let counts: Result<Vec<(Status, u64)>, Error> = store.read(|tx| tx.count_workspaces_by_status()).await;
    let counts = counts.unwrap_or_default();
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), Status::ALL.len() as u64);
    assert!(counts.contains(&(Status::Hibernated, 1)), "{counts:?}");
}

// Rule 3: compare-and-set or nothing, and the event only if the change happened.
pub async fn a_stale_version_conflicts_and_writes_nothing(store: Arc<dyn Store>) {
    let row = workspace();
    insert(&*store, &row).await;
    append(&*store, &event("before")).await;
    let fresh = Workspace { generation: 2, ..row.clone() };
    assert_eq!(update(&*store, &fresh).await, Ok(2));

    for stale_version in [1, 3] {
        let stale = Workspace { generation: 99, ..row.clone() };
        let result: Result<u64, Error> = store
            .write(move |tx| {
                tx.append_event(&event("must not be"))?;
                tx.update_workspace(&stale, stale_version)
            })
            .await;
        assert_eq!(result, Err(Error::Conflict), "version {stale_version}");
    }
    let missing = workspace();
    assert_eq!(update(&*store, &missing).await, Err(Error::Conflict), "a row that is not there");

    let found = get(&*store, row.id).await.expect("the row is there");
    assert_eq!((found.version, found.generation), (2, 2));
    assert_eq!(log(&*store).await.len(), 1, "no event of a change that did not happen");
}

// Q6
pub async fn parallel_increments_are_all_counted(store: Arc<dyn Store>) {
    const WRITERS: u64 = 8;
    const EACH: u64 = 12;
    let row = workspace();
    insert(&*store, &row).await;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            for _ in 0..EACH {
                increment(&*store, row.id).await;
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.expect("a writer ends well");
    }
    let found = get(&*store, row.id).await.expect("the row is there");
    assert_eq!(found.generation, 1 + WRITERS * EACH);
    assert_eq!(found.version, 1 + WRITERS * EACH);
}

/// Reads in one transaction and writes in another, so that others can come between; tries until it succeeds.
async fn increment(store: &dyn Store, id: warren_model::WorkspaceId) {
    for _ in 0..10_000 {
        let mut row = get(store, id).await.expect("the row is there");
        row.generation += 1;
        match update(store, &row).await {
            Ok(_) => return,
            Err(Error::Conflict) => {}
            Err(other) => panic!("an increment fails with {other:?}"),
        }
    }
    panic!("an increment never succeeds");
}

// F2
pub async fn removed_is_terminal(store: Arc<dyn Store>) {
    let removed = Workspace { status: Status::Removed, removed_at: Some(NOW), ..workspace() };
    insert(&*store, &removed).await;
    for status in Status::ALL.iter().filter(|status| **status != Status::Removed) {
        let risen = Workspace { status: *status, ..removed.clone() };
        let result = update(&*store, &risen).await;
        assert!(matches!(result, Err(Error::Refused(_))), "to {status}: {result:?}");
    }
    assert_eq!(get(&*store, removed.id).await, Some(removed));
}

// F2: terminal is the status, not the row; clearing up still writes to it.
pub async fn a_removed_workspace_can_still_be_written(store: Arc<dyn Store>) {
    let removed = Workspace { status: Status::Removed, ..workspace() };
    insert(&*store, &removed).await;
    let noted = Workspace { observed_generation: 1, ..removed };
    assert_eq!(update(&*store, &noted).await, Ok(2));
}

pub async fn what_one_engine_could_not_keep_is_refused(store: Arc<dyn Store>) {
    let plain = workspace;
    let reason = Some(StatusReason::new("a\0b"));
    let rows = [
        ("NUL in text", Workspace { reason, ..plain() }),
        ("too large", Workspace { generation: u64::MAX, ..plain() }),
    ];
    for (label, row) in rows {
        let result: Result<(), Error> = store.write(move |tx| tx.insert_workspace(&row)).await;
        assert!(matches!(result, Err(Error::Refused(_))), "{label}: {result:?}");
    }
    let mut bad_event = event("");
    bad_event.principal = Principal::system("a\0b");
    let result: Result<(), Error> = store.write(move |tx| tx.append_event(&bad_event)).await;
    assert!(matches!(result, Err(Error::Refused(_))), "NUL in a principal: {result:?}");
}

// F20
pub async fn living_ids_come_in_order_and_without_the_removed(store: Arc<dyn Store>) {
    let rows: Vec<_> = (0..4).map(|_| workspace()).collect();
    for row in &rows {
        insert(&*store, row).await;
    }
    insert(&*store, &Workspace { status: Status::Removed, ..workspace() }).await;
    let first = store.read(|tx| tx.living_workspace_ids(None, 3)).await;
    assert_eq!(first, Ok(ids(&rows[..3])));
    let after = rows[2].id;
    let rest = store.read(move |tx| tx.living_workspace_ids(Some(after), 3)).await;
    assert_eq!(rest, Ok(ids(&rows[3..])));
}

// F8
pub async fn only_a_removed_workspace_is_erased_and_its_tokens_with_it(store: Arc<dyn Store>) {
    let (living, removed) = (workspace(), Workspace { status: Status::Removed, ..workspace() });
    let child = Workspace { parent_id: Some(removed.id), ..workspace() };
    let of_removed = Token { workspace_id: Some(removed.id), ..token() };
    for row in [&living, &removed, &child] {
        insert(&*store, row).await;
    }
    let (living_id, removed_id, token_row) = (living.id, removed.id, of_removed.clone());
    let erased: Result<_, Error> = store
        .write(move |tx| {
            tx.insert_token(&token_row)?;
            tx.put_vitals(removed_id, &Vitals::default())?;
            Ok((
                tx.erase_workspace(living_id)?,
                tx.erase_workspace(removed_id)?,
                tx.erase_workspace(removed_id)?,
            ))
        })
        .await;
    assert_eq!(erased, Ok((false, true, false)));
    assert_eq!(get(&*store, living_id).await, Some(living));
    assert_eq!(get(&*store, removed_id).await, None);
    assert_eq!(get(&*store, child.id).await.map(|row| row.parent_id), Some(None), "a child becomes a root");
    let left: Result<_, Error> = store.read(move |tx| tx.token(of_removed.id)).await;
    assert_eq!(left, Ok(None));
}
