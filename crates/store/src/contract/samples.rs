//! Rows to write, and short ways to write and read them.

use std::sync::atomic::{AtomicU64, Ordering};

use warren_model::event::ServerStarted;
use warren_model::{
    Capability, Delivery, DeliveryState, Id, IdKind, LocalConfig, Mending, Message, NewEvent, OrgId, Part,
    Principal, ProviderConfig, Role, ScopeSet, Status, Task, Timestamp, Token, TokenHash, TokenId, TokenKind,
    Workspace, WorkspaceId, WorkspaceSpec,
};

use crate::{Error, EventQuery, Store};

pub(super) const NOW: Timestamp = Timestamp::from_micros(1_763_200_000_123_456);

/// Ids in ascending order. The counter is a source of names, not of state: which numbers a case gets does not
/// matter to it.
pub(super) fn id<K: IdKind>() -> Id<K> {
    static COUNTER: AtomicU64 = AtomicU64::new(1);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut random = [0; 10];
    random[2..].copy_from_slice(&count.to_be_bytes());
    Id::from_parts(NOW, random)
}

pub(super) fn task(workspace_id: WorkspaceId) -> Task {
    Task::submitted(id(), OrgId::DEFAULT, workspace_id, "talk", Principal::system("asker"), NOW)
}

/// With a name of its own, as every living workspace has.
pub(super) fn workspace() -> Workspace {
    let id = id();
    Workspace {
        id,
        org_id: OrgId::DEFAULT,
        parent_id: None,
        name: format!("build box {id}").parse().expect("a good name"),
        spec: WorkspaceSpec::new(
            ProviderConfig::Local(LocalConfig::default()),
            [Capability::Fs, Capability::Shell].into_iter().collect(),
        ),
        generation: 1,
        observed_generation: 0,
        secrets_since: None,
        version: 1,
        status: Status::Provisioning,
        reason: None,
        reference: None,
        created_at: NOW,
        updated_at: NOW,
        provisioning_started_at: Some(NOW),
        provision_deadline: None,
        mending: Mending::default(),
        removed_at: None,
        is_purged: false,
    }
}

pub(super) fn token() -> Token {
    let id: TokenId = id();
    let mut hash = [0; 32];
    hash[..16].copy_from_slice(id.as_bytes());
    Token {
        id,
        kind: TokenKind::User,
        hash: TokenHash(hash),
        prefix: "wrn_user_abcd".into(),
        name: "laptop".into(),
        owner: Principal::system("owner"),
        org_id: OrgId::DEFAULT,
        workspace_id: None,
        scopes: ScopeSet::all(),
        created_at: NOW,
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        used_at: None,
    }
}

/// An event that is known again by its text.
pub(super) fn event(text: impl Into<String>) -> NewEvent {
    NewEvent {
        at: NOW,
        org_id: OrgId::DEFAULT,
        workspace_id: None,
        principal: Principal::system("contract"),
        data: ServerStarted { version: text.into() }.into(),
    }
}

pub(super) fn all_events(after: u64, limit: u32) -> EventQuery {
    EventQuery { after, org_id: None, workspace_id: None, limit }
}

pub(super) async fn insert(store: &dyn Store, workspace: &Workspace) {
    let row = workspace.clone();
    let inserted = store.write(move |tx| tx.insert_workspace(&row)).await;
    assert_eq!(inserted, Ok(()), "a workspace is inserted");
}

pub(super) async fn get(store: &dyn Store, id: WorkspaceId) -> Option<Workspace> {
    store.read(move |tx| tx.workspace(id)).await.expect("a workspace is read")
}

/// Writes a workspace at the version it carries.
pub(super) async fn update(store: &dyn Store, workspace: &Workspace) -> Result<u64, Error> {
    let row = workspace.clone();
    store.write(move |tx| tx.update_workspace(&row, row.version)).await
}

pub(super) async fn append(store: &dyn Store, event: &NewEvent) {
    let event = event.clone();
    let appended: Result<(), Error> = store.write(move |tx| tx.append_event(&event)).await;
    assert_eq!(appended, Ok(()), "an event is appended");
}

pub(super) async fn newest_seq(store: &dyn Store) -> u64 {
    store.read(|tx| tx.newest_event_seq()).await.expect("the newest number is read")
}

/// The whole log, in pages of 100.
pub(super) async fn log(store: &dyn Store) -> Vec<warren_model::Event> {
    let mut events = Vec::new();
    let mut after = Some(0);
    while let Some(from) = after {
        let page = store.read(move |tx| tx.events(&all_events(from, 100))).await.expect("a page is read");
        events.extend(page.rows);
        after = page.next;
    }
    events
}

pub(super) fn assert_gap_free(events: &[warren_model::Event]) {
    for (expected, event) in (1..).zip(events) {
        assert_eq!(event.seq, expected, "the log has a gap or is out of order");
    }
}

pub(super) fn delivery(task: &Task) -> Delivery {
    Delivery {
        id: id(),
        org_id: task.org_id,
        workspace_id: task.workspace_id,
        task_id: task.id,
        author: task.author.clone(),
        message: Message::new("m-1", Role::User, vec![Part::text("do it")]),
        priority: 0,
        turn: 1,
        state: DeliveryState::Queued,
        end: None,
        reason: None,
        attempts: 0,
        not_before: NOW,
        expires_at: NOW.plus_ms(60_000),
        idle_timeout_ms: 300_000,
        deadline_at: None,
        owner: None,
        lease_until: None,
        has_begun: false,
        progress_at: None,
        due_at: Some(NOW.plus_ms(60_000)),
        created_at: NOW,
        ended_at: None,
    }
}

pub(super) async fn new_workspace(store: &dyn Store) -> WorkspaceId {
    let row = workspace();
    insert(store, &row).await;
    row.id
}

pub(super) async fn put_task(store: &dyn Store, task: &Task, deliveries: &[Delivery]) {
    let (task, deliveries) = (task.clone(), deliveries.to_vec());
    let written: Result<(), Error> = store
        .write(move |tx| {
            tx.insert_task(&task)?;
            deliveries.iter().try_for_each(|row| tx.insert_delivery(row))
        })
        .await;
    assert_eq!(written, Ok(()), "a task and its messages are written");
}
